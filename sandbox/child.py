"""What runs inside the fresh process: the program as `__main__`, then its tests; answers go out as lines of JSON.

This file needs the standard library only and imports nothing of ours, so that it can be copied to where the package is
not, such as into a container. Whoever calls `execute` has prepared the process: a private working folder, limits, and
the descriptors 0, 1 and 2. Expected values never come here. An answer says what happened, and is compared outside, so
there is nothing here that a program could turn to its advantage, though it can reach all of it.

Lines on the answers' descriptor, in this order; whatever the program adds or leaves out is the asking side's to judge:
    {"program": null | ERROR}                                how the program ended
    {"test": 0, "shown": TEXT, "value": VALUE, ...}          one for each test that came to its end; with `raised` instead
                                                             of `value` when it raised
    {"rejected": ERROR}                                      a policy refused the program before it ran
ERROR is {"type", "message", "line", "names"}; VALUE is what `encode` makes.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import gc
import importlib
import io
import json
import linecache
import os
import random
import sys
import tempfile
import traceback
import types
from collections.abc import Callable
from typing import Any

FILE = "/work/main.py"
MAX_DEPTH = 100
MAX_PARTS = 200_000
MAX_TEXT = 1_000_000
"""A value with more nesting, parts or characters than this is sent as its shortened `repr`."""
REPR_CHARS = 400


class Rejected(Exception):
    """Raised by a policy that refuses a program; `line` is where, counted from 1."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


Policy = Callable[[str, str], tuple[types.CodeType, dict[str, Any]]]
"""(source, file name) -> code to execute, and what its namespace holds at first; raises `Rejected` or SyntaxError."""


# ---- values -----------------------------------------------------------------------------------------------------------


class _TooLarge(Exception):
    pass


def encode(value: Any) -> Any:
    """Turns a value into what `json.dumps` takes, with its exact types.

    None, bool, int, float, complex, str, bytes, list, tuple, dict, set and frozenset, nested, are kept; anything else
    (subclasses of these, too) becomes `{"opaque": TEXT}` where it stands.
    """
    try:
        return _encode(value, MAX_DEPTH, [MAX_PARTS, MAX_TEXT])
    except (_TooLarge, RuntimeError):  # RuntimeError: changed by another thread meanwhile
        return {"opaque": f"<{type(value).__name__} that is too large to compare>"}


def _encode(value: Any, depth: int, left: list[int]) -> Any:
    kind = type(value)
    left[0] -= 1
    if depth < 0 or left[0] < 0:
        raise _TooLarge
    if value is None or kind is bool:
        return value
    if kind is int:
        if -(2**53) < value < 2**53:
            return value
        left[1] -= value.bit_length() // 4
        if left[1] < 0:
            raise _TooLarge
        return {"int": hex(value)}  # hexadecimal: the number of decimal digits is limited
    if kind is float:
        return {"float": value.hex()}
    if kind is complex:
        return {"complex": [value.real.hex(), value.imag.hex()]}
    if kind is str or kind is bytes:
        left[1] -= len(value)
        if left[1] < 0:
            raise _TooLarge
        return value if kind is str else {"bytes": value.hex()}
    if kind is list:
        return [_encode(item, depth - 1, left) for item in value]
    if kind is dict:
        return {"dict": [[_encode(key, depth - 1, left), _encode(item, depth - 1, left)] for key, item in value.items()]}
    if kind in (tuple, set, frozenset):
        return {kind.__name__: [_encode(item, depth - 1, left) for item in value]}
    return {"opaque": _text(repr, value)[:REPR_CHARS]}


def _text(function: Callable[[Any], str], value: Any) -> str:
    """A `repr` or `str` that the program may have written, and written badly."""
    try:
        return str(function(value))
    except (KeyboardInterrupt, SystemExit, MemoryError, Exception) as problem:
        return f"<{type(value).__name__} whose {function.__name__} raises {type(problem).__name__}>"


# ---- running ----------------------------------------------------------------------------------------------------------


def execute(
    code: str,
    tests: list[str],
    answers: int,
    *,
    policy: Policy | None = None,
    file: str = FILE,
    capture_chars: int = 100_000,
) -> int:
    """Runs a program and its tests in this process, which should end right after, with `leave`.

    Args:
        code: Python source.
        tests: Source of each test; all run in the program's namespace.
        answers: Descriptor to write answers to.
        policy: Compiles in place of `compile` and supplies the namespace.
        file: Path of the program as it sees itself; the file is written into the working folder, which should be the
            folder of this path.
        capture_chars: Characters of a test's output to send at most.

    Returns:
        Exit code: 0, or what the program asked for, or 1 after an exception.
    """
    _open_streams()
    module = types.ModuleType("__main__")
    module.__dict__.update(__builtins__=builtins, __file__=file, __annotations__={}, __cached__=None)
    sys.modules["__main__"] = module
    sys.argv = [file]
    sys.orig_argv[:] = [sys.executable, file]
    folder = os.getcwd()
    sys.path.insert(0, folder)
    _show_source(file, code)
    # What is not seeded is the same in every run: outputs repeat.
    random.seed(0)
    capture = tempfile.TemporaryFile(dir=folder, buffering=0) if tests else None  # noqa: SIM115 - lives as long as we
    try:
        if policy is None:
            compiled = compile(code, file, "exec", dont_inherit=True)
        else:
            compiled, names = policy(code, file)
            module.__dict__.update(names)
    except Rejected as refusal:
        _send(answers, {"rejected": describe(refusal, file) | {"line": refusal.line}})
        return 0
    except BaseException as problem:
        return _fail(problem, file, answers)
    gc.enable()
    try:
        exec(compiled, module.__dict__)
    except SystemExit as stop:
        if stop.code is not None and stop.code != 0:
            return _fail(stop, file, answers)
    except BaseException as problem:
        return _fail(problem, file, answers)
    _flush()
    _send(answers, {"program": None})
    for number, test in enumerate(tests):
        assert capture is not None
        _send(answers, {"test": number} | _run_test(test, number, module.__dict__, capture.fileno(), capture_chars, file))
    return 0


