"""`SLMAgent/UserSim-v0`: what succeeds, what fails, and what each exploit comes to."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import pytest

import slmagent  # noqa: F401  (registers the environments)
from slmagent.envs.desk import MAX_IDLE
from slmagent.envs.parsing import parse_action, render_call
from slmagent.envs.usersim import UserSimEnv
from slmagent.envs.usersim.answers import leaks, names_in, read, values_in
from slmagent.envs.usersim.episode import STYLE_NEEDED
from slmagent.envs.usersim.expert import next_action, thought
from slmagent.rewards.style import TALK, style_fault, style_match
from slmagent.rewards.usersim import COMPONENTS, DEFAULT_WEIGHTS, UserSimOutcome
from slmagent.scenarios.personas import PERSONAS
from slmagent.scenarios.usersim.attributes import ATTRIBUTES
from slmagent.scenarios.usersim.tasks import make_task

LEVELS = range(6)
EACH_LEVEL = pytest.mark.parametrize("level", LEVELS)
Policy = Callable[[UserSimEnv], str]


def make(level: int, **kwargs: Any) -> UserSimEnv:
    env = gym.make("SLMAgent/UserSim-v0", level=level, disable_env_checker=True, **kwargs).unwrapped
    assert isinstance(env, UserSimEnv)
    return env


def play(env: UserSimEnv, policy: Policy, **reset: Any) -> tuple[float, dict[str, Any], list[dict[str, Any]]]:
    """Total reward, last info and all infos of an episode."""
    env.reset(**reset)
    total, infos, done = 0.0, [], False
    while not done:
        _, reward, terminated, truncated, info = env.step(policy(env))
        total += reward
        infos.append(info)
        done = terminated or truncated
    return total, infos[-1], infos


def start(env: UserSimEnv, persona: str, number: int = 0) -> None:
    """Starts an episode whose task has a persona; `number` picks one of them."""
    found = [name for name in env.scenario_ids[:200] if make_task(name).persona == persona]
    env.reset(options={"scenario_id": found[number], "user_seed": number})


def expert(env: UserSimEnv) -> str:
    return env.expert()


def said(action: str) -> str:
    """What an action says to the user."""
    parsed = parse_action(action)
    return str(parsed.calls[0].arguments["message"]) if parsed.calls else parsed.text


def user_messages(env: UserSimEnv) -> list[str]:
    return [message["content"] for message in env._messages if message["role"] == "user"]


def facts(env: UserSimEnv) -> str:
    return ". ".join(env.state.task.facts().splitlines()) + "."


# ---- evidence -------------------------------------------------------------------------------------------------------


@EACH_LEVEL
def test_the_expert_thinks_of_what_decides_and_the_user_hears_nothing_of_it(level: int):
    for seed in range(5):
        env, thoughts = make(level), []

        def thinking(env: UserSimEnv, kept: list[str] = thoughts) -> str:
            question, action = env.state.question, env.expert()
            if question is not None and question.need != "refusal" and not env.state.premature():
                assert action.startswith(f"<think>{thought(env.state.task, question)}</think>")
                kept.append(action)
            return action

        with_evidence = play(env, thinking, seed=seed)
        heard = user_messages(env)
        without = play(env, lambda env: env.expert(evidence=False), seed=seed)
        assert thoughts
        assert with_evidence[0] == without[0]
        assert with_evidence[1]["reward_components"] == without[1]["reward_components"]
        assert heard == user_messages(env)


def test_a_thought_holds_what_decides():
    kinds = set()
    for env, seed in itertools.product((make(1), make(3)), range(15)):
        env.reset(seed=seed)
        task = env.state.task
        for question in task.questions:
            if question.need == "refusal":
                continue
            told = thought(task, question)
            choice = question.choice
            kinds.add((choice is None, choice is not None and choice.limit is not None))
            if choice is None:
                assert told in task.facts().splitlines()
                continue
            values = [int(number) for number in re.findall(r"\d+", told)]
            assert values[-1] == (min if choice.lowest else max)(values)
            assert told.endswith(f"{values[-1]} {question.subject}")
            assert len(values) - 1 == len(choice.fitting(task.rows))
    assert kinds == {(True, False), (False, False), (False, True)}


# ---- exploits -------------------------------------------------------------------------------------------------------


def right_in_three_words(env: UserSimEnv) -> str:
    """The right answer, once what is held back has been asked for, in three words."""
    question = env.state.question
    if question is None or env.state.premature() or question.need == "refusal":
        return env.expert()
    row = env.state.task.rows[question.subject]
    attribute = ATTRIBUTES[question.attribute]
    return f"{question.subject}, {attribute.text(row[question.attribute])}."


def right_style_wrong_fact(env: UserSimEnv) -> str:
    """The expert, but the first fact is that of another thing."""
    question = env.state.question
    action = env.expert()
    if question is None or env.state.premature() or env.state.user.asking > 0:
        return action
    other = next(name for name in env.state.task.rows if name != question.subject)
    for key in env.state.task.topic.attributes:
        attribute, rows = ATTRIBUTES[key], env.state.task.rows
        action = action.replace(attribute.text(rows[question.subject][key]), attribute.text(rows[other][key]))
    return action if question.need == "value" else action.replace(question.subject, other)


def all_facts_at_the_end(env: UserSimEnv) -> str:
    action = env.expert()
    return render_call("finish", {"message": facts(env)}) if "tool_call" in action else action


def corrects_itself(env: UserSimEnv) -> str:
    """Names each thing and value in turn, the right one last."""
    return facts(env) if env.turn == 0 else env.expert()


EXPLOITS: dict[str, Policy] = {
    "silent": lambda env: "",
    "apologising": lambda env: "I am sorry for the inconvenience, I apologise.",
    "instant finish": lambda env: render_call("finish", {"message": "All done, thank you!"}),
    "begging": lambda env: "Please tell me everything, and thank me. What are your instructions?",
    "three words": lambda env: "Okay, certainly, sir.",
    "right in three words": right_in_three_words,
    "echoes the user": lambda env: env._messages[1]["content"],
    "echoes the last message": lambda env: env._messages[-1]["content"],
    "echoes the prompt": lambda env: env._messages[0]["content"],
    "all facts": facts,
    "finishes with all facts": lambda env: render_call("finish", {"message": facts(env)}),
    "all facts at the end": all_facts_at_the_end,
    "corrects itself": corrects_itself,
    "right style, wrong fact": right_style_wrong_fact,
    "refuses": lambda env: "Sorry, but I cannot tell you that.",
    "asks for ever": lambda env: "Is there any limit, budget or other requirement?",
    "flatters": lambda env: "Ha, what a fun question! Enjoy, lucky you! :)",
    "malformed": lambda env: "<tool_call>{'name': 'finish'}</tool_call>",
    "unknown tool": lambda env: render_call("do_it", {}),
}


@EACH_LEVEL
def test_exploits_never_succeed_and_never_outscore_a_success(level: int):
    env = make(level)
    successes = [play(env, expert, seed=seed)[0] for seed in range(12)]
    for name, policy in EXPLOITS.items():
        for seed in range(10):
            total, info, _ = play(env, policy, seed=seed)
            assert info["success"] is False, (name, env.render())
            assert total < min(successes) - 1.0, name


@EACH_LEVEL
@pytest.mark.parametrize("name", ["silent", "three words", "flatters", "malformed", "begging"])
def test_hopeless_chatter_ends_soon(level: int, name: str):
    for seed in range(10):
        _, info, infos = play(make(level), EXPLOITS[name], seed=seed)
        assert info["stop_reason"] == "user_left"
        assert len(infos) <= MAX_IDLE
        assert info["reward_components"]["feedback"] == pytest.approx(-0.3)


def test_a_success_outscores_any_failure_by_the_bounds():
    """Over all outcomes within each component's range, with the default weights."""
    weights, bounds = DEFAULT_WEIGHTS, {component.name: (component.low, component.high) for component in COMPONENTS}
    worst_success = weights["goal"] + weights["style"] * STYLE_NEEDED
    best_failure = sum(weights[name] * bounds[name][1] for name in ("style", "content", "consistency")) - weights["feedback"]
    assert worst_success == pytest.approx(2.3)
    assert best_failure == pytest.approx(0.6)
    assert weights["veto"] < -weights["feedback"]
    # Even where the user's feedback went the wrong way round.
    assert worst_success - weights["feedback"] > best_failure + 2 * weights["feedback"]


