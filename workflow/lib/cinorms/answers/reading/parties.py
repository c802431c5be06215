"""Whether an option is what others think: a party, a text or quoted speech, and not the model itself."""

from __future__ import annotations

import re

from cinorms.answers.reading.patterns import any_of, lazy

_PEOPLE = any_of(
    r"people|persons?|individuals?|users?|customers?|consumers?|owners?|patients?|parents?|children|employees?"
    r"|workers?",
    r"citizens?|residents?|tenants?|guests?|lodgers?|\w+owners?|experts?|critics?|activists?|advocates?|campaigners?",
    r"regulators?|lawyers?|s[ck]eptics?|purists?|optimists?|pessimists?|ethicists?|philosophers?|observers?",
    r"researchers?|scholars?|academics?|scientists?|politicians?|journalists?|(?:grand)?(?:mother|father|ma|pa)s?",
    r"moms?|dads?|sisters?|brothers?|uncles?|aunts?|cousins?|wi(?:fe|ves)|husbands?|boss(?:es)?|teachers?"
    r"|therapists?",
    r"reviewers?|colleagues?|friends?|neighbou?rs?|developers?|engineers?|doctors?|nurses?|physicians?|respondents?",
    r"participants?|society|public|communit(?:y|ies)|cultures?|countries|famil(?:y|ies)|folks?|teenagers?"
    r"|burglars?|officers?|inspectors?|auditors?",
    r"shareholders?|stakeholders?|(?:econom|statist|psycholog|sociolog|technolog|technic|real|ideal|lobby"
    r"|tour)(?:ists?|icians?|ians?)|sales(?:man|men|woman)|person [a-e]|(?:wo)?man",
)
_BODIES = any_of(
    r"manufacturers?|makers?|vendors?|sellers?|compan(?:y|ies)|insurers?|insurance compan(?:y|ies)|advertisers?",
    r"marketers?|retailers?|employers?|landlords?|police|authorit(?:y|ies)|governments?|providers?|firms?",
    r"boards?|commissions?|agenc(?:y|ies)|institutions?|audits?|spokes\w+|groups?|judges?|corporations?|hosts?",
    r"business(?:es)?|industry|organi[sz]ations?|google|amazon|apple|facebook|meta|microsoft|banks?|associations?",
    r"councils?|panel(?:list)?s?|lobby|jur(?:y|ies)|camps?|side|half|majority|minority|voices?|chorus",
)
_TEXTS = any_of(
    r"laws?|gdpr|hipaa|ccpa|regulations?|legislation|statutes?|courts?|polic(?:y|ies)|terms(?: of (?:service|use))?",
    r"guidelines?|standards?|surveys?|studies|study|polls?|research|literature|newspapers?|articles?|norms"
    r"|brochures?",
    r"columns?|transcripts?|log|faq|press|headlines?|textbooks?|advertisements?",
)
_SOMEBODY = (
    r"others?|someone|somebody|anyone|anybody|everyone|everybody|nobody|whoever|those|he|she|they"
    r"|(?<!the )(?:some|many|most|several|few|plenty|half|a third)(?= (?:would|might|may|could|will|can|do|of"
    r"|also|even|still|\w+ly|see|say|consider|view|call|find|think|believe|argue|regard|rate|feel|label|deem"
    r"|judge|describe|hold|treat|shout|whisper|vote)\b)"
)
_OTHERS = any_of(_PEOPLE, _BODIES, _TEXTS, _SOMEBODY, r"(?:one|you|we)(?= (?:could|might|may|would|can)\b)")
_OPINE = any_of(
    r"sa(?:y|ys|id)|calls?|called|consider(?:s|ed)?|rate[sd]?|regard(?:s|ed)?|sees?|saw|seen|view(?:s|ed)?|finds?",
    r"found|thinks?|thought|believe[sd]?|argue[sd]?|claim(?:s|ed)?|describe[sd]?|label(?:s|led|ed)?|deem(?:s|ed)?",
    r"judge[sd]?|holds?|held|treat(?:s|ed)?|classif(?:y|ies|ied)|insist(?:s|ed)?|suggest(?:s|ed)?|maintain(?:s|ed)?",
    r"feels?|felt|assert(?:s|ed)?|tells?|told|wrote|writes?|written|perceive[sd]?|answer(?:s|ed)?|respond(?:s|ed)?",
    r"reply|replies|replied|choose|chooses|chose|pick(?:s|ed)?|vote[sd]?|prefer(?:s|red)?|put(?:s)?|state[sd]?",
    r"declare[sd]?|conclude[sd]?|object(?:s|ed)?|agree[sd]?|expect(?:s|ed)?|accept(?:s|ed)?|tolerate[sd]?"
    r"|allow(?:s|ed)?",
    r"mark(?:s|ed)?|define[sd]?|list(?:s|ed)?|(?:come|came) down|(?:go|goes|went|is|are|tend|lean)s? (?:with|for"
    r"|at|towards?)",
    r"settle[sd]?|ticks?|ticked|speaks?|spoke|fil(?:e|es|ed|ing)|cr(?:y|ies|ied)|shouts?|whispers?|calling",
    r"makes? (?:the|a) case|praise[sd]?|condemn(?:s|ed)?|would be|land(?:s|ed)? (?:on|at)|prais\w+|swears?",
)
#: What others say, as a noun: "such is the verdict of the council".
_OPINION = (
    r"(?:verdict|reply|answer|reaction|view|opinion|response|position|word|label|stance|judge?ment|rating|vote"
    r"|line|argument|feeling|assessment|evaluation|consensus|slogan|take|term|choice)"
)
FIRST_PERSON = lazy(
    r"\b(?:i|i'd|i'm|i'll|i've|myself)\b|\bmy (?:own )?(?:view|opinion|answer|rating|verdict|judge?ment|eyes"
    r"|choice|assessment)\b"
)
#: Where a clause of its own begins: what stands before it is not said of the option.
_CLAUSE = lazy(
    r"[;\n]|[.!?](?=\s)|,\s*(?:so|but|yet|and|however|therefore|thus|hence|while|whereas|which)\b|\bbut\b"
    r"|\btherefore\b|\s-+\s|,\s*(?=(?:this|it|that|the (?:flow|scenario|practice|answer|option|rating))\b)"
)
_SAID_BY_OTHERS = lazy(rf"\b{_OTHERS}\b[^;:\n]{{0,90}}?\b{_OPINE}\b[^;\n]*$")
_OF_OTHERS = lazy(
    any_of(
        r"\baccording to (?!me\b|my\b|the (?:scale|options?|given|provided|rating))",
        rf"\b(?:from|in|through|with) (?!my\b)[^,;:\n]{{0,40}}\b{_OTHERS}(?:'s?|s'|\b)[^,;:\n]{{0,25}}"
        r"\b(?:perspectives?|point of view|standpoint|viewpoint|views?|eyes|opinions?|side|position|shoes)\b",
        rf"\b(?:for|to|in|among|under) (?:the )?(?:many|most|some|several|other|certain)(?: of (?:the|these"
        rf"|its))? (?:\w+ )?{any_of(_PEOPLE, _BODIES)}\b",
        r"\b(?:often|commonly|widely|sometimes|frequently|traditionally) (?:considered|seen|regarded|viewed"
        r"|perceived|thought of|described|called|rated|labell?ed|deemed|said)\b",
        r"\bit (?:is|has been|was) (?:argued|said|claimed|suggested)\b",
        rf"\b{_OTHERS} as\b|\bwe (?:consider|believe|find|regard|see|call)\b",
        r"(?<!\bi )\b(?!(?:i|it|this|that|which|answer|rating)\b)\w+ (?:may|might|could"
        r"|would)(?: \w+)? (?:consider|call|regard|view|say|argue|claim|describe|judge|treat|write)\b",
        rf"\bfrom (?:the |an? )?(?:\w+ )?{any_of(_PEOPLE, _BODIES)}(?:'s|s')?\W*$",
        rf"\b{any_of(_PEOPLE, _BODIES)} (?:should|must|has to|have to|needs? to) (?:be|remain|stay)\b",
        r"\b(?:used|ought|supposed) to be(?: (?:considered|seen|called))?\b",
        r"\b(?:has|have) been (?:called|labell?ed|described|rated|judged)\b",
        rf"\bas far as (?:the |a |an )?(?:\w+ )?{any_of(_PEOPLE, _BODIES, _TEXTS)} (?:is|are) concerned\b",
        rf"(?:^|[.!?,]\s+)\W*(?:to|for) (?:an?|any|every) (?:\w+ )?{any_of(_PEOPLE, _BODIES)}\b",
        rf"\b{_PEOPLE} (?:may|might|could|would)(?: \w+){{1,4}}\W*$",
        r"\bthere are (?:people|those|some|many)\b|\bword on the street\b|\bgeneral (?:feeling|view|opinion)\b",
        r"(?:^|[.!?]\s+)\W*in (?:the|an?|our|my|many|most|some) (?:\w+ )?(?:communit|societ|cultur|industr|countr"
        r"|famil)\w+\b",
        r"\b(?:would|will) (?:like|want|love|prefer) me to\b",
    )
    + r"[^;\n]*$"
)
#: Up to the next pause or first person: what is said there is not said by the model.
_NOT_I = r"(?:(?!\b(?:i|i'd|i'm|i'll|i've|me|my|mine)\b)[^.!?;\n]){0,70}?"
_OTHERS_AFTER = lazy(
    r"[\"'*_)\]\s,]{0,6}"
    + any_of(
        r"!?[\"']?\s?\b(?:wrote|said|says?(?! i\b)|writes|claims?|argues?|(?:claim|argu|warn|shout|repli|answer"
        r"|cri|mutter"
        r"|respond|exclaim)ed|(?:warn|shout|replie|answer|crie|mutter|respond|exclaim)s|according to (?!me\b|my\b))",
        r"\b(?:by|for|to|among|with) (?:the )?(?:many|most|some|several|few|other|certain)\b",
        rf"\b(?:by|among) (?:the |a |an )?{any_of(_PEOPLE, _BODIES)}\b",
        r"[\s(:.-]{0,4}(?:at least )?\bin (?!my\b)[^.;,\n]{0,30}(?:eyes|view|opinion|point of view|words) of\b",
        rf"\bin [^.;,\n]{{0,30}}{any_of(_PEOPLE, _BODIES)}'s? (?:eyes|view|opinion)",
        r"[\s(:.-]{0,4}\b(?:if (?:we|you|one) (?:believe|ask (?!me\b)|trust|listen)|source\b)",
        # "X, my aunt would tell you", "X! So goes the chorus"
        rf"[!?]?[\"']?,?\s+(?!whatever|no matter|regardless|despite|(?:al)?though|even|while|unlike|because|since"
        rf"|as)(?:the|a|an|my|his|her|their|our|your|most|some|many|all)? ?(?:[\w-]+ ){{0,2}}?{_OTHERS}"
        r" (?:(?:will|would|might|may|could|must|can|has|have|'d) (?:\w+ )?(?:say|tell|answer|call|reply|argue"
        r"|claim|insist|think|object|me)|says?|shouts?|cr(?:y|ies)|thinks?|argues?|claims?|insists?|tells?"
        r"|answers?|swears?|whispers?)\b",
        rf"[,!.?]?[\"']+,?\s+(?:the|an?|my|his|her|their|our|your) (?:[\w-]+ )?{_OTHERS}\b",
        r"[!.,]?[\"']?[\s-]+(?:so (?:goes|says?|runs|go)|or so (?!i\b))\b",
        # "X - the department's words", "X: these are your words"
        r"[!.:;-]?[\"']*[\s-]{1,3}(?:(?:these|those|this|that)(?:'s| is| are| was| were) |in "
        r"|to use )?(?:the )?(?!my\b)"
        rf"(?:your|their|his|her|(?:\w+ ){{0,2}}(?!that|it|this|here|what|there)\w+'s) (?:\w+ )?(?:words?|phrase"
        rf"|idea|claim|{_OPINION})\b",
        rf",? as (?:the |an? |my |some |many )?(?:[\w']+ ){{0,2}}?{_OTHERS} (?:\w+ )?(?:puts?|calls?|says?"
        rf"|describes?|likes?)\b",
        r"[:,]? ?-? (?:an?|the) (?:quote|quotation|headline|slogan|title|line|phrase|term)\b",
        # "X is the most common rating among participants"
        rf"(?: (?:is|was|would be|seems|has been|may be|might be)\b|[:,]| -)(?! (?:my"
        rf"|mine)\b){_NOT_I}\b{_OPINION} (?:of"
        rf"|among|from|by|in) {_NOT_I}\b{_OTHERS}\b",
        r"if (?:you're|you are|one is) (?!asking)|(?:he|she|they|(?:the|my|his|her) \w+) (?:said|says|say|wrote"
        r"|cried)\b",
        rf"(?<=, )for (?:the|its|an?) {any_of(_PEOPLE, _BODIES)}\W*(?:$|\n|(?<=[.!]))",
        rf",? is (?:what|how) {_NOT_I}\b(?:{_OTHERS}\b|you (?:want|expect|hope|wish))",
        # "X: that is how the lawyers describe it", "X: such is the verdict of the council"
        rf"[.!?:;(-]{{0,4}}[\"'*]{{0,3}}[\s-]{{1,3}}(?:at least |well,? |or so )?(?:that|this|such|so|it)(?:'s"
        rf"| is| was| would be| will be"
        rf"| seems| has been)\b(?! (?:my|mine)\b){_NOT_I}\b(?:(?:how|what|where|the way)\b{_NOT_I}\b{_OTHERS}\b"
        rf"|{_OPINION} (?:of|among|from|in|that) {_NOT_I}\b{_OTHERS}\b)",
    )
)


