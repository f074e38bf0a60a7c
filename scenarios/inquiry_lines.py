"""What users say who ask one question after the other and care how they are answered; the form is that of `lines`."""

from __future__ import annotations

from collections.abc import Mapping

from slmagent.scenarios.lines import Manner

INQUIRY_LINES: Mapping[str, Mapping[Manner, tuple[str, ...]]] = {
    "ask": {
        "plain": ("{answer}", "tell me, {answer}", "and {answer}"),
        "terse": ("{answer}",),
        "formal": ("may I ask, {answer}", "I would like to know, {answer}", "one question, if I may, {answer}"),
        "casual": ("hey, {answer}", "so, {answer}", "okay, {answer}", "quick one, {answer}"),
        "wordy": (
            "thank you for your time, I would be very glad if you could tell me this, {answer}",
            "I have been looking into it for some days and still wonder, {answer}",
            "if it is not too much trouble, I would also like to understand one thing, {answer}",
            "that is kind of you, and there is something else that I wanted to ask you, {answer}",
        ),
        "unsure": ("I am a bit lost, {answer}", "sorry, I never know, {answer}", "hm, maybe a silly question, {answer}"),
        "broken": ("please to tell me, {answer}", "I want to know, {answer}", "can you say me, {answer}"),
        "cross": ("now then, {answer}", "just tell me, {answer}"),
    },
    "ask_again": {
        "plain": ("my question was, {answer}", "I asked you something, {answer}", "let me ask again, {answer}"),
        "terse": ("again, {answer}", "still, {answer}"),
        "formal": ("allow me to repeat my question, {answer}", "I had asked you, {answer}"),
        "casual": ("come on, {answer}", "I still want to know, {answer}"),
        "wordy": ("perhaps I did not make myself clear, so let me ask you once more, {answer}",),
        "unsure": ("I still do not get it, {answer}", "did I ask it wrong, {answer}"),
        "broken": ("I ask again, {answer}", "you not answer me, {answer}"),
        "cross": ("for the last time, {answer}", "I am asking you again, {answer}"),
    },
    "too_long": {
        "plain": ("shorter, please", "fewer words would do", "keep it shorter, please", "that was a lot to read"),
        "terse": ("too long", "shorter", "fewer words"),
        "formal": ("please be briefer", "a shorter answer would suit me better"),
    },
    "too_short": {
        "plain": (
            "in whole sentences, please",
            "a few more words, please",
            "please say a little more",
            "that is a bit short for me",
        ),
        "terse": ("say it in full", "a bit more"),
        "formal": ("I would appreciate a fuller answer", "please be a little more thorough"),
        "wordy": ("I would really like to read a longer answer, so please take your time",),
    },
    "too_formal": {
        "plain": ("no need to be so formal", "you can drop the formal tone", "talk to me like a friend"),
        "terse": ("less formal", "skip the courtesies"),
        "casual": ("relax, no need for the fancy talk", "loosen up a bit"),
    },
    "too_casual": {
        "plain": ("a more courteous tone, please", "please be a little more polite", "that is too casual for me"),
        "formal": ("I would prefer a more courteous tone", "kindly keep a proper tone"),
    },
    "no_joke": {
        "plain": ("a bit more fun, please", "where is your sense of humour?", "you are allowed to smile", "too dry for me"),
        "casual": ("lighten up a little", "cheer me up, will you?"),
    },
    "no_figures": {
        "plain": ("more exact figures, please", "give me the figures as well", "I want it in numbers"),
        "formal": ("please add the exact figures", "I would prefer precise figures"),
    },
    "joke": {
        "plain": ("no jokes, please", "please be serious", "I am not in the mood for jokes"),
        "terse": ("no jokes", "be serious"),
        "formal": ("I would prefer it without jokes", "kindly remain serious"),
    },
    "better": {
        "plain": ("that is better", "yes, that is how I like it", "much better, thank you"),
        "terse": ("better", "like that"),
        "formal": ("thank you, that is a much better tone",),
        "casual": ("now we are talking", "that is more like it"),
    },
}
