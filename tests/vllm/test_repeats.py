"""Real vLLM asked again, the prompts in another order: what the engine alone changes, and what it must not reuse."""

from typing import Any

import numpy as np
import pytest

from cinorms.core.errors import ConfigError
from cinorms.inference.engines.vllm import offline
from cinorms.inference.engines.vllm.offline import VllmEngine
from cinorms.inference.questions import Questions

from .conftest import TUNING, spec_of

AGAIN = "1-of-1-repeat-2"
#: Of the answers of the tiny model, which has near ties in few prompts.
MOST_FLIPPED = 0.01


def todo(questions: Questions) -> list[int]:
    return questions.missing(np.zeros(len(questions.grid), dtype=bool)).tolist()


def test_the_same_prompts_come_in_other_batches_and_few_answers_flip(session, checkpoint, questions_of):
    spec, again = spec_of(checkpoint), spec_of(checkpoint, shard=AGAIN)
    assert todo(questions_of(spec)) != todo(questions_of(again))
    first, second = session.ask(spec), session.ask(again)
    differ = float((first["text"] != second["text"]).mean())
    print(f"\nasked again in another order, {differ:.2%} of {len(first)} replies differ")
    assert (first.index == second.index).all()
    assert (first["n_prompt_tokens"] == second["n_prompt_tokens"]).all()
    assert differ <= MOST_FLIPPED


def test_option_probabilities_move_by_rounding_only(session, checkpoint):
    first, second = (
        np.stack(list(session.ask(spec_of(checkpoint, readout="options", shard=shard))["p_options"]))
        for shard in ("1-of-1", AGAIN)
    )
    print(f"\nlargest difference of a probability: {np.abs(first - second).max():.2e}")
    assert np.abs(first - second).max() < 1e-4


def test_above_temperature_0_a_repeat_draws_anew_and_each_asking_is_repeatable(session, checkpoint):
    hot, again = spec_of(checkpoint, temperature=1.5), spec_of(checkpoint, temperature=1.5, shard=AGAIN)
    first, second = session.ask(hot), session.ask(again)
    assert (first["text"] != second["text"]).mean() > 0.2
    assert (second["text"] != session.ask(again)["text"]).mean() <= MOST_FLIPPED


def test_a_repeat_computes_its_prompts_itself(session, checkpoint, monkeypatch):
    session.ask(spec_of(checkpoint))
    resets: list[bool] = []
    reset = session._llm.reset_prefix_cache

    def counted(*arguments: Any) -> Any:
        resets.append(bool(reset(*arguments)))
        return resets[-1]

    monkeypatch.setattr(session._llm, "reset_prefix_cache", counted)
    session.ask(spec_of(checkpoint, shard=AGAIN))
    session.ask(spec_of(checkpoint, shard=AGAIN))  # the rest of the same asking may use what it has computed
    session.ask(spec_of(checkpoint))
    assert resets == [True, True]


def test_batch_invariant_mode_is_refused_without_a_gpu(checkpoint, questions_of, monkeypatch):
    monkeypatch.setenv(offline.BATCH_INVARIANT, "0")  # restored afterwards
    spec = spec_of(checkpoint, batch_invariant=True)
    questions = questions_of(spec)
    with pytest.raises(ConfigError, match="`batch_invariant: true` needs a GPU"):
        VllmEngine(spec, TUNING).ask(questions, np.arange(4), lambda chunk: None)
