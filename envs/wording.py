"""How an expert suits its words to the user it talks to."""

from __future__ import annotations

from slmagent.scenarios.personas import PERSONAS


def one_of(persona: str, *, terse: str, plain: str, playful: str, full: str) -> str:
    """The wording that a persona likes: playful for the humorous, else by how much it talks itself."""
    traits = PERSONAS[persona]
    if traits.humour >= 0.5:
        return playful
    if traits.verbosity <= 0.2:
        return terse
    return full if traits.verbosity >= 0.8 else plain
