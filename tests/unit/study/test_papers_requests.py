"""What config/pets2026.yaml sends is what the PETS authors' code sends, byte for byte."""

import csv
import hashlib
import json
from pathlib import Path

import pytest

from cinorms.core.scales import papers_scale
from cinorms.inference.engines.openai.replies import body, read_reply
from cinorms.prompts.orders import orders_of
from cinorms.prompts.prompt_sets import load_prompt_set
from cinorms.prompts.variants import messages, wrap
from cinorms.run.left import variants_of
from cinorms.study.load import load_study, read_layers
from cinorms.study.requests import request_of

ROOT = Path(__file__).parents[3]
#: Of 18 requests of their repository (commit ec69cb8) what each shows, and the SHA-256 of its line.
REQUESTS = list(csv.DictReader((ROOT / "tests/reference/pets2026/requests.csv").open(encoding="utf-8")))
#: What helper/prompts.py and helper/utils.py of the same commit make of the first flow, for two wrappers: the SHA-256.
CONFAIDE = (
    "Information about your friends and what they like is collected by your school or university in order to Place "
    "students in groups for class."
)
PROMPTS = list(csv.DictReader((ROOT / "tests/reference/pets2026/prompts.csv").open(encoding="utf-8")))


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


@pytest.fixture(scope="module")
def paper(root):
    return load_study(read_layers([ROOT / "config/pets2026.yaml"], root), root)


@pytest.mark.parametrize("prompts", ["chatgpt", "gemini", "pegasus", "confaide"])
def test_a_prompt_for_an_open_model_is_the_authors(paper, iot_flows, prompts):
    arm = next(name for name, settings in paper.arms.items() if settings.prompts == prompts)
    vignette = CONFAIDE if prompts == "confaide" else iot_flows["vignette"][0]
    scale, found = papers_scale("agreement" if prompts == "confaide" else "acceptability"), []
    expected = [sent for sent in PROMPTS if sent["prompts"] == prompts]
    printed = paper.prompt_set(prompts).worded("single")
    for sent in expected:
        model = {"tulu": "tulu-2-7b", "llama3": "llama-3.1-8b-instruct"}[sent["wrap"]]
        request, number = request_of(paper, arm, model), int(sent["template"])
        template = variants_of(paper, arm)[0].set_index("template_no").loc[[number], "template"].iloc[0]
        order = orders_of(5).names.index(sent["order"])
        chat = messages(template, vignette, order, scale, request.layout, request.system)
        found.append(hashlib.sha256(wrap(chat, request.settings["wrap"]).encode()).hexdigest())
        assert (template == printed[number]) == (prompts == "chatgpt"), "the printed form is another option"
    assert len(found) == 22
    assert found == [sent["sha256"] for sent in expected]