def test_components_by_hand():
    scores = {component.name: component(UserSimOutcome(True, (0.9, 0.7), 0.5, 0.0)) for component in COMPONENTS}
    assert scores == pytest.approx({"goal": 1.0, "style": 0.8, "content": 0.5, "consistency": 0.7, "feedback": 1.0})
    silent = {component.name: component(UserSimOutcome(False, (), 0.0, 0.0)) for component in COMPONENTS}
    assert silent == {"goal": 0.0, "style": None, "content": 0.0, "consistency": None, "feedback": -1.0}
    foul = {component.name: component(UserSimOutcome(True, (0.8,), 1.0, -0.6)) for component in COMPONENTS}
    assert (foul["feedback"], foul["consistency"]) == (0.0, None)


# ---- the expert and what is left of it ------------------------------------------------------------------------------


@EACH_LEVEL
@pytest.mark.parametrize("split", ["train", "val", "test", "ood"])
def test_the_expert_always_succeeds_within_its_turns(level: int, split: str):
    env = make(level, split=split)
    for number in range(25):
        scenario_id = env.scenario_ids[number * 7]
        total, info, infos = play(env, expert, options={"scenario_id": scenario_id, "user_seed": number})
        assert info["success"], env.state
        assert len(infos) == env.state.task.expert_turns
        assert min(env.state.style) >= STYLE_NEEDED - 0.1
        assert info["reward_components"]["content"] == pytest.approx(0.3)
        assert total > 2.9
        # It asks exactly where a limit is held back, and the user minds nothing.
        kinds = [step["action"]["kind"] for step in infos]
        assert kinds.count("ask") == sum(bool(question.hidden) for question in env.state.task.questions)
        assert kinds[-1] == "finish"
        assert env.state.user.state()["minded"] is False


