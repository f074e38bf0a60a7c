"""Wordings by which a message asks, proposes, refuses, apologises ... whatever the domain. Data for `understanding`.

Phrase syntax: see `phrases`. Kinds that open a scope (what follows belongs to it until the next one): `wh` and `request` ask for what they
name, `confirm` asks for it or, when it names nothing, for agreement, `propose` asks for agreement to an action, `offer` to a harmless step
(a search), `state` and `waive` ask for nothing. The others only set flags.
"""

from __future__ import annotations

from collections.abc import Mapping

SCOPES = frozenset({"wh", "request", "confirm", "propose", "offer", "state", "waive"})

_ACT = (
    "book|reserve|buy|purchase|order|cancel|change|modify|update|move|rebook|pay|proceed|continue|finalize|finalise|complete|confirm|"
    "make|place|submit|issue|process|do|take|schedule|refund|replace|apply|delete|switch|hold|secure|arrange|put|add"
)
_LOOK = (
    "search|look|check|find|show|list|see|try|get|start|begin|help|suggest|explore|wait|compare|tell|give|provide|send|explain"
)
_MODAL = "shall|should|may|can|could|must"
_AUX = "do|does|did|is|are|was|will|would|should|can|could|shall|may|have|has|must"

CUES: Mapping[str, tuple[str, ...]] = {
    "wh": (
        f"^ what|which|where|when|who|whom|how {_AUX}",
        "^ what|which|whose",
        "^ where to|from",
        "^ who|whom",
        "^ where and when",
        "^ when and where",
        "how many|much|long|often",
        "what kind|type|sort|time|date|day|name|class|city|airport|area|budget|reason",
        "at|on|in|by|from|to|for|under|until|till what|which|whose|where|when",
        "from where|when",
        "to where",
        "^ why",
    ),
    "request": (
        "tell|give|send|show|provide me|us",
        "provide|specify|state|share|supply|indicate|mention|clarify|enter|input|type|submit|include|fill|write|list the|your|a|an|which|what",
        "please tell|give|provide|specify|state|share|supply|indicate|mention|clarify|enter|input|type|submit|include|fill|write|list|say|"
        "choose|select|pick|send|answer|reply|advise|add|inform|let|help",
        "^ give|say|choose|select|pick|name|send|answer your|the|a|me",
        "let me|us know",
        "need your|the|a|an|some|more|any|following|to know|have|ask|get|hear|learn|understand",
        "need to know|have|ask|get|hear|learn|understand|obtain|collect|clarify",
        "needs|needed your|the",
        "require|requires your|the|a|some|to know",
        "want|wish|like to know|ask|hear|learn|understand",
        "would need|require",
        "^ do|does|did|are|is|have|has|will|would|can|could|should|may you|your|there|it|i|we|this|that|the",
        "^ any",
        "do|have|are|would you have|want|need|prefer|wish|like|care|mind|know|travel|travelling|traveling|fly|flying|looking|ok|okay",
        "you would like|prefer|want",
        "may|can|could i|we have|know|ask|get|please|see|take",
        "can|could|would|will you please|tell|give|provide|share|specify|state|supply|say|send|let|clarify|confirm|also|kindly|possibly",
        "kindly",
        "without knowing|your|a|the",
        "until|unless|once|when|if|after you tell|give|provide|share|specify|told|gave|say|choose|have",
        "if you tell|give|provide|share|say|specify|let",
        "waiting|wait for your",
        "asking|ask for|about|you",
        "^ which one",
        "missing|lack|lacking",
        "still need|missing|unclear|unknown|open",
        "not know|sure|clear your|the|what|which|where|when|how|about",
        "wonder|wondering",
    ),
    "confirm": (
        "^ confirm",
        "please confirm",
        "can|could|would|will|do you confirm",
        "you please confirm",
        "need you to confirm",
        "your confirmation",
        "kindly confirm",
    ),
    "propose": (
        f"{_MODAL} i|we {_ACT}",
        f"{_MODAL} i|we please|now|then|also|just|really {_ACT}",
        f"{_MODAL} i|we go ahead|on|forward|for|with",
        f"want|like|need|prefer|wish|allow me|us to {_ACT}",
        f"want|like|need|prefer|wish|allow me|us to go ahead|on|with|forward",
        f"want|like|need|prefer|wish|allow|let me|us {_ACT}",
        "do|would|are|if|so you agree|accept|approve|authorize|authorise",
        "your approval|agreement|permission|consent|authorization|go-ahead",
        f"would|do|if|will you like|want|wish|prefer to {_ACT}",
        "would|do|if you like|want|wish to go ahead|on|with|for|forward",
        f"ready|happy|fine|ok|okay|sure|willing to {_ACT}",
        "ready|happy|fine|ok|okay to go ahead|for|with",
        "is|are|be it|this|that|you|everything|all|these ok|okay|fine|alright|good|acceptable|agreeable|suitable|correct|right|happy|satisfied",
        "are you sure|certain|happy|satisfied|ok|okay|fine|good with|about|that|you|if",
        "are you ok|okay|fine|happy|good|sure|satisfied|ready",
        "ok|okay|fine|alright|good if|that i|we",
        "does|do|would|will that|this|it|these work|suit|sound|look|fit|do|help|be",
        "sound|sounds|look|looks good|ok|okay|fine|right|great",
        "yes or no",
        "say|reply|answer|type|write|respond with|yes",
        "just|please say yes",
        "how|what about",
        "if you agree|approve|accept|confirm|wish|like",
        "tell|let me know if|whether i|we should|can|may|shall",
        "tell me if|whether i|we should|can|may|shall",
        "agreed",
        "please agree|approve|authorize|authorise",
        f"i|we {_MODAL} {_ACT}",
    ),
    "offer": (
        f"{_MODAL} i|we {_LOOK}",
        f"want|like|need me|us to {_LOOK}",
        "can|may|could i|we help|assist",
        "how can|may|could i|we help|assist",
        "what can|may|could i|we do",
    ),
    "state": (
        "i|we will|have|found|see|booked|checked|am|was|did|cancelled|canceled|know|looked|can|could",
        "then|so|and i|we will|can",
        "so that",
        "in order to",
        "here is|are",
        "there is|are",
        "your|the|this|it|that is|are|was|has|have|will|costs|leaves|departs|arrives",
    ),
    "waive": (
        "no need",
        "not need|require|have|want to tell|your|the|give|provide|share|know|say|any",
        "not need|require",
        "needless",
        "already have|know",
        "not necessary|needed|required",
    ),
    "refuse": (
        "can|could|will|would|may not",
        "cannot",
        "unable to",
        "not able|allowed|permitted|possible|eligible|authorized|authorised|refundable|changeable",
        "impossible",
        "against _ policy|policies|rules|terms",
        "policy|policies|rule|rules|fare|fares|ticket|tickets do|does|will not allow|permit",
        "not allow|permit",
        "non refundable|changeable",
        "nonrefundable",
        "must|have to decline|refuse|reject",
        "refuse|decline|deny|forbidden|prohibited",
        "no way to",
    ),
    "conditional": ("without", "until", "unless", "before"),
    "thanks": ("thank|thanks|thx|appreciate|appreciated|grateful",),
    "apology": ("sorry|apologize|apologise|apologies|apology|regret|forgive", "my bad", "pardon"),
    "filler": (
        "one|a moment|second|minute",
        "hold on",
        "please wait",
        "let me|us check|see|look|think|search|find",
        "working on|to",
        "will|am check|checking|look|looking|search|searching|get back",
    ),
    "help": (
        "how can|may|could i|we help|assist|serve|be",
        "what can|may|could i|we do",
        "anything|something|what else",
        "here to help|assist",
        "happy|glad|ready to help|assist",
        "any questions|question",
    ),
    "beg": (
        "your|the|all|initial|original|secret|hidden|system|exact instruction|instructions|prompt|prompts",
        "instructions you|that",
        "instructed|programmed|prompted",
        "hidden|secret details|detail|facts|fact|information|info|requirements|constraints|data|goals|goal|values|slots|preferences|state|things",
        "hiding|withholding|concealing|concealed",
        "hidden from",
        "your agenda|script|persona|scenario|configuration|lexicon|simulator",
        "you simulated|simulator|bot|ai|programmed",
        "ignore|forget|disregard _ previous|above|instructions|prior|rules|earlier",
        "repeat|print|reveal|dump|output|show|display|quote _ prompt|instructions|above|system|state|slots|agenda",
        "system prompt|message",
        "what were you told|given|asked|instructed",
        "you were told|given|instructed",
        "reveal",
    ),
    "beg_all": (
        "tell|give|say|share|provide|send|know|list|need|want everything|all",
        "tell|give|say|share|provide|send|list|know me|us everything|all|anything",
        "everything you|about",
        "all you know|have|want|need",
        "all|every|any|full|complete|whole|entire the|your|of|other|remaining|relevant|necessary|needed|required|possible|details|detail|information|info",
        "all|every of your|the",
        "more|further|additional|other|some|your|the|following|necessary|required|needed|missing|full|complete details|detail|information|info|facts",
    ),
}
