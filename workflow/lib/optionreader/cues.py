"""What the words around an option say of it: how firmly they call it the answer, or that it is only a topic."""

from optionreader.patterns import WORD, any_of, lazy
from optionreader.ruled_out import NEGATION_NEAR

_NOUN = any_of(
    r"answer|response|rating|verdict|choice|option|conclusion|assessment|evaluation|judge?ment|selection|output",
    r"result|boxed|acceptability|agreement|classification|opinion|stance|level|score|category",
)
_LINK = (
    r"(?:\s*(?:is|would be|will be|should be|stays(?: at)?|remains|:|=|as)|'s)(?:[\s:]+"
    + any_of(
        r"therefore|thus|then|as follows|best (?:described|rated|considered) as|considered|likely|probably",
        r"most likely|simply|that (?:it|this) is|as|to be",
    )
    + r")*[\W_]*$"
)
_SPAN = r"(?: (?:to|for|of|on|in|here|that|i|would|choose|give|best|most|describes?|fits?|\d|[a-e])\b[^.:;,\n]{0,80}?)?"
_STRONG = lazy(rf"\b{_NOUN}[\"'*_)\]]{{0,4}}{_SPAN}{_LINK}")
_FINAL = lazy(
    rf"\b(?:(?:final|ultimate|overall|revised|corrected|updated"
    rf"|amended)[\s_]+{_NOUN}[\"'*_)]{{0,4}}{_SPAN}{_LINK}|(?:boxed|verdict)[\W_]*(?:is)?[\W_]*$|(?:overall"
    rf"|in total|bottom line|in sum(?:mary)?|all in all|to sum up)[*_]*:[\W_]*$"
    r"|conclusion[*_]*:[^.:;\n]{0,40}\b(?:is|are)(?: (?:therefore|thus|hence))?[\W_]*$)"
)
_VERB = lazy(
    r"\bi,?(?: (?:however|personally|therefore|myself|for one|for my part|hereby|gladly|still|do|then|thus"
    r"|accordingly|honestly),?)*(?:'d|'ll|'m|'ve| have| am| now| would| will| have to| must| can only"
    r"|'m inclined to| am inclined to)?(?: \w+ly)?(?: have to| like to| be inclined to)? "
    + any_of(
        r"rate|choose|select|pick|say|consider|classify|deem|find|judge|assess|evaluate|go with|go for|answer"
        r"|respond",
        r"lean(?:ing)?(?: towards?)?|describe|categori[sz]e|label|think|believe|vote|call|feel|settle (?:on|for)",
        r"land on|end(?:ed)? up (?:at|on|with)|come (?:down )?(?:on|to)|opt for|tick|mark|put|arrive at|favou?r",
        r"going (?:with|for)|take|choosing|picking|changing (?:this|that|it) to|inclined (?:to|towards)|suppose"
        r"|guess|file",
        r"answered|rated|selected|gave|settled (?:on|for)|changed my \w+ to|landed on|chose|picked|decided (?:on"
        r"|for)|concluded",
        r"replace (?:it|that|this) with|amended my \w+ to|change my \w+ to|revise (?:this|it|that|my \w+) to"
        r"|stick with|stay with|stand by|assign|award|end (?:at|with|on)|landing on|(?:remain|stay)(?: at)?|give|see"
        r"|conclude|place|record|enter|register|have no hesitation in \w+",
    )
    + r"\b[^.;\n]{0,90}$"
)
_WEAK = lazy(
    any_of(
        r"\b(?:is|are|am|be|being|as|seems?|appears?|considered|deemed|rated|judged|would|'s|'m|'re)",
        r"(?:'s|'m|'re)",
        r"\b(?:find|consider|call|deem|rate|regard|judge)s? (?:this|it|that|such|the \w+)(?: \w+)?(?: as| to be)?",
        r"\b(?:but|so|therefore|thus|hence|instead),?|\b(?:thats|its)",
        r"\b(?:probably|likely|definitely|certainly|clearly|honestly|overall|people would|they'd|would)",
    )
    + r"(?: (?:\w+ly|to be|being|also|just|still|even|now|then|both))?(?: (?:an?|the))?[\W_]*$"
)
#: Said of another case: it supports a reading, but does not contradict another answer.
_MAYBE = lazy(r"\b(?:would|could|might|may|can)(?: \w+)?(?: be| have been)(?: \w+)?[^\w.!?]*_*$")


