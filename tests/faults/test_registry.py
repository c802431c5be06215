"""What the registry's models of today are sent: each is asked at a server on this machine, which shows the request."""

from dataclasses import replace
from typing import Any

import pytest

from cinorms.core.root import Root
from cinorms.inference.model_entry import load_registry
from cinorms.inference.request import ReasoningLevel
from cinorms.study.requests import reasoning_of

from ..asking import ROOT
from .conftest import KEY, Asked, variants, vignettes

REGISTRY = load_registry(Root(ROOT))
CHAT, RESPONSES = "/v1/chat/completions", "/v1/responses"
NO_TRACE, A_TRACE = ReasoningLevel("none", 0), ReasoningLevel("high", 900)


@pytest.mark.parametrize(
    ("model", "level", "path", "key", "sent"),
    [
        ("gpt-6.2-sol", None, RESPONSES, "OPENAI_API_KEY", {"max_output_tokens": 4020, "effort": "low"}),
        ("gpt-6.2-sol", A_TRACE, RESPONSES, "OPENAI_API_KEY", {"max_output_tokens": 920, "effort": "high"}),
        ("gpt-6-luna", None, RESPONSES, "OPENAI_API_KEY", {"max_output_tokens": 20, "effort": "none"}),
        ("claude-sonnet-5.5", None, CHAT, "ANTHROPIC_API_KEY", {"max_completion_tokens": 4020}),
        (
            "gemini-3.8-flash",
            None,
            CHAT,
            "GEMINI_API_KEY",
            {"max_completion_tokens": 4020, "reasoning_effort": "low"},
        ),
        ("qwen3-8b-by-vllm", None, CHAT, None, {"max_tokens": 2020, "temperature": 0}),
        ("qwen3-8b-by-vllm", NO_TRACE, CHAT, None, {"max_tokens": 20, "temperature": 0, "thinks": False}),
        ("gemma-4-12b-by-vllm", NO_TRACE, CHAT, None, {"max_tokens": 20, "temperature": 0, "thinks": False}),
        ("gemma-4-12b-by-vllm", A_TRACE, CHAT, None, {"max_tokens": 920, "temperature": 0, "thinks": True}),
        ("gpt-oss-20b-by-ollama", None, CHAT, None, {"max_tokens": 2020, "reasoning_effort": "low"}),
        (
            "deepseek-v4-flash-by-openrouter",
            None,
            CHAT,
            "OPENROUTER_API_KEY",
            {"max_completion_tokens": 4020, "reasoning_effort": "low"},
        ),
    ],
)
def test_a_model_of_today_is_sent_what_its_provider_documents(
    tmp_path, endpoint, model, level, path, key, sent
):
    entry, paths = REGISTRY[model], list[str]()
    endpoint.every = paths.append
    reasoning = reasoning_of(entry, level) if level else None
    changes = {
        "max_tokens": 20,
        "n_templates": 1,
        **entry.request,
        **(reasoning or {}),
        "base_url": endpoint.url,
    }
    runtime = entry.kind.runtime(entry.settings)
    asked = Asked(tmp_path, endpoint, vignettes(1), variants(1, 1), changes, runtime)
    responses = replace(asked, key=KEY if key else None).ask()
    assert responses["finish_reason"].tolist() == ["stop"]
    assert (paths, entry.key_variable) == ([path], key)
    assert {header for header in endpoint.keys if KEY in header} == ({f"Bearer {KEY}"} if key else set())
    (body,) = endpoint.bodies
    body.pop("input", None)  # the server calls it messages
    expected: dict[str, Any] = {"model": entry.stated["source"], "messages": body["messages"], **sent}
    if "effort" in expected:
        expected |= {"reasoning": {"effort": expected.pop("effort")}, "store": False}
    if "thinks" in expected:
        expected["chat_template_kwargs"] = {"enable_thinking": expected.pop("thinks")}
    assert body == expected
    assert bool(key) == ("usd_per_million_input" in runtime["rates"]), "what is paid for has a price"