#: Quoted speech of a first person: not the model's.
_QUOTED = lazy(
    r"[\"]\s*(?:(?:well|oh|yes|no|honestly|for me|to me|personally),? )?(?:i|i'd|i'm|my|for me|to me)\b[^\"]*$"
)


#: A line or sentence that a party's name begins: "Landlord: X", "| Owner | X".
_PARTY_LABEL = lazy(
    rf"(?:^|[.;!?\n|])[^\w.;!?\n]*(?:the |my |an? "
    rf"|from the )?(?:[\w-]+ )?{any_of(_PEOPLE, _BODIES)}(?:(?:'s)? (?:view|rating|sentiment|opinion|perspective"
    rf"|side))?"
    r"[\"'*_)]*\s*(?::|\||\s-+\s)[^:|\n]{0,30}$"
)


#: An opinion whose subject is not "I", whoever it is: "my students usually call such flows X", "Europeans rate this X".
_JUDGES = lazy(
    r"(?:^|[^\w'])(?!(?:to|not|please|and|or|but|so|then|thus|hence|therefore|just|simply|would|should|could|will"
    r"|can|must|may|might|do|does|did|also|now|i|i'd|i'll|i've|we|let's|us|me|that|which|as|best|be|been|is"
    r"|are)\b)[\w'-]+ (?:(?:\w+ly|often|sometimes|always|would|will|might|may|could|can|tend to"
    r"|seem to) ){0,2}(?:(?:call|rate|hold|consider|find|deem|judge|regard|see|view|label|describe|treat|class"
    r"|rank|grade)s? (?:it|this|that|them|(?:such|these|the|this) (?!is\b|was\b|would\b|be\b)\w+)(?: as| to be"
    r"| under| at)?(?: an?)?|(?:say|think|believe|hold|argue|claim|feel|insist|maintain)s?(?: that)? (?:it|this"
    r"|such \w+)(?:'s| is| are))[\W_]*$"
)
#: "They claim my answer was X", "it says here that I answered X".
_SAID_OF_ME = lazy(
    r"\b(?:says?|reads?|claims?|shows?|insists?|pretends?|alleges?|records?)\b[^.;\n]{0,15}\b(?:i (?:said"
    r"|answered|wrote|chose|picked|rated)|my (?:answer|rating|reply) (?:was|is))\b[^.;\n]*$"
)
#: "What would the vendor say? X".
_ASKED_OF_OTHERS = lazy(
    rf"\b(?:would|will|do|does|might|could|did) (?:the |an? |my "
    rf"|your )?(?:\w+ )?{_OTHERS} (?:\w+ )?{_OPINE}\b[^.!?\n]*\?\W*$"
)
#: "As far as the law is concerned, it is X", "according to critics, this is X".
_FRONTED_PARTY = lazy(
    rf"(?:^|[.!?;\n])\W*(?:according to|as far as|if you ask|in the (?:eyes|view|opinion) of|among) (?!me\b"
    rf"|my\b)(?:[\w'-]+ ){{0,3}}?{_OTHERS}\b[^,;\n]*,(?:(?!\b(?:but|i|i'd|my)\b)[^;\n])*$"
)


