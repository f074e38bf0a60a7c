"""Wordings by which a message asks, proposes, refuses, apologises ... whatever the domain: the data of `understanding`.

Phrase syntax: see `phrases`. The kinds in `SCOPES` open a scope: what follows in the sentence belongs to it until the next
one opens. `wh` and `request` ask for the facts they name; `aux` too, but only in a question; `confirm` and `about` ask for what
they name and, naming nothing, for agreement; `propose` asks for agreement to an action; `offer` to a harmless step; `state`
and `waive` ask for nothing. The other kinds only set flags.
"""

from __future__ import annotations

from collections.abc import Mapping

SCOPES = frozenset({"wh", "request", "aux", "confirm", "about", "propose", "offer", "state", "waive"})

AGREEMENT_TAGS = frozenset({"ok", "okay", "alright", "agreed", "deal", "yes", "no", "fine", "good", "great"})
"""Last words of a question that ask for agreement ("I book it now, ok?")."""
CHECK_TAGS = frozenset({"right", "correct", "true", "accurate"})
"""Last words of a question that ask whether something said is right."""
CONDITIONS = frozenset({"until", "unless", "without"})
"""In their company "I cannot" is no refusal ("I cannot search without the date")."""
LIST_WORDS = frozenset({"following", "information", "info", "details", "questions"})
"""A request with one of these, or with a colon at its end, covers the list below it."""

_ACT = (
    "book|reserve|buy|purchase|order|cancel|change|modify|update|move|rebook|pay|proceed|continue|finalize|finalise|complete|confirm|"
    "make|place|submit|issue|process|do|take|schedule|refund|replace|apply|delete|switch|hold|secure|arrange|put|add|reschedule|choose|"
    "use|open|create|exchange|escalate|register|raise|file|waive|credit"
)
_LOOK = (
    "search|look|check|find|show|list|see|try|get|start|begin|help|suggest|recommend|explore|wait|compare|tell|give|provide|send|"
    "explain|assist"
)
_TELL = (
    "tell|give|provide|specify|state|share|supply|indicate|mention|clarify|enter|input|type|submit|include|fill|write|list|say|"
    "choose|select|pick|send|answer|reply|advise|inform|describe|name|explain|elaborate|attach|upload"
)
_WANT = "want|like|need|prefer|wish|require|expect|love|care"
_MODAL = "shall|should|may|can|could|must"
_AUX = "do|does|did|is|are|was|will|would|should|can|could|shall|may|have|has|must"
_GOOD = (
    "ok|okay|fine|alright|right|good|acceptable|agreeable|suitable|correct|happy|satisfied|convenient|great|perfect|possible|"
    "interesting|enough"
)
_ITEM = "flight|hotel|option|choice|price|fee|total|offer|room|one|booking|plan|change|itinerary|details|fare|cost"
_REMEDY = "refund|replacement|exchange|repair|ticket"
_KNOW = "know|have|ask|get|hear|learn|understand|obtain|collect|clarify|see"
_OWN = "your|the|a|an|its"

