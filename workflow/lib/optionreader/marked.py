"""Options that a list or form marks as chosen: with a tick, an arrow, or in words ("(selected)", ": yes")."""

from optionreader.patterns import WORD, lazy, word_set
from optionreader.reply import Reply

_TICK_BEFORE = lazy(r"(?:[\[(]\s*[x✓✔]\s*[\])]|[☑✅☒🗹🔘◉]|(?:^|\n|\|)[^\w\n]*\bx\b)[^\w\n\[(☐]*$")
_TICK_AFTER = lazy(r"[^\w\n]*?(?:[\[(]\s*[x✓✔]\s*[\])]|[☑✅✓✔🗹]|<[-=]+(?=\W*$|\n))")
#: What a form of the whole scale says of the chosen option: "neutral: yes".
_YES = lazy(r"[\s\"'*_)]*[|:=>-][\s\"'*_|>]*(?:yes|true|selected|chosen|x|y|1)\b(?=[^\w\n]*(?:\n|$|[,;|}]))")
#: Where options are ranked, "1" chooses none.
_RANK = lazy(r"[|:=>-][\s\"'*_|>]*[2-9]\b")
#: A few words about one item of a list: "(selected)", "<- my choice", "- I pick this".
_REMARK = lazy(r"[ \t\"'*_]*(?:[(\[*|<>=-]|←|⇐|➜|→)[^,;\n]{0,40}")
_CHOICE = word_set("selected chosen picked choose choice pick answer selection verdict mine this rating vote")
_REMARK_WORDS = _CHOICE | word_set(
    "my the i i'd is it one would go with final that's here final best option x"
)
#: What a mark means where it chooses no option.
_REJECTS = lazy(
    r"\b(?:reject|exclud|rul(?:e|ed|ing) out|eliminat|dismiss|avoid|wrong|unsuitable|possible|not )\w*"
)


def marked_options(reply: Reply) -> set[int]:
    """Return the options with a mark before or after them; all, where the text says that marks reject."""
    body, mentions = reply.body, reply.mentions
    listed = len({m.option for m in mentions}) > 2
    whole = len({m.option for m in mentions}) == len(reply.scale.options) and not _RANK.search(body)
    chosen = set()
    for m, stop in zip(mentions, [*(m.start for m in mentions[1:]), len(body)], strict=False):
        if m.cut or m.elsewhere:
            continue
        after = body[m.end : min(stop, m.end + 50)]
        marked = _TICK_BEFORE.search(body[max(0, m.start - 12) : m.start]) or _TICK_AFTER.match(after)
        if marked or (whole and _YES.match(after)) or (listed and _is_choice(after)):
            chosen.add(m.option)
    if chosen and len(mentions) > 1 and _REJECTS.search(body[: mentions[0].start]):
        return {m.option for m in mentions}
    return chosen


def _is_choice(after: str) -> bool:
    """Whether a remark after an option says that it is the chosen one, and nothing else."""
    remark = _REMARK.match(after)
    words = set(WORD.findall(remark[0])) if remark else set()
    return bool(words & _CHOICE) and words <= _REMARK_WORDS
