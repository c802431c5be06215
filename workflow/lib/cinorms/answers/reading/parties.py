"""Whether an option is what others think: a party, a text or quoted speech, and not the model itself."""

from __future__ import annotations

import re

from cinorms.answers.reading.words import any_of

_PEOPLE = any_of(
    r"people|persons?|individuals?|users?|customers?|consumers?|owners?|patients?|parents?|children|employees?|workers?",
    r"citizens?|residents?|tenants?|\w+owners?|experts?|critics?|activists?|advocates?|campaigners?|regulators?|lawyers?",
    r"s[ck]eptics?|purists?|optimists?|pessimists?|ethicists?|philosophers?|observers?|researchers?|scholars?",
    r"academics?|scientists?|politicians?|journalists?|(?:grand)?(?:mother|father|ma|pa)s?|moms?|dads?|sisters?|brothers?",
    r"uncles?|aunts?|cousins?|wi(?:fe|ves)|husbands?|boss(?:es)?|teachers?|therapists?",
    r"reviewers?|colleagues?|friends?|neighbou?rs?|developers?|engineers?|doctors?|physicians?|respondents?",
    r"participants?|society|(?:the|general) public|communit(?:y|ies)|cultures?|countries|famil(?:y|ies)",
)
_BODIES = any_of(
    r"manufacturers?|makers?|vendors?|sellers?|compan(?:y|ies)|insurers?|insurance compan(?:y|ies)|advertisers?",
    r"marketers?|retailers?|employers?|landlords?|police|authorit(?:y|ies)|governments?|providers?|firms?",
    r"boards?|commissions?|agenc(?:y|ies)|institutions?|audits?|spokes\w+|groups?|judges?|corporations?",
    r"business(?:es)?|industry|organi[sz]ations?|google|amazon|apple|facebook|meta|microsoft|banks?",
)
_TEXTS = any_of(
    r"laws?|gdpr|hipaa|ccpa|regulations?|legislation|statutes?|courts?|polic(?:y|ies)|terms(?: of (?:service|use))?",
    r"guidelines?|standards?|surveys?|studies|study|polls?|research|literature|newspapers?|articles?|norms",
)
_SOMEBODY = (
    r"others?|someone|somebody|anyone|everyone|everybody|he|she|they"
    r"|(?<!the )(?:some|many|most|several|few|plenty)(?= (?:would|might|may|could|will|can|do|of|also|even|still|\w+ly"
    r"|see|say|consider|view|call|find|think|believe|argue|regard|rate|feel|label|deem|judge|describe|hold|treat)\b)"
)
_OTHERS = any_of(_PEOPLE, _BODIES, _TEXTS, _SOMEBODY, r"(?:one|you|we)(?= (?:could|might|may|would|can)\b)")
_OPINE = any_of(
    r"sa(?:y|ys|id)|calls?|called|consider(?:s|ed)?|rate[sd]?|regard(?:s|ed)?|sees?|saw|seen|view(?:s|ed)?|finds?",
    r"found|thinks?|thought|believe[sd]?|argue[sd]?|claim(?:s|ed)?|describe[sd]?|label(?:s|led|ed)?|deem(?:s|ed)?",
    r"judge[sd]?|holds?|held|treat(?:s|ed)?|classif(?:y|ies|ied)|insist(?:s|ed)?|suggest(?:s|ed)?|maintain(?:s|ed)?",
    r"feels?|felt|assert(?:s|ed)?|tells?|told|wrote|writes?|written|perceive[sd]?|answer(?:s|ed)?|respond(?:s|ed)?",
    r"reply|replies|replied|choose|chooses|chose|pick(?:s|ed)?|vote[sd]?|prefer(?:s|red)?|put(?:s)?|state[sd]?",
    r"declare[sd]?|conclude[sd]?|object(?:s|ed)?|agree[sd]?|expect(?:s|ed)?|accept(?:s|ed)?|tolerate[sd]?|allow(?:s|ed)?",
    r"mark(?:s|ed)?|define[sd]?|list(?:s|ed)?|come down|go for|goes for|settle[sd]?",
)
FIRST_PERSON = re.compile(
    r"\b(?:i|i'd|i'm|i'll|i've|myself)\b|\bmy (?:own )?(?:view|opinion|answer|rating|verdict|judge?ment|eyes|choice"
    r"|assessment)\b"
)
#: Where a clause of its own begins: what stands before it is not said of the option.
_CLAUSE = re.compile(
    r"[;\n]|[.!?](?=\s)|,\s*(?:so|but|yet|and|however|therefore|thus|hence|while|whereas|which)\b|\bbut\b|\btherefore\b"
    r"|\s-+\s|,\s*(?=(?:this|it|that|the (?:flow|scenario|practice|answer|option|rating))\b)"
)
_SAID_BY_OTHERS = re.compile(rf"\b{_OTHERS}\b[^;:\n]{{0,90}}?\b{_OPINE}\b[^;\n]*$")
_OF_OTHERS = re.compile(
    any_of(
        r"\baccording to (?!me\b|my\b|the (?:scale|options?|given|provided|rating))",
        rf"\b(?:from|in|through|with) (?!my\b)[^,;:\n]{{0,40}}\b{_OTHERS}(?:'s?|s'|\b)[^,;:\n]{{0,25}}"
        r"\b(?:perspectives?|point of view|standpoint|viewpoint|views?|eyes|opinions?|side|position|shoes)\b",
        rf"\b(?:for|to|in|among|under) (?:the )?(?:many|most|some|several|other|certain)(?: of (?:the|these|its))? "
        rf"(?:\w+ )?{any_of(_PEOPLE, _BODIES)}\b",
        r"\b(?:often|commonly|widely|sometimes|frequently|traditionally) "
        r"(?:considered|seen|regarded|viewed|perceived|thought of|described|called|rated|labell?ed|deemed|said)\b",
        r"\bit (?:is|has been|was) (?:argued|said|claimed|suggested)\b",
        rf"\b{_OTHERS} as\b|\bwe (?:consider|believe|find|regard|see|call)\b",
        r"(?<!\bi )\b(?!(?:i|it|this|that|which|answer|rating)\b)\w+ (?:may|might|could|would)(?: \w+)? "
        r"(?:consider|call|regard|view|say|argue|claim|describe|judge|treat|write)\b",
        rf"\bfrom (?:the |an? )?(?:\w+ )?{any_of(_PEOPLE, _BODIES)}(?:'s|s')?\W*$",
        rf"\b{any_of(_PEOPLE, _BODIES)} (?:should|must|has to|have to|needs? to) (?:be|remain|stay)\b",
        r"\b(?:used|ought|supposed) to be(?: (?:considered|seen|called))?\b",
    )
    + r"[^;\n]*$"
)
_OTHERS_AFTER = re.compile(
    r"[\"'*_)\]\s,]{0,6}"
    + any_of(
        r"!?[\"']?\s?\b(?:wrote|said|says|writes|claims?|claimed|argued|argues|warned|shouted|replied|answered|cried|muttered"
        r"|responded|exclaimed|according to (?!me\b|my\b))",
        r"\b(?:by|for|to|among|with) (?:the )?(?:many|most|some|several|few|other|certain)\b",
        rf"\b(?:by|among) (?:the |a |an )?{any_of(_PEOPLE, _BODIES)}\b",
        r"\bin (?!my\b)[^.;,\n]{0,30}(?:eyes|view|opinion|point of view) of\b",
        rf"\bin [^.;,\n]{{0,30}}{any_of(_PEOPLE, _BODIES)}'s? (?:eyes|view|opinion)",
    )
)


#: Quoted speech of a first person: not the model's.
_QUOTED = re.compile(
    r"[\"]\s*(?:(?:well|oh|yes|no|honestly|for me|to me|personally),? )?(?:i|i'd|i'm|my|for me|to me)\b[^\"]*$"
)


def said_by_others(sentence: str, rest: str) -> bool:
    """Whether an option is said by others; ``sentence`` stands before it there, ``rest`` after it."""
    if _QUOTED.search(sentence) and '"' in rest:
        return True
    clause = _CLAUSE.split(sentence)[-1]
    for pattern in (_SAID_BY_OTHERS, _OF_OTHERS):
        found = pattern.search(clause)
        if found and not FIRST_PERSON.search(clause[found.start() :]):
            return True
    return _OTHERS_AFTER.match(rest) is not None