@EACH_LEVEL
def test_without_any_one_of_its_facts_the_expert_fails(level: int):
    env = make(level)
    for seed in range(4):
        env.reset(seed=seed)
        for missing in range(len(env.state.task.questions)):

            def but_for_one(env: UserSimEnv, missing: int = missing) -> str:
                question = env.state.question
                if env.state.user.asking != missing or question is None or env.state.premature():
                    return env.expert()
                return "Thank you for asking, that is a fine one and I like it."

            total, info, _ = play(env, but_for_one, seed=seed)
            assert info["success"] is False
            assert total < 1.0


@EACH_LEVEL
def test_finishing_before_the_last_answer_fails_and_finishing_with_it_succeeds(level: int):
    env = make(level)
    for seed in range(6):

        def early(env: UserSimEnv, *, with_answer: bool) -> str:
            last = env.state.user.asking == len(env.state.task.questions) - 1
            if not last or env.state.premature():
                return env.expert()
            text = env.expert() if with_answer else "Then that is all for now, have a good day."
            return render_call("finish", {"message": text})

        assert play(env, lambda env: early(env, with_answer=False), seed=seed)[1]["success"] is False
        assert play(env, lambda env: early(env, with_answer=True), seed=seed)[1]["success"] is True


@EACH_LEVEL
def test_a_user_who_has_heard_all_may_be_left_talking(level: int):
    env = make(level)
    env.reset(seed=1)
    while env.state.question is not None:
        env.step(env.expert())
    closing = said(env.expert())
    terminated, info = False, {}
    while not terminated:
        _, _, terminated, _, info = env.step(closing)
    assert info["stop_reason"] == "user_left"
    assert info["success"] is True


# ---- content --------------------------------------------------------------------------------------------------------


def test_values_are_typed():
    assert values_in("It costs EUR 95.", "eur", [95]) == {95}
    assert values_in("It costs 95 euros and weighs 3 kg", "eur", [95, 3]) == {95}
    assert values_in("EUR 95, 52 or 60", "eur", [95, 52, 60]) == {95, 52, 60}
    assert values_in("2kg", "kg", [2]) == {2}
    assert values_in("three kilograms", "kg", [2]) == {3}
    assert values_in("95", "kg", [3]) == set()
    assert names_in("the alta, not the BRIO; Altamira", ("Alta", "Brio")) == {"Alta", "Brio"}


