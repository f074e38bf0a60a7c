"""Which names a program may define, read and call. Pure tables and predicates."""

from __future__ import annotations

import types


def words(text: str) -> list[str]:
    """The words of a text: tables of names read better so."""
    return text.split()


ARITHMETIC = words("add sub mul matmul truediv floordiv mod divmod pow lshift rshift and xor or")
METHODS = words("""
    init new post_init repr str bytes format hash bool int float complex index round trunc floor ceil sizeof dir
    eq ne lt le gt ge len length_hint contains iter next reversed getitem setitem delitem missing call enter exit
    neg pos abs invert copy deepcopy reduce reduce_ex getstate setstate getnewargs getattr setattr delattr set_name
    init_subclass class_getitem fspath del get set delete
""")
DEFINABLE = frozenset(
    [f"__{name}__" for name in METHODS] + [f"__{side}{name}__" for side in ("", "r", "i") for name in ARITHMETIC]
)
"""Special methods a class may have. Left out are those by which the interpreter or the library trusts an object about
itself: `__getattribute__`, `__class__`, `__prepare__`, `__mro_entries__`, `__instancecheck__`, ..."""

BINDABLE = DEFINABLE | {"__slots__", "__all__", "__author__", "__version__", "__doc__"}
"""Special names that may be assigned to as variables, in a class or outside."""

_ONLY_DEFINABLE = words("""
    __get__ __set__ __delete__ __del__ __getattr__ __setattr__ __delattr__ __set_name__ __class_getitem__
    __reduce__ __reduce_ex__ __getstate__ __setstate__
""")
READABLE = DEFINABLE.difference(_ONLY_DEFINABLE) | {
    "__name__",
    "__qualname__",
    "__doc__",
    "__module__",
    "__cause__",
    "__context__",
    "__notes__",
    "__members__",
    "__slots__",
    "__match_args__",
}
"""Special attributes that may be read from everything."""

GUARDED = frozenset(
    ["__class__", "__dict__", "__mro__", "__bases__", "__base__", "__annotations__", "__setattr__", "__delattr__"]
)
"""Special attributes with a rule of their own in `guards`."""

WRITABLE = DEFINABLE | {"__name__", "__qualname__", "__doc__"}
"""Special attributes that may be assigned to, on what the program defines."""

INSPECTING = frozenset(
    name
    for kind in (
        types.FrameType,
        types.CodeType,
        types.TracebackType,
        types.GeneratorType,
        types.CoroutineType,
        types.AsyncGeneratorType,
    )
    for name in dir(kind)
    if name.startswith(("f_", "co_", "tb_", "gi_", "cr_", "ag_"))
)
"""Attributes of frames, code, tracebacks and generators that lead to the world outside; taken from the interpreter itself."""

UNMATCHABLE = frozenset(["format", "format_map", "register", "mro", "obj"])
"""Public attributes with a rule of their own; patterns read attributes unguarded, so they may not name these."""

REFUSED_BUILTINS = {
    "eval": "call functions instead; ast.literal_eval reads literals",
    "exec": "write the statements out",
    "compile": "write the statements out",
    "open": "there are no files; io.StringIO holds text in memory",
    "__import__": "use an import statement",
    "globals": "keep a dictionary of your own",
    "locals": "keep a dictionary of your own",
    "breakpoint": "print what you want to see",
    "help": "print what you want to see",
    "memoryview": "use bytes or bytearray",
    "__build_class__": "use a class statement",
    "__loader__": "use an import statement",
    "__spec__": "use an import statement",
    "__builtins__": "name the function itself",
}
"""Built-in names that are absent -> what to do instead."""


def is_special(name: str) -> bool:
    """Whether a name has two underscores at both ends and something between."""
    return len(name) > 4 and name.startswith("__") and name.endswith("__")


def is_plain(name: str) -> bool:
    """Whether an attribute of this name may be read from any object without a guard."""
    return not name.startswith("_") and name not in INSPECTING and name not in UNMATCHABLE


def mangled(name: str, class_name: str | None) -> str:
    """The name an attribute has at run time: inside a class, `__x` stands for `_Class__x`."""
    bare = (class_name or "").lstrip("_")
    return f"_{bare}{name}" if bare and name.startswith("__") and not name.endswith("__") else name
