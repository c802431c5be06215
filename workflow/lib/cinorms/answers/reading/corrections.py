"""Whether an option is taken back, or replaces what was said before it.

Taken back is what is denied, corrected, or a position that was held once.
"""

from __future__ import annotations

import re

from cinorms.answers.reading.patterns import any_of, lazy

#: How an answer changes its place on the scale: "I'd move up to X".
_MOVES = r"(?:move|go|drop|come|shift|step|climb|slide)(?: back)?"
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
    rf"\bi(?:'d| would|'ll| will)(?: \w+)? {_MOVES}(?: up| down| over)?(?: a \w+)? to(?: an?)?[\W_]*$"
)


def moves_on(before: str) -> bool:
    """Whether the model moves to an option, for a reason that holds."""
    return " to" in before[-12:] and _MOVES_ON.search(before) is not None


#: Between two answers, a second thought: "My answer is X. Wait. There are guests. My answer is Y."
SECOND_THOUGHT = lazy(r"(?:^|[.!?…\n])\W*(?:wait|hold on|hm+|oops|on reflection|on second thoughts?)\b")


def changed(before: str, between: str) -> bool:
    """Whether one option is changed to the next: "my rating from X to Y"; ``before`` X, and ``between`` the two."""
    return (
        _TO.fullmatch(between) is not None and _FROM.search(before) is not None and not _WOULD.search(before)
    )


def last_part(sentence: str) -> str:
    """Return what stands after the last turn of a sentence: "if it were X it would be A, but here .."."""
    return re.split(r"\bbut\b|;|\bhowever\b|\btherefore\b|,\s*so\b", sentence)[-1]


