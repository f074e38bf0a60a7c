"""docs/results.md says what the committed result files say."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parent.parent


def script(name: str) -> ModuleType:
    """A program of benchmarks/ as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "benchmarks" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_document_is_made_of_the_result_files() -> None:
    """`make docs` writes it."""
    assert script("results_document").document(ROOT / "docs" / "results") == (ROOT / "docs" / "results.md").read_text()


def test_the_document_follows_the_files(tmp_path: Path) -> None:
    for path in (ROOT / "docs" / "results").glob("*.json"):
        text = path.read_text().replace('"SLMAgent/Booking-v0"', '"SLMAgent/Other-v0"')
        (tmp_path / path.name).write_text(text)
    text = script("results_document").document(tmp_path)
    assert "## Other-v0 level 1" in text
    assert "## Booking-v0" not in text


def test_a_level_and_a_note_belong_to_their_section(tmp_path: Path) -> None:
    for kind in (".json", "-settings.json"):
        text = (ROOT / "docs" / "results" / f"booking{kind}").read_text()
        (tmp_path / f"booking-2{kind}").write_text(text.replace('"level": 1', '"level": 2'))
    (tmp_path / "booking-2-note.md").write_text("Why that is so.\n")
    text = script("results_document").document(tmp_path)
    assert "## Booking-v0 level 2" in text
    assert "python benchmarks/results.py --environment booking --seeds 3 --level 2 --no-ablations\n" in text
    assert text.endswith("Why that is so.\n")
