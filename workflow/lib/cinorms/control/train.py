"""Train the control model: ``python -m cinorms.control.train --dataset FILE --out FOLDER ...``.

Two phases: the vignettes alone, which are short and teach the norms, then whole prompts. The loss is taken
at the answer, against the probabilities of all options at once: each flow thus shows how far it is
from the thresholds, and not only on which side.
"""

import argparse
import json
import math
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cinorms.control.corpus import Corpus, Floats, Ints, make_corpus
from cinorms.core.errors import EngineError
from cinorms.inference.engines.vllm.conversations import OptionTrie
from cinorms.inference.engines.vllm.tokenise import Ids, Tokeniser

BEGIN, END = "<|begin|>", "<|end|>"
#: A chat as the control model reads it; an answer ends with ``END``.
CHAT_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}<|{{ message['role'] }}|>\n{{ message['content'] }}"
    "{% if message['role'] == 'assistant' %}{{ eos_token }}{% endif %}\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
)
_ROLES = ("<|system|>", "<|user|>", "<|assistant|>")


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


@dataclass(frozen=True)
class TrainingSettings:
    """Size of the model and of its training."""

    #: At most; enough for every word of the prompts to be one token.
    vocabulary: int = 800
    hidden: int = 128
    layers: int = 2
    heads: int = 4
    #: (steps, prompts per step, whole prompts, highest learning rate) of each phase.
    phases: tuple[tuple[int, int, bool, float], ...] = ((250, 64, False, 3e-3), (600, 32, True, 2e-3))
    #: A phase that is added, at most ``at_most`` times, while too few questions about shown flows are answered right.
    more: tuple[int, int, bool, float] = (300, 32, True, 1e-3)
    at_most: int = 3
    enough: float = 0.99
    warm_up: int = 30
    #: Held-out questions that the finished model is asked, and the share it must answer as planted.
    n_checked: int = 1_000
    least_accuracy: float = 0.97


class Trainer:
    """A model in training; ``trie`` spells the options, each closed by the end-of-answer token."""

    def __init__(self, corpus: Corpus, settings: TrainingSettings, seed: int) -> None:
        import torch
        from transformers import LlamaConfig, LlamaForCausalLM

        self.corpus, self.settings = corpus, settings
        self.rng = np.random.default_rng(seed)
        torch.manual_seed(seed)
        # Two threads wait for each other longer than they work where other jobs use the cores, and one
        # thread always adds up in the same order.
        torch.set_num_threads(1)
        _, texts = corpus.draw(self.rng, 4_000, held_out=False)
        self.tokenizer = make_tokenizer([*texts, *corpus.scale.options * 200], settings.vocabulary)
        self._tokeniser = Tokeniser(self.tokenizer, "chat_template", "control")
        end = self.tokenizer.eos_token_id
        written = zip(corpus.scale.options, self._tokeniser.ids(corpus.scale.options), strict=True)
        self.trie = OptionTrie.of({option: [(*ids.tolist(), end)] for option, ids in written}, "control")
        self.model = LlamaForCausalLM(
            LlamaConfig(
                vocab_size=len(self.tokenizer),
                hidden_size=settings.hidden,
                intermediate_size=settings.hidden * 8 // 3 // 8 * 8,
                num_hidden_layers=settings.layers,
                num_attention_heads=settings.heads,
                num_key_value_heads=settings.heads,
                max_position_embeddings=1024,
                tie_word_embeddings=True,
                bos_token_id=self.tokenizer.bos_token_id,
                eos_token_id=end,
                pad_token_id=end,
                dtype="float32",
            )
        )

    def train(self) -> None:
        """Run all phases, and more where one run in several starts badly."""
        import torch

        settings = self.settings
        optimizer = torch.optim.AdamW(self.model.parameters(), betas=(0.9, 0.98), weight_decay=0.0)
        for phase in settings.phases:
            self._run(optimizer, *phase)
        for _ in range(settings.at_most):
            accuracy, _ = self.accuracy(held_out=False)
            if accuracy >= settings.enough:
                break
            print(
                f"{accuracy:.1%} of the questions about flows shown in training are answered as planted: going on."
            )
            self._run(optimizer, *settings.more)

    def _run(self, optimizer: Any, steps: int, size: int, whole: bool, rate: float) -> None:
        """Run one phase."""
        import torch

        print(f"Training: {steps} steps of {size} {'whole prompts' if whole else 'vignettes'}.")
        for step, (flows, prompts) in enumerate(self._batches(steps, size, whole), start=1):
            # The learning rate: up from 0, then down along a half cosine.
            falling = 0.02 + 0.98 * (1 + math.cos(math.pi * step / steps)) / 2
            for group in optimizer.param_groups:
                group["lr"] = rate * min(1.0, step / self.settings.warm_up) * falling
            optimizer.zero_grad()
            self._loss(flows, prompts).backward()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            optimizer.step()

    def accuracy(self, held_out: bool) -> tuple[float, float]:
        """Ask about flows that are held out, or about those that are shown.

        Return the share whose likeliest option is the planted one, and how far the options' probabilities are
        from the planted ones on average.
        """
        flows, texts = self.corpus.draw(self.rng, self.settings.n_checked, held_out)
        p = self.option_probabilities(self._encode(texts))
        right = p.argmax(axis=1) == self.corpus.option[flows]
        return float(right.mean()), float(np.abs(p - self.corpus.probabilities[flows]).mean())

    def option_probabilities(self, prompts: Sequence[Ids], size: int = 100) -> Floats:
        """Return the probability of each whole option after each prompt, by brute force over the options."""
        import torch

        p = np.ones((len(prompts), self.trie.n_options))
        for first in range(0, len(prompts), size):
            some = prompts[first : first + size]
            for way, option in zip(self.trie.ways, self.trie.options, strict=True):
                with torch.no_grad():
                    p_tokens = self._log_p(some, [way] * len(some)).exp().numpy()
                chosen = p_tokens[np.arange(len(some))[:, None], np.arange(len(way)), list(way)]
                p[first : first + size, option] = chosen.prod(axis=1)
        return p

    def _batches(self, steps: int, size: int, whole: bool, pool: int = 8) -> Iterator[tuple[Ints, list[Ids]]]:
        """Give ``steps`` batches of prompts of like length: the model also computes what pads a batch."""
        for first in range(0, steps, pool):
            n_batches = min(pool, steps - first)
            flows, texts = self.corpus.draw(self.rng, size * n_batches, held_out=False)
            prompts = self._encode(texts if whole else [self.corpus.vignettes[flow] for flow in flows])
            by_length = np.argsort([len(ids) for ids in prompts], kind="stable")
            for some in self.rng.permutation(by_length.reshape(n_batches, size)):
                yield flows[some], [prompts[i] for i in some]

    def _encode(self, texts: Sequence[str]) -> list[Ids]:
        chats = ([{"role": "user", "content": text}] for text in texts)
        return self._tokeniser.ids(self._tokeniser.texts(chats))

    def _loss(self, flows: Ints, prompts: list[Ids]) -> Any:
        """Return the cross-entropy of the options' probabilities, token by token along a drawn option."""
        import torch

        p = self.corpus.probabilities[flows]
        drawn = (self.rng.random((len(flows), 1)) > p.cumsum(axis=1)).sum(axis=1).clip(max=p.shape[1] - 1)
        ways = {option: way for way, option in zip(self.trie.ways, self.trie.options, strict=True)}
        answers = [ways[int(option)] for option in drawn]
        log_p = self._log_p(prompts, answers)
        targets = np.zeros(log_p.shape, dtype=np.float32)
        for row, answer in enumerate(answers):
            for place in range(len(answer)):
                for option, way in ways.items():
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


