"""The command line: what it prints, what it leaves behind, and how it refuses."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from slmagent.cli import main
from slmagent.cli.names import parse_agent, resolve_environment
from slmagent.cli.playing import Episodes
from slmagent.errors import UsageError
from slmagent.evaluation.results import load_results
from slmagent.records import read_trajectories
from slmagent.types import EpisodeRequest

BOOKING = "SLMAgent/Booking-v0"


@pytest.fixture(autouse=True)
def _in_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")


def slmagent(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    """Runs a command, checks its exit code and that no traceback shows, and returns all that it printed."""
    actual = main(words)
    captured = capsys.readouterr()
    shown = captured.out + captured.err
    assert "Traceback" not in shown
    assert actual == code, shown
    return shown


def tiny_checkpoint(folder: Path) -> Path:
    from tiny import tiny_model, tiny_tokenizer

    tiny_model().save_pretrained(folder)
    tiny_tokenizer().save_pretrained(folder)
    return folder


# ---- looking around ---------------------------------------------------------------------------------------------------------


def test_help_is_fast_and_lists_the_commands() -> None:
    script = "import sys, slmagent.cli as c; code = c.main(['--help']); print(*sys.modules, file=sys.stderr); sys.exit(code)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0
    for command in ("envs", "play", "models", "rollout", "train", "eval", "demo"):
        assert f" {command} " in done.stdout
    heavy = {"torch", "transformers", "scipy", "matplotlib", "jinja2", "httpx", "slmagent.envs.booking"}
    assert not heavy & set(done.stderr.split())
    module = subprocess.run([sys.executable, "-m", "slmagent.cli", "envs"], capture_output=True, text=True, timeout=300)
    assert (module.returncode, module.stderr) == (0, "")


@pytest.mark.parametrize("command", ["envs", "play", "models", "rollout", "eval"])
def test_every_option_is_explained(capsys: pytest.CaptureFixture[str], command: str) -> None:
    import dataclasses

    from slmagent.cli import envs, evaluate, models, play, rollout

    slmagent(capsys, command, "--help")
    classes = {
        "envs": (envs.Levels, envs.Example),
        "play": (play.Play,),
        "models": (models.Pull,),
        "rollout": (rollout.Rollout,),
        "eval": (evaluate.Evaluate,),
    }
    for options in classes[command]:
        source = "".join(Path(sys.modules[base.__module__].__file__ or "").read_text() for base in options.__mro__[:-1])
        for field in dataclasses.fields(options):
            declared = source.index(f"\n    {field.name}: ")
            behind = source[source.index("\n", declared + 1) :].lstrip()
            assert behind.startswith('"""'), f"{options.__name__}.{field.name} has no help"


def test_environments_levels_and_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    assert BOOKING in slmagent(capsys, "envs")
    levels = slmagent(capsys, "envs", "levels", "booking")
    assert "book exactly the flight" in levels
    shown = slmagent(capsys, "envs", "example", "Booking", "--level", "1")
    for part in (f"{BOOKING}, level 1", "instructions", "user", "agent", "tool", "reward +", "progress +", "success return +"):
        assert part in shown
    assert shown == slmagent(capsys, "envs", "example", "Booking", "--level", "1")


def test_models_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert "smollm2-135m (default)" in slmagent(capsys, "models")


