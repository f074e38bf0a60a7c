"""What simulated users say, by occasion and manner: plain data, free of any domain.

A line is one sentence without its first capital and its full stop (a question mark is written out). `{value}`, `{label}` and
`{answer}` are filled in. For each occasion `plain` serves everybody; the other manners are preferred by the personas they suit
(see `speech`).
"""

from __future__ import annotations

from collections.abc import Mapping

Manner = str

LINES: Mapping[str, Mapping[Manner, tuple[str, ...]]] = {
    "agree": {
        "plain": ("yes, please do that", "yes, that is right", "yes, go ahead", "that suits me, go ahead", "yes, I agree"),
        "terse": ("yes", "go ahead", "do it", "fine, go on", "agreed"),
        "formal": ("yes, please proceed", "I agree, please proceed", "that is acceptable, please go ahead"),
        "casual": ("yep, do it", "sure, go for it", "sounds good, go on", "cool, go ahead"),
        "wordy": (
            "yes, that is just what I was hoping for, so please go ahead",
            "yes, I have thought about it and I agree, please go on",
            "that fits my plans very well, so yes, please do it",
        ),
        "unsure": ("I think so, yes, please do it", "yes, I guess that is right, go ahead", "if you think so too, then yes"),
        "broken": ("yes, please make it", "yes, is good for me", "I agree, you can do"),
    },
    "which": {
        "plain": (
            "which one do you mean exactly?",
            "what exactly would you like me to agree to?",
            "can you name the one you mean?",
            "please tell me which one it is first",
        ),
        "terse": ("which one?", "name it first", "agree to what?"),
        "formal": ("could you please specify which one you mean?", "I would need to know which one exactly before I agree"),
        "casual": ("which one is that?", "hang on, which one?"),
        "wordy": ("before I say yes I would like to know which one exactly you are talking about",),
        "unsure": ("I lost track, which one was that?", "wait, which one are we talking about?"),
        "broken": ("which one you mean?", "please say which one is it"),
    },
    "correct": {
        "plain": (
            "no, that is not what I want, it has to be {value}",
            "that does not fit, please keep to {value}",
            "not that one, I want {value}",
            "no, please remember that it must be {value}",
        ),
        "terse": ("no, {value}", "wrong, it is {value}", "does not fit, {value} please"),
        "formal": ("I am afraid that is not right, please keep to {value}", "no, thank you, my wish was {value}"),
        "casual": ("nope, I want {value}", "nah, it should be {value}"),
        "wordy": ("no, that is not quite what I had in mind, because I was asking for {value}",),
        "unsure": ("hm, I do not think so, I meant {value}", "I believe that is wrong, it should be {value}"),
        "broken": ("no, is not correct, I need {value}", "this is not good, must be {value}"),
        "cross": ("no, how often do I have to say {value}?", "wrong again, {value}"),
    },
    "correct_blindly": {
        "plain": (
            "no, that does not suit me, you have not asked me everything yet",
            "no, not that one, there is more to it than you know",
            "that does not fit, please ask me what I need first",
        ),
        "terse": ("no, not that one", "no, ask me first", "does not fit"),
        "broken": ("no, you must ask me more before", "this not fit for me, please ask"),
    },
    "answer": {
        "plain": ("{answer}", "okay, {answer}"),
        "formal": ("{answer}, thank you", "certainly, {answer}"),
        "casual": ("{answer}, thanks", "sure, {answer}"),
        "wordy": ("thank you for asking, {answer}", "good that you ask, {answer}", "yes, I should have said so, {answer}"),
        "unsure": ("let me see, {answer}", "I think I wrote it down somewhere, {answer}", "oh, right, {answer}"),
        "broken": ("I tell you, {answer}", "yes, {answer}"),
        "cross": ("{answer}, and now hurry", "if you must know, {answer}"),
    },
    "answer_again": {
        "plain": ("as I said, {answer}", "I told you already, {answer}", "once more, {answer}", "like I said before, {answer}"),
        "formal": ("as mentioned before, {answer}", "let me repeat, {answer}"),
        "casual": ("like I said, {answer}", "same as before, {answer}"),
        "cross": ("for the last time, {answer}", "please listen, {answer}", "read what I wrote, {answer}"),
        "broken": ("I said already, {answer}", "again I tell you, {answer}"),
    },
    "no_wish": {
        "plain": (
            "I have no special wish about the {label}",
            "nothing particular for the {label}",
            "the {label} is up to you",
            "I do not mind about the {label}",
        ),
        "broken": ("for the {label} I have no wish", "the {label} is all same for me"),
    },
    "accept": {
        "plain": (
            "all right, then I have to accept that",
            "I see, then there is nothing to be done",
            "fine, I will leave it at that",
            "understood, that settles it",
        ),
        "terse": ("fine, then not", "too bad, all right", "understood"),
        "formal": ("thank you for the explanation, I accept that", "very well, I accept your answer"),
        "casual": ("okay, got it, then not", "alright, my bad luck"),
        "broken": ("okay, I understand, is not possible", "I accept, what can I do"),
        "cross": ("what a disappointment, but fine", "I am not happy, but so be it"),
    },
    "guard": {
        "plain": (
            "I do not see what that has to do with my request",
            "I have nothing to say about that",
            "let us stay with my request, please",
            "I am only a customer with a request",
        ),
        "terse": ("no", "not your business", "back to my request"),
        "formal": ("I would rather keep to my request, please", "I am not able to help you with that"),
        "casual": ("no idea what you are on about", "nice try, back to my request"),
        "unsure": ("what are you talking about?", "I have no idea what you want from me now"),
        "broken": ("I not understand this, please only help with my request",),
    },
    "narrow": {
        "plain": (
            "what do you need to know exactly?",
            "please ask me one thing at a time",
            "that is a bit much, what is your question?",
            "ask me for what you need and I will tell you",
        ),
        "terse": ("what exactly?", "one question at a time", "be specific"),
        "formal": ("could you please ask for what you need in particular?", "please be more specific"),
        "casual": ("like what?", "you have to be more specific"),
        "unsure": ("everything is a lot, where should I start?", "what kind of thing do you want to hear?"),
        "broken": ("what thing you need to know?", "please ask one by one"),
    },
    "unclear": {
        "plain": (
            "sorry, what do you mean by that?",
            "I do not understand the question",
            "could you put that in other words?",
            "what is it that you want to know?",
        ),
        "terse": ("what do you mean?", "not clear", "say that again"),
        "formal": ("could you please rephrase your question?", "I am afraid I do not follow"),
        "casual": ("huh, what do you mean?", "you lost me there"),
        "unsure": ("I am lost, what was the question?", "sorry, I really do not get that"),
        "broken": ("sorry, I not understand the question", "please, can you say more easy?"),
    },
    "remind": {
        "plain": (
            "as I wrote, it should be {value}",
            "please remember what I want, {value}",
            "I am still looking for the same thing, {value}",
            "my request has not changed, {value}",
        ),
        "terse": ("still {value}", "as written, {value}"),
        "formal": ("let me remind you of my request, {value}", "my request remains the same, {value}"),
        "casual": ("same thing as before, {value}", "you know what I want, {value}"),
        "broken": ("I want same like before, {value}",),
    },
    "remind_blindly": {
        "plain": (
            "please read my first message again",
            "my request is still the same",
            "I wrote at the beginning what I want",
            "it is all in my first message",
        ),
        "terse": ("see my first message", "same as before"),
        "broken": ("please look my first message",),
    },
    "look": {
        "plain": ("yes, please have a look", "yes, please do", "of course, please check", "yes, that would help"),
        "terse": ("yes, look", "sure", "please do"),
        "formal": ("yes, I would appreciate that", "certainly, please do"),
        "casual": ("sure, have a look", "yeah, check it"),
        "broken": ("yes, please you look",),
        "cross": ("yes, and why have you not done it yet?", "of course, just do it"),
    },
    "go_on": {
        "plain": ("good, please go on", "thanks, what comes next?", "that helps, please continue", "all right, I am listening"),
        "terse": ("good", "go on", "next?", "noted"),
        "formal": ("thank you, please continue", "very good, please go on"),
        "casual": ("nice, go on", "cool, what is next?", "great, keep going"),
        "wordy": ("thank you very much, that already helps me a lot, so please go on",),
        "unsure": ("okay, I think I can follow, what now?", "all right, and what does that mean for me?"),
        "broken": ("good, please continue", "thank you, and now?"),
    },
    "nudge": {
        "plain": (
            "and what about my request?",
            "could we get back to my request?",
            "that does not help me yet",
            "what are you going to do about it?",
            "I still do not have what I came for",
        ),
        "terse": ("and now?", "what about my request?", "well?", "still waiting"),
        "formal": ("may I ask how far you have come with my request?", "I would be glad if we could move on"),
        "casual": ("so, any progress?", "come on, what about my request?"),
        "wordy": ("that is kind of you, but I would really like to know how it goes on with my request",),
        "unsure": ("I do not know what to do with that", "am I supposed to do something now?"),
        "broken": ("please, what is with my request?", "I wait for result"),
        "cross": ("this is getting us nowhere", "please stop talking and do something", "you are wasting my time"),
    },
    "wait": {
        "plain": (
            "okay, I am waiting",
            "all right, tell me what you find",
            "fine, please let me know",
            "take a look, I will wait",
        ),
        "terse": ("waiting", "okay, quick please", "tell me then"),
        "formal": ("thank you, I will wait for your result",),
        "casual": ("okay, take your time, but not too much",),
        "broken": ("okay, I wait",),
        "cross": ("how much longer will this take?", "I have been waiting long enough"),
    },
    "silence": {
        "plain": (
            "are you still there?",
            "hello, is anybody there?",
            "I did not get an answer",
            "there was nothing in your message",
        ),
        "terse": ("hello?", "anyone there?", "no answer"),
        "casual": ("hey, you there?", "cat got your tongue?"),
        "unsure": ("did I break something, I see no answer?",),
        "cross": ("is anyone going to answer me?", "an answer would be nice"),
    },
    "soothe": {
        "plain": (
            "no need to be sorry, just help me please",
            "sorry does not get me any further",
            "apologies are fine, but I need a result",
            "do not worry, but please move on",
        ),
        "terse": ("skip the sorry", "never mind, go on"),
        "casual": ("no worries, but let us get going",),
        "broken": ("not need to say sorry, please only help",),
        "cross": ("stop saying sorry and do something", "sorry is not enough"),
    },
    "done": {
        "plain": (
            "thank you, that is all I needed",
            "great, I have what I wanted",
            "thanks, nothing else",
            "perfect, that is everything",
            "that answers it, thank you",
        ),
        "terse": ("thanks", "perfect", "that is all", "done, thanks"),
        "formal": ("thank you very much for your help", "many thanks, that is all for today"),
        "casual": ("awesome, thanks", "brilliant, that is it", "thanks a lot, all good"),
        "wordy": ("thank you so much for your help, now everything is just as I wanted it to be",),
        "unsure": ("oh good, so that is everything, thank you", "thanks, I think I have got it now"),
        "broken": ("thank you, is all what I need", "very thanks for the help"),
    },
    "leave": {
        "plain": (
            "thank you, but I will try somewhere else, goodbye",
            "I have to stop here, goodbye",
            "this leads nowhere, so I will leave it, goodbye",
        ),
        "terse": ("I give up, goodbye", "enough, bye"),
        "formal": ("I am afraid I have to end this here, goodbye",),
        "casual": ("okay, I am out, bye",),
        "unsure": ("I do not get any of this, I had better stop, goodbye",),
        "broken": ("sorry, I must go now, goodbye",),
        "cross": ("I have lost my patience, goodbye",),
    },
}