def train_control(
    corpus: Corpus, out: Path, seed: int, settings: TrainingSettings | None = None
) -> dict[str, Any]:
    """Train the control model, write it to the folder ``out`` and return what the run was like.

    Raises ``EngineError`` where it answers too few held-out questions as planted: nothing is written then.
    """
    settings = settings or TrainingSettings()
    started = time.monotonic()
    trainer = Trainer(corpus, settings, seed)
    trainer.train()
    seconds = time.monotonic() - started
    accuracy, deviation = trainer.accuracy(held_out=True)
    facts = {
        "seed": seed,
        "parameters": sum(p.numel() for p in trainer.model.parameters()),
        "training_seconds": round(seconds, 1),
        "held_out_accuracy": round(accuracy, 4),
        "option_probabilities_off_by": round(deviation, 4),
        "settings": asdict(settings),
    }
    print(
        f"Control model: {facts['parameters']:,} parameters, trained in {seconds:.0f} s; {accuracy:.1%} of "
        f"{settings.n_checked:,} questions about held-out flows answered as planted."
    )
    if accuracy < settings.least_accuracy:
        raise EngineError(
            f"the control model answers {accuracy:.1%} of the questions about held-out flows as planted, expected "
            f"at least {settings.least_accuracy:.0%}. Train it again with another --seed"
        )
    trainer.model.save_pretrained(out)
    trainer.tokenizer.save_pretrained(out)
    return facts


def main(arguments: Sequence[str] | None = None) -> None:
    """Train the control model that the arguments describe."""
    from cinorms.core.logs import start_logging
    from cinorms.core.scales import Scale
    from cinorms.core.validation import load_yaml
    from cinorms.prompts.prompt_sets import load_prompt_set
    from cinorms.vignettes.designs import expand, load_dataset

    parser = argparse.ArgumentParser(prog="cinorms.control.train")
    for name in ("dataset", "prompts", "norms", "out", "facts", "log"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--seed", type=int, default=2026)
    given = parser.parse_args(arguments)
    start_logging(given.log)
    dataset, prompts = load_dataset(Path(given.dataset)), load_prompt_set(Path(given.prompts))
    if dataset.design is None:
        raise EngineError(
            f"{given.dataset}: has no factors; the control model learns from a dataset with 'source: design'"
        )
    corpus = make_corpus(
        expand(dataset.design),
        list(dataset.factors),
        prompts.templates,
        load_yaml(Path(given.norms)),
        Scale.of(dataset.scale),
        given.seed,
    )
    facts = train_control(corpus, Path(given.out), given.seed)
    Path(given.facts).write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
