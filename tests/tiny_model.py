"""A tiny Llama that answers in options, trained in seconds: ``.venv-vllm/bin/python -m tests.tiny_model FOLDER``.

It is taught the probabilities of all options of planted norms, first on the vignettes alone, which are short, then on
whole prompts: enough to answer in options and in mixed probabilities, and not yet right.
"""

import math
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cinorms.core.scales import Scale
from cinorms.core.yaml_files import load_yaml
from cinorms.inference.engines.vllm.tokenise import Ids, Tokeniser
from cinorms.planted.respondents import plant
from cinorms.planted.settings import Respondent
from cinorms.prompts.orders import options_shown
from cinorms.prompts.prompt_sets import load_prompt_set
from cinorms.prompts.variants import fill
from cinorms.vignettes.designs import expand, load_dataset

RESOURCES = Path(__file__).parents[1] / "resources"
SEED = 2026

BEGIN, END = "<|begin|>", "<|end|>"
#: A chat as the model reads it; an answer ends with ``END``.
CHAT_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}<|{{ message['role'] }}|>\n{{ message['content'] }}"
    "{% if message['role'] == 'assistant' %}{{ eos_token }}{% endif %}\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
)
_ROLES = ("<|system|>", "<|user|>", "<|assistant|>")

#: At most; enough for every word of the prompts to be one token.
VOCABULARY = 800
HIDDEN, LAYERS, HEADS = 128, 2, 4
#: (steps, prompts per step, whole prompts) of each phase, and its highest learning rate.
PHASES, RATE, WARM_UP = ((60, 64, False), (40, 16, True)), 3e-3, 30
#: Scale of the logistic distribution of a flow's answers, in logits.
SPREAD = 0.25


def make_tokenizer(texts: Iterable[str], vocabulary: int) -> Any:
    """Return a fast tokenizer of at most ``vocabulary`` tokens, trained on ``texts``.

    Any text can be encoded; it adds no special token by itself, as its chat template writes them.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[BEGIN, END, *_ROLES],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token=BEGIN,
        eos_token=END,
        pad_token=END,
        extra_special_tokens=list(_ROLES),
        chat_template=CHAT_TEMPLATE,
        clean_up_tokenization_spaces=False,
    )


class Corpus:
    """The flows of the dataset iot in the papers' templates and all orders, and the probability of each answer."""

    def __init__(self) -> None:
        dataset = load_dataset(RESOURCES / "vignettes/iot.yaml")
        flows = expand(dataset)
        self.vignettes = tuple(flows["vignette"])
        self.templates = load_prompt_set(RESOURCES / "prompts/chatgpt.yaml").templates
        self.scale = Scale.from_plain(dataset.scale)
        norms = load_yaml(RESOURCES / "planted/gpt-4o-mini.yaml")
        respondent = Respondent(
            name="tiny", thresholds=tuple(norms["thresholds"]), coefficients=norms["coefficients"]
        )
        linear = plant(respondent, flows, list(dataset.levels), self.scale, SEED)["linear"].to_numpy()
        cuts = (np.array(norms["thresholds"])[None, :] - linear[:, None]) / SPREAD
        below = 1 / (1 + np.exp(-np.clip(cuts, -60, 60)))
        self.probabilities = np.diff(below, axis=1, prepend=0.0, append=1.0)

    def draw(self, rng: np.random.Generator, n: int) -> tuple[npt.NDArray[np.int64], list[str]]:
        """Return ``n`` random flows, and each in a random template and answer order."""
        shown = options_shown(self.scale)
        flows, templates, orders = (
            rng.integers(len(each), size=n) for each in (self.vignettes, self.templates, shown)
        )
        texts = [
            fill(self.templates[t], self.vignettes[f], shown[o])
            for f, t, o in zip(flows, templates, orders, strict=True)
        ]
        return flows, texts


