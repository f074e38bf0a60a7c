"""Everyday programs print in the sandbox what they print in a plain interpreter, and end alike; so imports do work there."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from sandboxes import sandbox_or_skip

from slmagent.sandbox.base import Sandbox

FOLDER = Path(__file__).parent
STDIN = "Ann\n21\na,b\nc\n"
FILES = ("restricted/everyday.txt", "everyday/more.txt")


def programs() -> dict[str, str]:
    """All programs by name."""
    found: dict[str, str] = {}
    for file in FILES:
        parts = re.split(r"^### (.*)\n", (FOLDER / file).read_text(), flags=re.MULTILINE)[1:]
        found |= {f"{Path(file).stem}: {name}": text for name, text in zip(parts[::2], parts[1::2], strict=True)}
    return found


PROGRAMS = programs()


@pytest.fixture(scope="module", params=["process", "docker"])
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    made = sandbox_or_skip(request.param)
    yield made
    made.close()


def plain(program: str, folder: Path) -> tuple[str, int, str]:
    """Output, exit code and last line of errors of a plain interpreter."""
    path = folder / "main.py"
    path.write_text(program)
    command = [sys.executable, "-I", "-X", "utf8", str(path)]
    done = subprocess.run(command, input=STDIN, capture_output=True, text=True, cwd=folder, timeout=60, check=False)
    return done.stdout, done.returncode, (done.stderr.splitlines() or [""])[-1]


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_everyday_program_ends_as_in_a_plain_interpreter(sandbox: Sandbox, name: str, tmp_path: Path) -> None:
    output, code, last = plain(PROGRAMS[name], tmp_path)
    result = sandbox.run(PROGRAMS[name], stdin=STDIN)
    scrubbed = re.sub(r"0x[0-9a-f]+", "0x...", output)
    assert result.stdout == scrubbed, result
    assert (result.status == "ok") is (code == 0), result
    assert (result.stderr.splitlines() or [""])[-1] == last


def test_there_are_many() -> None:
    assert len(PROGRAMS) >= 100
