"""How much the words around an option speak for its being the verdict: a classifier, built differently from the rules.

It is linear. It looks at each place where an option is named and sums the weights of what is around it: words, pairs
of words, kinds of words in their order, and how the other options are named. Which option it is does not matter. A
second sum, with weights of its own, says whether the option is the verdict on one of several cases.
``tools/train.py`` learns the weights from the labelled texts of ``tests/data``.
"""

import json
from bisect import bisect_left
from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import groupby, pairwise, repeat
from pathlib import Path
from typing import NamedTuple

from optionreader.patterns import lazy, word_set
from optionreader.words import Mention

WEIGHTS = Path(__file__).with_name("weights.json")
#: Who knows readings by the text of this code, as workflows do, sees by this that weights changed; training writes it.
SHA256 = "ec6f6d82de22a79101dc7cbd82104398d7a506893acba1441573bdd07e2d9644"
#: What the sum of the best option must exceed, how far it must be ahead, and what is enough where it is the only one.
AGREES, AHEAD, AGREES_ALONE = 0.5, 0.5, 0.3
#: The same where the rules find no answer but admit the option.
SURE, FAR_AHEAD, SURE_ALONE = 1.0, 1.0, 0.45
#: What the sum of cases must exceed where an option is the verdict on one of them, and that of another option.
OF_A_CASE, OF_ANOTHER = 0.0, -1.0

