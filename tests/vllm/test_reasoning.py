"""A model that reasons, under real vLLM: trace up to the budget, then answer, as transformers generates both."""

import numpy as np
from transformers import AutoTokenizer

from .conftest import generate, request_of

#: The tiny model's template, which opens a trace where it is told to.
OPENS = "{% if add_generation_prompt and enable_thinking %}<think>\n{% endif %}"
ON = {"effort": "high", "budget": 5, "begin": "<think>\n", "end": "</think>\n", "switch": "enable_thinking"}
#: The model writes an option; whatever comes before the word counts as its trace.
BEFORE_THE_WORD = {"effort": "high", "budget": 8, "begin": "<|assistant|>", "end": "acceptable"}


def test_trace_and_answer_are_those_that_transformers_generates(session, copied, reference, questions_of):
    tokenizer = AutoTokenizer.from_pretrained(copied)
    tokenizer.chat_template += OPENS
    tokenizer.save_pretrained(copied)
    request = request_of(copied, reasoning=ON)
    replies, asked = session.ask(request), questions_of(request)
    closing = tokenizer("</think>\n", add_special_tokens=False)["input_ids"]
    for at in range(0, len(replies), 29):
        text = tokenizer.apply_chat_template(
            asked.chat(at), tokenize=False, add_generation_prompt=True, enable_thinking=True
        )
        assert text.endswith("<think>\n")
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        trace = generate(reference, ids, 5)
        status = "unclosed" if trace[-1] == tokenizer.eos_token_id else "cut"
        trace = trace[:-1] if status == "unclosed" else trace
        answer = generate(reference, [*ids, *trace, *closing], 8)
        row = replies.loc[at]
        assert (row["trace_status"], row["n_trace_tokens"]) == (status, len(trace))
        assert row["trace"] == tokenizer.decode(trace, skip_special_tokens=True)
        assert row["text"] == tokenizer.decode(answer, skip_special_tokens=True)
        assert row["n_prompt_tokens"] == len(ids)


def test_a_trace_ends_at_its_mark_wherever_tokens_end(session, checkpoint):
    replies = session.ask(request_of(checkpoint, reasoning=BEFORE_THE_WORD))
    plain = session.usual(checkpoint)
    named = plain["text"].str.contains("acceptable") & (plain["finish_reason"] == "stop")
    assert named.any()
    assert set(replies.loc[named, "trace_status"]) == {"whole"}
    before = plain["text"].str.partition("acceptable")[0]
    assert all(before[at].startswith(replies["trace"][at]) for at in np.flatnonzero(named))
    assert set(replies.loc[plain["text"] == "neutral", "trace_status"]) <= {"unclosed"}
