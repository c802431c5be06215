"""Real vLLM asked for a second sample, in another order: what the engine alone changes, and what it must not reuse."""

from typing import Any

import numpy as np

from cinorms.inference.questions import Questions

from .conftest import request_of

#: Of the answers of the tiny model, which has near ties in few prompts.
MOST_FLIPPED = 0.01


def order(questions: Questions) -> list[int]:
    return questions.in_asking_order(np.arange(len(questions.grid))).tolist()


def test_the_same_prompts_come_in_other_batches_and_few_answers_flip(session, checkpoint, questions_of):
    request, again = request_of(checkpoint), request_of(checkpoint, sample=2)
    assert order(questions_of(request)) != order(questions_of(again))
    first, second = session.usual(checkpoint), session.ask(again)
    differ = float((first["text"] != second["text"]).mean())
    print(f"\nasked again in another order, {differ:.2%} of {len(first)} replies differ")
    assert (first.index == second.index).all()
    assert (first["n_prompt_tokens"] == second["n_prompt_tokens"]).all()
    assert differ <= MOST_FLIPPED


def test_above_temperature_0_a_sample_is_drawn_anew_and_can_be_repeated(session, checkpoint):
    hot, again = request_of(checkpoint, temperature=1.5), request_of(checkpoint, temperature=1.5, sample=2)
    first, second = session.ask(hot), session.ask(again)
    assert (first["text"] != second["text"]).mean() > 0.2
    assert (second["text"] != session.ask(again)["text"]).mean() <= MOST_FLIPPED


def test_a_second_sample_computes_its_prompts_itself(session, checkpoint, monkeypatch):
    session.ask(request_of(checkpoint))
    resets: list[bool] = []
    reset = session.llm.reset_prefix_cache

    def counted(*arguments: Any) -> Any:
        resets.append(bool(reset(*arguments)))
        return resets[-1]

    monkeypatch.setattr(session.llm, "reset_prefix_cache", counted)
    session.ask(request_of(checkpoint, sample=2))
    session.ask(request_of(checkpoint, sample=2))  # the rest of the same asking may use what it has computed
    session.ask(request_of(checkpoint))
    assert resets == [True, True]