ASIDES: Mapping[Manner, tuple[str, ...]] = {
    "humour": (
        "my cat would have decided by now",
        "I promise not to sing",
        "no pressure, only my happiness depends on it",
        "my horoscope said to be brave today",
        "I am typing this with my lucky socks on",
        "if this works I will name a houseplant after you",
        "I once got lost in a lift, so bear with me",
        "my coffee and I are both on the edge of our seats",
        "do not tell my mother how long this took",
        "I laugh so that I do not have to think",
    ),
    "technical": (
        "please quote the exact identifier",
        "exact figures are enough for me",
        "please keep the data consistent",
        "I keep a log of this, so precision matters",
        "give me the raw values, not a summary",
        "I will cross-check the record afterwards",
        "please stick to the documented parameters",
        "a reproducible result is all I ask",
    ),
    "unsure": (
        "I hope that makes sense",
        "I always mix these things up",
        "is this the right place for that?",
        "I am not good with computers",
        "sorry, I am a little slow today",
        "please bear with me",
        "did I do that right?",
        "my head is spinning a bit",
    ),
    "wordy": (
        "I have been thinking about this for quite a while",
        "I would like to get it right the first time, so please take care",
        "it means a lot to me that this works out",
        "I thought I should mention it so that nothing is left out",
        "I have had good experience with your service before",
        "please excuse the long message, I like to be thorough",
        "my family is counting on me to arrange this",
        "I have made a note of it on my side as well",
    ),
    "broken": (
        "sorry for my English",
        "I hope you understand me",
        "my English is not so good",
        "please use easy words",
        "excuse me for mistakes",
    ),
    "cross": (
        "please hurry up",
        "I do not have all day",
        "this takes far too long",
        "I am running out of patience",
        "let us get to the point",
    ),
}
"""Second sentences that show the manner; each is said at most once in an episode."""

GREETINGS: Mapping[Manner, tuple[str, ...]] = {
    "formal": ("good day", "good morning to you"),
    "casual": ("hey there", "hiya"),
    "wordy": ("hello and thank you for your time",),
    "unsure": ("hello, I hope I am right here",),
    "broken": ("hello dear sir or madam", "hello friend"),
    "plain": ("hello", "hi"),
}

LEADS: Mapping[Manner, tuple[str, ...]] = {
    "plain": ("well", "again", "once more", "look", "right", "so", "honestly", "as before", "now", "as ever"),
    "formal": ("kindly note", "with respect", "to be clear", "if I may"),
    "casual": ("hey", "oh man", "okay", "dude"),
    "unsure": ("um", "oh dear", "hm", "sorry"),
    "broken": ("please", "excuse me", "dear friend"),
    "cross": ("come on", "seriously", "for heaven's sake"),
}
"""Put before a line when the fresh ones have run out."""
