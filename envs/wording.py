"""How an expert suits its words to the user it talks to."""

from __future__ import annotations

from slmagent.scenarios.personas import PERSONAS


def one_of(persona: str, *, terse: str, plain: str, playful: str, full: str, exact: str = "") -> str:
    """The wording that a persona likes: playful for the humorous, exact (if given) for the technical, else by its length."""
    traits = PERSONAS[persona]
    if traits.humour >= 0.5:
        return playful
    if exact and traits.technicality >= 0.5:
        return exact
    if traits.verbosity <= 0.2:
        return terse
    return full if traits.verbosity >= 0.8 else plain
