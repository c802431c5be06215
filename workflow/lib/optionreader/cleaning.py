"""From what a model wrote to the text that counts: a cleaned copy, the raw text is never altered."""

import re
import unicodedata
from functools import lru_cache

from optionreader.patterns import lazy

#: Where a reasoning model thinks; the names are those of public chat templates.
_THINK_OPEN = lazy(
    r"<(?:think|thinking|thought|thoughts|reasoning)>|\[think\]|<\|begin_of_thought\|>|◁think▷"
    r"|<\|channel\|>(?:analysis|commentary)"
)
_THINK_CLOSE = lazy(
    r"</(?:think|thinking|thought|thoughts|reasoning)>|\[/think\]|<\|end_of_thought\|>|◁/think▷"
    r"|<\|channel\|>final(?:<\|message\|>)?"
)
_THINK_MARKS = ((_THINK_OPEN, False), (_THINK_CLOSE, True))
#: The model's turn is over, or it went on to write the next question itself.
_TURN_END = lazy(
    r"<\|(?:im_end|eot_id|end|eom_id|endoftext|end_of_text|return|user|end_of_turn|im_start\|>user)\|?>"
    r"|</s>|<eos>"
    r"|<end_of_turn>|\[inst\]|#{2,4} ?(?:instruction|human|user|input|question)\b:?"
    r"|\n[ \t]{0,8}(?:user|human|question|q) ?:"
)
_OWN_QUESTION = lazy(r"\W*(?:user|human|question|q) ?:")
#: No answer, or none yet, after the last question.
_UNANSWERED = lazy(r"^[^\n]*(?:\n[ \t]*(?:a|answer|assistant|model) ?:\s*)?$")
#: Marks of a chat template with the role they announce.
_DEBRIS = lazy(
    r"<\|(?:im_start|start_header_id|start|assistant)\|>\s{0,3}(?:(?:assistant|model)\b)?"
    r"|<start_of_turn>\s{0,3}(?:model\b)?|<\|[^|<>\n]{1,40}\|>|</?s>|<(?:pad|bos)>|\[/?inst\]|<</?sys>>"
    r"|#{2,4} ?(?:response|assistant|answer|output)\b:?"
)
_ANSWER_TAG = lazy(r"<(?:answer|response|output|rating)>")
_MARKUP = lazy(
    r"</?(?:p|b|i|u|em|strong|br|div|span|ul|ol|li|code|html|body|answer|response|output"
    r"|rating)\b[^<>\n]{0,60}>"
    r"|\\(?:text|textbf|textit|mathrm|mathbf)\b"
)
#: Without one of these there is nothing to take off.
_ANY_MARK = lazy(r"[<\[#\\\n]")
_QUOTES = str.maketrans(dict.fromkeys("‘’‚‛′`´", "'") | dict.fromkeys("“”„‟″«»", '"') | {"\u2212": "-"})
#: Punctuation of scripts that put no space after it.
_STOPS = str.maketrans(
    {"。": ". ", "？": "? ", "！": "! ", "、": ", ", "，": ", ", "：": ": ", "「": '"', "」": '"'}
)
#: Where a Latin letter meets one of a script without spaces or with endings: "neutral입니다".
_SCRIPTS_MEET = lazy(
    r"(?<=[A-Za-z])(?=[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])"
    r"|(?<=[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])(?=[A-Za-z])"
)
_MIN_WORDING_WORDS = 5


def normalise(text: str) -> str:
    """Return a lower-case copy with plain letters, quotes, dashes and spaces.

    Full-width and mathematical letters become plain (NFKC), invisible characters vanish, every dash is ``-``.
    """
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text.translate(_STOPS)).translate(_QUOTES)
        text = _SCRIPTS_MEET.sub(" ", "".join(_plain_character(c) for c in text))
    text = text.lower().replace("\r\n", "\n").replace("\r", "\n").replace("`", "'")
    return text.replace("\x00", "")


