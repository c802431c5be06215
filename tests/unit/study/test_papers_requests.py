"""What config/pets2026.yaml sends to gpt-4o-mini is what the PETS authors sent, byte for byte."""

import csv
import hashlib
import json
from pathlib import Path

import pytest

from cinorms.core.scales import papers_scale
from cinorms.inference.engines.openai.replies import body, read_reply
from cinorms.prompts.orders import orders_of
from cinorms.prompts.prompt_sets import load_prompt_set
from cinorms.prompts.variants import messages
from cinorms.study.load import load_study, read_layers
from cinorms.study.requests import request_of

ROOT = Path(__file__).parents[3]
#: Of 18 requests of their repository (commit ec69cb8) what each shows, and the SHA-256 of its line.
REQUESTS = list(csv.DictReader((ROOT / "tests/reference/pets2026/requests.csv").open(encoding="utf-8")))


@pytest.mark.parametrize("sent", REQUESTS, ids=lambda sent: sent["sha256"][:8])
def test_a_request_is_the_authors(root, iot_flows, sent):
    study = load_study(read_layers([ROOT / "config/pets2026.yaml"], root), root)
    arm = next(
        name
        for name, settings in study.arms.items()
        # They asked in Gemini's wordings with random orders, too, which no figure shows: as `main`, in other words.
        if settings.orders.method == sent["method"]
        and settings.temperature == float(sent["temperature"])
        and (settings.prompts == sent["prompts"] or sent["method"] == "random")
        and settings.dataset == "iot"
    )
    request = request_of(study, arm, "gpt-4o-mini")
    template = load_prompt_set(ROOT / f"resources/prompts/{sent['prompts']}.yaml").templates[
        int(sent["template"])
    ]
    vignette = iot_flows["vignette"][int(sent["flow"])]
    order = orders_of(5).names.index(sent["order"])
    chat = messages(template, vignette, order, papers_scale("acceptability"), request.layout, request.system)
    ours = body(request, chat)
    assert set(ours) == {"model", "temperature", "messages"}
    line = {"custom_id": sent["custom_id"], "method": "POST", "url": "/v1/chat/completions"}
    line["body"] = {name: ours[name] for name in ("model", "temperature", "messages")}
    # No longest answer was stated, so no number of tokens is too many.
    choice = {"message": {"content": "neutral"}, "finish_reason": "stop"}
    reply = read_reply(
        json.dumps({"choices": [choice], "usage": {"completion_tokens": 150}}).encode(), request
    )
    assert reply["n_output_tokens"] == 150
    assert hashlib.sha256(json.dumps(line).encode()).hexdigest() == sent["sha256"]