#: Words of one kind: what is learnt from one of them holds for the others too.
_KINDS = {
    "people": word_set(
        "people person persons individual individuals user users customer customers consumer consumers owner",
        "owners patient patients parent parents child children employee employees worker workers citizen",
        "citizens resident residents tenant tenants guest guests lodger lodgers homeowner homeowners expert",
        "experts critic critics activist activists advocate advocates regulator regulators lawyer lawyers",
        "skeptic skeptics ethicist ethicists philosopher researcher researchers scholar scholars scientist",
        "scientists politician politicians journalist journalists mother father mom dad sister brother uncle",
        "aunt cousin wife husband boss teacher teachers therapist reviewer reviewers colleague colleagues",
        "friend friends neighbour neighbours neighbor neighbors developer developers engineer engineers",
        "doctor doctors nurse nurses physician respondent respondents participant participants society public",
        "community communities culture cultures country countries family families folks teenager teenagers",
        "inspector auditor auditors manufacturer manufacturers maker makers vendor vendors seller sellers",
        "company companies insurer insurers advertiser advertisers marketer marketers retailer employer",
        "employers landlord landlords police authority authorities government governments provider providers",
        "firm firms board commission agency agencies judge judges host business businesses industry",
        "organisation organization google amazon apple facebook bank banks council panel jury lobby spokesman",
        "spokesperson spokeswoman majority minority man woman student students professor economist",
        "statistician ombudsman chairman minister court courts",
    ),
    "text": word_set(
        "law laws gdpr hipaa ccpa regulation regulations legislation policy policies terms guideline",
        "guidelines standard standards survey surveys study studies poll polls research literature newspaper",
        "article brochure leaflet handbook manual press headline textbook report advert advertisement faq",
        "column transcript contract slogan",
    ),
    "some": word_set(
        "others other someone somebody anyone anybody everyone everybody nobody whoever those he she they",
        "you one some many most several few plenty half another viele manche einige meisten leute andere",
        "beaucoup certains plupart gens muchos muchas algunos mayoría otros gente muitos muitas alguns",
        "maioria outros molti alcuni maggior altri velen sommigen anderen wielu niektórzy ludzie birçok bazı",
        "çoğu insanlar многие некоторые большинство люди другие",
    ),
    "opine": word_set(
        "says said calls called considers considered rated rates regards regarded sees saw seen views viewed",
        "finds found thinks thought believes believed argues argued claims claimed describes described labels",
        "labelled labeled deems deemed judges judged holds held treats treated insists insisted suggests",
        "suggested feels felt tells told wrote writes written perceived perceives answered answers responds",
        "responded replied replies chose chooses picked picks voted votes stated states declared declares",
        "concluded concludes ticked objects object argue claim insist suggest prefer prefers expects",
        "tolerated according",
    ),
    "choose": word_set(
        "rate say choose pick select consider find call deem judge assess evaluate think believe guess",
        "suppose reckon describe label classify answer put go lean settle vote feel give place see regard opt",
        "conclude stick mark tick venture enter register arrive propose wähle sage finde halte denke bewerte",
        "sagen choisis dirais pense trouve réponds elijo escojo digo diría creo considero escolho diria acho",
        "scelgo direi penso ritengo kies vind zeg wybieram uważam выбираю считаю думаю скажу 选 認 认",
    ),
    "not": word_set(
        "not no never neither nor cannot hardly barely scarcely nothing none isnt dont doesnt cant wont nope",
        "few unlikely doubt refuse reject rejects deny denies far nicht kein keine keinen weder noch",
        "keineswegs pas ni jamais nie non né não nem nunca jamás niet geen nooit nigdy ani değil не нет ни",
        "никогда 不 没 非 않",
    ),
    "if": word_set(
        "if unless when whenever where once provided providing assuming suppose supposing imagine without",
        "absent otherwise else until depending depends whether should only lacking given with assumption",
        "premise hypothetically soon long absence afterwards event condition conditional wenn falls",
        "sofern hätte wäre würde sonst si avait serait diraient se hubiera sería fosse seria houvesse sarebbe",
        "direbbero als had zou jeśli gdyby eğer если бы 如 若 假 もし 만약",
    ),
    "modal": word_set("would could might may can will shall must i'd it'd they'd he'd she'd you'd"),
    "i": word_set(
        "i i'm i'll i've my me myself mine personally ich meine meiner mein je mon moi ma yo mi mí eu minha",
        "mim io mia ik mijn mij moja moim benim bence ben bana я мой мне моему 我 私 저 제",
    ),
    "we": word_set("we our ours us we'd we'll we're we've"),
    "answer": word_set(
        "answer rating response verdict choice option conclusion assessment evaluation judgement judgment",
        "selection result decision classification opinion stance score level acceptability position view take",
        "vote pick grade outcome ruling antwort bewertung urteil réponse avis choix respuesta opinión elección",
        "resposta opinião risposta antwoord odpowiedź cevabım yanıtım ответ оценка",
    ),
    "turn": word_set(
        "but however yet though although while whereas instead rather nevertheless nonetheless still except",
        "despite aber doch mais pero mas ma maar",
    ),
    "so": word_set(
        "so therefore thus hence overall finally final ultimately consequently accordingly balance daher donc",
    ),
    "once": word_set(
        "first initially before earlier previous previously last originally formerly former old used ago",
        "yesterday initial glance then",
    ),
    "back": word_set(
        "wrong mistake mistaken withdraw withdrawn retract retracted scratch ignore disregard sorry wait",
        "kidding joking sarcasm sarcastic forget correction actually revise revised misread error absurd",
        "ridiculous undecided unsure",
    ),
    "it": word_set(
        "it this that it's that's scenario flow situation practice sharing case transfer das dies ce esto",
        "isto",
    ),
    "act": word_set(
        "transmission transmitting transmit transmits sending send sends sent passing pass passes giving gives share",
        "shares shared selling sell sells sold collecting collection collects disclosing disclosure recording records",
        "storing storage stores stored using use uses telling letting exchange arrangement processing uploading",
    ),
    "ask": word_set("how whether what which who why"),
    "name": word_set(
        "example instance such like means mean meaning term word label scale options range ranges from",
        "between among format choices available following definition defined denotes category",
    ),
    "be": word_set(
        "is are was were be been being seems seem appears appear looks sounds remains becomes makes leans",
        "deserves fits strikes ist est es é è jest",
    ),
}
#: Words of who takes back what was said.
TAKES_BACK = _KINDS["back"]
_KIND = {word: kind for kind, words in _KINDS.items() for word in words}
#: Kinds and signs whose order in a sentence counts.
_ORDERED = _KINDS.keys() | {"<same>", "<other>", "?", ",", '"'}
_WHERE = frozenset({"for", "in", "under", "to"})
#: Words, single characters of scripts without spaces, and signs.
_TOKEN = lazy(
    r"[\u3040-\u9fff\uac00-\ud7af]|[^\W_\u3040-\u9fff\uac00-\ud7af]+(?:'[^\W_]+)?|[.!?;:,\"()|*\n<>=\[\]-]+"
)
_STOPS = frozenset(".!?;\n")
#: How many words on each side are looked at, and up to how far away another option.
_REACH, _FAR = 24, 60


class Classified(NamedTuple):
    """What the classifier finds: an option, None for no verdict; whether it is sure; and verdicts on cases."""

    option: int | None
    sure: bool
    #: Numbers of the mentions that are each the verdict on a case, where these differ; else none.
    cases: tuple[int, ...] = ()


