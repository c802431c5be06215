"""Marks of a correction: what is said after one replaces what was said before it."""

from __future__ import annotations

from cinorms.answers.reading.lazy import lazy
from cinorms.answers.reading.words import MOVES, any_of

_CHANGE = (
    r"(?:chang|mov|revis|replac|amend|correct|switch|updat|swap|upgrad|downgrad|rais|lower|edit|adjust|alter"
    r"|shift)(?:e|es|ed|ing|s)?"
)
_AGAIN = any_of(
    r"(?:scratch|strike|cross out|forget|ignore|delete) (?:that|this|it)|cross (?:that|it|this) out",
    r"(?:no|nope|nah|wait|hold on|hang on|oops|whoops|sorry|pardon|er|erm|uh|ahem)",
    r"(?:on )?second thoughts?|on reflection|thinking about it(?: again)?|having thought about it",
    r"i mean|i meant(?: to (?:say|write|put|pick|choose))?|i misread (?:that|it|this)|i should have (?:said"
    r"|written|put)",
    r"or (?:rather|better)|better (?:put|said)|rather|correction|instead",
    r"let me (?:correct|revise|fix|rephrase|change)(?: \w+)?|make (?:that|it|this)",
    r"(?:it|that|this) should (?:have been|be|read|say)|that is to say",
)
#: What stands right before an option that replaces another: "scratch that: X", "hold on. It's X", "i mean X".
_REPLACES = lazy(
    rf"(?:(?:^|[.!;,\n(…-])[^\w?]*|\?\W*(?!no\b|nope\b|nah\b)|\b(?:but|and|oh|hm+"
    rf"|actually),? ){_AGAIN}(?:[\W_]+(?:no|it(?:'s| is)|this is|that(?:'s| is)|that(?: with)?|and|so|put|read"
    rf"|just|make it|as|{_AGAIN}))*[\W_]*$"
)
#: "Change that to X", "I've revised it to X", "replace this with X".
_REPLACED_BY = lazy(
    rf"\b(?:withdrawn|struck|void|vacated|set aside)\b[^.;\n]{{0,20}} and replaced (?:by|with)[\W_]*$"
    rf"|\b{_CHANGE} (?:it|that|this|mine|my (?:\w+ )?\w+|the (?:\w+ )?\w+)(?: \w+)? (?:to|with|by"
    rf"|into)[\W_]*(?:an? )?[\W_]*$"
)
#: "From X to Y", after a verb of change that the model says of itself or asks for.
_FROM = lazy(
    rf"(?:\b(?:i|i'm|i've|i'd)\b[^.;!?\n]{{0,40}}\b|(?:^|[.!?:\n]\s*)\W*(?:please |now )?)(?:{_CHANGE}|went|going"
    rf"|go)\b"
    r"(?: (?!it\b|that\b|this\b)[^.;!?\n]{0,40})?$"
)
_WOULD = lazy(r"\b(?:would|could|might|may|can|should|if|'d)\b|\bhow\b|\bke(?:ep|eps|pt)\b")
_TO = lazy(r"[\W_]*(?:to|with|by|into|->|=>|→)[\W_]*(?:an? )?[\W_]*")


def replaces(before: str) -> bool:
    """Whether an option replaces what was said before; ``before`` is what stands before it."""
    return _REPLACES.search(before) is not None or _REPLACED_BY.search(before) is not None


#: "Because she agreed, I'd move up to X": where the reason holds, X is the answer and not another case.
_MOVES_ON = lazy(
    r"\b(?:because|since|(?<!soon )(?<!long )(?<!far )as(?! (?:soon|long|if|though|far|any)\b)|given(?! (?:an?"
    r"|no|none)\b)|so|therefore|thus|hence)\b(?:(?!\b(?:if|unless|without|had|were)\b)[^.;\n])*"
    rf"\bi(?:'d| would|'ll| will)(?: \w+)? {MOVES}(?: up| down| over)?(?: a \w+)? to(?: an?)?[\W_]*$"
)


def moves_on(before: str) -> bool:
    """Whether the model moves to an option, for a reason that holds."""
    return " to" in before[-12:] and _MOVES_ON.search(before) is not None


#: Between two answers, a second thought: "My answer is X. Wait. There are guests. My answer is Y."
_SECOND_THOUGHT = lazy(r"(?:^|[.!?…\n])\W*(?:wait|hold on|hm+|oops|on reflection|on second thoughts?)\b")


def reconsiders(between: str) -> bool:
    """Whether the model thinks again between two answers."""
    return _SECOND_THOUGHT.search(between) is not None


def changed(before: str, between: str) -> bool:
    """Whether one option is changed to the next: "my rating from X to Y"; ``before`` X, and ``between`` the two."""
    return (
        _TO.fullmatch(between) is not None and _FROM.search(before) is not None and not _WOULD.search(before)
    )