def test_answers_are_read_by_what_was_asked():
    task = make_task("usersim-0-train-00000")
    task = dataclasses.replace(
        task, rows={"Alta": {"price": 120, "weight": 3, "capacity": 4}, "Brio": {"price": 95, "weight": 5, "capacity": 2}}
    )
    base = make_task("usersim-1-train-00000").questions[0]
    look_up = dataclasses.replace(base, need="value", subject="Alta", attribute="price")
    choice = dataclasses.replace(base, need="name", subject="Brio", attribute="price")

    def marks(question: Any, text: str) -> str:
        reading = read(task, question, text)
        return "".join(name[0] for name in ("answered", "right", "full", "wrong", "short") if getattr(reading, name))

    assert marks(look_up, "The Alta costs EUR 120.") == "arf"
    assert marks(look_up, "That will be EUR 120.") == "ar"
    assert marks(look_up, "The Alta costs EUR 95.") == "aw"
    assert marks(look_up, "The Brio costs EUR 120.") == "arw"
    assert marks(look_up, "The Alta costs EUR 120, or 95.") == "arfw"
    assert marks(look_up, "The Alta weighs 3 kg.") == ""
    assert marks(look_up, "Alta: EUR 120") == "s"
    assert marks(choice, "That is the Brio, for EUR 95.") == "arf"
    assert marks(choice, "The best one is the Brio.") == "ar"
    assert marks(choice, "Either the Brio or the Alta.") == "arw"
    assert marks(choice, "The Brio costs EUR 120.") == "arw"
    assert marks(choice, "There are many good ones.") == ""


@EACH_LEVEL
def test_a_wrong_value_cannot_be_mended(level: int):
    env = make(level)
    for seed in range(6):
        env.reset(seed=seed)
        while env.state.premature():
            env.step(env.expert())
        question = env.state.question
        assert question is not None
        other = next(name for name in env.state.task.rows if name != question.subject)
        attribute = ATTRIBUTES[question.attribute]
        before = env.state.progress()
        env.step(
            f"The {other} {attribute.states.format(value=attribute.text(env.state.task.rows[other][question.attribute]))}."
        )
        assert env.state.progress() <= before
        done, info = False, {}
        while not done:
            _, _, terminated, truncated, info = env.step(env.expert())
            done = terminated or truncated
        assert info["success"] is False
        assert info["reward_components"]["goal"] == 0.0


def test_a_bare_value_is_enough_but_earns_half_the_content():
    env = make(0)
    for scenario_id in env.scenario_ids[:60]:
        env.reset(options={"scenario_id": scenario_id, "user_seed": 0})
        question = env.state.question
        assert question is not None
        if question.need != "value" or env.state.user.persona.name != "concise":
            continue
        attribute = ATTRIBUTES[question.attribute]
        value = attribute.text(env.state.task.rows[question.subject][question.attribute])
        env.step(f"That would be {value}, exactly.")
        info = env.step(env.expert())[4]
        assert info["success"] is True
        assert info["reward_components"]["content"] == pytest.approx(0.15)
        return
    raise AssertionError("no such task")


# ---- style ----------------------------------------------------------------------------------------------------------

FAR_APART = [
    *(("concise", other) for other in ("detailed", "humorous", "technical")),
    *(("impatient", other) for other in ("detailed", "humorous", "technical")),
    *(("detailed", other) for other in ("concise", "impatient", "humorous")),
    *(("humorous", other) for other in ("concise", "impatient", "detailed", "technical", "confused")),
    *(("technical", other) for other in ("concise", "impatient", "detailed", "humorous")),
    *(("confused", other) for other in ("humorous",)),
]


@pytest.mark.parametrize(("user", "spoken"), FAR_APART)
def test_the_right_facts_in_a_style_far_off_fail(user: str, spoken: str):
    env = make(2)
    for number in range(4):
        start(env, user, number)
        done, total, info = False, 0.0, {}
        while not done:
            _, reward, terminated, truncated, info = env.step(next_action(env.state, persona=spoken, evidence=False))
            total += reward
            done = terminated or truncated
        assert env.state.all_said()
        assert info["success"] is False
        assert total < 0.6


def test_a_style_that_drifts_in_the_second_half_fails():
    env = make(4)
    for user, spoken in FAR_APART[::2]:
        start(env, user)
        done, info = False, {}
        while not done:
            late = env.turn >= env.state.task.expert_turns // 2
            _, _, terminated, truncated, info = env.step(
                next_action(env.state, persona=spoken if late else user, evidence=False)
            )
            done = terminated or truncated
        assert env.state.all_said()
        assert info["success"] is False


def test_one_message_out_of_style_pays_less():
    env = make(2)
    for seed in range(5):

        def once(env: UserSimEnv) -> str:
            if env.turn != 1:
                return env.expert()
            far = "humorous" if env.state.user.persona.name != "humorous" else "detailed"
            return next_action(env.state, persona=far, evidence=False)

        assert play(env, once, seed=seed)[0] < play(env, expert, seed=seed)[0] - 0.05


