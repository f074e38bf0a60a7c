"""`slmagent sandbox`."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from slmagent.cli import main


def test_the_doctor_lists_every_layer(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sandbox"]) == 0
    shown = capsys.readouterr().out
    for word in ("process", "restricted", "limits", "network namespace", "system-call filter"):
        assert word in shown
    assert main(["sandbox", "doctor", "--require", "limits"]) == 0
    assert "limits: process" in capsys.readouterr().out


def test_a_program_is_run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "program.py"
    program.write_text("print(input())")
    assert main(["sandbox", "run", str(program), "--stdin", "hello"]) == 0
    shown = capsys.readouterr()
    assert shown.out == "hello\n"
    assert shown.err.startswith("ok: ")
    monkeypatch.setattr("sys.stdin", io.StringIO("while True: pass"))
    assert main(["sandbox", "run", "-", "--cpu-seconds", "0.2"]) == 1
    assert "cpu_limit (cpu_limit: used more than 0.2 s of CPU time)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "/no/such/file.py"], "cannot run /no/such/file.py"),
        (["run", "-", "--cpu-seconds", "0"], "expected cpu_seconds > 0"),
        (["run", "-", "--backend", "proces"], "did you mean 'process'"),
    ],
)
def test_mistakes_are_told_in_a_line(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("print(1)"))
    assert main(["sandbox", *words]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error
