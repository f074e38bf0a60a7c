"""`slmagent train` and `slmagent demo`: a configuration file, overrides, and the trainer that they are for."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import Positional, arg

from slmagent.errors import ConfigError, MissingExtraError, UsageError, nearest

TRAINERS = {
    "sft": ("slmagent.trainers.sft", "SFTConfig", "train_sft"),
    "grpo": ("slmagent.trainers.grpo", "GRPOConfig", "train_grpo"),
}
"""Value of `trainer` in a configuration -> module, configuration class, function."""


@dataclass(frozen=True)
class Train:
    """Train a model: slmagent train CONFIG.toml [--field value ...]."""

    config: Annotated[Positional[str], arg(metavar="CONFIG.toml")]
    """Configuration file: `trainer = "sft"` or `trainer = "grpo"`, and the trainer's own fields, flat. In place of a file, sft
    or grpo starts from the trainer's defaults. What follows overrides single fields; put --help there to see them all
    explained: `slmagent train grpo --help`."""

    def run(self) -> int:
        """Trains without overrides."""
        return run_train([self.config])


@dataclass(frozen=True)
class Demo:
    """Train a 135M-parameter model to book flights, with a report: slmagent demo [CONFIG.toml] [--field value ...]."""

    def run(self) -> int:
        """Runs the demo with its defaults."""
        return run_demo([])


def run_train(words: Sequence[str]) -> int:
    """Trains as told by the words behind `slmagent train`, the first of which is not an option.

    Raises:
        SlmagentError: The file, the trainer or a field cannot be used.
    """
    from slmagent.cli.terminal import no_library_bars
    from slmagent.config import load_config, read_toml

    no_library_bars()
    given, overrides = words[0], list(words[1:])
    if given in TRAINERS and not Path(given).is_file():
        trainer, path = given, None
    else:
        trainer, path = read_toml(given).get("trainer"), Path(given)
        if trainer is None:
            raise ConfigError(f'{given}: the key \'trainer\' is missing; expected trainer = "sft" or "grpo"')
        if trainer not in TRAINERS:
            raise ConfigError(f"{given}: unknown trainer {trainer!r}; {nearest(str(trainer), TRAINERS)}")
    module, config_name, function_name = TRAINERS[trainer]
    config_class, train = _load(module, config_name, function_name)
    config = load_config(config_class, path, overrides, ignore=["trainer"], prog=f"slmagent train {given}")
    result = train(config)
    print(result)
    return 0


def run_demo(words: Sequence[str]) -> int:
    """Runs the demo as told by the words behind `slmagent demo`.

    Raises:
        SlmagentError: The file or a field cannot be used.
    """
    from slmagent.config import load_config

    config_class, run = _load("slmagent.demo", "DemoConfig", "run_demo")
    path = words[0] if words and not words[0].startswith("-") else None
    config = load_config(config_class, path, list(words[1 if path else 0 :]), prog="slmagent demo")
    print(run(config))
    return 0


def _load(module: str, config_name: str, function_name: str) -> tuple[type[Any], Callable[[Any], Path]]:
    try:
        loaded = importlib.import_module(module)
    except ImportError as problem:
        package = (problem.name or "").partition(".")[0]
        if package == "slmagent" or not package:
            raise UsageError(f"{module} cannot be imported: {problem}") from problem
        raise MissingExtraError(f"training needs {package}; install it with: pip install 'slmagent[train]'") from problem
    return getattr(loaded, config_name), getattr(loaded, function_name)
