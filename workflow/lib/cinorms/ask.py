"""Ask one shard: ``python -m cinorms.ask --spec JSON --vignettes FILE --variants FILE --out FILE --log FILE``.

A module of its own and no Snakemake script: a touched script would ask every model again.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from cinorms import __version__, engines, tables
from cinorms.logs import start_logging
from cinorms.orders import as_categorical
from cinorms.prompts import ask_grid, messages, select_flows
from cinorms.shards import take_shard


def main(arguments: Sequence[str] | None = None) -> None:
    """Ask the shard that the arguments describe and write its responses."""
    parser = argparse.ArgumentParser(prog="cinorms.ask")
    for name in ("spec", "vignettes", "variants", "out", "log"):
        parser.add_argument(f"--{name}", required=True)
    given = parser.parse_args(arguments)
    start_logging(given.log)
    spec = json.loads(given.spec)
    started = time.monotonic()
    vignettes = tables.read(given.vignettes, tables.VIGNETTES)
    variants = tables.read(given.variants, tables.PROMPTS)
    responses, facts = ask_shard(spec, vignettes, variants)
    tables.write(responses, given.out, tables.RESPONSES, facts)
    seconds = time.monotonic() - started
    print(f"{spec['model']}: {len(responses):,} responses in {seconds:.1f} s ({len(responses) / seconds:,.0f}/s)")


def ask_shard(
    spec: Mapping[str, Any], vignettes: pd.DataFrame, variants: pd.DataFrame
) -> tuple[pd.DataFrame, dict[str, str]]:
    """Return the responses table of the shard that ``spec`` describes, and the facts to keep with it."""
    flows = select_flows(vignettes, spec["select"])
    asked = variants[variants["template_no"] < spec["n_templates"]].reset_index(drop=True)
    asked = take_shard(asked, spec["shard"])
    grid = ask_grid(flows["flow"], asked, spec["order_method"], spec["seed"])
    replies = engines.ask(spec, flows, asked, grid)
    responses = pd.DataFrame(
        {
            "flow": grid["flow"],
            "variant": pd.Categorical.from_codes(grid["row"], categories=pd.Index(asked["variant"])),
            "order": as_categorical(grid["order_code"].to_numpy()),
            "text": replies["text"],
            "finish_reason": replies["finish_reason"],
            "n_prompt_tokens": replies.get("n_prompt_tokens", pd.array([pd.NA] * len(grid), dtype="Int32")),
            "n_output_tokens": replies.get("n_output_tokens", pd.array([pd.NA] * len(grid), dtype="Int32")),
            "p_options": replies.get("p_options", pd.Series([None] * len(grid), dtype=object)),
        }
    )
    return responses, _facts(spec, flows, asked, grid)


def _facts(
    spec: Mapping[str, Any], flows: pd.DataFrame, variants: pd.DataFrame, grid: pd.DataFrame
) -> dict[str, str]:
    """Return what is kept with the responses: the spec, the version, and the first prompt with its hash."""
    facts = {"spec": json.dumps(spec, sort_keys=True), "cinorms": __version__, "engine": spec["engine"]}
    if not len(grid):
        return facts
    chat = messages(
        variants["template"].iloc[0],
        flows["vignette"].iloc[0],
        int(grid["order_code"].iloc[0]),
        spec["scale"],
        spec["layout"],
        spec["system"],
    )
    example = json.dumps(chat, ensure_ascii=False)
    return {
        **facts,
        "example_prompt": example,
        "example_prompt_sha256": hashlib.sha256(example.encode()).hexdigest(),
    }


if __name__ == "__main__":
    main()
