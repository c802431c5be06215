"""All paraphrasers: what they share, chat models, PEGASUS and the planted one. Packages are imported when used."""

import random
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from cinorms.core.ending import OPENED, close_vllm
from cinorms.core.errors import CinormsError, ConfigError
from cinorms.core.gpus import refuse_cpu_build
from cinorms.core.logs import redact

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
    """Unchecked rewordings, and what the paraphraser reported about itself."""

    texts: tuple[str, ...]
    reported: Mapping[str, str] = {}


class Paraphraser:
    """Anything that can be asked for rewordings; ``entry`` describes it (``generate.make_request`` makes it)."""

    #: Its instruction, or what it does without one.
    instruction: str = INSTRUCTION
    #: The packages whose versions can change what it replies, the one that it is asked through first; the environment
    #: that has them (a file in ``envs/``), and for one that is no engine a virtual environment to use without conda.
    packages: tuple[str, ...] = ()
    environment = ""
    virtual_environment: str | None = None

    def __init__(self, entry: Mapping[str, Any], key: str | None = None) -> None:
        self._entry, self._name = entry, f"paraphraser {entry['name']!r}"

    def ask(self, ask: Ask) -> Candidates:
        """Return candidates, in the paraphraser's own order."""
        raise NotImplementedError

    def _not_installed(self, error: ImportError) -> ConfigError:
        folder, other = self.virtual_environment, "install it"
        if folder:
            other = f"run `make {folder}/done` once: that environment is then used"
        return ConfigError(
            f"{self._name}: the package {error.name!r} is not installed in this Python; run with "
            f"`--sdm conda`, which installs envs/{self.environment}.yaml, or {other}"
        )


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


# --- Chat models, behind an API or loaded by vLLM

#: OpenAI's own address, so that no variable of the environment can send the key to another one.
OPENAI = "https://api.openai.com/v1"

#: Longest chat in tokens: room for the 50 rewordings that a prompt set can have, within every model's limit.
MAX_MODEL_LEN = 4096

#: Tokens of a reply per rewording that was asked for: the papers' templates have about 40.
TOKENS_PER_REWORDING = 120


class OpenAIParaphraser(Paraphraser):
    """A chat model behind OpenAI's API, or behind an address that speaks it, such as Gemini's."""

    packages = ("openai",)
    environment = "openai"

    def __init__(self, entry: Mapping[str, Any], key: str | None = None) -> None:
        super().__init__(entry)
        try:
            import openai
        except ImportError as error:
            raise self._not_installed(error) from None
        self._secrets = [key] if key else []
        self._openai = openai
        # A server of one's own may need no key, but the package insists on one.
        self._client = openai.OpenAI(
            api_key=key or "none",
            base_url=entry.get("base_url") or OPENAI,
            # Prompts and the key go to this address and to no other.
            http_client=openai.DefaultHttpxClient(follow_redirects=False),
        )
        self._seeded = True

    def ask(self, ask: Ask) -> Candidates:
        """Ask for all rewordings of the round in one request."""
        completion = self._request(ask)
        # A server that filters what a model writes may send no choice at all.
        choice = completion.choices[0] if completion.choices else None
        finish = choice.finish_reason if choice else "no choice"
        reported = {
            "model": completion.model,
            "system_fingerprint": completion.system_fingerprint,
            "finish_reason": finish,
            "tokens": completion.usage and completion.usage.total_tokens,
            "seed": None if self._seeded else "refused by the server",
        }
        text = (choice.message.content if choice else None) or ""
        return Candidates(
            candidates_in(text, cut_off=finish == "length"),
            {name: str(value) for name, value in reported.items() if value is not None},
        )

    def _request(self, ask: Ask) -> Any:
        reasoning = self._entry.get("reasoning")
        # A reasoning model takes neither temperature nor seed.
        settings: dict[str, Any] = {} if reasoning else {"temperature": ask.temperature}
        if reasoning and "effort" in reasoning:
            settings["reasoning_effort"] = reasoning["effort"]
        if self._seeded and not reasoning:
            settings["seed"] = ask.seed
        try:
            return self._client.chat.completions.create(
                model=self._entry["source"],
                messages=[{"role": "user", "content": instruction_of(ask)}],
                **settings,
            )
        except self._openai.OpenAIError as error:
            # Gemini's address knows no seed and refuses a request that has one.
            if isinstance(error, self._openai.BadRequestError) and self._seeded and "seed" in str(error):
                self._seeded = False
                return self._request(ask)
            # Some servers repeat the key that they refuse.
            message = redact(str(error), self._secrets)
            raise ParaphraseError(f"{self._name}: {type(error).__name__}: {message}") from None


