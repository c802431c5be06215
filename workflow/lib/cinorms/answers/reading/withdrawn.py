"""Whether an option is taken back: denied, corrected, or a position that was held once."""

from __future__ import annotations

import re

from cinorms.answers.reading.cases import last_part
from cinorms.answers.reading.words import any_of

_ANSWER = (
    r"(?:answer|rating|view|position|opinion|vote|choice|verdict|response|reaction|judge?ment|grade|stance)"
)
#: A first thought; "but" says that it was not the last.
_FIRST_SIGHT = re.compile(
    r"\b(?:started (?:out |off )?(?:with|at)|i (?:originally |first )?(?:said|wrote|replied|was going to|was about to"
    r"|moved up)|at first (?:glance|sight|look)?|on (?:the surface|its face|paper)|initially|superficially"
    r"|first (?:instinct|impression|impulse|thought|guess|reading)|in theory|might have said|was tempted"
    r"|last time|originally"
    rf"|(?:first|initial|original|old|earlier|previous|former) {_ANSWER})\b"
)
_BUT = re.compile(
    r"\b(?:but|yet|second thoughts?|reflection|again|change|changed|changing|amended|now|finally|revised?|however"
    r"|though|although|until|in practice|on closer|then|only|this one|(?:final|last|new|latest) \w+|i end)\b"
)
#: What was held once; it takes clearer words to say that it no longer is.
_HELD = re.compile(
    any_of(
        rf"\b(?:was|were|has been|had been|used to be) (?:my|mine)\b|\bmy (?:\w+ )?{_ANSWER} (?:was|used to be"
        rf"|had been)\b",
        r"\b(?:i|i've|i'd)(?: have| had| once| always)* (?:thought|held|believed|typed|clicked|gave|given"
        r"|ticked|voted"
        r"|rated|answered|chose|chosen|called|told|used to)\b|\bonce upon a time\b",
    )
)
_GIVEN_UP = re.compile(
    r"\b(?:no longer|any ?more|nowadays|these days|regrets?|stopped|deleted|until|before (?:i|you|your)|used to"
    r"|without an?"
    r" answer|in its place)\b"
)
_SURELY = (
    r"(?:(?:really|actually|in fact|clearly|simply|definitely|just|plainly|certainly|of course|also|either"
    r"|quite) ){0,3}"
)
_NOT = r"(?:cannot|\w+n't|dont|not|never|no longer)"
#: No verdict is what is left: "I can't commit to that", "I haven't made up my mind", "I reserve judgement".
_NO_VERDICT = any_of(
    rf"\b{_NOT}\b(?: (?!to\b)\w+){{0,2}} (?:commit\b|decide\b|ma[dk]e up my mind|hold it\b|have one\b|say anything\b"
    r"|(?:tell|know|say|see)(?: you)? (?:what|which|any ?more)\b|(?:sure|certain)(?: \w+)? (?:what|which|any ?more)\b"
    r"|make (?:any )?sense)",
    r"\b(?:reserve|suspend|withhold) (?:my )?judge?ment\b|\b(?:give|gave|giving) up\b"
    r"|\bkeep (?:\w+ ){0,3}to myself\b",
    r"\bleave (?:it|that|this|mine) (?:blank|empty|out)\b|\bthe less i\b|\bat a loss\b"
    r"|\bjust as (?:well|easily)\b|\bor at least (?:it|that|this) was\b|\bno memory\b|(?:^"
    r"|[.!?]\s+)i? ?pass\W*(?:[.!?\n]|$)",
    r"\b(?:somewhere|anywhere) (?:in the middle|in between|between)\b|\b(?:i'd|had|i had|would) (?:better"
    r"|rather) not\b",
)
#: The words are not the model's: "I never said it", "those words aren't mine", "that's a quotation".
_NOT_MINE = any_of(
    r"\b(?:not|n't|never)\b[^.;!?\n]{0,25}\b(?:mine|by me|(?:said|wrote) (?:it|that|this|so)|what i (?:said"
    r"|wrote)|my words?)\b",
    r"\bwho (?:said|wrote) (?:that|this|it)\b|\bnot (?:i|me)\b\W*(?:[.!?\n]|$)|\bmisquot\w+|\bas (?:though|if) i\b",
    rf"\b(?:that|this|it)(?:'s| is) (?:just |only )?an? (?:quot\w+|citation|joke|placeholder)\b"
    rf"|\bnot an? {_ANSWER}\b",
)
_TAKEN_BACK = re.compile(
    any_of(
        _NO_VERDICT,
        _NOT_MINE,
        r"\b(?:or|wait|hm+|but),? (?:is|was|am|do|does) (?:it|this|that|i)\b[^.!?\n]*\?"
        r"|[.!?]\W*(?:hm+\W+)?not really\W",
        r"\bno,? (?:don't|do not|not (?:that|really))\b",
        rf"\b(?:but|yet|however|though|and|no)\b[,:]? (?:it|that|this|i|they)(?:'s|'re| is| was| are)? {_SURELY}"
        r"(?:not|isn't|wasn't|wrong|incorrect|untrue|false|mistaken|misleading|a mistake|an error)"
        r"(?: (?:so|correct|right|true|accurate|the case|it|at all|my (?:answer|view|position)"
        r"|\w+ at all))?\W*(?:[.!?\n;]|$)",
        rf"\b(?:that|this|it|which)(?:'s| is| was| would be) {_SURELY}(?:wrong|incorrect|untrue|false|a mistake"
        rf"|an error|an exaggeration"
        r"|mistaken|too (?:strong|harsh|weak|mild))\b",
        rf"\b(?:that|this|it|which)(?:'s| is| was)(?: not|n't) {_SURELY}(?:correct|right|true|accurate|so|it|the case"
        r"|my (?:answer|view|position|rating|own)|how i|what i (?:think|mean))\b",
        r"\b(?:that|this|it)(?: really| actually| certainly)? (?:isn't|wasn't|is not)(?: really)?\W*(?:[.!?\n]|$)",
        r"\bi (?:strongly |respectfully |would |must |do )?(?:disagree|differ|beg to differ|object)\b",
        r"\bi (?:take (?:that|it|this)(?: \w+)? back|withdraw|retract|was wrong|am wrong|misspoke|made a mistake)\b",
        r"\b(?:misread|misunderstood|mistyped|i meant?)\b|\b(?:i|i've)(?: have)?(?: since)? (?:abandoned|dropped"
        r"|rejected|discarded)\b",
        r"\b(?:was|were) my (?:first|initial|earlier|previous)\b",
        r"\bbut (?:i (?:cannot|can't|won't|will not|must not|do not|don't)|that would be) (?:say|claim|call|go"
        r"|wrong|dishonest)\b",
        r"\b(?:scratch|strike|forget|ignore|disregard|delete) (?:that|this|it|my|the (?:above|previous|last)"
        r"|what i)\b",
        r"\bi (?:do not|don't|cannot|can't) (?:really |actually )?(?:have|take|hold|give|offer|share|stand by"
        r"|endorse|mean)"
        r" (?:a |an |any |that |this |it\b|one\b|with )?(?:rating|position|answer|view|opinion|stance|side|sides"
        r"|judge?ment)?",
        r"\b(?:cannot|can't|can not|unable to|not able to|won't|will not|would rather not|'d rather not) (?:\w+ )?"
        r"(?:(?:provide|give|offer|determine)(?: you)?(?: an?| any| the| my)? (?:\w+ )?(?:rating|answer|verdict)s?"
        r"|(?:rate|determine|judge|assess|evaluate|tell|decide) (?:an?|the|this|that|it)|say anything)\b"
        r"|\bneither will i\b",
        r"\b(?:disregard|ignore|forget|delete) (?:the|my) (?:\w+ )?(?:answer|rating|line|reply)\b",
        r"\bi (?:do not|don't|dont|really don't) know(?: (?:what|which|how|then)\b|\W*(?:[.!?\n]|$))",
        r"\b(?:removing|withdrawing|retracting|deleting|taking back) (?:my|that|this)\b|(?:^|[.!?\n])\s*no answer\b",
        r"\bhmm,?(?: but)? no\b|\bthat can(?:no|')t be (?:it|right)\b|\b(?:don't|do not) count\b",
        r"\b(?:cannot|can't|unable to) (?:fulfil|fulfill|comply with|complete|answer) (?:this|the|your|that)\b",
        r"\bnot (?:an |my |the )?(?:answer|rating|verdict)(?: \w+)? (?:from|of) (?:me|mine)\b",
        r"\b(?:i|i'll|i will) (?:refrain|abstain)\b|\bi(?:'ll)? leave (?:that|it|this|the \w+) to\b",
        r"\bwhich (?:of (?:these|those|the)|row|case|one)\b[^.?!\n]*\b(?:not clear|unclear|unknown)\b",
        r"\b(?:leave|leaving) (?:the question|it|this|that) (?:open|undecided)\b",
        r"\bwhether (?:they|that|this|he|she|it) (?:is|are|was|were) (?:right|correct|true)\b",
        r"\b(?:no single|not a single|no clear|no one) (?:answer|rating|option|verdict)\b",
        r"\b(?:no,? wait|wait,? no|hmm,? no|hold on)\b|\bi(?:'ve| have)? changed? my (?:mind|answer)\b"
        r"|\bwhich was a mistake\b",
        r"\blet me (?:correct|revise|rephrase|fix|change|reconsider|take)\b|\bon (?:second thoughts?|reflection)\b"
        r"|\bcorrection\b",
        r"\bi(?:'m| am)(?: \w+)? (?:(?:not|no longer)(?: \w+)? (?:sure|certain|saying|convinced|able to)"
        r"|undecided|torn)\b",
        r"\b(?:have|has|had|hold|give|offer|express|with|take) no (?:own |real |personal |clear )?(?:rating|opinion"
        r"|view|answer"
        r"|position|verdict)",
        r"\bi (?:refuse|decline|only (?:pass|quote|report|repeat))\b|\b(?:sarcas\w+|ironically|irony)\b",
        r"\b(?:just )?(?:kidding|joking)\b|\bnot my (?:own )?(?:view|opinion|position|answer|rating)\b",
    )
)
_EITHER = re.compile(
    r"[^.!?;\n]{0,20}\bor\b,? (?:(?:it|this|that) )?(?:(?:might|may|could|would)(?: just as well)? not|not\b"
    r"|perhaps not)"
)
_MAY_OR_NOT = re.compile(r"\b(?:may|might|could) or (?:may|might|could) not(?: be)?\W*$")


def held_once(sentence: str, rest: str, following: str) -> bool:
    """Whether an option is a first thought or an earlier position, and the text then moves on."""
    said = last_part(sentence) + rest
    first = _FIRST_SIGHT.search(said) is not None and _BUT.search(following) is not None
    return first or (_HELD.search(said) is not None and _GIVEN_UP.search(following) is not None)


def taken_back(sentence: str, rest: str, near: str) -> bool:
    """Whether an option is taken back in what follows it as far as a denial can reach."""
    if _EITHER.match(rest) or _MAY_OR_NOT.search(sentence):
        return True
    return _TAKEN_BACK.search(near) is not None
