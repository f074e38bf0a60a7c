"""Runs small programs in a fork of the test process, within the restricted policy or without, and looks at what they hold."""

from __future__ import annotations

import builtins
import io
import json
import os
import re
import resource
import select
import signal
import sys
import tempfile
import types
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slmagent.sandbox import child
from slmagent.sandbox.restricted.compiling import compile_program

FOLDER = Path(__file__).parent / "restricted"
SECONDS = 10.0
POWERS = [getattr(builtins, name) for name in ("open", "eval", "exec", "compile", "__import__", "globals", "locals", "type")]
CLASSES = [io.FileIO, io.TextIOWrapper, types.FunctionType, types.CodeType, types.ModuleType]


def programs(file: str) -> dict[str, str]:
    """Programs of a corpus by name: each begins with a line `### NAME`."""
    parts = re.split(r"^### (.*)\n", (FOLDER / file).read_text(), flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


@dataclass(frozen=True)
class Run:
    answer: dict[str, Any]
    """The first line that `child.execute` sent."""
    output: str
    reached: str
    """What `reached` says of the program's variable `loot`."""


def is_power(obj: Any) -> bool:
    """Whether an object by itself is a way outside: a module, a frame, `open`, the class of open files, a metaclass, ..."""
    kind = type(obj)
    return (
        kind in (types.ModuleType, types.FrameType, types.CodeType)
        or any(obj is power for power in POWERS + CLASSES)
        or (kind is type and issubclass(obj, type))
    )


def reached(loot: Any) -> str:
    """What of the outside a program got hold of, or the empty string."""
    kind = type(loot)
    if is_power(loot):
        return repr(loot)
    if kind is types.BuiltinFunctionType and isinstance(loot.__self__, types.ModuleType) and loot.__self__ is not builtins:
        return f"function of module {loot.__self__.__name__}"
    if kind is dict and (loot is sys.modules or "__builtins__" in loot or "__import__" in loot):
        return "a namespace"
    if kind is list and len(loot) > 50 and all(isinstance(item, type) for item in loot):
        return "all classes"
    if kind is str and "<module 'builtins'" in loot:
        return "text of a namespace"
    return ""


def run(code: str, *, restricted: bool = True, stdin: str = "") -> Run:
    """Runs a program in a process of its own."""
    with (
        tempfile.TemporaryDirectory() as folder,
        tempfile.TemporaryFile("w+") as output,
        tempfile.TemporaryFile("w+") as source,
    ):
        source.write(stdin)
        source.seek(0)
        readable, answers = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                os.chdir(folder)
                os.dup2(source.fileno(), 0)
                os.dup2(output.fileno(), 1)
                os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
                resource.setrlimit(resource.RLIMIT_CPU, (5, 5))
                child.execute(code, [], answers, policy=compile_program if restricted else None, file=f"{folder}/main.py")
                found = reached(sys.modules["__main__"].__dict__.get("loot"))
                os.write(answers, json.dumps({"reached": found}).encode() + b"\n")
                child._flush()
            finally:
                os._exit(0)
        os.close(answers)
        with os.fdopen(readable) as lines:
            if not select.select([lines], [], [], SECONDS)[0]:
                os.kill(pid, signal.SIGKILL)
            sent = [json.loads(line) for line in lines]
        os.waitpid(pid, 0)
        output.seek(0)
        return Run(sent[0] if sent else {}, output.read(), next((part["reached"] for part in sent if "reached" in part), ""))