CUES: Mapping[str, tuple[str, ...]] = {
    "wh": (
        f"^ what|which|where|when|who|whom|how|why {_AUX}",
        "^ what|which|whose|why|who|whom|how",
        "^ where to|from|and|in|should|exactly",
        "^ when and|exactly|you",
        "how many|much|long|often|early|late|expensive",
        "what is your",
        "what kind|type|sort|time|date|day|name|class|city|airport|area|budget|reason|number",
        "at|on|in|by|from|to|for|under|until|till|with|of what|which|whose|where|when|whom",
    ),
    "request": (
        "tell|give|send|show|provide me|us",
        f"{_TELL} {_OWN}|which|what|where|when|how|me",
        f"please {_TELL}|add|let|help|be",
        "let me|us know",
        "need|want _ from you",
        f"need {_OWN}|some|any|following|which|what|also",
        f"need to {_KNOW}",
        f"help|helps|useful|good|important to {_KNOW}",
        f"i|we have to {_KNOW}",
        f"needs|needed|requires|require {_OWN}|some|to",
        f"{_WANT} to know|ask|hear|learn",
        f"would need|require|like {_OWN}",
        f"do|have|are|would|did|will|can|could|may you {_WANT}|have|mind|know|travel|fly|looking",
        "^ do|does|did|are|have|will|would|can|could|should|may you",
        f"may|can|could i|we {_KNOW}|please|take",
        f"can|could|would|will you {_TELL}|please|let|also|kindly|possibly",
        "kindly",
        "^ any",
        "without knowing|your|a|the",
        f"until|unless|once|if|after you {_TELL}|told|gave|have|let",
        "wait|waiting|ask|asking for your|the",
        "ask you|about",
        "missing|lack|lacking|unclear|unknown",
        f"not {_KNOW}|catch|sure|clear your|the|what|which|where|when|how|about",
        "wonder|wondering",
        "remains|left is",
        f"is it possible to {_KNOW}",
        f"is it possible to {_TELL}",
        "is it possible for you",
    ),
    "aux": (
        f"you {_WANT}",
        f"^ {_AUX} there|it|this|that|the|a|an|your|one|i|we|these|they",
        "^ is|are|does|do|will|would|should|can|could|has|have|was",
    ),
    "confirm": (
        "^ confirm",
        "please|kindly|you|me|to confirm",
        "do|can|could|would|will you confirm",
        "can|could|would|will you please confirm",
        "your confirmation",
    ),
    "about": ("how|what about",),
    "propose": (
        f"{_MODAL} i|we {_ACT}",
        f"{_MODAL} i|we please|now|then|also|just|really|therefore {_ACT}",
        f"{_MODAL} i|we go ahead|on|forward|for|with",
        f"{_WANT} me|us to {_ACT}",
        f"{_WANT} me|us to go ahead|on|with|forward",
        f"{_WANT} that i|we {_ACT}|go|should",
        f"{_WANT} i|we {_ACT}|go|should",
        f"do|would|if|will|should|did you {_WANT} me|us to {_ACT}",
        f"do|would|if|will|should|did you {_WANT} me|us to go ahead|on|with|forward",
        f"do|would|if|will|should|did you {_WANT} that i|we {_ACT}|go|should",
        f"do|would|if|will you {_WANT} to {_ACT}",
        f"do|would|if|will you {_WANT} to go ahead|on|with|for|forward",
        f"do|would|if|will you {_WANT} this|that|it",
        f"do|would|if|will you {_WANT} a|an|the|your _ {_REMEDY}",
        f"{_MODAL} i|we send|offer|give you|it _ {_REMEDY}",
        f"{_MODAL} i|we send you|it another|again",
        f"{_MODAL} i|we send you a new",
        f"allow|permit|let me|us to {_ACT}",
        "you agree|accept|approve|authorize|authorise|consent",
        "do|can|could|would|will you agree|accept|approve|authorize|authorise|consent",
        "your approval|agreement|permission|consent|authorization|go-ahead",
        f"ready|happy|fine|ok|okay|sure|willing to {_ACT}",
        "ready|happy|fine|ok|okay to go ahead|for|with",
        f"is|are|was this|that|it|everything|all|these|both _ {_GOOD}",
        f"if this|that|it is {_GOOD}",
        f"is|are the {_ITEM} _ {_GOOD}",
        "are you sure|certain|happy|satisfied|ok|okay|fine|good|ready|comfortable",
        f"ok|okay|fine|alright|good|acceptable if|that i|we {_ACT}|go",
        "does|do|would|will|can this|that|it|these _ work|suit|sound|look|fit",
        f"does|do|would|will the {_ITEM} _ work|suit|sound|look|fit",
        f"would|will|can this|that|it|these _ be {_GOOD}",
        f"do|would|if you {_WANT} to receive|get|have a|an|the|your _ {_REMEDY}",
        f"do|would|if you {_WANT} me|us to send|give you a|an|the _ {_REMEDY}",
        "would you mind if i|we",
        f"would|will a|an|the|your _ {_REMEDY} be",
        f"do|would you {_WANT} to have it|this|that|them replaced|refunded|repaired|exchanged|fixed",
        f"would|will you be {_GOOD}|willing|open|content",
        "get|have your okay|ok|yes|agreement",
        "^ shall i|we",
        "if you like|wish|agree",
        f"is a|an|the _ {_REMEDY} _ {_GOOD}",
        f"how|what does|would a|an|the|your _ {_REMEDY} sound|look|be",
        f"would|could|will|do you consider|take a|an|the|your _ {_REMEDY}",
        "can|could|shall i|we settle|agree on",
        "^ sound|sounds good|ok|okay|fine|right|great",
        "yes or no",
        "say|reply|answer|type|write|respond|with yes",
        "please say|reply|answer|type|write|respond yes",
        "please say|reply|answer|type|write|respond with yes",
        f"tell|let|inform me|us if|whether i|we {_MODAL}",
        f"let me|us know if|whether i|we {_MODAL}",
        f"let me|us know if|whether you {_WANT} me|us to {_ACT}",
        f"let me|us know if|whether you {_WANT} to {_ACT}",
        "let me|us know if|whether this|that|it _ works|ok|okay|fine|suits|good",
        "please agree|approve|authorize|authorise|accept",
    ),
    "offer": (
        f"{_MODAL} i|we {_LOOK}",
        f"{_MODAL} i|we please|now|also|just {_LOOK}",
        f"{_WANT} me|us to {_LOOK}",
        f"do|would|if|will|should|did you {_WANT} me|us to {_LOOK}",
        "would you like|want to see|hear|know",
    ),
    "state": (
        f"i|we will|shall|can|could {_TELL}",
        "i|we will|have|found|see|booked|checked|am|was|did|cancelled|canceled|know|looked",
        "then|so|and i|we will|can",
        "so that",
        "in order to",
        "here is|are",
        "there is|are",
        "this|it|that|which is|has|was|costs|leaves|departs|arrives|takes|goes|will|are",
        "as|like you told|said|asked|wanted|wished|requested|mentioned",
        "i|we have to|must say|admit",
        "i|we have to say|admit",
        f"willingness|willing to {_TELL}",
    ),
    "waive": (
        "no need",
        f"do not need|have|want to {_TELL}|know",
        f"not need|have|want to {_TELL}|know",
        "not need",
        "needless",
        "already have|know|told",
        "not necessary|needed|required",
        "do not say|mention",
        "not say|mention",
    ),
    "refuse": (
        "i|we can|could|will|may|must not",
        "then|so|and|but i|we can|could|will|may|must not",
        "i|we am|are not able|allowed|permitted|going",
        "you can|may not",
        "can|could|may|will not be changed|cancelled|canceled|refunded|modified|done|booked|transferred|accepted|processed",
        "can|could|may|will not be returned|waived|dropped|replaced|exchanged",
        "not accepted|accept",
        "have|need|got to say no",
        "not in _ position to",
        "nothing i|we can do",
        "not something i|we can do",
        "not be able",
        "no longer|more possible|available|eligible|allowed",
        "unable to",
        "not able|allowed|permitted|possible|eligible|authorized|authorised|refundable|changeable|transferable|permissible",
        "impossible",
        "against _ policy|policies|rules|terms",
        "not allow|permit|cover|offer|grant",
        "non refundable|changeable",
        "nonrefundable",
        "must|to|i|we decline|refuse|reject|deny",
        "forbidden|forbids|forbid|prohibited|prohibits|prohibit",
        "no way to",
        "no refund|refunds|changes|cancellations|cancellation",
    ),
    "not_found": (
        "can|could|did|do not find|see|locate|have",
        "i|we can|could|did not find|see|locate|wait|believe",
        "unable|able to find|locate",
        "am|are unable to find|locate",
        "not able to find|locate",
        "no flight|flights|hotel|hotels|results|result|options|match|matches|rooms|booking|bookings",
        "nothing available|found|matches",
        "not available",
    ),
    "thanks": ("thank|thanks|thx|appreciate|appreciated|grateful",),
    "apology": ("sorry|apologize|apologise|apologies|apology|apologizing|regret|forgive|pardon", "my bad|fault|mistake"),
    "filler": (
        "one|a|just moment|second|minute",
        "hold on",
        "please wait",
        "let me|us check|see|look|think|search|find",
        "working on",
        "i|we will|am check|checking|look|looking|search|searching|get|try|trying|working",
    ),
    "help": (
        "how can|may|could i|we help|assist|serve|be",
        "what can|may|could i|we do|help",
        "can|may i help|assist",
        "anything|something|what else",
        "what else can|may|could i|we do|help",
        "here|happy|glad|ready|love to help|assist",
        "any|other questions|question",
        "assist|help you today|with",
    ),
    "beg": (
        "your|initial|original|secret|hidden|system|exact instruction|instructions|prompt|prompts",
        "the|all instruction|instructions|prompt|prompts you",
        "prompt|instructions word",
        "you _ instructed|programmed|prompted",
        "hidden|secret",
        "hiding|withholding|concealing|concealed",
        "hidden from",
        "your agenda|script|persona|scenario|configuration|lexicon|simulator",
        "you simulated|simulator|programmed",
        "ignore|forget|disregard _ previous|above|instructions|prior|rules|earlier",
        "repeat|print|reveal|dump|output|show|display|quote _ prompt|instructions|agenda",
        "repeat|print|dump|output _ above",
        "system prompt|message",
        "what _ you told|given|instructed",
        "you were|are told|given|instructed",
        "reveal",
    ),
    "unconditional": ("without a|any|the|this|that|its fee|fees|charge|charges",),
    "harmless": ("hidden fees|fee|costs|cost|charges|charge", "no hidden|secret"),
    "beg_all": (
        "tell|give|say|share|provide|send|know|list|need|want everything|all|anything",
        "tell|give|provide|send|show me|us everything|all|anything",
        "everything you|about",
        "all you know|have|want|need",
        "all|every|any|full|complete|whole|entire|more|further|additional|other|some|your|the|following|necessary|missing "
        "details|detail|information|info|data|facts|preferences|requirements",
    ),
}