def test_a_person_plays(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    lines = iter(["Hello, what can I do?", "/call search_flights origin=1", "/finish Goodbye."])
    from slmagent.agents.human import HumanAgent

    defaults = {**(HumanAgent.__init__.__kwdefaults__ or {}), "read": lambda prompt: next(lines)}
    monkeypatch.setattr(HumanAgent.__init__, "__kwdefaults__", defaults)
    shown = slmagent(capsys, "play", "booking", "--level", "1", "--task", "0", "--seed", "0")
    for part in ("[system]", "[user]", "reward", "error:", "no success", "ended: finished"):
        assert part in shown


# ---- names ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [BOOKING, "Booking-v0", "booking", "BOOKING"])
def test_environment_names(name: str) -> None:
    assert resolve_environment(name) == BOOKING


@pytest.mark.parametrize("name", ["CustomerService", "customer-service", "customer_service-v0", "customerservice"])
def test_environment_names_of_two_words(name: str) -> None:
    assert resolve_environment(name) == "SLMAgent/CustomerService-v0"


@pytest.mark.parametrize(
    ("text", "label", "kind", "value"),
    [
        ("expert", "expert", "expert", ""),
        ("model:runs/a=b/x", "runs/a=b/x", "model", "runs/a=b/x"),
        ("RL=model:runs/x", "RL", "model", "runs/x"),
        ("after SFT=model:x", "after SFT", "model", "x"),
        ("endpoint:http://h:1/v1?a=b#m/n", "http://h:1/v1?a=b#m/n", "endpoint", "http://h:1/v1?a=b#m/n"),
        ("floor=do-nothing", "floor", "do-nothing", ""),
    ],
)
def test_agent_names(text: str, label: str, kind: str, value: str) -> None:
    spec = parse_agent(text)
    assert (spec.label, spec.kind, spec.value) == (label, kind, value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("exprt", "did you mean 'expert'"),
        ("model", "lacks what to play with"),
        ("model:", "lacks what to play with"),
        ("expert:now", "takes nothing behind a colon"),
        ("endpoint:http://localhost:8000", "expected endpoint:URL#MODEL"),
        ("RL=", "unknown agent 'RL='"),
    ],
)
def test_wrong_agent_names(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_agent(text)


# ---- refusals ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("eval expert --env bokking", "unknown environment 'bokking'; did you mean 'SLMAgent/Booking-v0'?"),
        ("eval expert --env SLMAgent/Bookings-v0", "did you mean 'SLMAgent/Booking-v0'?"),
        ("rollout expert --level 9", "has no level 9; expected one of 0, 1"),
        ("eval expert --split tests", "tests"),
        ("eval expert --n 0", "expected --n of at least 1, actual 0"),
        ("eval expert --n many", "many"),
        ("eval expert --temperature -1", "expected --temperature of at least 0"),
        ("eval", "no agent given"),
        ("eval exprt", "unknown agent 'exprt'; did you mean 'expert'?"),
        ("eval expert expert", "is given twice"),
        ("eval expert --against random", "--against 'random' is none of the agents; expected one of expert"),
        ("eval expert --seeds 1 1", "different --seeds"),
        ("eval expert model:./nowhere", "there is no model folder"),
        ("eval model:no-such-model", "unknown model 'no-such-model'"),
        ("eval file:nowhere.jsonl", "cannot read trajectories from nowhere.jsonl: No such file"),
        ("eval file:bad.jsonl", "bad.jsonl, line 2: expected one JSON object a line"),
        ("eval file:empty.jsonl", "empty.jsonl holds no episodes"),
        ("eval expert --metrics bad.jsonl", "bad.jsonl, line 1: expected an object with a number under 'step'"),
        ("rollout file:bad.jsonl", "a file of episodes cannot play"),
        ("rollout expert --out bad.jsonl", "bad.jsonl exists already"),
        ("envs example nothing", "unknown environment 'nothing'"),
        ("envs levels", "ENV"),
        ("play booking --level 7", "has no level 7"),
        ("models pull no-such-model", "unknown model 'no-such-model'"),
        ("train nowhere.toml", "cannot read the configuration nowhere.toml"),
        ("train untold.toml", "untold.toml: the key 'trainer' is missing"),
        ("train unknown.toml", "unknown.toml: unknown trainer 'grop'; did you mean 'grpo'?"),
        ("train wrong_key.toml", "wrong_key.toml: unknown key 'learning_rat'; did you mean 'learning_rate'?"),
        ("train wrong_type.toml", "wrong_type.toml: learning_rate: expected a number, actual 'fast' (text)"),
        ("train wrong_key.toml --level 2", "wrong_key.toml: unknown key 'learning_rat'"),
        ("train broken.toml", "broken.toml: not valid TOML"),
        ("train", "CONFIG"),
        ("evaluate expert", "eval"),
    ],
)
def test_bad_input_gets_one_clear_message_and_code_2(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, words: str, message: str
) -> None:
    files = {
        "bad.jsonl": '{"a": 1}\nnot json\n' if "line 2" not in message else None,
        "empty.jsonl": "\n",
        "untold.toml": "level = 1\n",
        "unknown.toml": 'trainer = "grop"\n',
        "wrong_key.toml": 'trainer = "sft"\nlearning_rat = 1e-4\n',
        "wrong_type.toml": 'trainer = "sft"\nlearning_rate = "fast"\n',
        "broken.toml": "trainer = \n",
    }
    for name, text in files.items():
        if text is not None:
            (tmp_path / name).write_text(text)
    if files["bad.jsonl"] is None:
        slmagent(capsys, "rollout", "expert", "--n", "1", "--out", "bad.jsonl")
        with open("bad.jsonl", "a") as file:
            file.write("not json\n")
    shown = slmagent(capsys, *words.split(), code=2)
    assert message in " ".join(shown.split())