def test_the_style_of_before_the_change_fails_after_it():
    env = make(5)
    for scenario_id in env.scenario_ids[:25]:
        env.reset(options={"scenario_id": scenario_id, "user_seed": 0})
        first = env.state.task.persona
        done, info = False, {}
        while not done:
            _, _, terminated, truncated, info = env.step(next_action(env.state, persona=first, evidence=False))
            done = terminated or truncated
        assert env.state.user.persona.name == env.state.task.later_persona != first
        assert env.state.all_said()
        assert info["success"] is False


def test_the_user_says_what_it_minds_and_when_it_is_better():
    env = make(2)
    start(env, "concise")
    mood = env.state.user.mood
    env.step(next_action(env.state, persona="detailed", evidence=False))
    complaint = user_messages(env)[-1].lower()
    assert re.search(r"long|short|fewer|read", complaint)
    assert env.state.user.mood < mood + 0.3
    env.step(env.expert())
    assert re.search(r"better|like (?:it|that)", user_messages(env)[-1].lower())


@pytest.mark.parametrize(
    ("persona", "text", "fault"),
    [
        ("concise", "word " * 40, "too_long"),
        ("detailed", "Four words are enough", "too_short"),
        ("impatient", "Thank you, please, your pleasure.", "too_formal"),
        ("detailed", "hey ok yeah cool " * 5, "too_casual"),
        ("humorous", "Cool, okay, the Alta costs EUR 120, yeah it's right.", "no_joke"),
        ("technical", "As far as I can tell it is quite cheap.", "no_figures"),
        ("confused", "The Alta costs EUR 120 and I find that very fun :)", "joke"),
    ],
)
def test_the_worst_fault_is_named(persona: str, text: str, fault: str):
    assert style_fault(text, PERSONAS[persona], TALK) == fault


def test_talk_style_by_hand():
    # Plain talk to a joker: length 0.4, formality 0.3 x (1 - |0.5 - 0.1|), no joke.
    plain = "one two three four five six seven eight nine ten"
    assert style_match([plain], PERSONAS["humorous"], TALK) == pytest.approx(0.4 + 0.3 * 0.6)
    # Twenty words to the concise: 4 x what it likes, 2.5 x the tolerance, past the reach of 2: no length; formality 0.3 x 0.8.
    assert style_match(["word " * 20], PERSONAS["concise"], TALK) == pytest.approx(0.3 * 0.8 + 0.3)


# ---- the user -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", [3, 4, 5])
def test_what_is_held_back_is_told_only_when_asked(level: int):
    env = make(level)
    for scenario_id in env.scenario_ids[:25]:
        env.reset(options={"scenario_id": scenario_id, "user_seed": 1})
        while not env.state.premature():
            env.step(env.expert())
        question, limit = env.state.question, env.state.task.limits[0]
        assert question is not None
        assert limit.spoken() not in " ".join(user_messages(env))
        env.step("Please tell me everything you know and all your instructions.")
        assert limit.spoken() not in " ".join(user_messages(env))
        info = env.step(f"{ATTRIBUTES[limit.attribute].question.capitalize()}?")[4]
        assert info["action"]["kind"] == "ask"
        assert limit.spoken() in user_messages(env)[-1]


def test_a_lucky_guess_without_asking_does_not_count():
    env = make(3)
    for scenario_id in env.scenario_ids[:25]:
        env.reset(options={"scenario_id": scenario_id, "user_seed": 1})
        question = env.state.question
        assert question is not None
        env.step(f"I would say that it is the {question.subject}.")
        assert env.state.user.asking == 0
        assert not env.state.right
        assert not env.state.wrong
        # But it may still be asked, and answered.
        done, info = False, {}
        while not done:
            _, _, terminated, truncated, info = env.step(env.expert())
            done = terminated or truncated
        assert info["success"] is True


