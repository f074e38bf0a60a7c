"""How a persona puts things: choice of words, contractions, dropped articles, typos - and never the same sentence twice.

Manner is applied to lines before values are filled in, and typos only to words of a fixed list, so facts are never garbled.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

import numpy as np

from slmagent.scenarios.code.lines import CODE_LINES
from slmagent.scenarios.inquiry_lines import INQUIRY_LINES
from slmagent.scenarios.lines import ASIDES, GREETINGS, LEADS, LINES
from slmagent.scenarios.personas import Persona
from slmagent.scenarios.typos import TYPO_WORDS, misspell

_LINES = {**LINES, **INQUIRY_LINES, **CODE_LINES}
CROSS_BELOW = -0.4
"""Mood below which users sound cross."""
_WORD = re.compile(r"(?<![{\w'-])[a-z]+(?![\w'-])")
"""A whole lower-case word that is no placeholder."""
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_CONTRACTIONS = {
    "I am": "I'm", "do not": "don't", "does not": "doesn't", "did not": "didn't", "that is": "that's", "it is": "it's",
    "is not": "isn't", "cannot": "can't", "I would": "I'd", "I will": "I'll", "what is": "what's", "let us": "let's",
    "you are": "you're", "have not": "haven't", "has not": "hasn't", "there is": "there's",
}  # fmt: skip
_FULL_FORM = re.compile(r"\b(?:" + "|".join(_CONTRACTIONS) + r")\b(?!$)")
_ARTICLE = re.compile(r"\b(?:the|an?) ")


@lru_cache(maxsize=64)
def _manners(persona: Persona) -> tuple[str, ...]:
    """Manners of lines that suit a persona, the best first; `plain` suits all."""
    wanted = (
        ("broken", persona.fluency < 0.5),
        ("unsure", persona.confusion >= 0.5),
        ("terse", persona.verbosity <= 0.2),
        ("wordy", persona.verbosity >= 0.8),
        ("formal", persona.formality >= 0.6),
        ("casual", persona.formality <= 0.2),
    )
    return (*(manner for manner, suits in wanted if suits), "plain")


@lru_cache(maxsize=512)
def _pool(occasion: str, persona: Persona, cross: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Lines for an occasion: those in the persona's manner, and all that it may use."""
    lines = _LINES[occasion]
    manners = _manners(persona)
    own = tuple(line for manner in manners if manner != "plain" for line in lines.get(manner, ()))
    if cross and "cross" in lines:
        own = lines["cross"]
    every = tuple(dict.fromkeys((*own, *(line for manner in manners for line in lines.get(manner, ())))))
    return own or every, every