def _plain_character(c: str) -> str:
    """Return ``c``, or what stands for it: ``-`` for dashes, nothing for the invisible."""
    kind = unicodedata.category(c)
    if kind == "Pd":
        return "-"
    if kind in ("Zl", "Zp"):
        return "\n"
    if kind == "Zs":
        return " "
    return "" if kind in ("Cf", "Cs", "Co", "Cn") else c


def after_thinking(text: str) -> tuple[str, bool]:
    """Return what follows the last finished thinking, and whether another thinking is left unfinished."""
    if not any(mark in text for mark in "<[◁"):
        return text, False
    end = 0
    for match in _THINK_CLOSE.finditer(text):
        end = match.end()
    rest = text[end:]
    return rest, _THINK_OPEN.search(rest) is not None


def without_stray_ends(text: str) -> str:
    """Return ``text`` without the marks that end a thinking which never began: the thinking itself is elsewhere."""
    marks = [(m.start(), m.end(), is_end) for find, is_end in _THINK_MARKS for m in find.finditer(text)]
    kept, at, inside = [], 0, False
    for start, end, is_end in sorted(marks):
        if is_end and not inside:
            kept.append(text[at:start])
            at = end
        inside = not is_end
    return " ".join([*kept, text[at:]])


#: Longest turn that is read as a whole, in characters: a text of 100 tokens has 600, and one that names options in a
#: loop takes milliseconds for each.
LONGEST_TURN = 10_000


def shortened(turn: str) -> str:
    """Return a turn that is not too long, else its beginning and its end, where an answer is given."""
    half = LONGEST_TURN // 2
    return turn if len(turn) <= LONGEST_TURN else f"{turn[:half]}\n\n{turn[-half:]}"


def own_turn(text: str) -> str:
    """Return the first turn that holds anything, without the marks of a chat template and of markup."""
    if _ANY_MARK.search(text) is None:
        return text.strip()
    pieces = _TURN_END.split(text)
    while len(pieces) > 1 and not pieces[-1].strip():
        pieces.pop()
    if len(pieces) > 1 and _OWN_QUESTION.match(text) and _UNANSWERED.search(pieces[-1]):
        pieces = pieces[-1:]  # a transcript of other questions, which ends before the answer to the one asked
    for piece in pieces:
        piece = _DEBRIS.sub("\n", piece)
        piece = _MARKUP.sub(" ", _ANSWER_TAG.sub(" answer: ", piece)).replace("\\n", "\n")
        piece = re.sub(r"^\s*(?:assistant|model)\s*\n", "", piece).strip()
        if piece:
            return piece
    return ""


@lru_cache(maxsize=64)
def _long_wordings(prompt: frozenset[str]) -> tuple[str, ...]:
    """Return the prompt's fixed wordings as text repeats them, longest first."""
    # ASSUME: a wording of fewer words may be an option itself, so only longer ones are taken for an echo.
    words = (normalise(wording).split() for wording in prompt)
    return tuple(
        sorted({" ".join(w) for w in words if len(w) >= _MIN_WORDING_WORDS}, key=lambda t: (-len(t), t))
    )


def without_prompt(text: str, prompt: frozenset[str]) -> str:
    """Return ``text`` without the prompt's own wording: an example option in it is not an answer.

    White space may have come back otherwise than it was sent.
    """
    wordings = _long_wordings(prompt)
    flat = " ".join(text.split()) if wordings else ""
    for wording in wordings:
        if wording in flat:
            text = re.sub(r"\s+".join(map(re.escape, wording.split())), "\n", text)
    return text.strip()


#: "~~X~~"
_STRUCK = lazy(r"(?<!~)~~(?!~)[^~\n]+(?<!~)~~(?!~)")


def without_struck(text: str) -> str:
    """Return ``text`` without what it strikes through ("~~X~~ Y"), unless nothing else is left."""
    left = _STRUCK.sub(" ", text) if "~~" in text else text
    return left.strip() if re.search(r"[^\W_]", left) else text


def fixed_parts(template: str) -> frozenset[str]:
    """Return the parts of ``template`` between its ``{placeholders}``."""
    return frozenset(part.strip() for part in re.split(r"\{+[^{}]*\}+", template) if part.strip())
