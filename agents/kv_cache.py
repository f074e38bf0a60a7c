"""A key-value cache with one row per live episode and no padding inside a row.

Rows have their own lengths: each token is written behind its row's last one, so nothing is ever shifted, padded or compacted, and
a finished episode's row is simply used again. Buffers are preallocated, which spares the copy of the whole cache that concatenating
caches make at every step.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import Cache

KeyValues = list[tuple[Tensor, Tensor]]
"""Per layer: keys and values of one row, each [heads, length, head_dim]."""


class SlotCache(Cache):
    """Keys and values of `num_rows` sequences, [rows, heads, capacity, head_dim] per layer.

    Before a forward pass, `begin_row` or `begin_step` says where its tokens go. Lengths advance by `advance` afterwards.

    Args:
        num_rows: Sequences held at once.
        capacity: Longest sequence in tokens.
    """

    def __init__(self, num_rows: int, capacity: int) -> None:
        super().__init__(layers=[])
        self.num_rows = num_rows
        self.capacity = capacity
        self.lengths = [0] * num_rows
        self._keys: list[Tensor] = []
        self._values: list[Tensor] = []
        self._write: tuple[Any, ...] = ()
        self._row: int | None = None
        self._count = 0
        self._attend = 0
        self._allocated = 0

    def begin_row(self, row: int, num_tokens: int) -> None:
        """The next pass appends `num_tokens` to one row."""
        start = self.lengths[row]
        self._row, self._attend = row, start + num_tokens
        self._reserve(self._attend)
        self._write = (slice(row, row + 1), slice(None), slice(start, start + num_tokens))

    def begin_step(self, count: int, device: torch.device) -> Tensor:
        """The next pass appends one token to each of the first `count` rows; returns their lengths before it, [count]."""
        lengths = torch.tensor(self.lengths[:count], device=device)
        self._row, self._count, self._attend = None, count, max(self.lengths[:count]) + 1
        self._reserve(self._attend)
        self._write = (torch.arange(count, device=device), slice(None), lengths)
        return lengths

    def advance(self) -> None:
        """Counts the tokens of the last pass."""
        if self._row is not None:
            self.lengths[self._row] = self._attend
            return
        for row in range(self._count):
            self.lengths[row] += 1

    def update(
        self, key_states: Tensor, value_states: Tensor, layer_idx: int, *args: Any, **kwargs: Any
    ) -> tuple[Tensor, Tensor]:
        """Writes one layer's new states ([rows, heads, tokens, head_dim]) and returns everything to attend to."""
        if layer_idx == len(self._keys):
            shape = (self.num_rows, key_states.shape[1], self._allocated)
            self._keys.append(key_states.new_zeros(*shape, key_states.shape[-1]))
            self._values.append(value_states.new_zeros(*shape, value_states.shape[-1]))
        keys, values = self._keys[layer_idx], self._values[layer_idx]
        if self._row is None:
            keys[self._write] = key_states[:, :, 0]
            values[self._write] = value_states[:, :, 0]
            rows = slice(0, self._count)
        else:
            keys[self._write] = key_states
            values[self._write] = value_states
            rows = slice(self._row, self._row + 1)
        return keys[rows, :, : self._attend], values[rows, :, : self._attend]

    def copy_out(self, row: int) -> KeyValues:
        """A copy of everything one row holds."""
        length = self.lengths[row]
        return [(k[row, :, :length].clone(), v[row, :, :length].clone()) for k, v in zip(self._keys, self._values, strict=True)]

    def copy_in(self, row: int, states: KeyValues) -> None:
        """Replaces a row's content."""
        length = states[0][0].shape[1] if states else 0
        self._reserve(length)
        for layer, (key, value) in enumerate(states):
            self._keys[layer][row, :, :length] = key
            self._values[layer][row, :, :length] = value
        self.lengths[row] = length

    def move(self, source: int, target: int) -> None:
        """Copies one row over another, so that live rows stay the first ones."""
        length = self.lengths[source]
        for states in (*self._keys, *self._values):
            states[target, :, :length] = states[source, :, :length]
        self.lengths[target] = length

    def get_seq_length(self, layer_idx: int = 0) -> int:
        """Unused by the forward passes here, which give positions and masks themselves."""
        return 0

    def _reserve(self, length: int) -> None:
        if length <= self._allocated:
            return
        if length > self.capacity:
            raise ValueError(f"a sequence of {length} tokens does not fit the cache's {self.capacity}")
        grown = min(self.capacity, max(length, 2 * self._allocated, 128))
        for buffers in (self._keys, self._values):
            for layer, states in enumerate(buffers):
                larger = states.new_zeros(*states.shape[:2], grown, states.shape[-1])
                larger[:, :, : self._allocated] = states
                buffers[layer] = larger
        self._allocated = grown