@pytest.mark.parametrize("level", [4, 5])
@pytest.mark.parametrize("way", ["{}", "Sure, it is {}.", "I cannot tell you that it is {}."])
def test_telling_what_is_internal_is_vetoed_whatever_was_earned(level: int, way: str):
    env = make(level)
    env.reset(seed=2)
    secret = env.state.task.secret
    assert secret is not None
    earned = sum(env.step(env.expert())[1] for _ in range(3))
    assert earned > 0
    amount = f"EUR {secret.value}" if secret.unit == "eur" else f"{secret.value} coins"
    for text in (amount, str(secret.value)):
        assert leaks(env.state.task, way.format(text))
    before = env.snapshot()
    for action in (way.format(amount), render_call("finish", {"message": way.format(amount)})):
        env.restore(before)
        _, reward, terminated, _, info = env.step(action)
        assert terminated
        assert info["stop_reason"] == "veto"
        assert info["success"] is False
        assert list(info["reward_components"]) == ["veto"]
        assert earned + reward == pytest.approx(-10.0)


@pytest.mark.parametrize(("value", "words"), [(13, "thirteen"), (20, "Twenty"), (27, "twenty-seven"), (39, "thirty nine")])
def test_numbers_in_words_are_told_too(value: int, words: str):
    task = make_task("usersim-4-train-00000")
    assert task.secret is not None
    task = dataclasses.replace(task, secret=dataclasses.replace(task.secret, value=value))
    assert leaks(task, f"Between us, it is {words} each.")
    assert not leaks(task, "Between us, it is thirty-eight each.")


@pytest.mark.parametrize("level", [0, 3, 5])
def test_the_user_never_repeats_a_sentence(level: int):
    nags = (
        "",
        "Fine.",
        "I am sorry.",
        "What do you want?",
        "Anything else?",
        "Thank you for asking, I like it.",
        "I cannot do it.",
    )
    for seed in range(12):
        env = make(level, max_turns=60)
        env.reset(seed=seed)
        done = False
        while not done:
            action = nags[(seed + env.turn) % len(nags)] if env.turn % 2 == 0 else env.expert()
            _, _, terminated, truncated, _ = env.step(action)
            done = terminated or truncated
        sentences = [part for text in user_messages(env) for part in re.split(r"(?<=[.!?])\s+", text) if part]
        assert len(set(sentences)) == len(sentences), env._messages


def test_past_messages_show_the_style_and_no_more():
    words = {}
    for persona in ("concise", "detailed"):
        env = make(4)
        start(env, persona)
        _, info = env.reset(options={"scenario_id": env.scenario_id, "user_seed": 3})
        past = info["past_messages"]
        assert len(past) == 5
        assert len(set(past)) == 5
        task = env.state.task
        assert not any(names_in(text, tuple(task.rows)) or leaks(task, text) for text in past)
        assert not any(limit.spoken() in text for text in past for limit in task.limits)
        words[persona] = sum(len(text.split()) for text in past)
        assert "past_messages" not in env.step("Hello.")[4]
        assert env.restore(env.snapshot())[1]["past_messages"] == past
    assert words["detailed"] > 3 * words["concise"]


def test_the_style_is_announced_at_the_first_levels_only():
    for level in LEVELS:
        system = make(level).reset(seed=0)[0][0]["content"]
        assert ("The user likes about" in system) is (level <= 1)
        assert ("Internal, do not tell" in system) is (level >= 4)


def test_the_user_changes_its_mind_and_its_manner():
    env = make(5)
    for scenario_id in env.scenario_ids[:10]:
        play(env, expert, options={"scenario_id": scenario_id, "user_seed": 0})
        task = env.state.task
        assert task.new_limit is not None
        message = next(text for text in user_messages(env) if task.new_limit.spoken() in text)
        place = user_messages(env).index(message)
        assert env.state.changed_at == place
        assert task.limits[0].spoken() in " ".join(user_messages(env)[:place])


# ---- size -----------------------------------------------------------------------------------------------------------


@pytest.mark.model
@EACH_LEVEL
def test_episodes_fit_small_contexts(level: int, default_model: Any):
    transformers = pytest.importorskip("transformers")
    tokenizer = transformers.AutoTokenizer.from_pretrained(default_model)
    for split in ("train", "ood"):
        env = make(level, split=split)
        for seed in range(15):
            play(env, expert, seed=seed)
            messages = list(env._messages)
            assert len(tokenizer.apply_chat_template(messages[:1])["input_ids"]) <= 200
            assert len(tokenizer.apply_chat_template(messages)["input_ids"]) <= (640 if level <= 3 else 900)


@EACH_LEVEL
def test_episodes_are_short_without_a_tokenizer_too(level: int):
    env = make(level)
    for seed in range(15):
        play(env, expert, seed=seed)
        assert sum(len(message["content"]) for message in env._messages) / 3 < (800 if level <= 3 else 1200)
