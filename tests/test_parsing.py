"""`parse_action`: what agents write, well-formed or not."""

from __future__ import annotations

import gc
import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slmagent.envs.parsing import parse_action, render_call, strip_thinking

CALL = '<tool_call>{"name": "get_weather", "arguments": {"city": "Rome"}}</tool_call>'


def test_plain_text_is_said_to_the_user():
    action = parse_action("  Where do you fly from?\n")
    assert (action.kind, action.text, action.calls, action.error) == ("speak", "Where do you fly from?", (), None)


def test_a_call_is_read_with_the_note_before_it():
    action = parse_action(f"sunny 24 C\n{CALL}")
    assert action.kind == "tool"
    assert action.text == "sunny 24 C"
    assert action.error is None
    assert action.calls[0].name == "get_weather"
    assert action.calls[0].arguments == {"city": "Rome"}
    assert action.calls[0].id == "call_0"


def test_several_calls_keep_their_order():
    action = parse_action(f"{CALL} and {render_call('search_hotels', {'city': 'Oslo'})}")
    assert [call.name for call in action.calls] == ["get_weather", "search_hotels"]
    assert [call.id for call in action.calls] == ["call_0", "call_1"]
    assert action.text == "and"


def test_finish_makes_the_action_a_finish():
    assert parse_action(render_call("finish", {"message": "Bye."})).kind == "finish"
    assert parse_action(CALL + render_call("finish", {"message": "Bye."})).kind == "finish"


def test_braces_and_tags_inside_strings_do_not_confuse():
    message = 'a } b { c </tool_call> "d" \\ \n'
    action = parse_action(render_call("finish", {"message": message}))
    assert action.error is None
    assert action.calls[0].arguments["message"] == message


def test_closing_tag_may_be_missing_at_the_end_only():
    assert parse_action(CALL.removesuffix("</tool_call>")).calls[0].name == "get_weather"
    assert "expected </tool_call>" in (parse_action(CALL.removesuffix("</tool_call>") + " and so on").error or "")


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("", "not valid JSON"),
        ("{", "not valid JSON"),
        ("{'name': 'finish'}", "not valid JSON"),
        ('{"name": "finish", "arguments": {"message": NaN}}', "not valid JSON"),
        ("[]", 'needs a "name"'),
        ("3", 'needs a "name"'),
        ('{"name": 3}', 'needs a "name"'),
        ('{"arguments": {}}', 'needs a "name"'),
        ('{"name": "finish", "arguments": []}', "must be a JSON object"),
        ('{"name": "finish", "arguments": "bye"}', "must be a JSON object"),
        ('{"name": "finish"} trailing', "expected </tool_call>"),
        ("[" * 100_000, "nested too deeply"),
        ('{"name": "a", "arguments": {"x": ' + "9" * 10_000 + "}}", "not valid JSON"),
    ],
)
def test_a_malformed_call_names_its_problem_and_executes_nothing(body: str, problem: str):
    action = parse_action(f"{CALL}<tool_call>{body}</tool_call>{CALL}")
    assert action.kind == "tool"
    assert action.calls == ()
    assert problem in (action.error or "")


def test_arguments_may_be_left_out():
    assert parse_action('<tool_call>{"name": "get_user"}</tool_call>').calls[0].arguments == {}


def test_think_blocks_are_never_executed():
    assert parse_action(f"<think>{CALL}</think>Hello").calls == ()
    assert parse_action(f"<think>{CALL}</think>Hello").text == "Hello"
    assert parse_action(f"<think>I should call {CALL}").calls == ()
    assert parse_action(f"<think>well</think>{CALL}").calls[0].name == "get_weather"
    assert strip_thinking("a<think>b</think>c<think>d</think>e") == "ace"


@given(
    st.text(), st.dictionaries(st.text(max_size=8), st.one_of(st.text(), st.integers(), st.booleans(), st.none()), max_size=4)
)
def test_rendered_calls_are_read_back(name: str, arguments: dict[str, object]):
    action = parse_action(render_call(name, arguments)) if "<think>" not in name + json.dumps(arguments) else None
    if action is not None:
        assert action.error is None
        assert action.calls[0].name == name
        assert action.calls[0].arguments == arguments


@given(
    st.lists(st.sampled_from(["<tool_call>", "</tool_call>", "<think>", "</think>", '{"name": "a"}', "{", "}", '"', "x", "\n"]))
)
def test_any_mixture_is_survived(pieces: list[str]):
    action = parse_action("".join(pieces))
    assert action.kind in ("speak", "tool", "finish")
    assert action.error is None or action.calls == ()


@pytest.mark.parametrize("piece", ["<tool_call>", "<think>", "<think></think>", "{", CALL, "<tool_call>{", '<tool_call>{"a":'])
def test_garbage_takes_linear_time(piece: str):
    def seconds(copies: int) -> float:
        text = piece * copies
        gc.collect()
        gc.disable()  # a pass over everything that the other tests left in memory would be counted, too
        try:
            started = time.process_time()
            parse_action(text)
            return time.process_time() - started
        finally:
            gc.enable()

    seconds(100)
    # Quadratic growth would take 400 times as long; generous for a noisy machine.
    assert min(seconds(20_000) for _ in range(2)) < 60 * max(seconds(1_000), 0.002)