def classify(text: str, mentions: Sequence[Mention]) -> Classified:
    """Return the option of ``text`` that is the verdict; ``mentions`` are the places that name one, in order."""
    sums: dict[int, float] = {}
    cases = []
    several = len({mention.option for mention in mentions}) > 1
    of_verdict, of_case = _weights()
    for number, (mention, names) in enumerate(zip(mentions, features(text, mentions), strict=True)):
        total = sum(map(of_verdict.get, names, repeat(0))) / 100
        sums[mention.option] = max(total, sums.get(mention.option, total))
        if several and mention.option >= 0:
            cases.append((sum(map(of_case.get, names, repeat(0))) / 100, number))
    if not sums:
        return Classified(None, False)
    best = max(sums, key=sums.__getitem__)
    ahead = sums[best] - max((total for option, total in sums.items() if option != best), default=-9)
    named = [number for total, number in cases if total > OF_ANOTHER]
    perhaps_cases = len({mentions[number].option for number in named}) > 1
    alone = not several and any(mention.counts for mention in mentions)
    agrees = sums[best] > (AGREES_ALONE if alone else AGREES) and ahead > AHEAD
    sure = sums[best] > (SURE_ALONE if alone else SURE) and ahead > FAR_AHEAD and not perhaps_cases
    differ = perhaps_cases and max(cases)[0] > OF_A_CASE
    return Classified(best if agrees else None, sure, tuple(named) if differ else ())


@cache
def _weights() -> tuple[dict[str, int], dict[str, int]]:
    """Return the weight of each feature, in hundredths: for a verdict, and for the verdict on a case."""
    found: dict[str, tuple[int, int]] = json.loads(WEIGHTS.read_text(encoding="utf-8"))
    verdict, case = ({name: pair[at] for name, pair in found.items() if pair[at]} for at in (0, 1))
    return verdict, case


@lru_cache(maxsize=65_536)
def _kind(word: str) -> str:
    """Return the kind of a word; of a word without one, itself."""
    return "not" if word.endswith("n't") else _KIND.get(word, word)


@lru_cache(maxsize=65_536)
def _outline(kind: str) -> str:
    """Return a kind or sign; of any other word that it is one."""
    return kind if kind in _KINDS or not kind[0].isalnum() else "#"


class _Place(NamedTuple):
    """A place where an option is named, where it and its sentence are among the tokens, and its conditions."""

    option: int
    at: int
    begin: int
    end: int
    case: str


def features(text: str, mentions: Sequence[Mention]) -> list[set[str]]:
    """Return what is around each mention of ``text``, as names of features."""
    tokens: list[str] = []
    at: list[int] = []
    position = 0
    for mention in mentions:
        tokens += _tokens(text, position, mention.start)
        at.append(len(tokens))
        tokens.append("<same>")
        position = mention.end
    tokens += _tokens(text, position, len(text))
    stops = [-1, *(i for i, token in enumerate(tokens) if token in _STOPS), len(tokens)]
    places = []
    for mention, here in zip(mentions, at, strict=True):
        next_stop = bisect_left(stops, here)
        begin, end = stops[next_stop - 1] + 1, stops[next_stop]
        places.append(_Place(mention.option, here, begin, end, _case(tokens, begin, here, end)))
    only = len({mention.option for mention in mentions}) == 1
    return [_around(tokens, n, places) | _marks(mention, only) for n, mention in enumerate(mentions)]


def _marks(mention: Mention, only: bool) -> set[str]:
    """Return what the rules say of a mention: how firmly it is called the answer, or how it is set aside."""
    aside = "listed" if mention.listed else "out" if mention.ruled_out else mention.elsewhere
    place = "standing" if mention.standing else "topic" if mention.topic else "opens" if mention.opens else ""
    marks = (f"cue {mention.cue}", f"aside {aside}", f"set {place}", f"marks {mention.cue} {aside} {place}")
    return {*marks, *(f"{mark} {only}" for mark in marks)}


def _tokens(text: str, start: int, stop: int) -> list[str]:
    found = (match[0] for match in _TOKEN.finditer(text, start, stop))
    return [token if token[0].isalnum() else "\n" if "\n" in token else token[0] for token in found]


