"""Configurations from TOML and the command line."""

from __future__ import annotations

import dataclasses
import tomllib
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slmagent.config import config_from_mapping, dump_toml, load_config, read_toml
from slmagent.errors import ConfigError


@dataclasses.dataclass(frozen=True)
class RunConfig:
    """A run of something."""

    model: str
    """Name or path of the model."""
    learning_rate: float = 1e-4
    """Step size of the optimizer."""
    ranks: tuple[int, ...] = (8, 16)
    """Ranks to try."""
    mode: Literal["fast", "slow"] = "fast"
    """How to go about it."""
    shuffle: bool = True
    """Shuffle the data."""
    limit: int | None = None
    """Stop after this many episodes."""
    out: Path = Path("runs/x")
    """Where results go."""

    def __post_init__(self) -> None:
        if self.learning_rate <= 0:
            raise ValueError(f"expected learning_rate > 0, actual {self.learning_rate}")


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "run.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_file_fills_fields_and_converts_types(tmp_path: Path) -> None:
    path = write(tmp_path, 'model = "m"\nlearning_rate = 1\nranks = [4]\nmode = "slow"\nout = "runs/y"\n')
    config = load_config(RunConfig, path)
    assert config == RunConfig(model="m", learning_rate=1.0, ranks=(4,), mode="slow", out=Path("runs/y"))
    assert type(config.learning_rate) is float


def test_overrides_win_over_the_file_which_wins_over_defaults(tmp_path: Path) -> None:
    path = write(tmp_path, 'model = "m"\nlearning_rate = 0.5\nlimit = 3\n')
    config = load_config(RunConfig, path, ["--learning-rate", "2e-4", "--no-shuffle", "--ranks", "1", "2", "3"])
    assert config == RunConfig(model="m", learning_rate=2e-4, limit=3, shuffle=False, ranks=(1, 2, 3))
    assert type(config) is RunConfig


def test_a_required_field_may_come_from_either_side(tmp_path: Path) -> None:
    assert load_config(RunConfig, None, ["--model", "m"]).model == "m"
    assert load_config(RunConfig, write(tmp_path, 'model = "n"'), ["--limit", "2"]).model == "n"
    with pytest.raises(ConfigError, match="the key 'model' is missing; expected text"):
        load_config(RunConfig, write(tmp_path, "limit = 1"))


@pytest.mark.parametrize("overrides", [[], ["--limit", "2"]])
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('model = "m"\nlearning_rat = 1e-4', r"run\.toml: unknown key 'learning_rat'; did you mean 'learning_rate'\?"),
        ('model = "m"\nlearning_rate = "fast"', r"learning_rate: expected a number, actual 'fast' \(text\)"),
        ('model = "m"\nlearning_rate = true', r"learning_rate: expected a number, actual True \(true/false\)"),
        ('model = "m"\nlimit = 1.5', r"limit: expected a whole number or nothing, actual 1.5 \(number\)"),
        ('model = "m"\nranks = [8, "x"]', r"ranks\[1\]: expected a whole number, actual 'x'"),
        ('model = "m"\nmode = "medium"', r"mode: expected one of 'fast', 'slow', actual 'medium'"),
        ("model = 3", r"model: expected text, actual 3 \(whole number\)"),
        ("model = ]", r"run\.toml: not valid TOML: .*line 1"),
        ('[section]\nmodel = "m"', r"unknown key 'section'"),
    ],
)
def test_a_bad_file_gets_one_clear_message(tmp_path: Path, text: str, message: str, overrides: list[str]) -> None:
    with pytest.raises(ConfigError, match=message):
        load_config(RunConfig, write(tmp_path, text), overrides)


def test_a_value_out_of_range_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"run\.toml: expected learning_rate > 0, actual -1\.0"):
        load_config(RunConfig, write(tmp_path, 'model = "m"\nlearning_rate = -1'))


def test_a_missing_or_binary_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot read the configuration .*nowhere\.toml: No such file"):
        read_toml(tmp_path / "nowhere.toml")
    (tmp_path / "b.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="expected a TOML file in UTF-8"):
        read_toml(tmp_path / "b.toml")


def test_keys_of_others_are_left_alone(tmp_path: Path) -> None:
    assert load_config(RunConfig, write(tmp_path, 'trainer = "sft"\nmodel = "m"'), ignore=["trainer"]).model == "m"


def test_bad_overrides_exit_with_code_2_and_say_why(capsys: pytest.CaptureFixture[str]) -> None:
    for words, part in ((["--model", "m", "--limt", "3"], "--limit"), (["--model", "m", "--limit", "many"], "many")):
        with pytest.raises(SystemExit) as stopped:
            load_config(RunConfig, None, words)
        assert stopped.value.code == 2
        assert part in capsys.readouterr().err


def test_help_explains_every_field_with_the_files_values(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        load_config(RunConfig, write(tmp_path, "learning_rate = 0.25"), ["--help"])
    assert stopped.value.code == 0
    shown = capsys.readouterr().out
    for text in (
        "Name or path of the model",
        "Step size of the optimizer",
        "default: 0.25",
        "How to go about it",
        "{fast,slow}",
    ):
        assert text in shown


@dataclasses.dataclass(frozen=True)
class Everything:
    text: str
    number: float
    count: int
    flag: bool
    texts: tuple[str, ...]
    weights: dict[str, float]
    maybe: int | None = None


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
floats = st.floats(allow_nan=False)


@given(
    st.builds(
        Everything,
        text=texts,
        number=floats,
        count=st.integers(-(2**63), 2**63 - 1),
        flag=st.booleans(),
        texts=st.lists(texts, max_size=3).map(tuple),
        weights=st.dictionaries(texts, floats, max_size=3),
        maybe=st.none() | st.integers(0, 9),
    )
)
def test_dump_toml_is_read_back_exactly(config: Everything) -> None:
    assert config_from_mapping(Everything, tomllib.loads(dump_toml(config))) == config