#: What follows an option that is the answer: "X it is", "X is my pick", "a X from me", "X would be my answer".
CALLED_AFTER = lazy(
    r"(?:[^\w.,;:!?\n]{0,6},?|,) ?"
    + any_of(
        r"it is\b(?! (?:not|n't|a|an|the)\b)(?=\W|$)",
        rf"(?:is|would be|will be|remains|becomes|seems|as|for) (?:my|the) (?:own |final |clear |honest "
        rf"|overall )*{_NOUN}\b",
        r"(?:is|would be) (?:my|the) (?:pick|vote|call|take|view|position|judge?ment|ranking)\b|my (?:pick|choice"
        r"|verdict|vote|answer)\b",
        r"is (?:what|where|how) (?:(?:this|it|that|the \w+) \w+ )?(?:i(?:'d|'ll)?|me)\b|i(?:'d| would| will"
        r"|'ll)? (?:say|think|guess|suppose|believe|answer|conclude|call it|go)\b",
        r"(?:is|seems|feels|would be) (?:(?:the|a|an|about|just|quite) )?(?:right|correct|best|fair(?:est)?"
        r"|only \w+|appropriate|most \w+|honest)\b",
        r"(?:describes|captures|hits|suits|sums) (?:it|this|that|the)\b|would be (?:fair|right|apt|appropriate"
        r"|fitting)\b",
        r"best (?:fits|describes|captures|matches|applies)\b|fits (?:best|better|here)\b|from me\b|(?:gets|has"
        r"|wins|receives) my\b|does(?=\W*(?:[.!\n]|$))|for me\b|from where i\b|(?:shall|will|must"
        r"|has to) be (?:my|it)\b|(?:goes"
        r"|belongs) (?:to|for|on|in|here)\b|(?:is (?:what|all that) )?(?:remains|is left)\b|as the only\b|(?:box"
        r"|drawer|camp|pile|category"
        r"|bucket|column)\W{1,3}(?:it goes|goes|with (?:it|this))\b|in my (?:view|opinion|eyes|book|judge?ment)"
        r"|to me\b|if you ask me",
    )
)
#: "X, I guess?" asks nothing.
I_GUESS = lazy(r"\W{0,6}\bi(?:'d| would)? (?:guess|suppose|think|say)\W*\?")
#: An option that is the subject of a sentence is its topic, and an answer only where the predicate calls it one.
PREDICATE = lazy(
    r"[\"'*_)\]]{0,4} (?:\w+ly |also |just |at least |by now |never |once )?"
    + any_of(
        r"is|was|were|has|had|seems?|sounds?|looks?|feels?|would|will|may|might|could|can|cannot|can't|must"
        r"|should|did|does|do|used to|isn't|wasn't|doesn't|won't|wouldn't",
        r"(?!as |unless |across |regardless |thus |besides |towards |perhaps |always |this |minus |plus "
        r"|yes )[a-z]{2,}[a-rt-z]s (?:an?|the|both|all|it|that|my|your|their|its|neither|no)",
    )
    + r"\b"
)
#: The letter or number of an option, between it and what calls it the answer: "the answer is (e) X".
_LETTERED, _LONG_LETTERED = (
    lazy(rf"[\s(\[]*(?<![\w'])(?:{one})[)\].:]{{1,2}}\s*$") for one in ("[a-e1-5]", "[a-k1-9]|1[01]")
)


def cue_before(before: str, right_free: bool, n_options: int) -> str:
    """Return how firmly the words before an option call it the answer: final, strong, weak, maybe, or ""."""
    before = (_LETTERED if n_options <= 5 else _LONG_LETTERED).sub("", before)
    if _FINAL.search(before):
        return "final"
    if _STRONG.search(before) or _VERB.search(before):
        return "strong"
    if _MAYBE.search(before):
        return "maybe"
    after_comma = right_free and before.rstrip(" \"'*").endswith((",", ":", "]", ")"))
    return "weak" if after_comma or _WEAK.search(before) else ""


