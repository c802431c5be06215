"""A small planted arm: its prompts, what the planted engine answers, and the answers read from that."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from cinorms.answers.read import read_responses
from cinorms.core import tables
from cinorms.core.root import Root
from cinorms.core.scales import papers_scale
from cinorms.exchange.exporting import export_prompts
from cinorms.exchange.importing import Imported, import_responses
from cinorms.exchange.registry import format_named
from cinorms.exchange.way import Way, ways_of
from cinorms.inference.model_entry import load_registry
from cinorms.inference.request import Request
from cinorms.prompts.prompt_sets import load_prompt_set
from cinorms.prompts.variants import list_variants
from cinorms.vignettes.designs import expand, load_dataset

from .asking import make_request, respond

ROOT = Path(__file__).parents[1]
MODEL = "planted-gpt-4o-mini"
#: 6 flows x 2 templates x 2 orders.
SELECT = {
    "sender": ["a fitness tracker"],
    "recipient": ["its manufacturer", "the local police"],
    "information_type": ["owner's location"],
    "transmission_principle": [
        "if owner has given consent",
        "if the information is kept confidential",
        "in an emergency situation",
    ],
}


def arm(**changes: Any) -> tuple[Request, pd.DataFrame, pd.DataFrame]:
    """Return the request, the vignettes and the variants of the arm; ``changes`` are keys of the request."""
    factors, vignettes, variants, identity = _parts()
    stated = {"factors": factors, "select": SELECT, "layout": "instruction_in_system", **identity}
    request = make_request(**{"engine": "planted", "model": MODEL, **stated, **changes})
    return request, vignettes, variants


@cache
def _parts() -> tuple[list[str], pd.DataFrame, pd.DataFrame, dict[str, Any]]:
    dataset = load_dataset(ROOT / "resources/vignettes/iot.yaml")
    prompt_set = load_prompt_set(ROOT / "resources/prompts/chatgpt.yaml")
    variants = list_variants("chatgpt", prompt_set.templates, 2, 2)
    entry = load_registry(Root(ROOT))[MODEL]
    return list(dataset.levels), expand(dataset), variants, dict(entry.request)


def planted_responses(**changes: Any) -> tuple[Way, pd.DataFrame]:
    """Return how the arm is asked, and the table of responses of the planted engine."""
    request, vignettes, variants = arm(**changes)
    (way,) = ways_of([request], vignettes, variants)
    return way, respond(request, vignettes, variants)


def planted_lines(**changes: Any) -> list[dict[str, Any]]:
    """Return a line of the format plain for each planted response."""
    way, responses = planted_responses(**changes)
    return [
        {"id": prompt.id, "text": text, "finish_reason": reason}
        for prompt, text, reason in zip(
            way.prompts(), responses["text"], responses["finish_reason"], strict=True
        )
    ]


def export(name: str, folder: Path, **changes: Any) -> Path:
    """Export the prompts of the arm as ``name``, and write `answers.json`: the response to each prompt's text."""
    request, vignettes, variants = arm(**changes)
    export_prompts(format_named(name), [request], vignettes, variants, "main", folder)
    way, responses = planted_responses(**changes)
    answers = {prompt.text: text for prompt, text in zip(way.prompts(), responses["text"], strict=True)}
    (folder / "answers.json").write_text(json.dumps(answers), encoding="utf-8")
    return folder


def take(name: str, *files: Path, **changes: Any) -> Imported:
    """Import files as the arm's responses."""
    request, vignettes, variants = arm(**changes)
    return import_responses(format_named(name), files, request, vignettes, variants, "a test")


def answers_bytes(responses: pd.DataFrame, folder: Path) -> bytes:
    """Return the file of answers that the project's reader makes of ``responses``."""
    path = folder / "responses.parquet"
    tables.write(responses, path, tables.RESPONSES)
    read = tables.by_key(tables.read(path, tables.RESPONSES), tables.RESPONSES)
    answers = read_responses(read, papers_scale("acceptability"), prompts=arm()[2])
    tables.write(answers, folder / "answers.parquet", tables.ANSWERS)
    return (folder / "answers.parquet").read_bytes()
