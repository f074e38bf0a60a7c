"""What programmers say about answers; for the form see `scenarios.lines`."""

from __future__ import annotations

from collections.abc import Mapping

Manner = str

CODE_LINES: Mapping[str, Mapping[Manner, tuple[str, ...]]] = {
    "try_again": {
        "plain": ("that does not work yet", "not quite, please look at it again", "this is not what I need", "it still fails"),
        "terse": ("no, it fails", "not yet", "wrong, again please"),
        "formal": ("I am afraid that this is not correct yet", "unfortunately it does not hold"),
        "casual": ("hm, that breaks", "nope, try again"),
        "wordy": ("thank you, but I have tried it and it does not do what I had hoped for",),
        "unsure": ("hm, I think there is something wrong with it", "sorry, it does not seem to work"),
        "broken": ("sorry, is not working", "it make wrong result"),
        "cross": ("that is wrong again",),
    },
    "give_up": {
        "plain": ("that does not work, so I will write it myself, goodbye", "it fails, I will do it on my own, goodbye"),
        "terse": ("it fails, bye", "wrong, I do it myself, bye"),
        "formal": ("I am afraid this is not correct, so I will see to it myself, goodbye",),
        "casual": ("nope, that breaks, I am out, bye",),
        "wordy": ("thank you for trying, but it does not do what it should, and so I will write it myself, goodbye",),
        "unsure": ("it does not seem to work, I had better ask somebody else, goodbye",),
        "broken": ("sorry, is not working, I try alone, goodbye",),
        "cross": ("wrong, and I have no time for more, goodbye",),
    },
}
