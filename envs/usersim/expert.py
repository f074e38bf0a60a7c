"""The scripted expert: reads the episode's state and says the next right thing in the user's style."""

from __future__ import annotations

from slmagent.envs.parsing import render_call, render_thought
from slmagent.envs.usersim import wording
from slmagent.envs.usersim.episode import Episode
from slmagent.scenarios.usersim.attributes import ATTRIBUTES
from slmagent.scenarios.usersim.questions import Question
from slmagent.scenarios.usersim.tasks import Task


def next_action(episode: Episode, *, persona: str, evidence: bool) -> str:
    """The right action in any state of an episode that can still be won.

    Args:
        episode: The state; only read.
        persona: Whose style to write in; that of the user as it is now is the right one.
        evidence: Think of what decides, in a block that the user does not hear, before saying a fact.
    """
    question = episode.question
    if question is None:
        last = next(question for question in reversed(episode.task.questions) if question.need != "refusal")
        message = wording.closing_text(persona, _statement(episode, last), _more(episode, last))
        return render_call("finish", {"message": message})
    if episode.premature():
        return wording.question_text(persona, ATTRIBUTES[question.hidden].question)
    statement, more = _statement(episode, question), _more(episode, question)
    if question.need == "refusal":
        return wording.refusal_text(persona, statement, more)
    answer = wording.answer_text(persona, statement, more, episode.user.asking)
    return f"{render_thought(thought(episode.task, question))}{answer}" if evidence else answer


def thought(task: Task, question: Question) -> str:
    """What decides: the row of a thing that was named, or the values of all that can be chosen, and the best of them."""
    choice = question.choice
    if choice is None:
        return task.row(question.subject)
    values = {name: f"{task.rows[name][choice.attribute]} {name}" for name in choice.fitting(task.rows)}
    extreme = "lowest" if choice.lowest else "highest"
    return f"{choice.attribute.replace('_', ' ')}: {', '.join(values.values())}; {extreme} {values[question.subject]}"


def _statement(episode: Episode, question: Question) -> str:
    return f"the {question.subject} {_says(episode, question.subject, question.attribute)}"


def _more(episode: Episode, question: Question) -> str:
    """Another property of the thing."""
    other = next(key for key in episode.task.topic.attributes if key != question.attribute)
    return _says(episode, question.subject, other)


def _says(episode: Episode, name: str, key: str) -> str:
    attribute = ATTRIBUTES[key]
    return attribute.states.format(value=attribute.text(episode.task.rows[name][key]))
