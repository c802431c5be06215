"""Time and memory of what planted agents say and do: PrivacyLens' 493 flows x 11 wordings x 5 models.

Run: ``python benchmarks/agents.py`` (with ``CINORMS_MIRROR`` for a local copy of the flows). CPU seconds of one core.
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "workflow" / "lib"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import pandas as pd
from tests.entries import make_entry
from tests.specs import make_spec

from cinorms.analyses.say_do import needless, say_do
from cinorms.answers.acting import read_replies
from cinorms.coding.codes import find_unread, merge_items
from cinorms.coding.prompt import prompts_of, questions_of
from cinorms.core.scale_files import load_scale
from cinorms.core.scales import FOLDER
from cinorms.entries.entry import Selected
from cinorms.planted.respondents import answer
from cinorms.prompts.prompt_sets import load_prompt_set
from cinorms.prompts.variants import ask_grid, list_variants
from cinorms.vignettes.designs import load_dataset
from cinorms.vignettes.factors import DatasetFactors
from cinorms.vignettes.reading import read_vignettes

ROOT = Path(__file__).resolve().parents[1]
MODELS, SCALES = 5, {"say": "acceptability", "act": "disclosure"}
ARMS = {"say": ("privacylens", "chatgpt"), "act": ("privacylens_trajectory", "act")}


def timed(what: str, since: float) -> float:
    """Print the CPU seconds since a point in time, and the most memory so far."""
    now = time.process_time()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{what:<42}{now - since:8.1f} s {peak:8.0f} MB")
    return now


def replies(
    arm: str, model: str, flows: pd.DataFrame, variants: pd.DataFrame, **planted: Any
) -> pd.DataFrame:
    """Return the responses of a planted agent in an arm."""
    spec = make_spec(
        "planted", model=model, scale=load_scale(FOLDER / f"{SCALES[arm]}.yaml").known, planted=planted
    )
    grid = ask_grid(flows["flow"], variants, "fixed", 1, 1)
    names = pd.Categorical(variants["variant"].to_numpy()[grid["row"]])
    rows = pd.DataFrame({"flow": grid["flow"], "variant": names, "order": pd.Categorical(["0"] * len(grid))})
    text = rows.join(answer(spec.as_plain(), flows, variants, grid)).astype({"finish_reason": "category"})
    # Planted actions repeat; those of a model hardly do, and each distinct text is read.
    distinct = [f"{each} ({model}, {n})" for n, each in enumerate(text["text"])]
    return text.assign(text=pd.Categorical(distinct)) if arm == "act" else text


def main() -> None:
    """Print the table."""
    clock, mirror = timed("imports", 0.0), os.environ.get("CINORMS_MIRROR")
    folder, flows, variants = Path(tempfile.mkdtemp()), {}, {}
    for arm, (dataset, prompts) in ARMS.items():
        flows[arm] = read_vignettes(
            load_dataset(ROOT / f"resources/vignettes/{dataset}.yaml"), folder, mirror
        )
        templates = load_prompt_set(ROOT / f"resources/prompts/{prompts}.yaml").templates
        variants[arm] = list_variants(prompts, templates, 11, 1)
    clock = timed("flows and prompts", clock)
    planted = {"acts": {"link": 0.5}, "noise": 0.5, "template_sd": 0.4}
    asked = [
        (arm, f"agent-{n}", replies(arm, f"agent-{n}", flows[arm], variants[arm], **planted))
        for arm in ARMS
        for n in range(MODELS)
    ]
    clock = timed("planted answers and actions", clock)
    scales = {arm: load_scale(FOLDER / f"{name}.yaml") for arm, name in SCALES.items()}
    read = [
        Selected(arm, model, read_replies(text, scales[arm], flows[arm], variants[arm]))
        for arm, model, text in asked
    ]
    clock = timed("read", clock)
    parts = [
        find_unread(text, one.frame, flows["act"], "disclosure").items
        for one, (arm, _, text) in zip(read, asked, strict=True)
        if arm == "act"
    ]
    questions = questions_of(merge_items(parts))
    clock = timed(f"questions for a judge ({len(questions):,})", clock)
    grid = ask_grid(questions["flow"], prompts_of(scales["act"]), "fixed", 1, 1)
    judge = make_spec("planted", model="judge", scale=scales["act"].known, planted={"judge": 0.05})
    answer(judge.as_plain(), questions, prompts_of(scales["act"]), grid)
    clock = timed("planted judge", clock)
    factors = DatasetFactors("privacylens", ("norm_source",))
    for function in (say_do, needless):
        options = {"arms": ["act"] if function is needless else list(ARMS)}
        entry = make_entry(
            "analyses", function.__name__, options, scales=scales, factors_of=dict.fromkeys(ARMS, factors)
        )
        acts = [one for one in read if one.arm in options["arms"]]
        table = function(acts, entry) if function is needless else function(acts, entry, flows, variants)
        clock = timed(f"{function.__name__} ({len(table):,} rows)", clock)


if __name__ == "__main__":
    main()