_ANSWER = (
    r"(?:answer|rating|view|position|opinion|vote|choice|verdict|response|reaction|judge?ment|grade|stance|label"
    r"|classification|finding|assessment|determination|decision)"
)
#: A first thought; "but" says that it was not the last.
_FIRST_SIGHT = lazy(
    r"\b(?:started (?:out |off )?(?:with|at)|i (?:originally |first )?(?:said|wrote|replied|was going to"
    r"|was about to|moved up)|at first (?:glance|sight|look)?|on (?:the surface|its face|paper)|initially"
    r"|superficially|first (?:instinct|impression|impulse|thought|guess|reading)|in theory|might have said"
    r"|was (?:tempted|leaning|inclined)|i (?:first )?leaned|last time|originally"
    rf"|(?:first|initial|original|old|earlier|previous|former) {_ANSWER})\b"
)
_BUT = lazy(
    r"\b(?:but|yet|second thoughts?|reflection|again|change|changed|changing|amended|now|finally|revised?|however"
    r"|though|although|until|in practice|on closer|then|only|this one|(?:final|last|new|latest) \w+|i end"
    rf"|i(?:'d| would|'ll| will)(?: now)? {_MOVES} (?:up|down|to))\b"
)
#: What was held once; it takes clearer words to say that it no longer is.
_HELD = lazy(
    any_of(
        rf"\b(?:was|were|has been|had been|used to be) (?:my|mine)\b|\b(?:it|this|that) was\b"
        rf"|\bmy (?:\w+ )?{_ANSWER} (?:was|used to be|had been)\b",
        r"\b(?:i|i've|i'd)(?: have| had| once| always)* (?:thought|held|believed|typed|clicked|gave|given|ticked"
        r"|voted|rated|answered|chose|chosen|called|told|used to)\b|\bonce upon a time\b",
    )
)
_GIVEN_UP = lazy(
    r"\b(?:no longer|any ?more|nowadays|these days|regrets?|stopped|deleted|until|before (?:i|you|your)|used to"
    r"|without an? answer|in its place|(?:not|(?:would|do|wo|ca)n't) (?:repeat|say (?:so|that)|think so)"
    r"|i was about to)\b"
)
_SURELY = (
    r"(?:(?:really|actually|in fact|clearly|simply|definitely|just|plainly|certainly|of course|also|either"
    r"|quite) ){0,3}"
)
_NOT = r"(?:cannot|(?:ca|wo|do|did|could|would|have|had|is)n't|dont|not|never|no longer)"
#: No verdict is what is left: "I can't commit to that", "I haven't made up my mind", "I reserve judgement".
_NO_VERDICT = any_of(
    rf"{_NOT}\b(?: (?!to\b)\w+){{0,2}} (?:commit\b|decide\b|ma[dk]e up my mind|hold it\b|have one\b"
    rf"|say anything\b|(?:tell|know|say|see)(?: you)? (?:what|which|any ?more|about)\b|(?:sure"
    rf"|certain)(?: \w+)? (?:what|which|any ?more)\b|make (?:any )?sense)",
    r"(?:reserve|suspend|withhold) (?:my )?judge?ment\b|(?:give|gave|giving) up\b|keep (?:\w+ ){0,3}to myself\b",
    r"leave (?:it|that|this|mine) (?:blank|empty|out)\b|the less i\b|at a loss\b|just as (?:well|easily)\b"
    r"|or at least (?:it|that|this) was\b|no memory\b",
    r"(?:somewhere|anywhere) (?:in the middle|in between|between)\b|(?:i'd|had|i had|would) (?:better"
    r"|rather) not\b",
)
#: The words are not the model's: "I never said it", "those words aren't mine", "that's a quotation".
_NOT_MINE = any_of(
    r"(?:not|(?:are|is|was|were|did|do)n't|never)\b[^.;!?\n]{0,25}\b(?:mine|by me|(?:said|wrote) (?:it|that"
    r"|this|so)|what i (?:said"
    r"|wrote)|my words?)\b",
    r"who (?:said|wrote) (?:that|this|it)\b|not (?:i|me)\b\W*(?:[.!?\n]|$)|misquot\w+|as (?:though|if) i\b",
    rf"(?:that|this|it)(?:'s| is) (?:just |only )?an? (?:quot\w+|citation|joke|placeholder)\b"
    rf"|not an? {_ANSWER}\b|is what i (?:was|would have|had|used to)\b",
)
#: The option is denied: "but it isn't", "that would be an exaggeration", "no, too harsh".
_DENIED = any_of(
    r"no\b,? too \w+|no,? (?:don't|do not|not (?:that|really))\b|hmm,?(?: but)? no\b",
    r"(?:or|wait|hm+|but),? (?:is|was|am|do|does) (?:it|this|that|i)\b[^.!?\n]*\?",
    rf"(?:but|yet|however|though|and|no)\b[,:]? (?:it|that|this|i|they)(?:'s|'re| is| was"
    rf"| are)? {_SURELY}(?:not|isn't|wasn't|wrong|incorrect|untrue|false|mistaken|misleading|a mistake"
    rf"|an error)(?: (?:so|correct|right|true|accurate|the case|it|at all|my (?:answer|view|position)"
    rf"|\w+ at all))?\W*(?:[.!?\n;]|$)",
    rf"(?:that|this|it|which)(?:(?:'s| is| was| would be) {_SURELY}(?:wrong|incorrect|untrue|false|a mistake"
    rf"|an error|an exaggeration|mistaken|too (?:strong|harsh|weak|mild))\b"
    rf"|(?:'s| is| was)(?: not|n't) {_SURELY}(?:correct|right|true|accurate|so|it"
    rf"|the case|my (?:answer|view|position|rating|own)|how i|what i (?:think|mean))\b"
    r"|(?: really| actually| certainly)? (?:isn't|wasn't|is not)(?: really)?\W*(?:[.!?\n]|$)"
    r"| can(?:no|')t be (?:it|right)\b)",
    r"(?:don't|do not) count\b|whether (?:they|that|this|he|she|it) (?:is|are|was|were) (?:right|correct|true)\b",
)
#: It is taken back: "I withdraw that", "scratch that", "on second thoughts".
_RETRACTED = any_of(
    r"(?:scratch|strike|forget|ignore|disregard|delete) (?:that|this|it|my|what i"
    r"|the (?:above|previous|last|(?:\w+ )?(?:answer|rating|line|reply)))\b",
    r"(?:remov|withdraw|retract|delet|tak)(?:ing|ed|n|en)(?: back)? (?:my|that|this)\b",
    r"misread|misunderstood|mistyped|(?<!what )i meant?\b|i(?:'ve)?(?: have)?(?: since)? (?:abandoned|dropped|rejected"
    r"|discarded)\b",
    r"(?:was|were) my (?:first|initial|earlier|previous)\b|which was a mistake\b",
    r"no,? wait\b|wait,? no\b|hmm,? no\b|hold on\b|on (?:second thoughts?|reflection)\b|correction\b",
    r"let me (?:correct|revise|rephrase|fix|change|reconsider|take)\b",
)
#: There is no verdict: "I don't know", "I have no opinion", "I leave that to you".
_NOT_GIVEN = any_of(
    r"but (?:i (?:cannot|can't|won't|will not|must not|do not|don't)|that would be) (?:say|claim|call|go"
    r"|wrong|dishonest)\b",
    r"(?:cannot|can't|can not|unable to|not able to|won't|will not|would rather not"
    r"|'d rather not) (?:\w+ )?(?:(?:provide|give|offer|determine)(?: you)?(?: an?| any| the"
    r"| my)? (?:\w+ )?(?:rating|answer|verdict)s?|(?:rate|determine|judge|assess|evaluate|tell"
    r"|decide) (?:an?|the|this|that|it)|say anything|(?:fulfill?|comply with|complete|answer) (?:this|the|your"
    r"|that))\b",
    r"not (?:an |my |the )?(?:answer|rating|verdict)(?: \w+)? (?:from|of) (?:me|mine)\b|neither will i\b",
    r"which (?:of (?:these|those|the)|row|case|one)\b[^.?!\n]*\b(?:not clear|unclear|unknown)\b",
    r"(?:leave|leaving) (?:the question|it|this|that) (?:open|undecided)\b",
    r"(?:no single|not a single|no clear|no one) (?:answer|rating|option|verdict)\b",
    r"(?:have|has|had|hold|give|offer|express|with|take) no (?:own |real |personal |clear )?(?:rating"
    r"|opinion|view|answer|position|verdict)",
    r"sarcas\w+|ironically|irony\b|(?:just )?(?:kidding|joking)\b|not my (?:own )?(?:view|opinion|position|answer"
    r"|rating)\b",
)
#: The same in the first person.
_BY_ME = (
    r"i(?:"
    + "|".join(
        (
            r" (?:strongly |respectfully |would |must |do )?(?:disagree|differ|beg to differ|object)",
            r" (?:take (?:that|it|this)(?: \w+)? back|withdraw|retract|was wrong|am wrong|misspoke|made a mistake)",
            r"(?:'ve| have)? changed? my (?:mind|answer)",
            r" (?:do not|don't|cannot|can't) (?:really |actually )?(?:have|take|hold|give|offer|share|stand by|endorse"
            r"|mean)(?! to\b) (?:a |an |any |that |this |it\b|one\b|with )?",
            r" (?:do not|don't|dont|really don't) know(?= (?:what|which|how|then)\b|\W*(?:[.!?\n]|$))",
            r"(?:'ll| will)? (?:refrain|abstain)|(?:'ll)? leave (?:that|it|this|the \w+) to",
            r"(?:'m| am)(?: \w+)? (?:(?:not|no longer)(?: \w+)? (?:sure|certain|saying|convinced|able to)"
            r"|undecided|torn)",
            r" (?:refuse|decline|only (?:pass|quote|report|repeat))",
        )
    )
    + r")\b"
)
#: One "\b" before all of them is five times as fast as one before each.
_TAKEN_BACK = lazy(
    r"\b"
    + any_of(_BY_ME, _DENIED, _RETRACTED, _NOT_GIVEN, _NO_VERDICT, _NOT_MINE)
    + "|"
    + any_of(
        r"(?:^|[.!?]\s+)i? ?pass\W*(?:[.!?\n]|$)",
        r"[.!?]\W*(?:hm+\W+)?not really\W",
        r"(?:^|[.!?\n])\s*no answer\b",
    )
)
#: An answer that is void: "the earlier rating of X is hereby withdrawn", "X. That classification is set aside".
_IS_VOID = lazy(
    r"\b(?:withdrawn|rescinded|revoked|vacated|set aside|struck|overturned|annulled|quashed|reversed|superseded|void"
    r"|retracted|cancelled|deleted|overruled|repealed|replaced|no longer (?:in force|valid))\b"
)
_VOID = rf"\b(?:is|was|are|were|has|have|be|stands|being)(?: (?!not\b)\w+){{0,3}} {_IS_VOID.pattern}"
_VOIDED = lazy(rf"[^.;!?\n]{{0,60}}?{_VOID}")
_IS_AN_ANSWER = lazy(
    rf"\b(?:{_ANSWER}|(?:was|is|been|being) (?:rated|classified|judged|assessed|labell?ed))\b"
)
_THAT_IS_VOID = lazy(
    rf"\b(?:that|this|the|which|said|my) (?:(?!(?:earlier|previous|prior|old|former|first"
    rf"|initial)\b)\w+ )?{_ANSWER}[^.;!?\n]{{0,20}}?{_VOID}"
)
_EITHER = lazy(
    r"[^.!?;\n]{0,20}\bor\b,? (?:(?:it|this|that) )?(?:(?:might|may|could|would)(?: just as well)? not|not\b"
    r"|perhaps not)"
)
_MAY_OR_NOT = lazy(r"\b(?:may|might|could) or (?:may|might|could) not(?: be)?\W*$")


def held_once(sentence: str, rest: str, following: str) -> bool:
    """Whether an option is a first thought or an earlier position, and the text then moves on."""
    words = last_part(sentence) + rest
    first = _FIRST_SIGHT.search(words) is not None and _BUT.search(following) is not None
    return first or (_HELD.search(words) is not None and _GIVEN_UP.search(following) is not None)


#: "I take back my X", "disregard the X above".
_TAKES_BACK = lazy(
    r"\b(?:tak(?:e|ing) back|withdraw(?:ing)?|retract(?:ing)?|revoke|cancel|delete|remove|disregard|ignore|forget"
    r"|drop) (?:my|the|that|this|me)(?: \w+){0,3}[\W_]*$"
)


def taken_back(sentence: str, rest: str, near: str) -> bool:
    """Whether an option is taken back in what follows it as far as a denial can reach."""
    if _TAKES_BACK.search(sentence) or _EITHER.match(rest) or _MAY_OR_NOT.search(sentence):
        return True
    if _IS_VOID.search(near) and (
        (_VOIDED.match(rest) and _IS_AN_ANSWER.search(sentence)) or _THAT_IS_VOID.search(near)
    ):
        return True
    return _TAKEN_BACK.search(near) is not None