def leave(code: int) -> None:
    """Ends the process as an interpreter does: threads joined, exit functions called, the program's names let go."""
    import atexit
    import threading

    try:
        threading._shutdown()  # type: ignore[attr-defined]  # what the interpreter itself calls
        atexit._run_exitfuncs()
        names = sys.modules["__main__"].__dict__
        for name in [name for name in names if name[:1] == "_" and name[:2] != "__"] + [*names]:
            if name != "__builtins__":
                names[name] = None
        gc.collect()
    except BaseException:
        traceback.print_exc()
    _flush()
    os._exit(code)


def open_stdin(text: str) -> None:
    """Makes descriptor 0 a file with this text, in the working folder but without a name; for whoever calls `execute`."""
    if not text:
        return  # what the caller has put there is empty
    with tempfile.TemporaryFile(dir=os.getcwd()) as file:
        file.write(text.encode("utf-8", "surrogatepass"))
        file.seek(0)
        os.dup2(file.fileno(), 0)


def _open_streams() -> None:
    """Fresh `sys.stdin`, `sys.stdout` and `sys.stderr` on the descriptors as they are now, line-buffered as in a terminal."""
    for name, number, mode in (("stdin", 0, "r"), ("stdout", 1, "w"), ("stderr", 2, "w")):
        raw = io.FileIO(number, mode, closefd=False)
        raw.name = f"<{name}>"
        buffer = io.BufferedReader(raw) if mode == "r" else io.BufferedWriter(raw)
        errors = "backslashreplace" if name == "stderr" else "strict"
        stream = io.TextIOWrapper(buffer, "utf-8", errors, line_buffering=mode == "w")
        stream.mode = mode  # type: ignore[attr-defined]  # as the interpreter's own have it
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _show_source(file: str, code: str) -> None:
    """Lets tracebacks and `inspect` find the source."""
    try:
        with open(os.path.basename(file), "w", encoding="utf-8", newline="") as stream:
            stream.write(code)
    except (OSError, UnicodeEncodeError):
        pass  # a full folder, or no text: the program, or compiling it, will say so
    if not os.path.exists(file):
        linecache.cache[file] = (len(code), None, code.splitlines(keepends=True), file)


def _fail(problem: BaseException, file: str, answers: int) -> int:
    """Shows an exception as the interpreter does and answers with it; returns the exit code."""
    _send(answers, {"program": describe(problem, file)})
    if isinstance(problem, SystemExit):
        if isinstance(problem.code, int):
            _flush()
            return problem.code & 0xFF
        print(problem.code, file=sys.stderr)
        _flush()
        return 1
    trace = problem.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    problem.__traceback__ = trace
    try:
        sys.excepthook(type(problem), problem, trace)
    except BaseException:
        traceback.print_exc()
    _flush()
    return 1


def describe(problem: BaseException, file: str) -> dict[str, Any]:
    """An exception as an answer: type, message, line of the program, names of all its classes."""
    kind = type(problem)
    line = problem.lineno if isinstance(problem, SyntaxError) and problem.filename == file else None
    trace = problem.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == file:
            line = trace.tb_lineno
        trace = trace.tb_next
    names = []
    for base in kind.__mro__:
        names += [base.__name__, f"{base.__module__}.{base.__qualname__}"]
    return {"type": kind.__name__, "message": _text(str, problem)[:2000], "line": line, "names": names}


def _run_test(code: str, number: int, names: dict[str, Any], capture: int, limit: int, file: str) -> dict[str, Any]:
    """Runs one test with descriptor 1 led into `capture`: what was shown, and the last value or what was raised."""
    _flush()
    before = os.dup(1)
    os.ftruncate(capture, 0)
    os.lseek(capture, 0, os.SEEK_SET)
    os.dup2(capture, 1)
    shown = ""
    try:
        value = _evaluate(code, f"<test {number + 1}>", names)
        answer = {"value": encode(value)}
        if value is not None:
            shown = f"{value!r}\n"
    except BaseException as problem:
        answer = {"raised": describe(problem, file)}
    finally:
        _flush()
        os.dup2(before, 1)
        os.close(before)
    printed = os.pread(capture, 4 * limit, 0).decode("utf-8", "replace")
    return {"shown": (printed + shown)[:limit]} | answer


def _evaluate(code: str, name: str, names: dict[str, Any]) -> Any:
    """Executes statements; gives the value of the last one when it is an expression, else None."""
    tree = ast.parse(code, name)
    linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec", dont_inherit=True), names)
    if not isinstance(last, ast.Expr):
        return None
    return eval(compile(ast.Expression(last.value), name, "eval", dont_inherit=True), names)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, OSError, ValueError):  # closed or replaced by the program, or nobody reads it
            stream.flush()


def _send(answers: int, answer: dict[str, Any]) -> None:
    line = memoryview(json.dumps(answer).encode() + b"\n")
    while line:
        line = line[os.write(answers, line) :]


def load_policy(name: str | None) -> Policy | None:
    """Finds a policy by `module:attribute`."""
    if name is None:
        return None
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(module), attribute)
