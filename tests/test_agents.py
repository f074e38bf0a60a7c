"""Agents without weights, and the loop that plays episodes with them."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import gymnasium
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toy import LOOKUP_ID, LookupEnv, register_toys

from slmagent.agents.base import Agent, BatchAgent, EpisodeAware, Reply
from slmagent.agents.cheaters import CHEATERS, FloodAgent, YesAgent
from slmagent.agents.endpoint import EndpointAgent, EndpointError
from slmagent.agents.episodes import requests_for, run_episodes, stable_seed
from slmagent.agents.human import HumanAgent, HumanQuit, read_call
from slmagent.agents.scripted import ConstantAgent, ExpertAgent, RandomAgent, write_call
from slmagent.envs.parsing import parse_action
from slmagent.envs.tools import Finish, Tool, ToolBox, ToolError
from slmagent.errors import UsageError
from slmagent.types import EpisodeRequest, Message

register_toys()
TALK: list[Message] = [{"role": "system", "content": "S"}, {"role": "user", "content": "Book flight FL337 at 14:30"}]


def requests(n: int = 3, **changes: Any) -> list[EpisodeRequest]:
    return requests_for(LOOKUP_ID, 0, "train", n, **changes)


# ---- which episodes -------------------------------------------------------------------------------------------------


def test_requests_keep_the_order_of_the_environment_and_group_their_samples() -> None:
    made = requests(3, samples=2, offset=1)
    assert [request.scenario_id for request in made] == [f"train-0-{i:02d}" for i in (1, 1, 2, 2, 3, 3)]
    for first, second in zip(made[::2], made[1::2], strict=True):
        assert (first.group_id, first.user_seed) == (second.group_id, second.user_seed)
        assert first.sampling_seed != second.sampling_seed
    assert len({request.group_id for request in made}) == 3
    assert len({request.user_seed for request in made}) == 3


def test_seeds_are_the_same_for_ever() -> None:
    # Numbers on purpose: results are published with these seeds.
    assert stable_seed("user", 0, "a") == 1243090461
    assert [(request.user_seed, request.sampling_seed) for request in requests(1, samples=2)] == [
        (1387414118, 719159537),
        (1387414118, 1402887900),
    ]


def test_another_seed_is_another_trial_of_the_same_tasks() -> None:
    first, second = requests(5, seed=0), requests(5, seed=1)
    assert [request.scenario_id for request in first] == [request.scenario_id for request in second]
    assert not {request.user_seed for request in first} & {request.user_seed for request in second}
    assert not {request.group_id for request in first} & {request.group_id for request in second}


def test_shuffling_is_seeded_and_consecutive_offsets_cover_all_tasks_once_a_lap() -> None:
    whole = requests(24, shuffle_seed=7)
    assert whole == requests(10, shuffle_seed=7) + requests(14, shuffle_seed=7, offset=10)
    laps = [request.scenario_id for request in whole[:12]], [request.scenario_id for request in whole[12:]]
    assert laps[0] == laps[1] != sorted(laps[0])
    assert sorted(laps[0]) == [f"train-0-{i:02d}" for i in range(12)]
    assert [request.scenario_id for request in requests(12, shuffle_seed=8)] != laps[0]
    assert len({(request.scenario_id, request.user_seed) for request in whole}) == 24


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: requests_for("Toy/Lokup-v0", 0, "train", 1), "cannot make Toy/Lokup-v0: .*Did you mean: `Lookup`"),
        (lambda: requests_for(LOOKUP_ID, 9, "train", 1), r"unknown level 9 .*\[0, 1\]"),
        (lambda: requests_for(LOOKUP_ID, 0, "tset", 1), "unknown split 'tset'"),
        (lambda: requests_for("CartPole-v1", 0, "train", 1), "cannot make CartPole-v1"),
        (lambda: requests_for(LOOKUP_ID, 0, "train", 1, samples=0), "samples=0"),
        (lambda: run_episodes(lambda env: ConstantAgent(""), [], workers=0), "workers"),
        (lambda: EndpointAgent("localhost:8000", "m"), "expected an address"),
        (lambda: EndpointAgent("http://localhost", "m", retries=-1), "retries"),
        (lambda: RandomAgent(speak=2.0), "speak"),
    ],
)
def test_bad_input_gives_one_clear_message(call: Callable[[], object], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        call()


# ---- playing them ---------------------------------------------------------------------------------------------------


def test_the_expert_succeeds_and_everything_is_recorded() -> None:
    (played,) = run_episodes(ExpertAgent, requests(1))
    assert (played.status, played.error, played.success) == ("ok", None, True)
    assert (played.terminated, played.truncated, played.stop_reason) == (True, False, "finished")
    assert [turn.kind for turn in played.turns] == ["tool", "finish"]
    assert [dict(turn.reward_components) for turn in played.turns] == [{"progress": 0.5}, {"answer": 1.0, "progress": -0.5}]
    assert [turn.reward for turn in played.turns] == [0.5, 0.5]
    assert played.turns[0].events[0]["name"] == "get_code"
    assert played.turns[0].anchor != played.turns[1].anchor
    assert [message["role"] for message in played.messages] == ["system", "user", "assistant", "user", "assistant"]
    assert played.messages[2]["content"] == played.turns[0].text
    assert played.token_ids == played.loss_mask == played.logprobs == ()
    request = requests(1)[0]
    assert (played.scenario_id, played.seed, played.user_seed, played.group_id) == (
        request.scenario_id,
        request.sampling_seed,
        request.user_seed,
        request.group_id,
    )


def test_the_expert_can_leave_out_its_evidence() -> None:
    bare = run_episodes(lambda env: ExpertAgent(env, evidence=False), requests(1))[0]
    assert bare.success
    assert bare.turns[1].text.startswith("<tool_call>")


@pytest.mark.parametrize("workers", [1, 4])
def test_results_do_not_depend_on_the_number_of_workers(workers: int) -> None:
    wanted = requests(8, samples=2)
    seen: list[tuple[int, int]] = []
    played = run_episodes(
        lambda env: RandomAgent(), wanted, workers=workers, on_progress=lambda done, total: seen.append((done, total))
    )
    assert played == run_episodes(lambda env: RandomAgent(), wanted)
    assert seen == [(i, 16) for i in range(1, 17)]
    said = [[turn.text for turn in trajectory.turns] for trajectory in played]
    assert sum(first != second for first, second in zip(said[::2], said[1::2], strict=True)) >= 7  # sampling seeds differ


class Broken:
    """Plays two good turns of nothing and then fails in the given way."""

    def __init__(self, failure: Callable[[], Any]) -> None:
        self.failure = failure

    def act(self, observation: Sequence[Message], info: Mapping[str, Any]) -> str:
        return "hm" if len(observation) < 6 else self.failure()


def divide_by_zero() -> str:
    raise ZeroDivisionError("one by none")


@pytest.mark.parametrize(
    ("failure", "error"),
    [
        (divide_by_zero, "ZeroDivisionError: one by none"),
        (lambda: 7, "TypeError: expected the agent to return a str, actual int"),
    ],
)
def test_an_agent_that_fails_ends_its_episode_only(failure: Callable[[], Any], error: str) -> None:
    wanted = requests(3)
    bad = wanted[1].scenario_id
    played = run_episodes(
        lambda env: Broken(failure if bad in env.unwrapped.__dict__["drawer"] else lambda: "fine"), wanted, workers=2
    )
    assert [trajectory.status for trajectory in played] == ["ok", "agent_error", "ok"]
    assert played[1].error == error
    assert (len(played[1].turns), played[1].stop_reason, played[1].success) == (2, "error", False)
    assert not played[1].terminated
    assert not played[1].truncated
    assert len(played[1].messages) == 6


class BreakingEnv(LookupEnv):
    def _hear(self, text: str) -> Any:
        raise OSError("the database is gone")


def test_an_environment_that_fails_is_an_error_and_no_zero() -> None:
    (played,) = run_episodes(lambda env: ConstantAgent("hi"), requests(1), make_env=lambda request: BreakingEnv())
    assert (played.status, played.error, played.turns) == ("env_error", "OSError: the database is gone", ())
    unknown = replace(requests(1)[0], scenario_id="train-0-99")
    (played,) = run_episodes(ExpertAgent, [unknown])
    assert played.status == "env_error"
    assert "did you mean 'train-0-" in str(played.error)


def test_an_agent_that_cannot_play_stops_the_run() -> None:
    class Foreign(gymnasium.Env[Any, Any]):
        def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
            return (), {}

    with pytest.raises(UsageError, match="Foreign has no scripted expert"):
        run_episodes(ExpertAgent, requests(3), make_env=lambda request: Foreign(), workers=2)


def test_an_interrupt_stops_the_other_workers() -> None:
    turns: list[str] = []

    class Slow:
        def act(self, observation: Sequence[Message], info: Mapping[str, Any]) -> str:
            turns.append(threading.current_thread().name)
            if len(turns) > 20:
                raise KeyboardInterrupt
            return "go on"

    class Endless(LookupEnv):
        def _default_max_turns(self) -> int:
            return 100_000

    with pytest.raises(KeyboardInterrupt):
        run_episodes(lambda env: Slow(), requests(12), make_env=lambda request: Endless(), workers=3)
    assert len(turns) < 1000
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("episode")]


def test_why_a_generation_ended_is_kept() -> None:
    class Cut:
        def act(self, observation: Sequence[Message], info: Mapping[str, Any]) -> str:
            return Reply("and then", "length") if len(observation) == 2 else "all"

    (played,) = run_episodes(lambda env: Cut(), requests(1))
    assert [turn.stop_reason for turn in played.turns] == ["length", "eos", "eos", "eos"]
    assert all(type(turn.text) is str for turn in played.turns)
    assert (played.truncated, played.stop_reason, played.success) == (True, "max_turns", False)


# ---- scripted agents ------------------------------------------------------------------------------------------------


def test_no_cheater_succeeds() -> None:
    for name, cheater in CHEATERS.items():
        played = run_episodes(cheater, requests(4))
        assert [trajectory.status for trajectory in played] == ["ok"] * 4, name
        assert not any(trajectory.success for trajectory in played), name
        assert all(trajectory.total_reward <= 0 for trajectory in played), name


def test_the_flood_is_many_calls_and_never_the_last_one() -> None:
    tools = ToolBox([Everything, Finish]).schemas()
    action = parse_action(FloodAgent(3, calls=12).act(TALK, {"tools": tools}))
    assert action.error is None
    assert [call.name for call in action.calls] == ["everything"] * 12


def test_the_yes_sayer_agrees_and_ends() -> None:
    said = YesAgent(turns=1).act(TALK, {})
    assert said.startswith("Yes")
    assert said.endswith(TALK[-1]["content"])
    talked: list[Message] = [*TALK, {"role": "assistant", "content": said}, {"role": "user", "content": "Well?"}]
    assert parse_action(YesAgent(turns=1).act(talked, {})).kind == "finish"


def test_protocols_tell_agents_apart() -> None:
    env = gymnasium.make(LOOKUP_ID)
    agents: list[object] = [ExpertAgent(env), ConstantAgent(""), RandomAgent(), EndpointAgent("http://x", "m"), HumanAgent()]
    assert all(isinstance(agent, Agent) for agent in agents)
    assert [isinstance(agent, BatchAgent) for agent in agents] == [False, True, True, True, False]
    assert [isinstance(agent, EpisodeAware) for agent in agents] == [False, False, True, True, False]
    assert ConstantAgent("x").act_batch([TALK, TALK], [{}, {}]) == ["x", "x"]


class Everything(Tool):
    """Takes arguments of every kind."""

    text: str
    count: int
    share: float
    yes: bool
    several: list[int]
    maybe: str | None = None


@given(st.integers(0, 10_000))
@settings(max_examples=50, deadline=None)
def test_random_calls_fit_the_schemas(seed: int) -> None:
    box = ToolBox([Everything])
    action = parse_action(RandomAgent(seed, speak=0.0).act(TALK, {"tools": box.schemas()}))
    assert action.error is None
    tool = box.read(action.calls[0])
    assert isinstance(tool, Everything)
    assert tool.text in "S Book flight FL337 at 14:30"


def test_random_agents_talk_and_call() -> None:
    info = {"tools": ToolBox([Everything]).schemas()}
    agent = RandomAgent(0, speak=0.5)
    said = [agent.act(TALK, info) for _ in range(100)]
    assert 25 < sum("<tool_call>" in text for text in said) < 75
    assert RandomAgent(0).act(TALK, {})


# ---- the endpoint ---------------------------------------------------------------------------------------------------


class Server(ThreadingHTTPServer):
    """A chat endpoint that answers what its script says, in order, and notes what it was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.script: list[tuple[int, Any, dict[str, str]]] = []
        self.asked: list[dict[str, Any]] = []
        self.headers_seen: list[dict[str, str]] = []
        self.hang = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        server: Any = self.server
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server.asked.append(body)
        server.headers_seen.append(dict(self.headers))
        if self.path != "/v1/chat/completions":
            status, answer, headers = 404, {"error": {"message": f"no {self.path}"}}, {}
        elif server.script:
            status, answer, headers = server.script.pop(0)
        else:
            status, answer, headers = 200, completion("echo: " + body["messages"][-1]["content"]), {}
        if answer == "hang":
            server.hang.wait(10)
            return
        content = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None: ...


