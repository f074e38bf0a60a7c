"""Repair tasks from a git history: a commit's change of one function, undone, with the tests that notice."""

from __future__ import annotations

import ast
import io
import subprocess
import tarfile
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from slmagent.errors import UsageError
from slmagent.scenarios.code.mining.completions import MAX_LINES
from slmagent.scenarios.code.mining.holes import Function, body_hole, functions, has_docstring
from slmagent.scenarios.code.mining.opening import Judge, open_target
from slmagent.scenarios.code.mining.slicing import UnusableError
from slmagent.scenarios.code.mining.snippets import bound, names
from slmagent.scenarios.code.mining.targets import Summary, Target, find_targets
from slmagent.scenarios.code.mining.trees import Tree, parse, tree_of
from slmagent.scenarios.code.records import CodeTask

_MOST_EDITS = 5
"""A commit that changes more functions of a file is a rewrite; its old bodies rarely fit."""
_HASH_DIGITS = 10


@dataclass(frozen=True, slots=True)
class Edit:
    """A function before a commit."""

    commit: str
    path: PurePosixPath
    """Below the top of the repository."""
    name: str
    """`f` or `Class.method`."""
    old_body: str
    """Without the indentation of its first line, as in `Hole.reference`."""
    old_names: frozenset[str]
    """Names at the top of the old file that the old function mentions."""


def commits(repository: Path, count: int) -> list[str]:
    """The last commits that changed Python files at or below a path, newest first; merges are left out.

    Raises:
        UsageError: It lies in no git repository, the repository has no commit, or git is not installed.
    """
    if not repository.exists():
        raise UsageError(f"expected a folder in a git repository, actual {repository}: it does not exist")
    pathspec = "." if repository.is_dir() else repository.name
    log = _git(_folder(repository), "log", "--no-merges", "--diff-filter=M", "--format=%H", f"-n{count}", "--", pathspec)
    return log.decode().split()


def mine_commit(
    repository: Path, commit: str, judge: Judge, summary: Summary, *, max_lines: int = MAX_LINES, have: Collection[str] = ()
) -> Iterator[CodeTask]:
    """Repair tasks from one commit; each has been run.

    Args:
        repository: A path in the repository; changes elsewhere are left out.
        commit: Its hash.
        judge: Runs code.
        summary: Counts changed functions, candidates, tasks and what is left out.
        max_lines: Length of a file, cut down, that is still of use.
        have: Names of tasks that exist.
    """
    found = list(_edits(repository, commit, summary))
    found = [edit for edit in found if not any(f".{edit.name}-{commit[:_HASH_DIGITS]}-repair" in name for name in have)]
    if not found:
        return
    tree = _tree_at(repository, commit)
    by_path = {module.path: module for module in tree.modules.values()}
    edits = {f"{by_path[edit.path].name}.{edit.name}": edit for edit in found if edit.path in by_path}
    within = Summary()
    for target in find_targets(tree, within, lambda: None, only=edits.keys()):
        summary.tested += 1
        summary.candidates["repair"] += 1
        edit = edits[target.full_name]
        try:
            task = _task(tree, target, edit, judge, summary, max_lines)
        except UnusableError as problem:
            summary.skipped[str(problem)] += 1
            continue
        problems = judge.problems(task)
        if problems:
            summary.skipped[f"task: {problems[0].partition(':')[0]}"] += 1
        else:
            summary.tasks["repair"] += 1
            yield task
    summary.skipped.update({why: count for why, count in within.skipped.items() if why.startswith("function")})
    summary.skipped["edit: no usable test about the function"] += len(edits) - within.tested


def _task(tree: Tree, target: Target, edit: Edit, judge: Judge, summary: Summary, max_lines: int) -> CodeTask:
    if not edit.old_names <= target.module.names:
        raise UnusableError("edit: the old body needs names that are gone")
    opened = open_target(tree, target, judge, summary.skipped, max_lines=max_lines, also=edit.old_names)
    hole = body_hole(opened.source, opened.function)
    return CodeTask(
        name=f"{target.full_name}-{edit.commit[:_HASH_DIGITS]}-repair",
        kind="repair",
        file_name=target.module.path.name,
        before=hole.before,
        reference=hole.reference,
        after=hole.after,
        request=f"`{target.name}` fails its tests. Repair its body.",
        checks=(*opened.shown, *opened.hidden),  # the fault may show in the shown ones alone
        examples=opened.shown,
        broken=edit.old_body,
    )


def _edits(repository: Path, commit: str, summary: Summary) -> Iterator[Edit]:
    """The functions whose bodies a commit changed while their signatures stayed."""
    folder = _folder(repository)
    pathspec = "." if repository.is_dir() else repository.name
    listed = _git(folder, "diff-tree", "-r", "-z", "--no-commit-id", "--name-only", "--diff-filter=M", commit, "--", pathspec)
    for path in listed.decode(errors="surrogateescape").split("\0"):
        if not path.endswith(".py"):
            continue
        before, after = (tree_of([(PurePosixPath(path), _blob(folder, at, path))]) for at in (f"{commit}^", commit))
        if not before.modules or not after.modules:
            summary.skipped.update(after.skipped or before.skipped)
            continue
        (old,), (new,) = before.modules.values(), after.modules.values()
        if new.is_test:
            continue
        was = dict(functions(old.syntax))
        changed = [name for name, function in functions(new.syntax) if name in was and _body(function) != _body(was[name])]
        summary.functions += len(changed)
        if len(changed) > _MOST_EDITS:
            summary.skipped["edit: one of many functions changed at once"] += len(changed)
            continue
        now = dict(functions(new.syntax))
        for name in changed:
            try:
                yield _edit(commit, PurePosixPath(path), name, old.text, was[name], now[name])
            except UnusableError as problem:
                summary.skipped[str(problem)] += 1


def _edit(commit: str, path: PurePosixPath, name: str, old_text: str, old: Function, new: Function) -> Edit:
    if ast.dump(old.args) != ast.dump(new.args) or type(old) is not type(new):
        raise UnusableError("edit: the signature changed")
    top = set[str]().union(*map(bound, parse(old_text).body))
    return Edit(commit, path, name, body_hole(old_text, old).reference, frozenset(names(old) & top))


def _body(function: Function) -> list[str]:
    """A body without docstring, comments and layout."""
    return [ast.dump(statement) for statement in function.body[has_docstring(function) :]]


def _tree_at(repository: Path, commit: str) -> Tree:
    """All Python files of a commit."""
    top = Path(_git(_folder(repository), "rev-parse", "--show-toplevel").decode(errors="surrogateescape").rstrip("\n"))
    with tarfile.open(fileobj=io.BytesIO(_git(top, "archive", "--format=tar", commit))) as archive:
        members = [member for member in archive if member.isfile() and member.name.endswith(".py")]
        files = [(PurePosixPath(member.name), archive.extractfile(member)) for member in members]
        return tree_of((path, file.read() if file else None) for path, file in files)


def _blob(folder: Path, commit: str, path: str) -> bytes:
    return _git(folder, "cat-file", "blob", f"{commit}:{path}")


def _folder(repository: Path) -> Path:
    return repository if repository.is_dir() else repository.parent


def _git(folder: Path, *arguments: str) -> bytes:
    """What a git command prints.

    Raises:
        UsageError: It failed, or git is not installed.
    """
    try:
        done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, check=False)
    except FileNotFoundError:
        raise UsageError("expected git to read the history with, actual: it is not installed") from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines() or ["no message"]
        raise UsageError(f"expected a folder in a git repository with commits, actual {folder}: {said[0]}")
    return done.stdout
