"""A key-value cache with one row per live episode and no padding inside a row.

Rows have their own lengths: each token is written behind its row's last one, so nothing is ever shifted, padded or
compacted, and a finished episode's row is simply used again. Buffers are preallocated, which spares the copy of the whole
cache that concatenating caches make at every step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import Cache

KeyValues = list[tuple[Tensor, Tensor]]
"""Per layer: keys and values of one row, each [heads, length, head_dim]."""


class SlotCache(Cache):
    """Keys and values of `num_rows` sequences, [rows, heads, capacity, head_dim] per layer.

    Before a forward pass, `begin_rows` or `begin_step` says where its tokens go; `advance` counts them afterwards.

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
        self._rows: Tensor | None = None
        self._counts: list[int] = []
        self._positions: Tensor | None = None
        self._attend = 0
        self._allocated = 0

    def begin_rows(self, rows: Sequence[int], counts: Sequence[int], device: torch.device) -> Tensor:
        """The next pass appends `counts[i]` tokens to row `rows[i]`, right-padded to the longest; returns their positions,
        [rows, tokens].

        Padding is written behind a row's end, where nothing attends to it and the next tokens overwrite it; what of it
        would lie behind the longest row shares one slot there, so that a short row's many new tokens do not stretch a long
        one.
        """
        longest = max(self.lengths[row] + count for row, count in zip(rows, counts, strict=True))
        self._reserve(longest)
        starts = torch.tensor([self.lengths[row] for row in rows], device=device)
        self._positions = (starts[:, None] + torch.arange(max(counts), device=device)[None, :]).clamp_(max=longest)
        self._attend = int(self._positions.max()) + 1
        self._rows, self._counts = torch.tensor(rows, device=device), list(counts)
        self._advancing = list(rows)
        return self._positions

    def begin_step(self, count: int, device: torch.device) -> Tensor:
        """The next pass appends one token to each of the first `count` rows; returns their positions, [rows, 1]."""
        self._positions = torch.tensor(self.lengths[:count], device=device)[:, None]
        self._attend = max(self.lengths[:count]) + 1
        self._reserve(self._attend)
        self._rows, self._counts = None, [1] * count
        self._advancing = list(range(count))
        return self._positions

    def visible(self) -> Tensor:
        """What the tokens of the next pass may attend to, boolean [rows, 1, tokens, keys]."""
        assert self._positions is not None
        keys = torch.arange(self._attend, device=self._positions.device)
        return (keys <= self._positions[..., None])[:, None]

    def advance(self) -> None:
        """Counts the tokens of the last pass."""
        for row, count in zip(self._advancing, self._counts, strict=True):
            self.lengths[row] += count

    def update(
        self, key_states: Tensor, value_states: Tensor, layer_idx: int, *args: Any, **kwargs: Any
    ) -> tuple[Tensor, Tensor]:
        """Writes one layer's new states ([rows, heads, tokens, head_dim]) and returns everything to attend to."""
        if layer_idx == len(self._keys):
            shape = (self.num_rows, key_states.shape[1], self._allocated)
            self._keys.append(key_states.new_zeros(*shape, key_states.shape[-1]))
            self._values.append(value_states.new_zeros(*shape, value_states.shape[-1]))
        keys, values = self._keys[layer_idx], self._values[layer_idx]
        assert self._positions is not None
        rows = torch.arange(len(self._counts), device=keys.device) if self._rows is None else self._rows
        keys[rows[:, None], :, self._positions] = key_states.transpose(1, 2)
        values[rows[:, None], :, self._positions] = value_states.transpose(1, 2)
        # The first rows are a view; only a prefill of some rows copies what they hold.
        chosen = slice(0, len(self._counts)) if self._rows is None else self._rows
        return keys[chosen, :, : self._attend], values[chosen, :, : self._attend]

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
        """Makes room for rows of `length` tokens, and for one slot of padding behind them."""
        if length > self.capacity:
            raise ValueError(f"a sequence of {length} tokens does not fit the cache's {self.capacity}")
        if length < self._allocated:
            return
        grown = min(self.capacity, max(length, 2 * self._allocated, 128)) + 1
        for buffers in (self._keys, self._values):
            for layer, states in enumerate(buffers):
                larger = states.new_zeros(*states.shape[:2], grown, states.shape[-1])
                larger[:, :, : self._allocated] = states
                buffers[layer] = larger
        self._allocated = grown