def completion(text: str | None, finish_reason: str = "stop", **message: Any) -> dict[str, Any]:
    return {"choices": [{"message": {"role": "assistant", "content": text, **message}, "finish_reason": finish_reason}]}


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield server
    server.hang.set()
    server.shutdown()
    server.server_close()


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses an endpoint agent takes, which then take no time."""
    taken: list[float] = []
    monkeypatch.setattr("slmagent.endpoint.time.sleep", taken.append)
    return taken


def test_an_endpoint_gets_the_conversation_as_it_is(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", " secret\n")
    agent = EndpointAgent(
        server.url + "/", "small", api_key_env="MY_KEY", temperature=0.7, max_new_tokens=9, extra={"top_p": 0.9}
    )
    assert agent.act(TALK, {}) == "echo: Book flight FL337 at 14:30"
    assert server.asked == [{"model": "small", "messages": TALK, "temperature": 0.7, "max_tokens": 9, "top_p": 0.9}]
    assert server.headers_seen[0]["Authorization"] == "Bearer secret"
    agent.begin_episode(replace(requests(1)[0], sampling_seed=42))
    assert agent.act([*TALK, {"role": "user", "content": "lone \ud800 surrogate"}], {}).startswith("echo: lone")
    assert server.asked[1]["seed"] == 42


def test_without_a_key_none_is_sent(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    EndpointAgent(server.url, "m").check()
    assert "Authorization" not in server.headers_seen[0]
    assert server.asked[0]["max_tokens"] == 1


def test_passing_failures_are_retried_with_growing_pauses(server: Server, pauses: list[float]) -> None:
    server.script = [(503, {}, {}), (429, {}, {"Retry-After": "7"}), (500, b"oops", {}), (200, completion("fine"), {})]
    assert EndpointAgent(server.url, "m", backoff_s=1.0).act(TALK, {}) == "fine"
    assert len(server.asked) == 4
    assert 0.75 <= pauses[0] <= 1.25
    assert pauses[1] == 7.0
    assert 3.0 <= pauses[2] <= 5.0


def test_retries_end(server: Server, pauses: list[float]) -> None:
    server.script = [(500, {"error": {"message": "out of memory"}}, {})] * 3
    with pytest.raises(EndpointError, match="HTTP 500: out of memory, after 3 attempts"):
        EndpointAgent(server.url, "m", retries=2).act(TALK, {})
    assert len(pauses) == 2


def test_nobody_there_and_no_answer_in_time(server: Server, pauses: list[float]) -> None:
    with pytest.raises(EndpointError, match=r"no connection .*after 2 attempts"):
        EndpointAgent("http://127.0.0.1:9/v1", "m", retries=1).act(TALK, {})
    server.script = [(200, "hang", {})] * 2
    with pytest.raises(EndpointError, match=r"no answer in time .*after 2 attempts"):
        EndpointAgent(server.url, "m", retries=1, timeout_s=0.2).act(TALK, {})


@pytest.mark.parametrize(
    ("status", "kind", "said"),
    [
        (401, UsageError, "refuses access .*bad key.*OPENAI_API_KEY, which is not set"),
        (404, UsageError, "does not know this address or the model 'm' .*bad key"),
        (400, EndpointError, "HTTP 400: bad key"),
    ],
)
def test_lasting_failures_are_not_retried(
    server: Server, monkeypatch: pytest.MonkeyPatch, status: int, kind: type[Exception], said: str
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    server.script = [(status, {"error": {"message": "bad key"}}, {})]
    with pytest.raises(kind, match=said):
        EndpointAgent(server.url, "m").act(TALK, {})
    assert len(server.asked) == 1


@pytest.mark.parametrize("answer", [b"<html>", b"[]", b'{"choices": []}', b'{"choices": [{"message": null}]}'])
def test_other_answers_are_shown(server: Server, answer: bytes) -> None:
    server.script = [(200, answer, {})]
    with pytest.raises(EndpointError, match="expected a chat completion"):
        EndpointAgent(server.url, "m").act(TALK, {})


def test_cut_empty_and_parsed_answers(server: Server) -> None:
    call = {"function": {"name": "get_code", "arguments": '{"drawer": "d1"}'}}
    server.script = [
        (200, completion("I was", "length"), {}),
        (200, completion(None), {}),
        (200, completion("Let me see.", "tool_calls", tool_calls=[call]), {}),
    ]
    agent = EndpointAgent(server.url, "m")
    cut, empty, called = (agent.act(TALK, {}) for _ in range(3))
    assert isinstance(cut, Reply)
    assert cut.stop_reason == "length"
    assert empty == ""
    parsed = parse_action(called)
    assert (parsed.text, parsed.calls[0].name, parsed.calls[0].arguments) == ("Let me see.", "get_code", {"drawer": "d1"})


def test_batches_keep_their_order(server: Server) -> None:
    talks: list[list[Message]] = [[*TALK, {"role": "user", "content": str(i)}] for i in range(20)]
    assert EndpointAgent(server.url, "m").act_batch(talks, [{}] * 20) == [f"echo: {i}" for i in range(20)]


def test_an_endpoint_plays_episodes_in_parallel(server: Server, pauses: list[float]) -> None:
    server.script = [(400, {"error": "too long"}, {})]
    agent = EndpointAgent(server.url, "m", temperature=0.5)
    played = run_episodes(lambda env: agent, requests(6), workers=3)
    assert sorted(trajectory.status for trajectory in played) == ["agent_error", *["ok"] * 5]
    assert {trajectory.temperature for trajectory in played} == {0.5}
    seeds = {request.sampling_seed for request in requests(6)}
    assert {body["seed"] for body in server.asked} == seeds
    server.script = [(403, {}, {})]
    with pytest.raises(UsageError, match="refuses access"):
        run_episodes(lambda env: agent, requests(6), workers=3)


# ---- a person -------------------------------------------------------------------------------------------------------


def play(lines: Sequence[str], info: Mapping[str, Any] | None = None) -> tuple[str, list[str]]:
    typed, shown = iter(lines), []
    agent = HumanAgent(read=lambda prompt: next(typed), write=shown.append)
    return agent.act(TALK, info or {}), shown


def test_a_person_sees_the_conversation_and_talks() -> None:
    said, shown = play(["  Which day? "])
    assert said == "Which day?"
    assert shown[1:] == ["[system] S", "[user] Book flight FL337 at 14:30"]


def test_a_person_sees_only_what_is_new() -> None:
    shown: list[str] = []
    agent = HumanAgent(read=lambda prompt: "ok", write=shown.append)
    agent.act(TALK, {})
    shown.clear()
    agent.act([*TALK, {"role": "assistant", "content": "ok"}, {"role": "user", "content": "And?"}], {})
    assert shown == ["[user] And?"]
    shown.clear()
    agent.act([TALK[0], {"role": "user", "content": "A new episode"}], {})
    assert shown[1:] == ["[system] S", "[user] A new episode"]


def test_a_person_calls_tools() -> None:
    tools = ToolBox([Everything]).schemas()
    said, shown = play(
        ["/tools", "/cal x", "/call", "/call a b", '/call a b="c', '/call everything count=3 text="a b" yes=true x=NaN'],
        {"tools": tools},
    )
    assert parse_action(said).calls[0].arguments == {"count": 3, "text": "a b", "yes": True, "x": "NaN"}
    text = "\n".join(shown)
    assert "everything text count share yes several [maybe]: Takes arguments of every kind." in text
    for complaint in ("unknown command /cal", "name is missing", "'b' is not key=value", "quote is not closed"):
        assert complaint in text
    assert parse_action(play(["/finish All done."])[0]).kind == "finish"


def test_a_person_may_leave() -> None:
    with pytest.raises(HumanQuit):
        play(["/quit"])

    def end(prompt: str) -> str:
        raise EOFError

    with pytest.raises(HumanQuit, match="ended"):
        HumanAgent(read=end, write=lambda line: None).act(TALK, {})


@given(st.text(max_size=40))
def test_any_line_is_a_call_or_a_clear_complaint(line: str) -> None:
    try:
        name, arguments = read_call(line)
    except ValueError as problem:
        complaint = str(problem)
    else:
        complaint = "none"
        assert parse_action(write_call(name, arguments)).error is None
        with pytest.raises(ToolError):
            ToolBox([Everything]).read(parse_action(write_call(name, arguments)).calls[0])
    assert complaint
