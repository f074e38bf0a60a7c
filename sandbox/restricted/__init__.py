"""Refuses at once, and says why: a written policy for programs, checked before they run and guarded while they do.

For quick answers and small expressions; never the only layer for programs that nobody trusts.

Allowed:
    * All statements and expressions of Python but those named below: functions, generators, closures, classes, decorators,
      `match`, `with`, `try`, `except*`, comprehensions, f-strings, annotations, assignment of every form.
    * Public attributes, and private ones (`self._items`, `self.__items`) of what the program defines itself.
    * The special methods of `names.DEFINABLE`, and reading the special names of `names.READABLE`.
    * Built-in functions but those of `names.REFUSED_BUILTINS`; `getattr` and its like keep to the same rules as the dot, `type`
      takes one argument.
    * Imports of the modules in `modules.EXPOSED`. What they hand out is listed name by name or is their public interface
      without modules; nothing inside them can be assigned to.
Refused before the run, with the line and what to write instead:
    * `async`, `await`; imports of other modules; `eval`, `exec`, `compile`, `open`, `globals`, `locals`, ...
    * Other special names, as attribute, variable, method or pattern; names that lead into frames, code and tracebacks.
    * Programs of more than `compiling.MAX_CHARS` characters or nested too deeply; what is no Python.
Refused while it runs, with an ordinary exception:
    * Private attributes of what the program did not define; assigning attributes of it.
    * Metaclasses but ABCMeta, `register` of abstract classes, subclasses of exception groups or of classes not handed out,
      private and special names in format strings, annotations in quotes where they would be evaluated.

Behaves differently from plain Python:
    * `type(x)` of any class is `type`; the classes of classes are not shown. `typing.get_type_hints` evaluates nothing.
    * `functools.wraps` copies name, documentation and attributes, not annotations; `__annotations__` is read as a copy.
    * A dataclass with a private field has no positional patterns unless it asks for them.
    * `sys.stdin`, `sys.stdout` and `sys.stderr` read and write text and do nothing else.

It stops no loop, no memory bomb and no bug of the interpreter: `backend.RestrictedSandbox` therefore runs what passes in the
`process` backend. How the files fit together: `policy` rewrites the program, `guards` are what it then calls, `names` holds the
tables, `modules` and `library` what can be imported, `compiling` joins them for the process that runs the program.
"""