class VllmParaphraser(Paraphraser):
    """A chat model with open weights, asked through vLLM without a server."""

    packages = ("vllm", "torch", "transformers")
    environment = "vllm"

    def __init__(self, entry: Mapping[str, Any], key: str | None = None) -> None:
        super().__init__(entry)
        try:
            from vllm import LLM, SamplingParams
        except ImportError as error:
            raise self._not_installed(error) from None
        refuse_cpu_build(self._name, entry.get("gpus", 1))
        self._sampling = SamplingParams
        # What the entry leaves out is left to vLLM: its defaults are the registry's, but for the length, which
        # there is for short questions.
        settings = {key: entry[key] for key in ("revision", "dtype", "trust_remote_code") if key in entry}
        settings["max_model_len"] = MAX_MODEL_LEN
        if "revision" in entry:
            settings["tokenizer_revision"] = entry["revision"]
        if "gpus" in entry:
            settings["tensor_parallel_size"] = max(1, entry["gpus"])
        try:
            self._llm = LLM(model=entry["source"], **settings)
        except Exception as error:
            raise ParaphraseError(f"{self._name}: vLLM cannot load it: {error}") from error
        OPENED.callback(close_vllm, self._llm)

    def ask(self, ask: Ask) -> Candidates:
        """Ask for all rewordings of the round in one chat."""
        sampling = self._sampling(
            temperature=ask.temperature, seed=ask.seed, max_tokens=TOKENS_PER_REWORDING * (ask.wanted + 1)
        )
        try:
            outputs = self._llm.chat(
                [{"role": "user", "content": instruction_of(ask)}], sampling_params=sampling, use_tqdm=False
            )
        except Exception as error:
            # Above all a tokenizer without a chat template, and a GPU out of memory.
            raise ParaphraseError(f"{self._name}: vLLM cannot ask it: {error}") from error
        reply = outputs[0].outputs[0]
        reported = {"finish_reason": str(reply.finish_reason)}
        return Candidates(candidates_in(reply.text, cut_off=reply.finish_reason == "length"), reported)


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

    def __init__(self, entry: Mapping[str, Any], key: str | None = None) -> None:
        super().__init__(entry)
        try:
            import torch
            from transformers import AutoModelForSeq2SeqLM, AutoTokenizer
        except ImportError as error:
            raise self._not_installed(error) from None
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


# --- By the name of the engine that asks them


PARAPHRASERS: dict[str, type[Paraphraser]] = {
    "planted": PlantedParaphraser,
    "openai": OpenAIParaphraser,
    "vllm": VllmParaphraser,
    "pegasus": PegasusParaphraser,
}


def open_paraphraser(entry: Mapping[str, Any], key_variable: str | None, key: str | None) -> Paraphraser:
    """Return the paraphraser that ``entry`` describes (``generate.make_request`` makes it).

    ``key`` is the endpoint's, and ``key_variable`` the environment variable that holds it.

    Raises ``ConfigError`` where its package is not installed or its key is not there.
    """
    if entry["engine"] not in PARAPHRASERS:
        raise ConfigError(f"paraphraser {entry['name']!r}: the engine {entry['engine']!r} cannot paraphrase")
    if key_variable and not key:
        raise ConfigError(
            f"paraphraser {entry['name']!r}: the variable {key_variable} is not set; export the key in the shell that "
            "starts the run (keep it out of files)"
        )
    return PARAPHRASERS[entry["engine"]](entry, key)
