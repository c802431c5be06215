"""What a prompt is known by outside: its text, the hash of that, its id; and what each model of an arm receives."""

from cinorms.exchange.way import prompt_id, read_id, ways_of

from ...asking import make_request
from ...exchange_runs import arm


def test_an_id_holds_flow_template_order_and_the_beginning_of_the_hash():
    name = prompt_id(17, "3_1", "0123456789abcdef" * 4)
    assert name == "17.3_1.0123456789abcdef"
    assert read_id(name) == {"flow": 17, "template": 3, "order": 1, "sha256": "0123456789abcdef"}
    for other in ("", "17", "17.3_1", "17.3_1.0123", "a.3_1.0123456789abcdef", "17.3_1.0123456789ABCDEF"):
        assert read_id(other) == {}


def test_models_that_receive_the_same_prompts_share_them():
    spec, vignettes, variants = arm()
    plain = {**spec.plain(), "engine": "vllm"}
    others = [
        make_request(**{**plain, "model": model, **changes})
        for model, changes in {
            "alike": {},
            "chat": {"wrap": "chat_template"},
            "tulu": {"wrap": "tulu"},
            "single": {"layout": "single"},
            "fewer": {"n_templates": 1},
        }.items()
    ]
    ways = ways_of([spec, *others], vignettes, variants)
    assert [(way.name, list(way.requests), way.wrapper, len(way)) for way in ways] == [
        ("prompts-1", [spec.model, "alike", "chat"], None, 24),
        ("prompts-2", ["tulu"], "tulu", 24),
        ("prompts-3", ["single"], None, 24),
        ("prompts-4", ["fewer"], None, 12),
    ]
    assert next(ways[1].prompts()).text.startswith("<|user|>\n Please")