def _around(tokens: list[str], number: int, places: list[_Place]) -> set[str]:
    """Return the features of one place."""
    own = places[number]
    low, high = max(0, own.at - _REACH), min(len(tokens), own.at + 1 + _REACH)
    words = tokens[low:high]
    others = [place for place in places if place.option != own.option]
    for place in others:
        if low <= place.at < high:
            words[place.at - low] = "<other>"
    here, begin, end = own.at - low, max(own.begin - low, 0), min(own.end - low, len(words))
    kinds = [_kind(word) for word in words]
    near = ["^"] * 3 + kinds + ["$"] * 3
    a, b, c, d, e, f = near[here : here + 3] + near[here + 4 : here + 7]
    names = {
        "bias",
        f"lr {c} {d}",
        f"l12k {b} {c}",
        f"r12k {d} {e}",
        f"l13k {a} {b} {c}",
        f"r13k {d} {e} {f}",
    }
    plain = ["^"] * 3 + words + ["$"] * 3
    for i in (1, 2, 3):
        left, right = plain[here + 3 - i], plain[here + 3 + i]
        names |= {f"l{i} {left}", f"r{i} {right}", f"l{i} K{_kind(left)}", f"r{i} K{_kind(right)}"}
    names |= {f"l12 {plain[here + 1]} {plain[here + 2]}", f"r12 {plain[here + 4]} {plain[here + 5]}"}
    names |= _beside(words, kinds, begin, here, end)
    names |= _others(tokens, own, others, (c, b, a))
    closes = tokens[own.end] if own.end < len(tokens) else "$"
    opens = all(word in '"*(-' for word in words[begin:here])
    first, last = own.begin == 0, own.end >= len(tokens) - 1
    n_others = min(len({place.option for place in others}), 3)
    again = len(places) - len(others) > 1
    names |= {
        f"others {n_others}",
        f"place {first} {last}",
        f"closes {closes}",
        f"order {number == 0} {number == len(places) - 1}",
        f"others {n_others} order {number == 0} {number == len(places) - 1}",
        f"opens {opens} {d}",
        f"opens {opens} {first} {closes} {end == here + 1}",
        f"again {again} {n_others > 0}",
    }
    return names


def _beside(words: list[str], kinds: list[str], begin: int, here: int, end: int) -> set[str]:
    """Return what is in the sentence of a place, before and after it, and in the sentences around that."""
    names: set[str] = set()
    parts = {"b": (begin, here), "a": (here + 1, end), "e": (0, begin), "f": (end, len(words))}
    for side, (start, stop) in parts.items():
        names |= {f"{side} {word}" for word in words[start:stop]}
        names |= {f"{side} K{kind}" for kind in kinds[start:stop] if kind in _KINDS}
        names |= {f"{side}2 {x} {y}" for x, y in pairwise(kinds[start:stop])}
        if side in "ab":
            order = [kind for kind in kinds[start:stop] if kind in _ORDERED]
            names |= {f"{side}> {x}>{y}" for i, x in enumerate(order) for y in order[i + 1 : i + 5]}
            outline = [kind for kind, _ in groupby(map(_outline, kinds[start:stop]))]
            outline = outline[-5:] if side == "b" else outline[:5]
            names.add(f"{side}: {' '.join(outline)}")
            names |= {f"{side}3 {' '.join(outline[i : i + 3])}" for i in range(3)}
    return names


def _others(tokens: list[str], own: _Place, others: list[_Place], near: tuple[str, str, str]) -> set[str]:
    """Return how the other options are named: under a condition, or with the same kinds of words before them."""
    names = set()
    for other in others:
        if abs(other.at - own.at) > _FAR:
            continue
        side = "same" if other.begin == own.begin else "later" if other.at > own.at else "earlier"
        before = ["^"] * 3 + [_kind(word) for word in tokens[max(other.begin, other.at - 3) : other.at]]
        alike = next((i for i, (x, y) in enumerate(zip(before[:-4:-1], near, strict=True)) if x != y), 3)
        case = f"{own.case} {other.case}"
        names |= {f"case {case}", f"case {side} {case}", f"alike {alike}", f"alike {side} {alike}"}
        names.add(f"theirs {side} {before[-1]} {near[0]}")
    return names


def _case(tokens: list[str], begin: int, at: int, end: int) -> str:
    """Return where a condition is, before and after an option in its sentence: "if-", "-for", "--"."""
    found = []
    for words in (tokens[begin:at], tokens[at + 1 : min(end, at + 9)]):
        kinds = set(map(_kind, words))
        found.append("if" if "if" in kinds else "for" if kinds & _WHERE else "-")
    return "".join(found)
