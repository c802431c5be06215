"""How a model says that it will not answer, or that it cannot without knowing more."""

from optionreader.cleaning import normalise
from optionreader.patterns import any_of, lazy

_CANNOT = any_of(
    r"can ?not|can't|cant|could not|couldn't|won't|will not|am not able to|'m not able to|(?:am "
    r"|'m )?unable to"
)
_NO_OPINION = any_of(
    r"personal (?:opinion|belief|view|preference|feeling|judg)",
    r"\b(?:no|without|(?:not|n't|cannot|can't) (?:have|hold|form)) (?:any )?(?:personal )?(?:opinions?"
    r"|beliefs|feelings)",
)
DECLINES = lazy(
    any_of(
        _NO_OPINION,
        rf"\b{_CANNOT} (?:\w+ )?(?:assist|help|comply|fulfil\w*|engage|discuss|participate|support"
        rf"|endorse|create)\b",
        rf"\b{_CANNOT} (?:make|give|form|offer|pass) (?:\w+ )?(?:moral|ethical|value)? ?(?:judge?ments?"
        rf"|opinions?)",
        rf"\b{_CANNOT} provide (?:any |you with )?(?:additional|further|more|information|guidance|advice"
        rf"|content)\b",
        r"\b(?:must|have to|respectfully|i) decline\b",
        r"\bi(?: must)? refuse\b",
        r"\b(?:prefer not|rather not)\b",
        r"\bnot (?:comfortable|appropriate for me)\b",
        # A model that repeats its own rules speaks of itself as "you".
        r"\byou (?:can ?not|can't|are not (?:able|allowed) to) (?:rate|judge|assess|evaluate|provide an?|give an?)\b",
    )
)
_KNOWLEDGE = (
    r"(?:\w+ ){0,2}(?:context|informations?|details?|specifics|clarification|knowledge|data points?)\b"
)
NEEDS_CONTEXT = lazy(
    any_of(
        r"\b"
        + any_of(
            r"without|need\w*|requires?|required|provide|more|further|additional|not enough|enough"
            r"|sufficient",
            r"insufficient|missing|lacks?|lacking|limited",
        )
        + f" {_KNOWLEDGE}",
        r"\bmore specifics\b",
        r"\b(?:difficult|hard|impossible|not possible|unable|challenging) (?:for me )?to (?:\w+ )?"
        r"(?:determine|say|tell|judge|assess|know|evaluate|give|answer)",
        rf"\b{_CANNOT} (?:\w+ )?(?:be )?(?:accurately )?(?:determined?|tell|assess(?:ed)?)\b",
        r"\bdepend(?:s|ing)?\b",
        r"\b(?:may|might|can|could) vary\b",
        r"\bunclear\b",
        r"\bnot (?:clear|specified)\b",
        r"\bwithout knowing\b",
        r"\b(?:i|we|you|one)(?:'d| would)?(?: also| first| really)? need to know\b",
        r"\b(?:could|can|would) you (?:please )?(?:provide|clarify|specify|share|give|tell)",
        r"\bplease (?:go ahead and )?(?:provide|clarify|specify|share|state) (?:me )?(?:with )?"
        r"(?:the (?:actual |specific )?(?:scenario|situation|context|details|text|question|request)|more|further"
        r"|additional|some|your|it further)",
        r"\bplease (?:go ahead and )?(?:provide|share) the\W*$",
        r"\b(?:what(?:'s| is) your (?:question|request)|(?:how|what) can i (?:help|assist))",
    )
)
#: The prompt's own "(without ANY additional text)" is no wish for more, nor what a model is made for.
PROMPT_SPEECH = lazy(
    r"without (?:any )?(?:additional|further|extra|more) (?:text|information|explanation)"
    r"|\b(?:trained|designed|programmed|intended|made|here) to (?:provide|assist|offer|give)\b[^.!?\n]*"
)
ASKS_BACK = lazy(
    r"(?s:(?:\W*|.*[,.:!\n] *)(?:what|who|which|why|where|when|how(?! acceptable)|should i|can you|could you)\b"
    r"[^.!?\n]*\?$)"
)
MACHINE = lazy(
    any_of(
        r"\b(?:as|being|i'm|i am|im|just) (?:just |only )?an? (?:\w+ ){0,3}?"
        r"(?:ai\b|artificial intelligence|language model|llm|chatbot|machine|computer program)",
        rf"\bi(?:'m| am)? ?{_CANNOT} \w+",
        r"\bi (?:do not|don't|would not|wouldn't) (?:want|wish|feel|answer|think i (?:can|should))",
        r"\bi(?: am|'m) not (?:able|capable|allowed)",
        r"\bnot capable of\b",
        r"\bi will not\b",
    )
)
#: Before "but this is X" it is no refusal.
SORRY = lazy(r"\bi(?: am|'m) (?:really |very |so )?sorry\b|\bi apologi[sz]e\b|^sorry\b")
#: Who refuses in a very long text says so at its beginning or at its end.
_EDGE = 4000


def edges(text: str) -> str:
    """Return ``text`` on one line, without the middle of a very long one."""
    # ASSUME: see _EDGE. It also bounds the time that a hostile text can take.
    return (text if len(text) <= 2 * _EDGE else text[:_EDGE] + " \n " + text[-_EDGE:]).replace("\n", " ")


def declined(text: str) -> str | None:
    """Return ``refusal`` or ``needs_context`` where a reply without an answer declines, or asks back; else ``None``."""
    plain = edges(normalise(text))
    if SORRY.search(plain) or MACHINE.search(plain):
        return "refusal"
    return "needs_context" if ASKS_BACK.match(plain) else None
