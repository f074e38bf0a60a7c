"""The repository keeps its promises: packages, import layers, a light core, an honest wheel, documented names."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from email.parser import Parser
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
FOLDERS = ("agents", "envs", "evaluation", "rewards", "sandbox", "scenarios", "trainers")
PACKAGES = ("slmagent", *FOLDERS)
HEAVY = {"torch", "transformers", "peft", "trl", "accelerate", "datasets", "tokenizers", "gguf", "safetensors"}
PLOTTING = {"matplotlib", "scipy", "jinja2", "plotly"}

OPEN_TO_ALL = {
    "slmagent.types",
    "slmagent.errors",
    "slmagent.fetching",
    "slmagent.plain",
    "slmagent.records",
    "slmagent.config",
    "slmagent.endpoint",
    "slmagent.__version__",
}
MAY_IMPORT = {
    "scenarios": {"scenarios"},
    "sandbox": {"sandbox"},
    "rewards": {"rewards", "scenarios", "sandbox"},
    "envs": {"envs", "scenarios", "sandbox", "rewards"},
    "agents": {"agents"},
    "trainers": {"trainers", "scenarios", "sandbox", "rewards", "envs", "agents"},
    "evaluation": set(FOLDERS),
}
"""Folder -> folders of ours it may import."""
MODEL_FILES = {f"agents/{name}.py" for name in ("chat", "convert", "generation", "kv_cache", "policy", "rollout")}
"""The files of agents/ that know torch; all others run without it."""


def sources(folder: str) -> list[Path]:
    """Python files of a folder, as paths below the root."""
    return sorted(path.relative_to(ROOT) for path in (ROOT / folder).rglob("*.py"))


def installed(path: Path) -> str:
    """Where a file or folder of the repository lies in site-packages."""
    return path.as_posix() if path.parts[0] == "slmagent" else f"slmagent/{path.as_posix()}"


def imports(path: Path, *, top_only: bool = False) -> Iterator[str]:
    """Modules that a file imports, anywhere in it or only when it is imported itself; not those for type checkers."""
    tree = ast.parse((ROOT / path).read_text())
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
            continue
        if top_only and isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative import; absolute ones only"
            module = node.module or ""
            yield from ((f"{module}.{alias.name}" for alias in node.names) if module == "slmagent" else [module])
        pending.extend(ast.iter_child_nodes(node))


# ---- packages -------------------------------------------------------------------------------------------------------


def test_package_list_is_what_is_there() -> None:
    listed = PYPROJECT["tool"]["setuptools"]["packages"]
    folders = {path.parent for folder in PACKAGES for path in sources(folder)}
    assert set(listed) == {installed(folder).replace("/", ".") for folder in folders}
    assert all((ROOT / folder / "__init__.py").is_file() for folder in folders)
    assert PYPROJECT["tool"]["setuptools"]["package-dir"] == {
        "slmagent": "slmagent",
        **{f"slmagent.{folder}": folder for folder in FOLDERS},
    }


def test_type_checkers_find_every_package() -> None:
    links = {link.name: os.readlink(link) for link in (ROOT / "typings" / "slmagent").iterdir()}
    assert links == {folder: f"../../{folder}" for folder in FOLDERS}


@pytest.mark.parametrize("folder", PACKAGES)
def test_files_can_be_read_in_one_sitting(folder: str) -> None:
    lengths = {path: len((ROOT / path).read_text().splitlines()) for path in sources(folder)}
    assert {path: lines for path, lines in lengths.items() if lines > 400} == {}


# ---- layers ---------------------------------------------------------------------------------------------------------


def layer(module: str) -> str | None:
    """The folder behind `slmagent.<folder>...`, None for what is open to all or not ours."""
    parts = module.split(".")
    if parts[0] != "slmagent" or module in OPEN_TO_ALL or ".".join(parts[:2]) in OPEN_TO_ALL:
        return None
    return parts[1] if len(parts) > 1 else "slmagent"


@pytest.mark.parametrize("folder", FOLDERS)
def test_import_layers_hold(folder: str) -> None:
    wrong = [
        f"{path} imports {module}"
        for path in sources(folder)
        for module in imports(path)
        if layer(module) is not None and layer(module) not in MAY_IMPORT[folder]
    ]
    assert wrong == []


def test_the_modules_open_to_all_need_nothing() -> None:
    for name in OPEN_TO_ALL:
        path = Path(name.replace(".", "/") + ".py")
        if not (ROOT / path).is_file():
            continue
        for module in imports(path, top_only=True):
            assert module in OPEN_TO_ALL or module.partition(".")[0] in sys.stdlib_module_names, f"{path}: {module}"


@pytest.mark.parametrize("folder", ["scenarios", "sandbox", "rewards", "envs", "agents"])
def test_torch_stays_in_the_model_files(folder: str) -> None:
    wrong = [
        f"{path} imports {module}"
        for path in sources(folder)
        if path.as_posix() not in MODEL_FILES
        for module in imports(path)
        if module.partition(".")[0] in HEAVY
    ]
    assert wrong == []


def test_plots_and_command_lines_stay_in_their_places() -> None:
    for folder in FOLDERS:
        for path in sources(folder):
            roots = {module.partition(".")[0] for module in imports(path)}
            assert folder == "evaluation" or not roots & PLOTTING, path
            assert "tyro" not in roots, path


def test_nobody_imports_a_bare_folder() -> None:
    for folder in (*PACKAGES, "tests", "examples", "benchmarks"):
        for path in sources(folder):
            bare = {module.partition(".")[0] for module in imports(path)} & set(FOLDERS)
            assert not bare, f"{path} imports {bare}; use slmagent.<folder>"


# ---- a light core ---------------------------------------------------------------------------------------------------

EPISODE = """
import sys, time
started = time.process_time()
import slmagent
imported = time.process_time() - started
import gymnasium
import slmagent.agents.endpoint, slmagent.agents.human
from slmagent.agents.episodes import requests_for, run_episodes
from slmagent.agents.scripted import ExpertAgent
for env_id in [id for id in gymnasium.registry if id.startswith("SLMAgent/")]:
    (played,) = run_episodes(ExpertAgent, requests_for(env_id, 0, "train", 1))
    assert played.success, played
