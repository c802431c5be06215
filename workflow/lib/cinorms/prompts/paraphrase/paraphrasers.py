"""Paraphrasers: what all share, PEGASUS and the planted one. ``cinorms.inference.paraphraser`` asks models."""

import random
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from cinorms.core.errors import CinormsError, ConfigError

#: The instruction to a model. ``<count>``, ``<original>`` and ``<taken>`` are filled in.
INSTRUCTION = """\
Reword the prompt template below in <count> different ways. Keep what it asks for and how strictly it asks.
Each rewording is one line and holds the placeholders {scenario} and {options} exactly once, written just so.
Name no answer option and add no explanation.
Write the rewordings only, one on each line, without numbers and without quotation marks.

Template:
<original>
<taken>"""

#: A part of it that is used only if there are rewordings already.
TAKEN = """
These are there already; write others:
<templates>
"""


class ParaphraseError(CinormsError):
    """A paraphraser cannot be asked, or too few of its paraphrases are valid."""


class Ask(NamedTuple):
    """One round: ``wanted`` rewordings of ``templates[0]`` that are none of ``templates``."""

    templates: tuple[str, ...]
    wanted: int
    scale: str
    temperature: float
    seed: int


class Candidates(NamedTuple):
    """Unchecked rewordings, and what the paraphraser reported about itself; ``refused``: why there are none."""

    texts: tuple[str, ...]
    reported: Mapping[str, str] = {}
    refused: str = ""


class Paraphraser:
    """Anything that can be asked for rewordings; ``entry`` describes it (``generate.make_request`` makes it)."""

    #: Its instruction, or what it does without one.
    instruction: str = INSTRUCTION
    #: The packages whose versions can change what it replies; the environment that has them (a file in ``envs/``), and
    #: a virtual environment to use without conda.
    packages: tuple[str, ...] = ()
    environment = "core"
    virtual_environment: str | None = None

    def __init__(self, entry: Mapping[str, Any]) -> None:
        self._name = f"paraphraser {entry['name']!r}"

    def ask(self, ask: Ask) -> Candidates:
        """Return candidates, in the paraphraser's own order."""
        raise NotImplementedError


def instruction_of(ask: Ask) -> str:
    """Return ``INSTRUCTION`` for one round."""
    listed = "\n".join(ask.templates[1:])
    taken = TAKEN.replace("<templates>", listed) if listed else ""
    # The original last: it may hold anything, even the text of a mark.
    return (
        INSTRUCTION.replace("<count>", str(ask.wanted))
        .replace("<taken>", taken)
        .replace("<original>", ask.templates[0])
    )


def candidates_in(text: str, cut_off: bool = False) -> tuple[str, ...]:
    """Return the lines of a reply without list marks and quotation marks around them; at least one.

    Text in ``<think>`` is left out, and so is the last line of a reply that was cut off.
    """
    text = re.sub(r"(?s)^.*</think>|<think>.*", "", text)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if cut_off:
        lines = lines[:-1]
    bare = []
    for line in lines:
        # Without ``1.``, ``2)``, ``-`` or ``*`` before it and one pair of quotation marks.
        line = re.sub(r"^(?:\(?\d{1,3}[.):]|[-*•–])\s+", "", line)
        for opening, closing in (('"', '"'), ("'", "'"), ("“", "”"), ("`", "`")):
            inner = line[1:-1]
            if line[:1] == opening and line[-1:] == closing and opening not in inner and closing not in inner:
                line = inner.strip()
                break
        bare.append(line)
    return tuple(bare) or ("",)


# --- The planted paraphraser

#: Halves of the planted rewordings, by scale: every opening goes with every closing.
OPENINGS = {
    "acceptability": (
        "Here is a situation: {scenario}. Say how acceptable it is.",
        "Consider what happens here: {scenario}. How acceptable is that?",
        "Think about this flow of information: {scenario}. Judge its acceptability.",
        "What is your view of the acceptability of this: {scenario}?",
        "Give your judgement on how acceptable the following is: {scenario}.",
        "Suppose that {scenario}. Tell me how acceptable you find that.",
    ),
    "agreement": (
        "Here is a situation: {scenario} Say how far people would agree that it is as they expect.",
        "Consider what happens here: {scenario} Would people agree that their privacy is kept as expected?",
        "Think about this flow of information: {scenario} Judge how far people would agree it is expected.",
        "How far would people agree that their privacy expectations are met by this: {scenario}",
        "Judge how far people would agree that this is in line with their privacy expectations: {scenario}",
        "Read this: {scenario} Tell me how far people would agree that their privacy expectations are met.",
    ),
}
#: For a prompt set of another scale.
OTHER_OPENINGS = (
    "Here is a situation: {scenario}. Give your rating of it.",
    "Consider what happens here: {scenario}. How do you rate that?",
    "Think about this flow of information: {scenario}. Rate it.",
    "How would you rate this: {scenario}?",
    "Give your judgement on the following: {scenario}.",
    "Suppose that {scenario}. Tell me how you rate that.",
)
CLOSINGS = (
    "Reply with one of these options and nothing else: {options}",
    "Write exactly one of the options below, with no further text: {options}",
    "Your whole reply must be one option from this list: {options}",
    "Use one of the following options as your complete answer: {options}",
    "Pick a single option and add nothing to it: {options}",
    "The only permitted answers are these, so give one of them: {options}",
)


class PlantedParaphraser(Paraphraser):
    """No model: a fixed list of 36 rewordings for each scale, in an order that the seed decides."""

    instruction = "None: a fixed list of rewordings (planted; no model was asked)."

    def ask(self, ask: Ask) -> Candidates:
        """Return ``ask.wanted`` rewordings that are not taken, or as many as are left; ``""`` for none."""
        openings = OPENINGS.get(ask.scale, OTHER_OPENINGS)
        listed = [f"{opening} {closing}" for opening in openings for closing in CLOSINGS]
        random.Random(ask.seed).shuffle(listed)
        left = [template for template in listed if template not in ask.templates]
        return Candidates(tuple(left[: ask.wanted]) or ("",))


