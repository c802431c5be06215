"""The words of other languages around an option: what calls it the answer, denies it, or says it of something else.

English options also stand in sentences of other languages: one table holds the words of each. A scale in another
language brings its words in its file. Texts are in lower case, and a space parts the Latin letters of an option from
the letters of other scripts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from cinorms.answers.reading.normalise import normalise
from cinorms.answers.reading.patterns import NEVER, any_of, lazy
from cinorms.answers.reading.scale_words import per_scale
from cinorms.core.scales import Scale


class Language(NamedTuple):
    """The words of a language, each a pattern; a language that needs none of a kind leaves it empty."""

    marks: str  # frequent words that English lacks, by which a text in plain letters is known
    leads: str  # before an option that is the answer: "my answer is", "I choose", "I would say"
    negations: str
    aside: str  # other people, a condition that does not hold, a first thought
    but: str  # what is said before it is not said of what follows
    that: str = ""  # a comma before it does not end what is said
    follows: str = ""  # after an option that is the answer: "I choose", where the verb comes last
    denies_after: str = ""  # after an option that is denied, where the negation comes last
    spaced: bool = True  # whether spaces part its words


LANGUAGES = {
    "German": Language(
        "ich ist das nicht meine antwort daher für",
        r"(?:antwort|bewertung|urteil|meinung|wertung|einschätzung|wahl|entscheidung|einstufung)(?: \w+)?"
        r" (?:ist|lautet|ware|wäre|bleibt)|lautet (?:meine|die|das|mein) \w+|ich (?:wahle|wähle|sage|finde|nehme|halte"
        r"|bewerte|entscheide|tendiere|antworte|würde|denke)|(?:würde|wähle|sage|finde|halte|nehme|bewerte|entscheide)"
        r" ich|aus meiner sicht|meiner meinung nach|meines erachtens|für mich",
        r"nicht|kein\w*|keinesfalls|niemals|nie|weder|noch|ob",
        r"viele|die meisten|manche|einige|andere|leute|(?:wenn|falls|sofern)\b[^.;\n]*\b(?:hätten?|wären?|würden?|nicht"
        r"|kein\w*)|(?<!ich )würden? (?!ich\b)(?:\w+ ){0,2}(?:sagen|nennen|meinen|finden)|früher\w*|vorherige\w*"
        r"|zuerst|erst dachte|anfangs|zunächst",
        r"aber|doch|jedoch|sondern|dennoch",
        r"dass|daß|das",
        r"(?:ist|wäre|bleibt) (?:meine|mein) (?:\w+)|finde ich|würde ich sagen|sage ich",
        r"nicht|finde ich nicht|(?:ist|wäre)\b[^.;,\n]{0,40}\b(?:nicht|nur|falsch|übertrieben|zu \w+)",
    ),
    "French": Language(
        "je est pas mon ma réponse donc pour",
        r"(?:réponse|reponse|avis|choix|verdict|note|évaluation|conclusion)(?: \w+)? (?:est|serait|reste)|je (?:choisis"
        r"|choisirais|dirais|dis|prends|prendrais|réponds|répondrais|pense|trouve|considère|opte|opterais|juge)"
        r"|à mon (?:avis|sens)|selon moi|pour moi",
        r"pas|jamais|ni|aucune?|guère|plutôt que|si c'est",
        r"beaucoup|certaine?s|la plupart|les gens|d'autres|on dirait|\bsi\b[^.;\n]*\w+(?:ait|aient)\b|d'abord|au début"
        r"|au départ|(?<!je )dirai(?:t|ent)|disent|précédente?|ancienne",
        r"mais|pourtant|cependant|toutefois",
        r"que|qu",
        r"(?:est|serait) (?:ma réponse|mon choix|mon avis)|à mon avis|selon moi",
        r"(?:n'est )?pas|serait (?:exagéré|trop)",
    ),
    "Spanish": Language(
        "mi es el los una que elijo diria escojo considero porque respuesta",
        r"(?:respuesta|opción|opcion|elección|eleccion|valoración|calificación|opinión|veredicto)(?: \w+)? (?:es|sería"
        r"|seria)|elijo|elegiría|elegiria|escojo|escogería|digo|diría|diria|opto|optaría|considero|creo|respondo"
        r"|me inclino|me quedo|me parece|para mí|a mi juicio|en mi opinión",
        r"nunca|jamás|tampoco|ni|ningun\w*|si es",  # and "no", which is English too (ruled_out.py)
        r"muchos|muchas personas|la mayoría|algunos|otros|la gente|\bsi\b[^.;\n]*\w+(?:ra|ran|ras|iese|ase)\b|primero"
        r"|al principio|en un principio|dicen|dirían|anterior",
        r"pero|sino|sin embargo|aunque",
        r"que",
        r"(?:es|sería) mi (?:respuesta|elección|opinión)",
    ),
    "Portuguese": Language(
        "eu um uma este minha escolho resposta meu isso pois",
        r"(?:resposta|escolha|opção|avaliação|opinião|veredicto|classificação)(?: \w+)? (?:e|é|seria)|escolho"
        r"|escolheria|diria|digo|considero|acho|opto|optaria|respondo|fico com|para mim|na minha opinião",
        r"não|nao|nunca|jamais|nem|nenhum\w*|se (?:isto |isso )?é",
        r"muitos|muitas pessoas|a maioria|alguns|algumas pessoas|outros|\bse\b[^.;\n]*\w+(?:sse|ssem)\b|primeiro"
        r"|no início|a princípio|dizem|diriam|anterior",
        r"mas|porém|contudo|entretanto",
        r"que",
        r"(?:é|seria) (?:a )?minha (?:resposta|escolha|opinião)",
    ),
    "Italian": Language(
        "io mia direi scelgo risposta mio non per",
        r"(?:risposta|scelta|valutazione|opinione|giudizio|verdetto)(?: \w+)? (?:e|è|sarebbe)|scelgo|sceglierei|direi"
        r"|dico|considero|ritengo|penso|opto|opterei|rispondo|per me|secondo me|a mio avviso",
        r"non|mai|né|nessun\w*|se (?:questo )?(?:è|sia)",
        r"molti|molte persone|la maggior parte|alcuni|altri|la gente|qualcuno|chi (?:dice|direbbe)"
        r"|\bse\b[^.;\n]*\w+(?:sse|ssero)\b|inizialmente|all'inizio|dapprima|dicono|direbbero?|precedente|per la legge",
        r"ma|però|tuttavia|invece",
        r"che",
        r"(?:è|sarebbe) la mia (?:risposta|scelta|opinione)|secondo me",
    ),
    "Dutch": Language(
        "ik mijn het niet antwoord dus een dit",
        r"(?:antwoord|keuze|oordeel|mening|beoordeling)(?: \w+)? (?:is|luidt|blijft)|keuze valt op|ik (?:kies"
        r"|vind|zeg|zou|denk|neem"
        r"|ga voor|houd het op)|(?:kies|vind|zeg|zou) ik|volgens mij|naar mijn mening|wat mij betreft",
        r"niet|geen|nooit|noch|of (?:het|dit|dat)",
        r"veel mensen|velen|sommigen?|de meesten?|anderen|\bals\b[^.;\n]*\b(?:had|hadden|was|waren|zou|niet"
        r"|geen)\b|eerst"
        r"|aanvankelijk|zeggen dat|zegt|eerdere|vorige",
        r"maar|echter|toch",
        r"dat",
        r"(?:is|wordt) mijn (?:antwoord|keuze)|vind ik|zou ik zeggen",
        r"niet|vind ik niet",
    ),
    "Polish": Language(
        "moja wybieram nie to moim jest",
        r"moj[aą] (?:odpowiedź|odpowiedz|ocena|decyzja|opinia)(?: to| brzmi| jest)?|wybieram|wybrałabym|wybrałbym"
        r"|powiedziałbym|powiedziałabym|uważam|oceniam|moim zdaniem|dla mnie",
        r"nie|nigdy|ani|żad\w+|czy",
        r"wielu|wiele osób|większość|niektórzy|inni|ludzie|gdyby|jeśliby|najpierw|początkowo|mówi\w*"
        r"|powiedzieliby|poprzedni\w*",
        r"ale|lecz|jednak",
        r"że|ze",
        r"to moja (?:odpowiedź|ocena)",
    ),
    "Turkish": Language(
        "bu bence benim ben derim bir",
        r"(?:cevabım|yanıtım|değerlendirmem|tercihim|kararım|seçimim)|bence|bana göre",
        r"değil|asla|hayır|ne de",
        r"birçok|bazı|çoğu|insanlar|kimileri|eğer|olsaydı|\w+sa,|başta|ilk başta|önceki?|eski",
        r"ama|fakat|ancak",
        "",
        r"(?:seçeneğini )?(?:seçiyorum|seçerim|derim|diyorum|derdim|diyebilirim|tercih \w+)|olarak değerlendiriyorum"
        r"|benim (?:cevabım|yanıtım)",
        r"(?:seçeneği |bir \w+ )?değil|m[iıuü]|idi|olurdu|olabilir\w*|(?:seçeneğini )?(?:seçmiyorum|seçmem|demem"
        r"|diyemem|demezdim|demiyorum)",
    ),
    "Russian": Language(
        "",
        r"(?:ответ|оценка|выбор|вердикт|мнение|вывод)|я (?:бы )?(?:выбираю|выберу|выбрала?|считаю|думаю|скажу|сказала?"
        r"|оцениваю|оценила?|ставлю|отвечаю|полагаю)(?: бы)?|(?:считаю|выбираю|думаю)|по-моему|на мой взгляд"
        r"|по моему мнению|для меня",
        r"не|нет|ни|никогда|нельзя|вряд ли|ли",
        r"многие|некоторые|большинство|другие|люди|если|сначала|сперва|поначалу|скажут|скажет|говорят|прежн\w+|раньше|предыдущ\w+",
        r"но|однако|зато",
        r"что|чтобы",
        r"мой (?:ответ|выбор)|на мой взгляд|по-моему",
        r"не (?:подходит|годится)|это не",
    ),
    "Chinese": Language(
        "",
        r"(?:回答|答案|选择|評價|评价|判断|看法|结论|评分|观点)(?:应该|就|会)?(?:是|为|:)|我(?:会|要|将|最终)*(?:选择|选|認為|认为|觉得"
        r"|给出|评为|判断|回答|说|倾向)|所以|因此",
        r"不|没|沒|非|未|无|無|别|是否",
        r"有些?人|许多|很多|人们|大多|多数|其他人|如果|假如|要是|若|除非|起初|一开始|最初|本来|原本|之前|以前",
        r"但|不过|然而|而是|可是",
        denies_after=r"(?:这个?|选项)?(?:不|并不|是错|不对|是不)",
        spaced=False,
    ),
    "Japanese": Language(
        "",
        r"(?:答え|回答|評価|判断|結論|選択|意見|見解)(?:は|としては|:)|私(?:は|なら|としては|にとって)|よって|したがって",
        r"ない|ません|ではなく",
        r"多くの|人によって|一部の|他の人|もし|であれば|だったら|ならば|れば|場合|最初|はじめ|当初|以前",
        r"しかし|でも|ですが|だが|けれど",
        follows=r"(?:\"|')?(?:を選(?:びます|択します|ぶ)|だ?と(?:思い|思う|考え|判断し|評価し|答え)|(?:が|は)私の(?:答え|回答)"
        r"|です|になります|にします|である)",
        denies_after=r"(?:\"|')?(?:では(?:あり|な)|じゃ(?:あり|な)|だ?とは(?:思|言|考|い)|でも|ではなく|を選(?:びません|ばない)|かは?(?:どう|分|わか)"
        r"|です(?:か|が)|(?:だ|か)?と[^.,\n]{0,8}(?:ません|ない))",
        spaced=False,
    ),
    "Korean": Language(
        "",
        r"(?:답변?|대답|평가|의견|선택|판단|생각|결론)(?:은|는|:)|(?:나|저|제)(?:는|가|에게는?)|따라서|그래서",
        r"안|못|아니|않",
        r"많은|일부|대부분|사람들|다른 사람|만약|만일|라면|다면|처음|이전|예전",
        r"하지만|그러나|지만",
        follows=r"(?:\"|')?(?:입니다|이에요|예요|이다|(?:을|를) (?:선택|고르|고릅)|(?:이?라고|으로|로) (?:생각"
        r"|봅니다|보고|판단|평가|답|하겠"
        r"|선택))",
        denies_after=r"(?:\"|')?(?:(?:이|가|은|는)? ?아니|(?:이|가) 아닙|(?:이?라고|으로|로|을|를"
        r"|하다고)[^.,\n]{0,10}(?:않|못|없|안)"
        r"|입니까|인(?:가|지))",
        spaced=False,
    ),
}


def _words(kind: str, spaced: bool) -> str:
    """Return a pattern for the words of one kind of every language whose words spaces part, or do not part."""
    found = (getattr(language, kind) for language in LANGUAGES.values() if language.spaced is spaced)
    return any_of(*filter(None, found))


def _any_word(kind: str) -> str:
    """Return a pattern for the words of one kind of any language."""
    return rf"(?:(?<![\w-]){_words(kind, True)}(?![\w-])|{_words(kind, False)})"


@dataclass(frozen=True)
class Lexicon:
    """A pattern for each kind of words around an option."""

    leads: re.Pattern[str]  # before an option that is the answer
    follows: re.Pattern[str]  # after one
    negations: re.Pattern[str]
    denied_after: re.Pattern[str]
    scope: re.Pattern[str]  # where the reach of a negation ends
    aside: re.Pattern[str]  # before an option that others hold, another case, a first thought
    turns: re.Pattern[str]  # where the reach of these ends

    def calls_answer(self, before: str, after: str) -> bool:
        """Whether the words around an option call it the answer."""
        return self.leads.search(before) is not None or self.follows.match(after) is not None

    def denies(self, before: str, after: str) -> bool:
        """Whether an option is negated by what stands before it, or by what follows it."""
        before = self.scope.split(before)[-1]
        return self.negations.search(before) is not None or self.denied_after.match(after) is not None

    def sets_aside(self, before: str) -> bool:
        """Whether an option is what others say, holds under another condition, or was a first thought."""
        return self.aside.search(self.turns.split(before)[-1]) is not None


FOREIGN = Lexicon(
    leads=lazy(
        rf"(?:{_any_word('leads')}),?[^.;,!?\n]{{0,30}}(?:,\s*{_words('that', True)}\b[^.;,!?\n]{{0,20}})?$"
        rf"|(?:resposta|risposta)(?: \w+)? (?:é|è|e)[^\w.;\n]*$"
    ),
    follows=lazy(rf"[\s\"'*_)\],]{{0,5}}(?:{_words('follows', True)}(?!\w)|{_words('follows', False)})"),
    negations=lazy(_any_word("negations")),
    denied_after=lazy(
        rf"[\s\"'*_)\],]{{0,5}}(?:{_words('denies_after', True)}(?!\w)|{_words('denies_after', False)})"
    ),
    scope=lazy(rf"[.!?;\n]|,(?!\s*{_words('that', True)}\b)|{_any_word('but')}"),
    aside=lazy(_any_word("aside")),
    turns=lazy(r"[.!?;\n]|" + _any_word("but")),
)
_MARKS = frozenset(" ".join(language.marks for language in LANGUAGES.values()).split())


def is_foreign(text: str, words: Iterable[str]) -> bool:
    """Whether a text may be in another language: letters that English lacks, or a frequent word of another."""
    return not text.isascii() or not _MARKS.isdisjoint(words)


@dataclass(frozen=True)
class OwnWords(Lexicon):
    """The words of a scale's file, with kinds that English has in the rules."""

    hedges: re.Pattern[str]
    refusals: re.Pattern[str]
    degrees: frozenset[str]
    joins: frozenset[str]