def test_an_unreadable_checkpoint_is_told(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder = tiny_checkpoint(tmp_path / "model")
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    shown = slmagent(capsys, "eval", "model:./model", "--n", "1", code=2)
    assert "cannot load the model" in shown


def test_unexpected_failures_have_no_traceback_unless_asked(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*arguments: object, **more: object) -> None:
        raise KeyError("a bug")

    monkeypatch.setattr("slmagent.agents.episodes.run_episodes", broken)
    assert "unexpected KeyError: 'a bug' (--debug shows where)" in slmagent(capsys, "envs", "example", "booking", code=1)
    with pytest.raises(KeyError):
        main(["envs", "example", "booking", "--debug"])


def test_failing_episodes_are_one_line_each_and_no_result(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: object, action: str) -> None:
        raise RuntimeError("the database is gone")

    monkeypatch.setattr("slmagent.envs.booking.env.BookingEnv.step", broken)
    shown = slmagent(capsys, "eval", "expert", "--n", "3", code=2)
    assert "3 of 3 episodes of 'expert' failed" in shown
    assert "RuntimeError: the database is gone" in shown
    assert not Path("runs/eval.json").exists()


# ---- rollout and eval -------------------------------------------------------------------------------------------------------


def test_rollout_writes_episodes_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["rollout", "expert", "--n", "11", "--level", "0", "--split", "val"]
    assert "11 of 11 episodes succeeded, written to runs/episodes.jsonl" in slmagent(capsys, *words)
    episodes = read_trajectories("runs/episodes.jsonl")
    assert len(episodes) == 11
    assert [episode.scenario_id for episode in episodes] == sorted(episode.scenario_id for episode in episodes)
    assert {(episode.env_id, episode.level, episode.split) for episode in episodes} == {(BOOKING, 0, "val")}
    slmagent(capsys, *words, "--overwrite")
    assert read_trajectories("runs/episodes.jsonl") == episodes


def test_eval_prints_a_table_and_writes_results_episodes_and_report(capsys: pytest.CaptureFixture[str]) -> None:
    Path("rl").mkdir()
    steps = [{"step": i, "time/seconds": 60.0 * i, "rollout/success_rate": 0.1 * i} for i in range(5)]
    Path("rl/metrics.jsonl").write_text("".join(json.dumps(step) + "\n" for step in steps))
    shown = slmagent(
        capsys,
        *["eval", "floor=do-nothing", "expert", "--n", "12", "--seeds", "0", "1", "--html", "report.html"],
        *["--episodes", "played", "--metrics", "rl/metrics.jsonl", "--out", "deep/eval.json"],
    )
    assert "100 % [" in shown
    assert "expert - floor" in shown
    assert "expert better" in shown
    results, (comparison,) = load_results("deep/eval.json")
    assert [(result.label, result.success.estimate, result.episodes, result.tasks) for result in results] == [
        ("floor", 0.0, 24, 12),
        ("expert", 1.0, 24, 12),
    ]
    assert results[1].config["seeds"] == [0, 1]
    assert comparison.difference.estimate == 1.0
    page = Path("report.html").read_text()
    assert "<svg" in page
    assert "Success rate over minutes" in page  # 240 s
    assert "rl, over wall-clock time" in page
    assert page.count("<details") >= 6
    assert "http://" not in page.replace("http://www.w3.org", "")  # self-contained
    assert len(read_trajectories("played/expert.jsonl")) == 24
    # The same numbers from the stored episodes.
    slmagent(capsys, "eval", "floor=file:played/floor.jsonl", "expert=file:played/expert.jsonl", "--out", "again.json")
    again, _ = load_results("again.json")
    assert [(result.success, result.mean_return, result.runs) for result in again] == [
        (result.success, result.mean_return, result.runs) for result in results
    ]


def test_agents_with_one_label_are_seeds_of_one_method(capsys: pytest.CaptureFixture[str]) -> None:
    slmagent(capsys, "eval", "mix=expert", "mix=random", "floor=do-nothing", "--n", "8", "--against", "floor")
    results, comparisons = load_results("runs/eval.json")
    assert [(result.label, len(result.runs), result.success.estimate) for result in results] == [
        ("mix", 2, 0.5),
        ("floor", 1, 0),
    ]
    assert [(comparison.label_a, comparison.label_b) for comparison in comparisons] == [("mix", "floor")]


def test_a_local_model_plays(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pytest.importorskip("torch")
    tiny_checkpoint(tmp_path / "model")
    words = ["--n", "3", "--temperature", "1", "--max-new-tokens", "4", "--max-context", "2048", "--level", "0"]
    slmagent(capsys, "rollout", "model:./model", *words)
    episodes = read_trajectories("runs/episodes.jsonl")
    assert len(episodes) == 3
    assert all(episode.token_ids and episode.num_trained_tokens for episode in episodes)
    shown = slmagent(capsys, "eval", "model:./model", *words, "--split", "train")
    assert "slmagent: cannot play" not in shown
    too_long = slmagent(capsys, "eval", "model:./model", "--n", "1", "--max-context", "4096", code=2)
    assert "expected max_context between 1 and the model's 2048, actual 4096" in too_long


class _Endpoint(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        message = {"role": "assistant", "content": "I cannot help with that."}
        body = json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


def test_an_endpoint_plays_and_a_dead_one_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Endpoint)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        spec = f"bot=endpoint:http://127.0.0.1:{server.server_port}/v1#bot"
        slmagent(capsys, "eval", spec, "--n", "9", "--workers", "3")
    finally:
        server.shutdown()
        server.server_close()
    (result,), _ = load_results("runs/eval.json")
    assert (result.episodes, result.success.estimate, result.errors) == (9, 0.0, 0)


# ---- interruption -----------------------------------------------------------------------------------------------------------

SLOW = """
import signal, sys, time
from slmagent.agents import scripted
act = scripted.ExpertAgent.act
def slow(self, observation, info):
    time.sleep(0.02)
    return act(self, observation, info)
scripted.ExpertAgent.act = slow
signal.signal(signal.SIGINT, signal.default_int_handler)
from slmagent.cli import main
sys.exit(main(sys.argv[1:]))
"""


def interrupted(words: list[str], ready: Path | None, after: float = 0.0) -> subprocess.CompletedProcess[str]:
    """Runs a slow command, sends Ctrl-C once `ready` holds something (or after a while), and waits for its end."""
    command = [sys.executable, "-c", SLOW, *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ})
    deadline = time.monotonic() + 60
    while ready is not None and not (ready.exists() and ready.stat().st_size) and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(after)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def test_an_interrupted_rollout_keeps_what_is_done() -> None:
    done = interrupted(["rollout", "expert", "--n", "500", "--out", "part.jsonl"], Path("part.jsonl"))
    assert done.returncode == 130, done.stderr
    assert "Traceback" not in done.stderr
    assert "stopped early" in done.stderr
    episodes = read_trajectories("part.jsonl")
    assert 1 <= len(episodes) < 500
    assert all(episode.success for episode in episodes)


def test_an_interrupted_evaluation_reports_what_is_done() -> None:
    words = ["eval", "floor=do-nothing", "expert", "--n", "500", "--episodes", "played"]
    done = interrupted(words, None, after=8.0)
    assert done.returncode == 130, done.stderr
    assert "Traceback" not in done.stderr
    if "nothing to evaluate" not in done.stderr:  # a very slow machine
        assert "(stopped early)" in done.stdout
        results, _ = load_results("runs/eval.json")
        assert results[0].label == "floor"
        assert sum(result.episodes for result in results) < 1000


def test_partial_results_have_no_taste_for_short_episodes() -> None:
    import dataclasses

    from test_records import EPISODE

    requests = [EpisodeRequest("E", 1, "test", f"s{i}", 1, i) for i in range(4)]
    done = [dataclasses.replace(EPISODE, scenario_id=f"s{i}", user_seed=1, seed=i) for i in range(4)]
    episodes = Episodes(requests)
    for index in (3, 0):
        episodes.add(done[index])
    assert list(episodes.take_ready()) == [done[0]]
    episodes.add(done[1])
    assert list(episodes.take_ready()) == [done[1]]
    assert episodes.complete_prefix() == done[:2]
    assert episodes.all_done() == [done[0], done[1], done[3]]


def test_task_kinds_reach_the_results_also_of_episodes_that_were_cut(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    tiny_checkpoint(tmp_path / "model")
    # So short a context that no episode ends by itself.
    words = ["--n", "4", "--level", "4", "--max-context", "1900", "--max-new-tokens", "200", "--batch-size", "4"]
    slmagent(capsys, "eval", "model:./model", "expert", *words)
    (model, expert), _ = load_results("runs/eval.json")
    assert set(model.by_kind) == set(expert.by_kind) != set()