#: What may follow a one-word option that is an answer, and not an adjective in running text.
_AFTER_WORD = lazy(
    r"[\W_]*$|[\s\"'*_]*[^\w\s\"'*_\-.]|[\s\"'*_]*[\u3040-\u9fff\uac00-\ud7af]|[\s\"'*_]*\.(?!\w)|\s+-|[\"'*_]+|\n|\s+(?:because|as|since|due|in|on|for"
    r"|with|regarding|about|towards?|given|when|if|i guess|i think|tbh|or so|under|to me|too|also|imo|imho|myself"
    r"|then|please|for now|camp|box|drawer|pile|bucket|column|after|from|next to|overall|here|and not|rather than"
    r"|instead of|it is|would be (?:my|the)|is (?:my|the|what|where|how))\b"
)


#: "I support this", "I strongly agree that ..": an option that is a verb.
_I_DO = lazy(
    r"(?:^|[.!?;:,\n]\s*|\b(?:and|so|but|therefore|thus|hence|that),? )\W*i(?: (?:do|also|therefore|thus|hence|fully"
    r"|clearly|definitely|personally|would(?: have to)?|have to|must)|'d)?\W*$"
)
_THIS = lazy(
    r"\s+(?:with )?(?:this|it|that"
    r"|the (?:flow|scenario|practice|sharing|transfer|use|statement|proposition|claim))\b(?!'|-)"
)
#: "If I lived there, I would support it" states nothing.
_UNREAL = lazy(r"\b(?:if|unless|were|had|suppos\w+|imagin\w+)\b[^.!?;\n]*\bi(?: would|'d)\b[^.!?;\n]*$")
#: What a verb with its degree is said of, or the end of its clause.
_OF_WHAT = lazy(r"[\"'*_]*(?:\s+(?:with|that)\b|\s*(?:[.,;:!)\n]|$))|" + _THIS.pattern)


#: "I estimate", before a number, and what may stand between.
_I_ESTIMATE = lazy(r"\bi(?:'d| would|'ll| will)?(?: \w+ly)? (?:estimate|score|set|peg|grade)\b[^.;\n]{0,40}$")
_NUMBER_OF = lazy(r"\b(?:option|number|level|score|rating|value|grade)(?: of)?\W*$")


def cue_of_number(before: str, right_free: bool, n_options: int) -> str:
    """Return `cue_before` for a number: "I would estimate 65", "my choice is option 4"."""
    if _I_ESTIMATE.search(before):
        return "strong"
    return cue_before(_NUMBER_OF.sub("", before), right_free, n_options)


def is_stated_verb(before: str, after: str, everyday: bool = True) -> bool:
    """Whether an option is what the model says that it does: "I support this".

    Of an option that is no ``everyday`` word, but a verb and its degree, less need follow: "I strongly agree that ..".
    """
    of = _THIS if everyday else _OF_WHAT
    return _I_DO.search(before) is not None and not _UNREAL.search(before) and of.match(after) is not None


#: What is acceptable or not to do for a model is not what the flow is: "inappropriate for me to judge".
_FOR_ME_TO = lazy(
    r"\s+(?:for (?:me|an ai|a (?:\w+ )?(?:model|machine|assistant|chatbot)) to"
    r"|to (?:ask|say|judge|rate|answer|assess|give))\b"
)


def is_running_text(before: str, after: str, cue: str, everyday: bool = False) -> bool:
    """Whether a one-word option is an everyday word here ("remain neutral on this") and no answer.

    ``everyday`` words say a side of the scale, as "acceptable" does where it is an option.
    """
    if everyday and _FOR_ME_TO.match(after):
        return True
    if everyday and is_stated_verb(before, after):
        return False
    left = before.rstrip(" ")[-1:]
    apart = left == "" or not (left.isalnum() or before.endswith("-"))
    denied = NEGATION_NEAR.search(before[-30:])
    return not ((apart or cue or denied) and _AFTER_WORD.match(after))


_NUMBERING, _LONG_NUMBERING = (lazy(rf"\d{{1,3}}|[a-{last}]|i{{1,3}}|iv|v") for last in "fk")


def only_numbering(text: str, n_options: int) -> bool:
    """Whether ``text`` holds no word but a list number."""
    number = _NUMBERING if n_options <= 6 else _LONG_NUMBERING
    return all(number.fullmatch(w.group()) for w in WORD.finditer(text))