class Speaker:
    """Words of one user in one episode.

    Args:
        persona: Whose manner it is.
        rng: The only source of randomness.
        kept: Words that typos leave alone, in lower case (those of the facts).
    """

    def __init__(self, persona: Persona, rng: np.random.Generator, kept: Iterable[str]) -> None:
        self.persona = persona
        self._rng = rng
        self._kept = frozenset(kept)
        self._said: set[str] = set()
        self._turns = 0

    def line(self, occasion: str, *, cross: bool = False, answer: str = "", **values: str) -> str:
        """A sentence for an occasion of `lines.LINES` or `inquiry_lines.INQUIRY_LINES` that has not been said yet.

        Args:
            occasion: Key of either.
            cross: Sound cross.
            answer: A line to put in place of `{answer}`.
            values: What the other placeholders, also those in `answer`, stand for.
        """
        own, every = _pool(occasion, self.persona, cross)
        if answer:
            own, every = ([line.replace("{answer}", answer) for line in lines] for lines in (own, every))
        return self.fresh(own, every, values)

    def fresh(self, preferred: Sequence[str], others: Sequence[str], values: Mapping[str, str]) -> str:
        """A new sentence from the first lines, else from the second, else from either with a few words before it."""
        self._turns += 1
        for lines in (preferred, others):
            start = int(self._rng.random() * len(lines))
            for step in range(len(lines)):
                sentence = self._take(lines[(start + step) % len(lines)], values)
                if sentence is not None:
                    return sentence
        manners = _manners(self.persona)
        for lead in (lead for manner in manners for lead in LEADS.get(manner, ())):
            for line in others:
                sentence = self._take(f"{lead}, {line}", values)
                if sentence is not None:
                    return sentence
        while True:  # the number of the turn only grows, so a new sentence is found at once
            sentence = self._take(f"I say it for the {self._turns}th time, {others[0]}", values)
            if sentence is not None:
                return sentence
            self._turns += 1

    def verbatim(self, text: str) -> str:
        """A given text of one or more full sentences, with typos at most; sentences that were said already get a lead."""
        sentences = [sentence for sentence in _SENTENCE_END.split(text.strip()) if sentence]
        return " ".join(self._say_given(sentence) for sentence in sentences)

    def aside(self, *, cross: bool = False) -> str | None:
        """A second sentence that shows the manner, now and then."""
        persona = self.persona
        chances = (
            ("humour", persona.humour),
            ("technical", persona.technicality),
            ("unsure", persona.confusion * 0.6),
            ("wordy", max(0.0, persona.verbosity - 0.5) * 1.4),
            ("broken", (1.0 - persona.fluency) * 0.3),
            ("cross", 0.4 if cross else 0.0),
        )
        draw = self._rng.random()
        for manner, chance in chances:
            if draw < chance:
                lines = ASIDES[manner]
                start = int(self._rng.random() * len(lines))
                rotated = (lines[(start + step) % len(lines)] for step in range(len(lines)))
                return next((text for line in rotated if (text := self._take(line, {})) is not None), None)
            draw -= chance
        return None

    def greeting(self) -> str | None:
        """A greeting, more likely the more the persona talks."""
        if self._rng.random() >= 0.2 + 0.6 * self.persona.verbosity:
            return None
        lines = next(GREETINGS[manner] for manner in _manners(self.persona) if manner in GREETINGS)
        return self._take(lines[int(self._rng.random() * len(lines))], {})

    def _take(self, line: str, values: Mapping[str, str]) -> str | None:
        """The line as a sentence in the persona's manner; None when it has been said."""
        persona = self.persona
        mark = "" if line[-1] == "?" else "."
        if persona.formality <= 0.3:
            line = _contract(line)
        if persona.fluency < 0.5 and self._rng.random() > persona.fluency:
            line = _ARTICLE.sub("", line)
        if persona.formality > 0.15 and line[0] != "{":
            line = line[0].upper() + line[1:]
        if mark == "." and persona.humour > 0 and self._rng.random() < 0.4 * persona.humour:
            mark = "!"
        plain = line.format(**values) + mark
        key = _key(plain)
        if key in self._said:
            return None
        typed = self._misspell(line).format(**values) + mark if persona.typo_rate > 0 else plain
        self._said.update((key, _key(typed)))
        return typed

    def _say_given(self, sentence: str) -> str:
        lead = 0
        plain = sentence
        leads = (*LEADS["plain"], *LEADS["formal"])
        while _key(plain) in self._said:
            opener = leads[lead] if lead < len(leads) else f"I say it for the {lead}th time"
            plain = f"{opener[0].upper()}{opener[1:]}: {sentence}"
            lead += 1
        typed = self._misspell(plain)
        self._said.update((_key(plain), _key(typed)))
        return typed

    def _misspell(self, text: str) -> str:
        rate = self.persona.typo_rate
        if rate <= 0:
            return text
        return _WORD.sub(lambda match: self._typo(match.group(), rate), text)

    def _typo(self, word: str, rate: float) -> str:
        if word not in TYPO_WORDS or word in self._kept or self._rng.random() >= rate:
            return word
        return misspell(word, self._rng.random)


@lru_cache(maxsize=1024)
def _contract(line: str) -> str:
    return _FULL_FORM.sub(lambda match: _CONTRACTIONS[match.group()], line)


def _key(sentence: str) -> str:
    return sentence.rstrip(".!? ").casefold()
