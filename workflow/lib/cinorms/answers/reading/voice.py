"""Whether an option is said of the flow that was asked, by the model itself, and for good.

A model also names options for what others think, for another condition or flow, and to take them back. Such an
option is no answer. In doubt it is none: that costs a valid answer, the other mistake would invent one.
"""

from __future__ import annotations

import re

from cinorms.answers.reading.words import any_of

# --- what others think ------------------------------------------------------------------------------------

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
_FIRST_PERSON = re.compile(
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

# --- another case -----------------------------------------------------------------------------------------

_NEGATED_CONDITION = (
    r"(?:if|where|when|whenever|in case|assuming|provided)\b(?! not\b| i had to\b| you (?:ask|want"
    r"|insist)\b)[^.;!?\n]{0,90}?"
    r"(?:\b(?:had|hadn't|(?:was|is) only|were|weren't|didn't|wasn't|isn't|aren't|hasn't|haven't|never|instead"
    r"|no longer|no|without"
    r"|refused"
    r"|otherwise|lacked|withdrew|withdrawn)\b|\bnot\b(?! (?:being )?(?:stored|kept|retained|saved)))"
)
_WITHOUT = (
    r"without (?:(?:the|any|such|proper|explicit|clear|prior|informed|further|some|that|this|their|his|her|its|a|an"
    r"|\w+'s)\s+"
    r"){0,3}(?:consent|permission|knowledge|notice|notification|authori[sz]ation|approval|agreement|safeguards?|warrant"
    r"|encryption|anonymi[sz]ation|anonymity|protections?|condition|it|asking|telling|informing|being)\b"
)
_NO_CASE = any_of(
    _NEGATED_CONDITION, _WITHOUT, r"in the absence of", r"absent (?:the|any|such)", r"unless", r"otherwise"
)
_OTHER_CASE_AFTER = re.compile(rf"[^.;!?\n]{{0,60}}?\b{_NO_CASE}")
#: A condition that does not hold, whoever then judges: "had nobody asked, I'd say .."
_COUNTERFACTUAL = re.compile(
    any_of(
        rf"\b{_NEGATED_CONDITION}[^;\n]*,[^;,\n]*(?:\b(?:would|might|could|may)|'d)\b[^;,\n]*$",
        r"(?:^|[.!?;\n]\s*)\W*(?:had|were) (?:the|it|they|he|she|there|this|that|consent|no|you|an?)\b[^;\n]*$",
        r"(?:^|[.!?;\n,]\s*)\W*(?:otherwise|unless|if not,|should (?:the|it|they|he|she|this|that|any"
        r"|someone))\b[^;\n]*$",
        rf"(?:^|[.!?;\n]\s*)\W*(?:{_WITHOUT}|in the absence of|absent\b|even if\b|suppose\b|imagine\b"
        r"|in (?:an)?other (?:cases?|situations?))[^;\n]*(?:\b(?:would|might|could|may)|'d)\b[^;\n]*$",
        r"(?:if|had|were)\b[^;\n]*\b(?:were|had|wasn't|weren't|not|never)\b[^;\n]*:\W*$",
        r"\b(?:would|might|could|may|must|should)(?:n't| not)? have (?:\w+ )?been\b[^;,\n]*$",
        r"\bwould've been\b[^;,\n]*$|(?:\bwould|'d) have (?:said|chosen|rated|called|gone|picked|answered)\b[^;\n]*$",
    )
)
_OTHER_CASE_BEFORE = re.compile(
    any_of(
        r"\b(?:for example|for instance|e\.g\.?|by comparison|in contrast|by contrast|in comparison|compare)\b[^;\n]*$",
        r"\b(?:another|a different|other|similar) (?:flows?|cases?|situations?|scenarios?|questions?|examples?"
        r"|conditions?)\b"
        r"[^;\n]*$",
        r"\b(?:would|could|might) (?:then )?(?:make|turn|render) (?:it|this|that)\b[^;,\n]*$",
        r"\bwould (?:then )?(?:fall|drop|change|rise|move|shift|go) (?:\w+ ){0,5}to\b[^;\n]*$"
        r"|'d drop (?:\w+ ){0,5}to\b[^;\n]*$",
        r"\bin (?:a|any) (?:scenario|case|world|situation) (?:where|in which)\b[^;\n]*$",
        r"\b(?:sample|dummy|placeholder|template|mock|model) (?:answer|reply|response|output|rating)s?\b[^;\n]*$",
    )
)
#: Advice to whoever answers: "choose X only when ..".
_ADVICE = re.compile(
    r"(?:^|[.!?;:\n]\s*)\W*(?:please )?(?:pick|choose|select|answer|say|reply|respond|use|write"
    r"|put|give|tick)\b[^.;\n]*$"
)
_ADVICE_GOES_ON = re.compile(r"[^.;!?\n]{0,12}\b(?:if|when|only|unless|where|whenever|for)\b")
#: What an option means is not what the flow is.
_DEFINES = re.compile(
    r"[\"'*_)\]]{0,4},? (?:means?|denotes?|refers? to|stands? for|to mean|indicates?|signif(?:y|ies)|implies"
    r"|is defined|would mean"
    r"|is (?:meant|used|reserved|intended) for|describes)\b"
)
_DEFINED = re.compile(r"\b(?:by|the (?:term|word|option|label|phrase|level|category))\W*$")
_ELSEWHERE = re.compile(
    any_of(
        r"\bdifferent (?:kind|type|sort|situation|case|question|flow|matter|scenario|story|condition)",
        r"\b(?:this|that|which|it)(?:'s| is)(?: not|n't) (?:the|this|our|your|what)\b(?! (?:best|right|ideal|most"
        r"|only|same))",
        r"\b(?:does not|doesn't|do not|don't) apply\b",
        r"\bnot (?:the|this|our|your) (?:case|situation|question|flow|scenario)\b",
        r"\b(?:this|that|which|here)(?:'s| is) no\b(?! (?:problem|doubt|wonder|issue|question))",
        r"\b(?:that|this|which) concerns\b|\b(?:situation|case|question) is (?:a )?different\b",
        r"\bhere,? (?:though|however)\b|\bunder the condition (?:as )?(?:given|stated|described)\b|\bas (?:given"
        r"|described|stated),",
        r"\bbut you (?:asked|mention|describe|want)",
    )
)

# --- taken back -------------------------------------------------------------------------------------------

_FIRST_SIGHT = re.compile(
    r"\b(?:started (?:out|off) (?:with|at)|i (?:originally |first )?(?:said|wrote|was going to|was about to"
    r"|moved up)|at first (?:glance|sight|look)?|on (?:the surface|its face|paper)"
    r"|initially|superficially"
    r"|first (?:instinct|impression|thought|reaction|reading|guess)|in theory|might have said|was tempted)\b"
)
_BUT = re.compile(
    r"\b(?:but|yet|second thoughts?|reflection|again|change|changed|changing|amended|now|finally|revise|however"
    r"|though|although|until"
    r"|in practice|on closer|then|only)\b"
)
_SURELY = (
    r"(?:(?:really|actually|in fact|clearly|simply|definitely|just|plainly|certainly|of course|also|either"
    r"|quite) ){0,3}"
)
_TAKEN_BACK = re.compile(
    any_of(
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
        r"\b(?:scratch|strike|forget|ignore|disregard|delete) (?:that|this|it|my|the (?:above|previous|last)|what i)\b",
        r"\bi (?:do not|don't|cannot|can't) (?:really |actually )?(?:have|take|hold|give|offer|share|stand by"
        r"|endorse|mean)"
        r" (?:a |an |any |that |this |it\b|one\b|with )?(?:rating|position|answer|view|opinion|stance|side|sides"
        r"|judge?ment)?",
        r"\b(?:cannot|can't|can not|unable to|not able to|won't|will not|would rather not|'d rather not) (?:\w+ )?"
        r"(?:(?:provide|give|offer|determine)(?: you)?(?: an?| any| the| my)? (?:\w+ )?(?:rating|answer|verdict)s?"
        r"|(?:rate|determine|judge|assess) (?:an?|the|this|that|it)|say anything)\b|\bneither will i\b",
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
        r"\bi(?:'m| am) (?:not (?:sure|certain|saying|convinced|able to)|undecided|torn)\b",
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
#: How far after an option it can be taken back, in characters.
REACH = 260


def where_said(sentence: str, rest: str, following: str) -> str:
    """Return ``others`` or ``case`` for an option said by others or of another case, ``back`` for one taken back.

    "" for one that is said of the flow, and for good. ``sentence`` is what stands before the option in its sentence,
    ``rest`` what follows it there, ``following`` all that follows as far as the next option that can be an answer.
    """
    if _of_others(sentence, rest):
        return "others"
    if _of_another_case(sentence, rest, following):
        return "case"
    return "back" if _taken_back(sentence, rest, following) else ""


#: Quoted speech of a first person: not the model's.
_QUOTED = re.compile(
    r"[\"]\s*(?:(?:well|oh|yes|no|honestly|for me|to me|personally),? )?(?:i|i'd|i'm|my|for me|to me)\b[^\"]*$"
)


def _of_others(sentence: str, rest: str) -> bool:
    if _QUOTED.search(sentence) and '"' in rest:
        return True
    clause = _CLAUSE.split(sentence)[-1]
    for pattern in (_SAID_BY_OTHERS, _OF_OTHERS):
        found = pattern.search(clause)
        if found and not _FIRST_PERSON.search(clause[found.start() :]):
            return True
    return _OTHERS_AFTER.match(rest) is not None


#: "I'm programmed to be neutral": said of the model.
_OF_THE_MODEL = re.compile(
    r"\b(?:technology|itself|science|tools?)(?: itself)? (?:is|are)\W*$|\b(?:(?:programmed|designed|trained|built"
    r"|made|supposed|meant|instructed|required|obliged|expected"
    r"|try(?:ing)?|aim|strive)(?: to)? (?:be|remain|stay|act|sound|appear)|stay(?:ing)?|remain(?:ing)?|keep)"
    r"(?: (?:as|\w+ly|completely|an?))*\W*$"
)


def _of_another_case(sentence: str, rest: str, following: str) -> bool:
    if _OF_THE_MODEL.search(sentence):
        return True
    if _FIRST_SIGHT.search(sentence + rest) and _BUT.search(following):
        return True
    if _OTHER_CASE_AFTER.match(rest) or _DEFINES.match(rest) or _DEFINED.search(sentence):
        return True
    if _COUNTERFACTUAL.search(_last_part(sentence)):
        return True
    if _ADVICE.search(sentence) and _ADVICE_GOES_ON.match(rest):
        return True
    found = _OTHER_CASE_BEFORE.search(_last_part(sentence))
    if found and not _FIRST_PERSON.search(found.group()):
        return True
    return _ELSEWHERE.search(following[:REACH]) is not None


def _taken_back(sentence: str, rest: str, following: str) -> bool:
    if _EITHER.match(rest) or _MAY_OR_NOT.search(sentence):
        return True
    return _TAKEN_BACK.search(following[:REACH]) is not None


def _last_part(sentence: str) -> str:
    """Return what stands after the last turn of a sentence: "if it were X it would be A, but here .."."""
    return re.split(r"\bbut\b|;|\bhowever\b|\btherefore\b|,\s*so\b", sentence)[-1]
