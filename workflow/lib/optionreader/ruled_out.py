"""Whether an option is ruled out: negated, compared, struck through, one of the options on offer."""

from optionreader.patterns import any_of, lazy
from optionreader.scale import Scale
from optionreader.scale_words import DENYING, vocabulary

#: Where the reach of a negation ends.
_SCOPE_END = lazy(
    r"[.!?](?=\s)|[;:\n]|(?<!thing )(?<!all )(?<!options )\bbut\b|\bdisagree[,:]? and\b|,\s*(?:and )?(?:so|yet"
    r"|therefore|thus|hence|instead(?! of)|which|merely|just|only|simply|rather(?! than)|sino|sondern|as[ií] que"
    r"|donc|quindi|portanto|dus|daher|deshalb)\b(?!\s*,)|,\s*and (?:that|this|it|what)\b"
)
#: A condition of the flow is no judgement: "if the information is not stored, it is ..", nor is "without a doubt".
_CONDITION = lazy(
    r"\b(?:if|when|because|since|although|though|while|as|given)\b[^,]*,|\b(?:without|beyond|no)(?: an?y?)? doubt\b"
)
#: A new statement after a comma: ", it is X", ", I would rate this as X".
_NEW_STATEMENT = lazy(
    r",\s*(?:(?:it is|it's|this is)\s*|(?:(?:and|then|so|but|therefore) )*i(?:'d|'ll|'m|'ve)?\b[^,]*|(?:and "
    r"|then |but )(?:then |finally "
    r"|eventually )?(?:settled?|chose|choose|picked|landed|went|came down)\b[^,]*|(?:and |then )?(?:my|the"
    r"|therefore the) (?:answer|rating|response)\b[^,]*)$"
)
_NEGATION = lazy(
    r"\b"
    + any_of(
        r"not|no(?!,| wait)|never|neither|nor|cannot|hardly|barely|scarcely|few|nobody|nothing|none|unlikely"
        r"|impossible",
        r"whether|doubt\w*|than|between|instead of|opposed to|versus|vs|compared (?:to|with)|unlike|except"
        r"|apart from",
        r"other than|\w+thing but|all (?:\w+ )?but|far from|short of|fails?|wrong|incorrect|false|untrue"
        r"|inappropriate",
        r"mistaken?|avoid|exclud\w+|rul(?:e|ed|ing) out|opposite|reverse|difficult to|hard to|hesitat\w+",
        r"disagree\w*(?! to\b)|somewhat agree|reject\w*|isnt|dont|doesnt|wouldnt|cant|wasnt|arent|aint",
        r"some (?:people|users|individuals|may|might|would|could)|others|used to|(?:would|could|might) have(?! to\b)",
        r"unless|only if|lying|as if|were to|pretend\w*|(?<!i )suppose|supposing",
    )
    + r"\b|n't\b"
)
NEGATION_NEAR = lazy(
    any_of(
        r"n't\b(?!\s*:)|\b(?:not|never|nor|neither|than|without|almost|nearly|borderline|bordering on"
        r"|close(?:r)? to|near|beyond|(?:must|needs? to|has to|have to) be|above|below|from|at (?:least|most|best"
        r"|worst)|that includes|(?:good|bad|right|wrong|far|other|better|worse) side of"
        r"|non|un|in(?! (?:an?|the)\b)|anti|less|more|no(?!\s*[,:.;]))"
    )
    + r"[^\w.!?\n]*(?:being |quite |even |a |an |the |really |exactly )?[^\w.!?\n]*$"
)
#: Before a row of options that are all ruled out: "neither X nor Y", "not X or Y".
NEITHER = lazy(r"(?:\b(?:neither|not|never|nor|between|rather than|instead of)|n't)\b[^.;:!?\n]*$")
#: An option given as an example or as one on offer.
_ON_OFFER = lazy(
    r"\b(?:examples?|e\.g|for instance|such as|one of the following|the following|one of|answers|choose (?:from"
    r"|between)|choices|options|available|be (?:chosen|selected)|answer with|reply with"
    r"|respond with)\b[^\w,]*(?:is|are|of)?[\W_]*$"
)
DENIAL_MARK = lazy("!=|<>|[≠¬❌✗✘🚫👎\u0335-\u0338]|(?<!~)~~(?!~)")
#: What a model also puts next to its verdict that something is unacceptable.
_DISAPPROVAL = lazy("[❌✗✘🚫👎]")
_VERBS = (
    r"(?:(?:is|was|are|would|does|do|did|may|might|should|can|could|must|will|seems|be|being|option|rating|answer"
    r"|here|clearly|obviously|definitely|itself|an?)\s+)"
)
_RULED_AFTER = lazy(
    rf"[\s\"'*_)\]]{{0,4}}(?:{_VERBS}{{1,4}}"
    + any_of(
        r"not|never|wrong|incorrect|false|untrue|too (?:strong|weak|much|harsh|mild)|going too far|exaggerat\w+"
        r"|out of|overdoing|overlook|undersell|understate|overstate|an overreaction|naive|excessive|overkill",
        r"excluded|ruled out|inappropriate|unlikely|inaccurate|unsuitable",
    )
    + r"\b|cannot\b|\w+n't\b|(?:it|this|that) (?:isn't|is not|ain't)\b)"
    r"|\s+my (?:foot|arse|ass|eye)\b|,? or (?:better|worse|higher|lower|more|less|above|below|stronger|weaker)\b"
    r"|\s?(?:\.\.+|\u2026|[\u2013\u2014-])\s?no\b(?=\W*[.!,;]|$)"
    r"|[\W_]{0,9}(?:not|no|false|wrong|incorrect|never|nope)(?: way| at all)?[\W_]{0,9}(?:$|\n)|\s*\?"
    r"|[\s\"'*)\]]*[=:>\-]+\s*(?:no|false)\b(?![ \t]+\w)"
)


def is_ruled_out(before: str, after: str, scale: Scale, disapproves: bool = False) -> bool:
    """Whether an option is negated, compared, offered as an example, or otherwise not what is said.

    ``before`` and ``after`` are the characters around the option. In doubt an option counts as ruled out:
    that costs a valid answer, the other mistake would invent one. With ``disapproves`` a cross or a thumb down
    agrees with the option.
    """
    if disapproves:
        before, after = _DISAPPROVAL.sub(" ", before), _DISAPPROVAL.sub(" ", after)
    if NEGATION_NEAR.search(before) or _ON_OFFER.search(before) or _RULED_AFTER.match(after):
        return True
    line = after.partition("\n")[0]
    if DENIAL_MARK.search(before.rpartition("\n")[2][-40:] + " " + line[:8]):
        return True
    clause = _SCOPE_END.split(before)[-1]
    statement = _NEW_STATEMENT.search(clause)
    clause = _CONDITION.sub(" ", clause[statement.start() + 1 :] if statement else clause)
    words = vocabulary(scale) - DENYING
    return any(m.group() not in words for m in _NEGATION.finditer(clause))