heavy = {name.partition(".")[0] for name in sys.modules} & set(sys.argv[1:])
assert not heavy, heavy
print(imported)
"""


def test_environments_run_without_torch_and_import_within_a_second_of_cpu_time() -> None:
    command = [sys.executable, "-c", EPISODE, *sorted(HEAVY | PLOTTING)]
    seconds = []
    for _ in range(3):
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        seconds.append(float(done.stdout))
    assert min(seconds) < 1.0, seconds


# ---- the wheel ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built from a copy of the sources, so that nothing is left behind in the repository."""
    copy = tmp_path_factory.mktemp("source")
    for name in (*PACKAGES, "tests", "examples"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    out = tmp_path_factory.mktemp("wheel")
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--wheel-dir",
        str(out),
        ".",
    ]
    done = subprocess.run(command, cwd=copy, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return next(out.glob("*.whl"))


def test_the_wheel_holds_the_packages_and_nothing_else(wheel: Path) -> None:
    names = {name for name in zipfile.ZipFile(wheel).namelist() if not name.endswith("/")}
    info = {name for name in names if ".dist-info/" in name}
    data = [path for folder in PACKAGES for kind in ("*.j2", "*.toml") for path in (ROOT / folder).rglob(kind)]
    expected = {installed(path) for folder in PACKAGES for path in sources(folder)} | {"slmagent/py.typed"}
    expected |= {installed(path.relative_to(ROOT)) for path in data}
    assert names - info == expected
    assert any(name.endswith("licenses/LICENSE") for name in info)


def test_the_core_does_not_depend_on_torch(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = Parser().parsestr(archive.read(name).decode())
    required = metadata.get_all("Requires-Dist") or []
    core = {re.split(r"[ <>=!~;\[]", line)[0] for line in required if "extra ==" not in line}
    assert core == {"gymnasium", "pydantic", "numpy", "tyro", "rich", "httpx"}
    assert set(metadata.get_all("Provides-Extra") or []) >= {"train", "docker", "embed", "all", "dev"}
    assert metadata["License-Expression"] == "Apache-2.0"


def test_an_installed_wheel_is_not_shadowed_by_the_repository(wheel: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(site)
    code = "import slmagent, slmagent.envs.base; print(slmagent.__file__); print(slmagent.envs.base.__file__)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env={**os.environ, "PYTHONPATH": str(site)}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    front, base = done.stdout.split()
    assert Path(front) == ROOT / "slmagent" / "__init__.py"  # python -c looks into the current folder first
    assert Path(base) == site / "slmagent" / "envs" / "base.py"


# ---- names and words ------------------------------------------------------------------------------------------------


def undocumented(path: Path) -> Iterator[str]:
    """Public functions, classes and methods without a docstring, and the module itself."""
    tree = ast.parse((ROOT / path).read_text())
    if not ast.get_docstring(tree):
        yield str(path)
    pending: list[tuple[str, ast.AST]] = [("", tree)]
    while pending:
        prefix, parent = pending.pop()
        for node in ast.iter_child_nodes(parent):
            if isinstance(node, (ast.If, ast.Try)):
                pending.append((prefix, node))
            if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) or node.name.startswith("_"):
                continue
            if any(ast.unparse(decorator).endswith(("overload", ".setter")) for decorator in node.decorator_list):
                continue
            if not ast.get_docstring(node):
                yield f"{path}:{node.lineno}: {prefix}{node.name}"
            if isinstance(node, ast.ClassDef):
                pending.append((f"{prefix}{node.name}.", node))


@pytest.mark.parametrize("folder", PACKAGES)
def test_public_names_have_docstrings(folder: str) -> None:
    assert [name for path in sources(folder) for name in undocumented(path)] == []


def test_the_licence_is_the_whole_apache_text() -> None:
    text = (ROOT / "LICENSE").read_text()
    assert "Version 2.0, January 2004" in text
    assert "END OF TERMS AND CONDITIONS" in text
    assert PYPROJECT["project"]["license"] == "Apache-2.0"


def test_the_tree_of_the_readme_names_everything_and_nothing_else() -> None:
    block = re.search(r"```text\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert block is not None
    named: set[str] = set()
    folder = ""
    for line in block[1].splitlines():
        indent, name = len(line) - len(line.lstrip()), line.split()[0]
        assert len(line.split()) > 1, f"{name} is not explained"
        folder = folder if indent else (name if name.endswith("/") else "")
        path = folder + name if indent else name
        assert path not in named, f"{path} is named twice"
        named.add(path)
    missing = sorted(name for name in named if not (ROOT / name).exists())
    assert missing == []
    files = [path for folder in PACKAGES for path in sources(folder)]
    shown = {"/".join(path.parts[:2]) + ("/" if len(path.parts) > 2 else "") for path in files}
    assert sorted(name for name in shown - named if not name.endswith("__init__.py")) == []
