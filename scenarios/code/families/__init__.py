"""Hand-written pieces of code with choices in them; each choice is different work with different tests."""

from slmagent.scenarios.code.families.classes import CLASS_FAMILIES
from slmagent.scenarios.code.families.data import DATA_FAMILIES
from slmagent.scenarios.code.families.numbers import NUMBER_FAMILIES
from slmagent.scenarios.code.families.sequences import SEQUENCE_FAMILIES
from slmagent.scenarios.code.families.text import TEXT_FAMILIES
from slmagent.scenarios.code.families.unfamiliar import UNFAMILIAR_FAMILIES
from slmagent.scenarios.code.families.unfamiliar_classes import CLASS_FAMILIES_OOD

FAMILIES = (*NUMBER_FAMILIES, *TEXT_FAMILIES, *DATA_FAMILIES, *SEQUENCE_FAMILIES)
"""Functions of train, val and test."""
FAMILIES_OOD = UNFAMILIAR_FAMILIES
"""Functions of `ood`."""

__all__ = ["CLASS_FAMILIES", "CLASS_FAMILIES_OOD", "FAMILIES", "FAMILIES_OOD"]
