"""Collects what the default model says to the simulated users of Booking and CustomerService, to be labelled by hand.

    python benchmarks/utterances.py --output utterances.jsonl

The untrained model plays tasks of the `val` split at levels 1 to 4, at temperature 0.7. Its messages without a call, cut
at 48 tokens, are kept, those with the same words once. By hand, a person adds to each row, {"desk", "text"}, which facts are
`asked` for; the labelled rows are tests/data/model_utterances.jsonl.
"""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass
from pathlib import Path

import tyro

from slmagent.agents.episodes import requests_for
from slmagent.agents.models import pull
from slmagent.agents.policy import load_policy
from slmagent.agents.rollout import SamplingConfig, rollout

DESKS = {"booking": "SLMAgent/Booking-v0", "customer_service": "SLMAgent/CustomerService-v0"}
LEVELS = (1, 2, 3, 4)


@dataclass(frozen=True)
class Settings:
    """What to collect."""

    output: Path
    """File to write; must not be there yet, since labels are work."""
    each: int = 240
    """Messages of each desk."""
    tasks: int = 14
    """Tasks of each level to play."""
    model: str = "smollm2-135m"
    """Model that talks."""


def collect(env_id: str, settings: Settings) -> list[str]:
    """Messages of the model in one environment, levels taking turns."""
    policy = load_policy(pull(settings.model), dtype="auto")
    sampling = SamplingConfig(0.7, 48, 1024, 64)
    said: list[list[str]] = []
    for level in LEVELS:
        played = rollout(policy, requests_for(env_id, level, "val", settings.tasks), sampling=sampling)
        texts = [turn.text.strip() for episode in played for turn in episode.turns]
        said.append([text for text in texts if text and "<tool_call>" not in text])
    kept: dict[str, str] = {}
    for text in itertools.chain.from_iterable(itertools.zip_longest(*said)):
        if text is not None:
            kept.setdefault(" ".join(sorted(set(text.lower().split()))), text)
    return list(kept.values())[: settings.each]


def main(settings: Settings) -> None:
    """Collects and writes."""
    if settings.output.exists():
        raise SystemExit(f"{settings.output} is there already; name another file")
    rows = [{"desk": desk, "text": text} for desk, env_id in DESKS.items() for text in collect(env_id, settings)]
    settings.output.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    print(f"{len(rows)} messages in {settings.output}")


if __name__ == "__main__":
    main(tyro.cli(Settings, description=__doc__))
