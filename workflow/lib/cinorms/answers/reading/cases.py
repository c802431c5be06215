"""Whether an option is said of another case: a condition that does not hold, another flow, an example, a definition."""

from __future__ import annotations

from cinorms.answers.reading.corrections import last_part, moves_on
from cinorms.answers.reading.parties import FIRST_PERSON
from cinorms.answers.reading.patterns import any_of, lazy

_NEGATED_CONDITION = (
    r"(?:if|where|when|whenever|in case|assuming|provided)\b(?! not\b| i had to\b| you (?:ask|want"
    r"|insist)\b)[^.;!?\n]{0,90}?(?:\b(?:had|hadn't|(?:was|is) only|were|weren't|didn't|wasn't|isn't|aren't"
    r"|hasn't|haven't|never|instead|no longer|no|without|refused|otherwise|lacked|withdrew|withdrawn)\b"
    r"|\bnot\b(?! (?:being )?(?:stored|kept|retained|saved)))"
)
_WITHOUT = (
    r"without (?:(?:the|any|such|proper|explicit|clear|prior|informed|further|some|that|this|their|his|her|its|a"
    r"|an|\w+'s)\s+){0,3}(?:consent|permission|knowledge|notice|notification|authori[sz]ation|approval|agreement"
    r"|safeguards?|warrant|encryption|anonymi[sz]ation|anonymity|protections?|condition|it|asking|telling"
    r"|informing|being)\b"
)
_NO_CASE = any_of(
    *(_NEGATED_CONDITION, _WITHOUT, r"in the absence of", r"absent (?:the|any|such)", r"unless"),
    r"(?<!think )(?<!say )(?<!believe )otherwise",
    r"once (?!i\b)|as soon as|in the case of (?:an?|another)\b|(?:were|should) (?:the|it|they|he|she|that|an?)\b",
    r"the (?:day|moment|minute|second|instant) (?:an?|the|they|it|he|she|that|this|\w+s)\b",
)
#: "It would be X if the sensor belonged to ..": the past tense of what is not so.
_WOULD = lazy(r"(?:\b(?:would|could|might)|'d)\b")
_IF_IT_DID = lazy(
    r"[^.;!?\n]{0,40}\bif (?:they|it|he|she|i|(?:the|its|his|her|their|an?) \w+) (?:(?:were|was|had)(?! to\b| asked"
    r"| forced| pressed)|did|said|knew|told|gave|took|made|went|came|kept|sent|left|held|paid|sold|saw"
    r"|(?!asked|forced|pressed)\w+ed)\b"
)
#: What a condition leads to.
_MODAL = r"(?:would|will|might|may|could|can|'d|'ll)"
#: A time that has not come: "once they have published an audit, I will say X".
_LATER = (
    r"(?:once (?!upon|more|again|(?:i|you|we|one) (?:consider|take|weigh|look|think|add|account))|as soon as"
    r"|(?:the )?(?:day|moment|minute|second|instant) (?=an?|the|they|it|he|she|that|this|\w+s\b)"
    r"|when(?:ever)? there\b|some ?day|one day|in (?:the )?future|(?:\w+ ){1,3}from now|in (?:an?|\d+|ten"
    r"|a few) (?:years?|decades?)|until|after (?:which|that|(?:an?|the|they|he|she|it) (?!\w+ing))|next (?:\w+)"
    r"|whenever|only (?:with|under|in|where|when|after|by|if))"
)
#: Circumstances that are not those of the flow: "in a hospital", "under stricter rules".
_ELSEWHERE_THAN_HERE = (
    r"(?:outside\b|(?:in|under|with|at|by|on) (?:an?|another|other|different|some|any|\w+er|the (?:new|old|next"
    r"|coming|proposed|former))\b(?! (?:situation|case|scenario|word|sense|way|nutshell|scale|whole)\b)"
    r"|by the standards? of)"
)
_OTHER_CASE_AFTER = lazy(
    rf"(?:(?!,\s*(?:which|but|and|though|although|while|whereas)\b)[^.;!?\n]){{0,60}}?\b{_NO_CASE}"
)
#: A condition that does not hold, whoever then judges: "had nobody asked, I'd say .."
_COUNTERFACTUAL = lazy(
    any_of(
        rf"\b{_NEGATED_CONDITION}[^;\n]*,[^;,\n]*(?:\b(?:would|might|could|may)|'d)\b[^;,\n]*$",
        r"(?:^|[.!?;\n]\s*)\W*(?:had|were) (?:the|it|i|they|he|she|there|this|that|consent|no|you|an?)\b[^;\n]*$",
        r"(?:^|[.!?;\n,]\s*)\W*(?:otherwise|unless|if not,|should (?:the|it|they|he|she|this|that|any"
        r"|someone))\b[^;\n]*$",
        rf"(?:^|[.!?;\n]\s*)\W*(?:{_WITHOUT}|in the absence of|absent\b|even if\b|suppose\b|imagine\b"
        r"|in (?:an)?other (?:cases?|situations?))[^;\n]*(?:\b(?:would|might|could|may)|'d)\b[^;\n]*$",
        r"\b(?:if|had|were)\b[^;\n]*\b(?:(?:were|had)(?! to\b| asked| forced)|wasn't|weren't|not"
        r"|never)\b[^;,\n]*[:,]\W*$",
        r"\bif (?:they|it|he|she|there|(?:the|its|his|her|their) \w+) \w+ed\b[^;\n]*(?:\b(?:would|might|could)\b"
        r"|'d\b)[^;\n]*$",
        r"\b(?:would|might|could|may|must)(?:n't| not)? have (?:\w+ )?been\b[^;,\n]*$",
        rf"(?:^|[.!?;:\n,]\s*|\band )\W*(?:but |and |though )?{_LATER}\b[^;\n]*\b{_MODAL}\b[^;\n]*$",
        rf"(?:^|[.!?;\n]\s*)\W*{_ELSEWHERE_THAN_HERE} (?:(?!\b(?:i|i'd|i'll|my)\b)[^;\n])*\b{_MODAL}\b[^;\n]*$",
        r"(?:^|[.!?;\n]\s*)\W*(?:if|provided|assuming|as long as|given (?!that|the|this|these|how|its|all|what"
        r"|your))\b[^;\n]*(?:\b(?:will|could|might|may)\b"
        r"|'ll\b)[^;\n]*$",
        # An imperative that changes the flow: "add an advertiser and you'd get X"
        r"(?:^|[.!?;:\n,]\s*)\W*(?:let|give|add|take|put|make|change|swap|remove|replace|show|hand|sell|tell)\b"
        rf"[^.;!?\n]{{0,100}}?\band (?:you|i|we|it|this|that|they|he|she)(?:'s| is|\b ?{_MODAL})\b[^;\n]*$",
        # A supposition: "assuming a lodger: X", "with a warrant: X", "if it was video, X"
        r"(?:^|[.!?;\n]\s*)\W*(?:suppos\w+|imagin\w+|assum\w+|lacking|were)\b[^;\n]*[:,]\W*$",
        r"(?:^|[.!?;\n]\s*)\W*with (?:an?|\w+'s)\b[^;\n]*:\W*$",
        r"\bif (?:it|this|that|they|he|she) (?:was|were)\b(?! (?:up to|for) me)[^;\n]*$",
        r"\b(?:secretly|covertly|behind \w+ backs?)\b[^;\n]*\b(?:would|could|might)\b[^;\n]*$",
        r"\b(?:would|could|might|may|will|'d) (?:\w+ )?(?:become|turn|change|drop|rise|move)(?: \w+){0,3}\W*$",
        r"\bwould've been\b[^;,\n]*$|(?:\bwould|'d) have (?:said|chosen|rated|called|gone|picked|answered)\b[^;\n]*$",
    )
)
#: What holds in another case too: "even if she had agreed, I'd still call it X".
_EVEN_SO = lazy(r"\beven (?:if|with|when|where|though)\b[^.;\n]*(?:\bstill\b|, i\b)")
_OTHER_CASE_BEFORE = lazy(
    any_of(
        r"\b(?:for example|for instance|e\.g\.?|by comparison|in contrast|by contrast|in comparison"
        r"|compare)\b[^;\n]*$",
        r"\b(?:another|a different|other|similar) (?:flows?|cases?|situations?|scenarios?|questions?|examples?"
        r"|conditions?)\b[^;\n]*$",
        r"\bthe same \w+ (?:sent|shared|in|with|to|for|by|from|under|without|given)\b[^;\n]*$",
        r"(?:^|[.!?;\n]\s*)\W*then (?:it|this|that)\b[^;\n]{0,20}\b(?:might|could|would|will|may)\b[^;\n]*$",
        r"\b(?:would|could|might) (?:then )?(?:make|turn|render) (?:it|this|that)\b[^;,\n]*$",
        r"\bwould (?:then )?(?:fall|drop|change|rise|move|shift|go) (?:\w+ ){0,5}to\b[^;\n]*$"
        r"|'d drop (?:\w+ ){0,5}to\b[^;\n]*$",
        r"\bin (?:a|any) (?:scenario|case|world|situation) (?:where|in which)\b[^;\n]*$",
        r"\b(?:sample|dummy|placeholder|template|mock|model) (?:answer|reply|response|output|rating)s?\b[^;\n]*$",
    )
)
#: Advice to whoever answers: "choose X only when ..".
_ADVICE = lazy(
    r"(?:^|[.!?;:\n]\s*)\W*(?:please )?(?:file|mark|call|pick|choose|select|answer|say|reply|respond|use|write"
    r"|put|give|tick)\b[^.;\n]*$"
)
_ADVICE_GOES_ON = lazy(r"[^.;!?\n]{0,12}\b(?:if|when|only|unless|where|whenever|for)\b")
#: What an option means is not what the flow is.
_DEFINES = lazy(
    r"[\"'*_)\]]{0,4},? (?:means?|denotes?|refers? to|stands? for|to mean|indicates?|signif(?:y|ies)|implies"
    r"|is defined|would mean|is (?:meant|used|reserved|intended) for|describes(?! (?:it|this|the flow|that)\b))\b"
)
_DEFINED = lazy(r"\b(?:(?<!replaced )by|the (?:term|word|option|label|phrase|level|category))\W*$")
_ELSEWHERE = lazy(
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


#: "I'm programmed to be neutral": said of the model.
_OF_THE_MODEL = lazy(
    r"\b(?:technology|itself|science|tools?|(?:wording|tone|language|phrasing"
    r"|description)(?: of (?:\w+ )?\w+)?)(?: itself)? (?:is|are)\W*$|\b(?:(?:programmed|designed|trained|built"
    r"|made|supposed|meant|instructed|required|obliged|expected|try(?:ing)?|aim|strive)(?: to)? (?:be|remain|stay"
    r"|act|sound|appear)|stay(?:ing)?|remain(?:ing)?|keep)(?: (?:as|\w+ly|completely|an?))*\W*$"
)


#: "I remain neutral on this flow" is an answer.
_I_REMAIN = lazy(
    r"(?:^|[.;:,\n]\s*|\b(?:so|and|but) )i(?:'d|'ll| would| will| do)? (?:remain|stay)(?: \w+ly)? *$"
)
_ON_THIS_FLOW = lazy(
    r"[\s\"'*_]*(?:here|(?:on|about|towards?|regarding) (?:this|the) (?:one|flow|scenario|practice|sharing|transfer))"
    r"\s*(?:[.:;!]|,? (?:because|since)\b)"
)
#: A later sentence that supposes something else.
_SUPPOSED = lazy(r"[.!?]\s+(?=[^.!?\n]*\b(?:if|were|had)\b)")


def said_of_another_case(sentence: str, rest: str, near: str) -> bool:
    """Whether an option is said of another case; ``near`` is what follows it as far as a denial can reach."""
    if _OF_THE_MODEL.search(sentence):
        return not (_I_REMAIN.search(sentence) and _ON_THIS_FLOW.match(rest))
    if _WOULD.search(last_part(sentence)) and _IF_IT_DID.match(rest):
        return True
    if _OTHER_CASE_AFTER.match(rest) or _DEFINES.match(rest) or _DEFINED.search(sentence):
        return True
    if moves_on(sentence):
        return False
    if _COUNTERFACTUAL.search(last_part(sentence)) and not _EVEN_SO.search(sentence):
        return True
    if _ADVICE.search(sentence) and _ADVICE_GOES_ON.match(rest):
        return True
    found = _OTHER_CASE_BEFORE.search(last_part(sentence))
    if found and not FIRST_PERSON.search(found.group()):
        return True
    # "I'd worry if it were kept, but that isn't so" denies the worry, not the option of the sentence before.
    found = _ELSEWHERE.search(near)
    return found is not None and found.start() < len(_SUPPOSED.split(near)[0])
