"""What real vLLM gives: the text, the seeds, the probability of each option, and a second sample."""

from dataclasses import replace
from typing import Any

import numpy as np
import torch

from cinorms.inference.engines.vllm import conversations
from cinorms.inference.engines.vllm.conversations import of_one_request, spellings
from cinorms.inference.engines.vllm.tokenise import Tokeniser
from cinorms.inference.questions import Questions
from cinorms.inference.request import Request

from ..scales import ACCEPTABILITY as SCALE
from .conftest import generate, request_of


def prompts_of(request: Request, questions: Questions) -> tuple[Tokeniser, list[str]]:
    """Return the prompts of ``questions`` as text, in the order of the grid."""
    tokeniser = Tokeniser.load(request.settings["source"], request.settings["wrap"], "tiny")
    return tokeniser, tokeniser.texts(questions.chat(at) for at in range(len(questions.grid)))


def test_text_is_what_transformers_generates(session, checkpoint, reference, questions_of):
    request = request_of(checkpoint)
    found = session.usual(checkpoint)
    tokeniser, texts = prompts_of(request, questions_of(request))
    assert len(found) == 9 * 12 * 4
    for at in range(0, len(texts), 7):
        ids = tokeniser.ids([texts[at]])[0].tolist()
        written = generate(reference, ids, 8)
        assert found["text"][at] == tokeniser.tokenizer.decode(written, skip_special_tokens=True)
        assert (found["n_prompt_tokens"][at], found["n_output_tokens"][at]) == (len(ids), len(written))
    assert set(found["finish_reason"]) <= {"stop", "length"}
    assert found["text"].isin(SCALE.options).mean() > 0.9
    assert len(set(found["text"])) > 1
    assert "skip_clone" in of_one_request(), "this vLLM does not copy the parameters of a request"


def test_a_seeded_answer_depends_on_its_question_alone(session, checkpoint, monkeypatch):
    request = request_of(checkpoint, temperature=1.5)
    hot = session.ask(request)
    monkeypatch.setattr(conversations, "IN_FLIGHT", 29)
    assert (hot["text"] == session.ask(request)["text"]).all()
    assert (hot["text"] != session.usual(checkpoint)["text"]).mean() > 0.2
    assert (hot["text"] != session.ask(replace(request, seed=1))["text"]).mean() > 0.2


def test_max_tokens_cuts_an_answer_and_says_so(session, checkpoint):
    cut = session.ask(request_of(checkpoint, max_tokens=1))
    assert (cut["n_output_tokens"] == 1).all()
    assert (cut["finish_reason"] == "length").mean() > 0.8
    assert cut["text"].isin(["strongly", "somewhat", "neutral"]).mean() > 0.9


def brute_force(reference: Any, tokeniser: Tokeniser, text: str) -> np.ndarray[Any, Any]:
    """Return the probability of each option: every spelling as a text of its own, run from its first token."""
    (prompt,) = tokeniser.ids([text])
    p = np.zeros(5)
    for option, words in enumerate(SCALE.options):
        for spelling in spellings(words):
            (whole,) = tokeniser.ids([text + spelling])
            with torch.no_grad():
                logits = reference(torch.tensor([whole.tolist()])).logits[0].double()
            log_p = torch.log_softmax(logits, dim=-1)
            places = range(len(prompt) - 1, len(whole) - 1)
            p[option] += np.exp(sum(log_p[at, whole[at + 1]].item() for at in places))
    return p


def test_options_are_what_brute_force_gives(session, checkpoint, reference, questions_of):
    request = request_of(checkpoint, readout="options")
    p = np.stack(list(session.ask(request)["p_options"]))
    tokeniser, texts = prompts_of(request, questions_of(request))
    some = range(0, len(texts), 5)
    expected = np.stack([brute_force(reference, tokeniser, texts[at]) for at in some])
    assert np.abs(p[some] - expected).max() < 1e-4
    assert (np.sort(expected, axis=1)[:, -2] > 0.01).mean() > 0.3  # more than one option was likely somewhere
    assert ((p.sum(axis=1) > 0.5) & (p.sum(axis=1) < 1 + 1e-6)).all()


# --- A second sample: what the engine alone changes, and what it must not reuse

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