# --- PEGASUS, which rewords one sentence at a time and takes no instruction

#: Words that replace the placeholders while a sentence is reworded: braces are not in PEGASUS' vocabulary,
#: names are, and are seldom reworded. The first one that is not in the template is used.
NAMES = {"{scenario}": ("Zanzibar", "Samarkand"), "{options}": ("Timbuktu", "Reykjavik")}

#: Candidates for a round: twice as many as are wanted and so many more, for they cost nothing and many are
#: unchanged, are there already or have lost a placeholder.
SPARE = 10

#: Longest sentence in tokens, both ways, where the checkpoint's own limit is not shorter.
MAX_TOKENS = 60

#: Sentences made at a time: 64 of 60 tokens fit into 4 GiB.
MAX_CANDIDATES = 64


class PegasusParaphraser(Paraphraser):
    """A PEGASUS checkpoint from the hub or a folder, on the GPU where there is one."""

    packages = ("transformers", "torch", "tokenizers")
    environment, virtual_environment = "paraphrase", ".venv-paraphrase"
    instruction = (
        "None: each sentence is reworded by itself, {scenario} shown as Zanzibar and {options} as Timbuktu "
        "(as other names where the template holds these)."
    )

    def __init__(self, entry: Mapping[str, Any]) -> None:
        super().__init__(entry)
        try:
            import torch
            from transformers import AutoModelForSeq2SeqLM, AutoTokenizer
        except ImportError as error:
            raise ConfigError(
                f"{self._name}: the package {error.name!r} is not installed in this Python; run with `--sdm conda`, "
                f"which installs envs/{self.environment}.yaml, or run `make {self.virtual_environment}/done` once: "
                "that environment is then used"
            ) from None
        source, revision = entry["source"], entry.get("revision")
        self._torch = torch
        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        try:
            self._tokenizer = AutoTokenizer.from_pretrained(source, revision=revision)
            model = AutoModelForSeq2SeqLM.from_pretrained(source, revision=revision)
        except (OSError, ValueError) as error:
            raise ParaphraseError(
                f"{self._name}: the checkpoint {source!r} cannot be loaded: {error}"
            ) from error
        self._model = model.to(self._device).eval()
        self._commit = getattr(model.config, "_commit_hash", None)
        self._max_tokens = min(MAX_TOKENS, model.config.max_position_embeddings)

    def ask(self, ask: Ask) -> Candidates:
        """Reword each sentence of the original and put the rewordings together at random.

        ``2 * ask.wanted + SPARE`` candidates come back, fewer where the sentences give fewer.
        """
        hidden, names = protect(ask.templates[0])
        choices = [self._reword(sentence, ask) for sentence in sentences(hidden)]
        whole = combine(choices, 2 * ask.wanted + SPARE, ask.seed)
        reported = {"device": self._device, **({"commit": self._commit} if self._commit else {})}
        return Candidates(tuple(restore(text, names) for text in whole) or ("",), reported)

    def _reword(self, sentence: str, ask: Ask) -> list[str]:
        batch = self._tokenizer(
            [sentence], truncation=True, max_length=self._max_tokens, return_tensors="pt"
        ).to(self._device)
        self._torch.manual_seed(ask.seed)
        with self._torch.inference_mode():
            tokens = self._model.generate(
                **batch,
                do_sample=True,
                num_beams=1,
                temperature=ask.temperature,
                num_return_sequences=min(2 * ask.wanted + SPARE, MAX_CANDIDATES),
                max_length=self._max_tokens,
            )
        texts = self._tokenizer.batch_decode(tokens, skip_special_tokens=True)
        return list(dict.fromkeys(" ".join(text.split()) for text in texts))


def protect(template: str) -> tuple[str, dict[str, str]]:
    """Return ``template`` with a name in the place of each placeholder, and the names by placeholder.

    Raises ``ConfigError`` where the template has every name that could replace a placeholder.
    """
    used = {}
    for placeholder, names in NAMES.items():
        free = [name for name in names if name.casefold() not in template.casefold()]
        if not free:
            raise ConfigError(
                f"original: {' and '.join(names)} replace {placeholder} for PEGASUS; take one of them out"
            )
        used[placeholder] = free[0]
        template = template.replace(placeholder, free[0])
    return template, used


def restore(text: str, names: Mapping[str, str]) -> str:
    """Put the placeholders back, however the names are written; the checks see those that were lost."""
    for placeholder, name in names.items():
        text = re.sub(rf"\b{name}\b", placeholder, text, flags=re.IGNORECASE)
    return text


def sentences(text: str) -> list[str]:
    """Split ``text`` after each ``.``, ``?`` or ``!`` before a space and a capital, bracket or quotation."""
    return re.split(r"(?:(?<=[.?!])|(?<=[.?!][\"”]))\s+(?=[A-Z(\"“])", text)


def combine(choices: Sequence[Sequence[str]], wanted: int, seed: int) -> list[str]:
    """Return up to ``wanted`` distinct texts, each with one of the ``choices`` for every sentence."""
    draw = random.Random(seed)
    texts: dict[str, None] = {}
    for _ in range(20 * wanted):
        if len(texts) == wanted:
            break
        texts[" ".join(draw.choice(list(options)) for options in choices)] = None
    return list(texts)


#: Those that are no models of an engine, by the name that a request states as engine.
PARAPHRASERS: dict[str, type[Paraphraser]] = {"planted": PlantedParaphraser, "pegasus": PegasusParaphraser}