@per_scale
def own_words(scale: Scale) -> OwnWords:
    """Return the words of the scale's file; of a scale without any, patterns that never match."""
    words = {kind: tuple(map(normalise, of_kind)) for kind, of_kind in scale.words}

    def anywhere(kind: str, before: str = "", after: str = "") -> re.Pattern[str]:
        """Return a pattern for any words of a kind: whole words, in scripts that part words with spaces."""
        found = words.get(kind, ())
        return re.compile(before + any_of(*map(_whole, found)) + after) if found else NEVER

    turns = re.compile(any_of(r"[.!?;:\n]", *map(_whole, words.get("turns", ()))))
    return OwnWords(
        leads=anywhere("leads", after=r"[^.;!?\n]{0,30}$"),
        follows=NEVER,
        negations=anywhere("negations"),
        denied_after=anywhere("negations", before=r"[^.;:,!?\n]{0,40}?"),  # "somewhat acceptable is this not"
        scope=turns,
        aside=anywhere("others"),
        turns=turns,
        hedges=anywhere("hedges"),
        refusals=anywhere("refusals"),
        degrees=frozenset(words.get("degrees", ())),
        joins=frozenset(words.get("joins", ())),
    )


def _whole(phrase: str) -> str:
    """Return a pattern for ``phrase`` that does not begin or end inside a word, where spaces part words."""
    pattern = r"\s+".join(map(re.escape, phrase.split()))
    edges = [r"\b" if ord(c) < 0x3040 and c.isalnum() else "" for c in (phrase[0], phrase[-1])]
    return edges[0] + pattern + edges[1]
