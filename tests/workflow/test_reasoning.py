"""A whole study of three arms that differ in reasoning only: traces off, short and long."""

import csv

import pandas as pd
import pytest

from cinorms import open_results
from cinorms.core import tables

from .conftest import MAIN, SMALL, Project

ARMS = {
    "off": {"effort": "none"},
    "short": {"effort": "low", "budget": 200},
    "long": {"effort": "high", "budget": 4000},
}
ARM = {**MAIN, "orders": {"count": 5}, "templates": 3}
STUDY = {
    **SMALL,
    "study": "thinking",
    "models": ["planted-reasoner"],
    "arms": {"plain": ARM, **{name: {**ARM, "reasoning": stated} for name, stated in ARMS.items()}},
    "analyses": {
        "answers": {"kind": "answer_counts", "arms": ["plain", *ARMS]},
        "thinking": {"kind": "model_pairs", "arms": ["off", "long"], "factor": "reasoning"},
    },
    "figures": {"distribution": {"kind": "distribution", "arms": [*ARMS]}},
}


@pytest.fixture(scope="module")
def thought(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Return a project in which the study has been run."""
    done = Project(tmp_path_factory.mktemp("thought") / "project")
    done.write("thinking.yaml", STUDY)
    done.run("--configfile", "thinking.yaml")
    return done


def read(project: Project, arm: str) -> pd.DataFrame:
    path = project.folder / f"results/thinking/responses/{arm}/planted-reasoner.parquet"
    return tables.read(path, tables.RESPONSES)


def test_each_arm_has_its_traces_and_the_one_without_reasoning_no_columns(thought):
    lengths = {arm: read(thought, arm)["n_trace_tokens"] for arm in ARMS}
    assert lengths["off"].max() == 0
    assert lengths["short"].max() == 200
    assert lengths["long"].max() == 4000
    assert not {"n_trace_tokens", "trace_status"} & {*read(thought, "plain")}
    # What an arm without reasoning gives is what the one with none gives, but for these columns.
    off, plain = read(thought, "off"), read(thought, "plain")
    assert off["text"].tolist() == plain["text"].tolist()


def test_a_cut_trace_without_an_answer_is_counted_where_it_occurs(thought):
    table = open_results(thought.folder / "results/thinking").tables["answers"]
    cut = table[table["status"] == "trace_cut"].set_index("arm")["count"]
    assert set(cut.index) == {"short", "long"}
    assert (cut > 0).all()


def test_the_plan_counts_traces(thought):
    thought.run("--configfile", "thinking.yaml", "--", "plan")
    with (thought.folder / "results/thinking/plan.csv").open(encoding="utf-8") as handle:
        rows = {row["arm"]: row for row in csv.DictReader(handle)}
    prompts = int(rows["long"]["prompts"])
    assert {arm: int(row["trace_tokens_most"]) for arm, row in rows.items()} == {
        "plain": 0,
        "off": 0,
        "short": 200 * prompts,
        "long": 4000 * prompts,
    }
    assert int(rows["long"]["trace_tokens"]) == 2000 * prompts
