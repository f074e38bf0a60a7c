"""Fixtures shared by all tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

# Wall-clock limits on single examples only measure how busy the machine is.
settings.register_profile("slmagent", deadline=None)
settings.load_profile("slmagent")


@pytest.fixture(scope="session")
def default_model() -> Path:
    """Folder of SmolLM2-135M-Instruct, fetched if need be; the test is skipped, with the reason, where it cannot be had."""
    from slmagent.agents.models import ModelError, pull

    try:
        return pull()
    except ModelError as problem:
        pytest.skip(str(problem))
