"""Real vLLM asked for a second sample, in another order: what the engine alone changes, and what it must not reuse."""

from .conftest import request_of

#: Of the answers of the tiny model, which has near ties in few prompts.
MOST_FLIPPED = 0.01


def test_a_second_sample_comes_in_other_batches_is_computed_anew_and_few_answers_flip(
    session, checkpoint, monkeypatch
):
    first, resets = session.usual(checkpoint), []
    reset = session.llm.reset_prefix_cache
    monkeypatch.setattr(session.llm, "reset_prefix_cache", lambda *given: resets.append(reset(*given)))
    second = session.ask(request_of(checkpoint, sample=2))
    assert resets == [True]
    assert (first.index == second.index).all()
    assert (first["n_prompt_tokens"] == second["n_prompt_tokens"]).all()
    assert (first["text"] != second["text"]).mean() <= MOST_FLIPPED


def test_above_temperature_0_a_sample_is_drawn_anew_and_can_be_repeated(session, checkpoint):
    hot, again = request_of(checkpoint, temperature=1.5), request_of(checkpoint, temperature=1.5, sample=2)
    first, second = session.ask(hot), session.ask(again)
    assert (first["text"] != second["text"]).mean() > 0.2
    assert (second["text"] != session.ask(again)["text"]).mean() <= MOST_FLIPPED
