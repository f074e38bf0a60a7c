"""Filler: the share of a message that is empty phrases."""

from __future__ import annotations

from collections.abc import Sequence

from slmagent.scenarios.phrases import PhraseIndex
from slmagent.scenarios.sentences import sentences_of
from slmagent.types import Message

_VERY = "so|very|really|truly|terribly|deeply|extremely|sincerely|most|humbly"
_SEEK = "check|look|see|think|search|investigate"
_SEEK_IT = (_SEEK, f"{_SEEK} that|this|it", f"{_SEEK} that|this|it for you", "look into that|this|it", "get back to you")
_BOTHER = "inconvenience|inconveniences|trouble|delay|delays|confusion|frustration|wait|waiting|mistake|error|misunderstanding"
PHRASES = (
    # apologies
    "i|we am|are sorry|afraid",
    f"i|we am|are {_VERY} sorry",
    "i|we apologize|apologise",
    f"i|we {_VERY} apologize|apologise",
    "my|our apologies",
    f"my|our {_VERY}|sincere|deepest|sincerest apologies",
    "^ sorry|apologies",
    f"for|about the|this|that|any|your|all {_BOTHER}",
    f"for|about all the {_BOTHER}",
    f"for|about any|the possible|caused {_BOTHER}",
    "to hear that|this|about",
    "forgive|pardon|excuse me|us",
    # thanks for nothing done yet
    "thank you|thanks for your|the patience|understanding|cooperation|time|message|feedback|question|inquiry|interest|trust",
    "thanks for your|the patience|understanding|cooperation|time|message|feedback|question|inquiry|interest|trust",
    "thank you for contacting|reaching|waiting|bearing|choosing us|out|with|me",
    "thanks for contacting|reaching|waiting|bearing|choosing us|out|with|me",
    "thank you for being so|very patient|understanding",
    "i|we appreciate|value your patience|understanding|cooperation|time|business|feedback|trust",
    f"i|we {_VERY} appreciate|value your patience|understanding|cooperation|time|business|feedback|trust",
    # announcements of nothing in particular
    *(
        f"{announce} {seek}"
        for announce in ("let me|us", "let me|us just|quickly|now", "i|we will", "i|we will just|quickly|now")
        for seek in _SEEK_IT
    ),
    *(
        f"{busy} {seek}"
        for busy in ("i|we am|are", "i|we am|are currently|now|still")
        for seek in ("checking|looking|investigating", "checking that|this|it", "looking|working into|on that|this|it")
    ),
    "let me|us take|have a look",
    "i|we will take|have a look",
    "one|a moment|second|minute",
    "just a|one moment|second|minute",
    "give me|us a|one moment|second|minute",
    "bear with me|us",
    "hold on",
    "stand by",
    "please wait|hold",
    "be patient",
    # stock courtesies
    "i|we understand how _ feel|feeling|frustrating|upsetting|important|difficult",
    "i|we understand your frustration|concern|concerns|disappointment|situation",
    f"i|we {_VERY}|completely|fully|totally understand your frustration|concern|concerns|disappointment|situation",
    f"i|we {_VERY}|completely|fully|totally understand",
    "i|we hope this|that helps",
    "i|we hope you have a|an great|nice|good|wonderful|lovely|excellent day|evening|time|trip",
    "have a|an great|nice|good|wonderful|lovely|excellent day|evening|time|trip|one",
    "i|we am|are here|happy|glad|ready|delighted to help|assist",
    "i|we am|are always|more here|happy|glad|ready|than to|happy help|assist|to",
    "how can|may i|we help|assist",
    "how can|may i|we help|assist you",
    "how can|may i|we help|assist you today|further",
    "anything else i|we can|could|may help|assist|do",
    "is there anything else i|we can|could|may help|assist|do",
    "with|for you today|further",
    "feel free to ask|contact|reach|write",
    "not hesitate to ask|contact|reach|write",
    "great|good|excellent|wonderful question",
    "rest assured",
    "as an ai",
    "your satisfaction|business|happiness is important|everything|our",
    "your satisfaction|business|happiness is our|very|so|most priority|important|goal",
)  # fmt: skip
"""Empty phrases, in the syntax of `slmagent.scenarios.phrases`; long courtesies are made of several."""
_INDEX = PhraseIndex(("filler", phrase) for phrase in dict.fromkeys(PHRASES))


def filler_share(text: str) -> float:
    """Words in empty phrases (apologies, thanks for patience, announcements, stock courtesies) over all words, in [0, 1]."""
    total = empty = 0
    for sentence in sentences_of(text):
        total += len(sentence.tokens)
        places = (range(found.start, found.stop) for found in _INDEX.find(sentence.tokens, sentence.begins))
        empty += len({place for span in places for place in span})
    return empty / total if total else 0.0


class Filler:
    """How much of a message is empty phrases (see `filler_share`); the history does not matter."""

    name: str = "filler"
    low: float = 0.0
    high: float = 1.0

    def __call__(self, text: str, history: Sequence[Message] = ()) -> float:
        """Share of words in empty phrases, in [0, 1]."""
        return filler_share(text)
