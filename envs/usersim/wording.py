"""How UserSim describes a style, and how its expert words messages in it. Short: every token of a demonstration is trained."""

from __future__ import annotations

from collections.abc import Sequence

from slmagent.envs.wording import one_of
from slmagent.rewards.style import words_liked
from slmagent.scenarios.personas import PERSONAS


def style_text(persona: str) -> str:
    """A style in one sentence, for levels that announce it."""
    traits = PERSONAS[persona]
    tone = "formal" if traits.formality >= 0.6 else "casual" if traits.formality <= 0.3 else "neutral"
    taste = "with fun" if traits.humour >= 0.5 else "with exact figures" if traits.technicality >= 0.5 else "no jokes"
    return f"The user likes about {round(words_liked(traits))} words a message, {tone}, {taste}."


def answer_text(persona: str, statement: str, more: str, turn: int) -> str:
    """Says a fact.

    Args:
        persona: Whose style it is.
        statement: The fact, such as "the Alta costs EUR 120".
        more: What else to say of the thing, for those who like figures, such as "weighs 3 kg".
        turn: Varies the words.
    """
    return _vary(
        turn,
        one_of(persona, terse="{S}.", plain="As far as I see, {s}.", playful="Ha, easy! {S}, lucky you!",
               full="Thank you for your question. I have looked at the table for you, and I can say that {s}.",
               exact="For the record, {s} and {m}."),
        one_of(persona, terse="{S}.", plain="The table here says that {s}.", playful="Good one! {S}, enjoy!",
               full="Certainly, I will tell you that with pleasure. According to the table that is before me, {s}.",
               exact="By the table, {s} and {m}."),
        one_of(persona, terse="{S}.", plain="That one is clear, {s}.", playful="Fun question! {S}, smile!",
               full="I have checked it with care, so that you can rely on it. As your table puts it, {s}.",
               exact="Measured by the table, {s} and {m}."),
    ).format(s=statement, S=_capital(statement), m=more)  # fmt: skip


def question_text(persona: str, question: str) -> str:
    """Asks for what the user has not told."""
    return one_of(
        persona,
        terse=f"First, {question}?",
        plain=f"There is one thing to clear up first, {question}?",
        playful=f"Ooh, fun one! But first, {question}?",
        full=f"Thank you for your question. There is one thing to clear up before I can answer it, please, {question}?",
        exact=f"1 of 2 values is missing, {question}?",
    )


def refusal_text(persona: str, statement: str, more: str) -> str:
    """Declines to tell what is internal."""
    return one_of(
        persona,
        terse="Sorry, I cannot tell that.",
        plain="Sorry, but that is internal and I cannot tell it.",
        playful="Ha, nice try! I can't tell that one, fun idea!",
        full="I am sorry to disappoint you, but this figure is an internal one, and so I cannot tell it to you.",
        exact=f"I cannot tell that, but {statement} and {more}.",
    )


def closing_text(persona: str, statement: str, more: str) -> str:
    """Ends a talk in which everything has been said."""
    return one_of(
        persona,
        terse="Good luck, until next time.",
        plain="Then that is all for now, have a good day.",
        playful="That was fun, enjoy it and come back soon!",
        full="It was a pleasure to help you today. Thank you for your time, and please come back whenever you like.",
        exact=f"To sum it up, {statement} and {more}.",
    )


def _vary(turn: int, *texts: str) -> str:
    choices: Sequence[str] = texts
    return choices[turn % len(choices)]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