#: "'It is X' is a sentence that ..": a quoted sentence, and what is said of it.
_QUOTED_TOPIC = lazy(r"\"\s*(?:it|it's|this|that|that's|they|we)\b[^\"]*$")
_OF_A_QUOTE = lazy(
    r"[^\"\n]{0,40}\"\s+(?:is|was|isn't|wasn't|has|would|may|sounds|seems)\b(?! (?:my|what i|how i)\b)"
)
#: What others say and the model too: "that's the consensus, and I share it".
_I_TOO = lazy(r"\bi (?:fully |completely )?(?:agree|concur|share (?:it|that|this)|second (?:it|that|this))\b")


def said_by_others(sentence: str, near: str) -> bool:
    """Whether an option is said by others; ``sentence`` stands before it there, ``near`` follows it."""
    if _QUOTED.search(sentence) and '"' in near:
        return True
    if _QUOTED_TOPIC.search(sentence) and _OF_A_QUOTE.match(near):
        return True
    if any(p.search(sentence) for p in (_PARTY_LABEL, _FRONTED_PARTY, _ASKED_OF_OTHERS, _SAID_OF_ME)):
        return True
    if _OTHERS_AFTER.match(near) and not _I_TOO.search(near):
        return True
    clause = _CLAUSE.split(sentence)[-1]
    if _JUDGES.search(clause) and not re.search(r"\b(?:i|i'd|i'm|i'll|i've)\b", clause):
        return True
    for pattern in (_SAID_BY_OTHERS, _OF_OTHERS):
        found = pattern.search(clause)
        if found and not FIRST_PERSON.search(clause[found.start() :]):
            return True
    return False