class Trainer:
    """A model in training; ``ways`` spells the options, each closed by the end-of-answer token."""

    def __init__(self) -> None:
        import torch
        from transformers import LlamaConfig, LlamaForCausalLM

        self.corpus = Corpus()
        self.rng = np.random.default_rng(SEED)
        torch.manual_seed(SEED)
        # Two threads wait for each other longer than they work where other jobs use the cores, and one
        # thread always adds up in the same order.
        torch.set_num_threads(1)
        options = self.corpus.scale.options
        _, texts = self.corpus.draw(self.rng, 4_000)
        self.tokenizer = make_tokenizer([*texts, *options * 200], VOCABULARY)
        self._tokeniser = Tokeniser(self.tokenizer, "chat_template", "tiny")
        end = self.tokenizer.eos_token_id
        self.ways = [(*ids.tolist(), end) for ids in self._tokeniser.ids(options)]
        self.model = LlamaForCausalLM(
            LlamaConfig(
                vocab_size=len(self.tokenizer),
                hidden_size=HIDDEN,
                intermediate_size=HIDDEN * 8 // 3 // 8 * 8,
                num_hidden_layers=LAYERS,
                num_attention_heads=HEADS,
                num_key_value_heads=HEADS,
                max_position_embeddings=1024,
                tie_word_embeddings=True,
                bos_token_id=self.tokenizer.bos_token_id,
                eos_token_id=end,
                pad_token_id=end,
                dtype="float32",
            )
        )

    def train(self) -> None:
        """Run all phases."""
        import torch

        optimizer = torch.optim.AdamW(self.model.parameters(), betas=(0.9, 0.98), weight_decay=0.0)
        for steps, size, whole in PHASES:
            for step in range(1, steps + 1):
                flows, texts = self.corpus.draw(self.rng, size)
                texts = texts if whole else [self.corpus.vignettes[flow] for flow in flows]
                chats = ([{"role": "user", "content": text}] for text in texts)
                # The learning rate: up from 0, then down along a half cosine.
                falling = 0.02 + 0.98 * (1 + math.cos(math.pi * step / steps)) / 2
                for group in optimizer.param_groups:
                    group["lr"] = RATE * min(1.0, step / WARM_UP) * falling
                optimizer.zero_grad()
                self._loss(flows, self._tokeniser.ids(self._tokeniser.texts(chats))).backward()
                torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
                optimizer.step()

    def _loss(self, flows: npt.NDArray[np.int64], prompts: list[Ids]) -> Any:
        """Return the cross-entropy of the options' probabilities, token by token along a drawn option."""
        import torch

        p = self.corpus.probabilities[flows]
        drawn = (self.rng.random((len(flows), 1)) > p.cumsum(axis=1)).sum(axis=1).clip(max=p.shape[1] - 1)
        answers = [self.ways[int(option)] for option in drawn]
        log_p = self._log_p(prompts, answers)
        targets = np.zeros(log_p.shape, dtype=np.float32)
        for row, answer in enumerate(answers):
            for place in range(len(answer)):
                for option, way in enumerate(self.ways):
                    if way[:place] == answer[:place]:
                        targets[row, place, way[place]] += p[row, option]
        sums = targets.sum(axis=2, keepdims=True)
        wanted = torch.from_numpy(targets / np.where(sums > 0, sums, 1))
        return -(wanted * log_p).sum() / len(flows)

    def _log_p(self, prompts: Sequence[Ids], answers: Sequence[tuple[int, ...]]) -> Any:
        """Return the log-probabilities of all tokens at each place of each answer (padded to the longest)."""
        import torch

        longest = max(map(len, answers))
        rows = [[*prompt.tolist(), *answer[:-1]] for prompt, answer in zip(prompts, answers, strict=True)]
        width = max(max(map(len, rows)), max(len(ids) for ids in prompts) + longest - 1)
        ids = torch.tensor([row + [self.tokenizer.eos_token_id] * (width - len(row)) for row in rows])
        at = torch.tensor([[len(prompt) - 1 + place for place in range(longest)] for prompt in prompts])
        # Padding comes after the row, where a causal model does not look.
        states = self.model.model(input_ids=ids).last_hidden_state
        states = states[torch.arange(len(rows))[:, None], at]
        return torch.log_softmax(self.model.lm_head(states), dim=-1)


def write_tiny_model(folder: Path) -> None:
    """Train the model and write its checkpoint to ``folder``."""
    trainer = Trainer()
    trainer.train()
    trainer.model.save_pretrained(folder)
    trainer.tokenizer.save_pretrained(folder)


if __name__ == "__main__":
    write_tiny_model(Path(sys.argv[1]))
