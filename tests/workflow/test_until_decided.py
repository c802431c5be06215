"""A whole study that asks until decided: what it asks, its verdicts beside those of the full design, every table."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from .conftest import Project

pytestmark = pytest.mark.slow

MODELS = ["planted-llama-3.1-8b", "planted-tulu-2-7b", "planted-tulu-2-13b"]
ARM = {"dataset": "iot", "prompts": "chatgpt", "select": {"sender": ["a fitness tracker"]}}
RISK, PILOT = 0.05, 300
N_FLOWS, N_VARIANTS = 864, 33


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Return a copy in which an arm was asked in full, and then until decided with all tables of the default study."""
    made = Project(tmp_path_factory.mktemp("decided") / "project")
    whole = {"study": "whole", "models": MODELS, "arms": {"main": ARM}}
    asking = {"until": "decided", "risk": RISK, "pilot": PILOT}
    made.write("whole.yaml", whole)
    decided = {"study": "decided", "arms": {"main": {**ARM, "asking": asking}}, "plan": {"pilot": "whole"}}
    made.write("decided.yaml", {**whole, **decided})
    norms = [f"results/whole/norms/main/{model}.parquet" for model in MODELS]
    made.run("--configfile", "whole.yaml", "--", *norms)
    plan = made.run("--configfile", "decided.yaml", "--", "plan")
    (made.folder / "plan.txt").write_text(plan, encoding="utf-8")
    made.run("--configfile", "decided.yaml")
    return made


def read(project: Project, path: str) -> pd.DataFrame:
    return pq.read_table(project.folder / f"results/{path}.parquet").to_pandas()


def asked(project: Project, model: str) -> float:
    """Return the share of the prompts that were asked."""
    return len(read(project, f"decided/responses/main/{model}/1-of-1")) / (N_FLOWS * N_VARIANTS)


def verdicts(norms: pd.DataFrame) -> pd.Series[float]:
    """Return the level that each flow holds under the default thresholds; NaN where it holds none."""
    enough = norms["n_valid"] >= np.ceil(10 * norms["n_asked"] / N_VARIANTS)
    held = enough & (norms["share"] >= 0.5) & ~norms["tie"].astype(bool)
    return norms["value"].astype("Float64").where(held).set_axis(norms["flow"])


@pytest.mark.parametrize("model", MODELS)
def test_prompts_are_saved_and_verdicts_kept(project, model):
    full, stopped = (verdicts(read(project, f"{study}/norms/main/{model}")) for study in ("whole", "decided"))
    changed = (full.fillna(99) != stopped.fillna(99)).mean()
    assert asked(project, model) < 0.9
    assert changed <= RISK


def test_the_plan_had_told_what_would_be_asked(project):
    told = (project.folder / "plan.txt").read_text(encoding="utf-8")
    for model in MODELS:
        most = rf"main, {model}: .* prompts at most; ([\d,]+) expected after its answers in the pilot"
        line = re.search(most, told)
        assert line, told
        expected = int(line[1].replace(",", "")) / (N_FLOWS * N_VARIANTS)
        assert expected == pytest.approx(asked(project, model), abs=0.02)


def test_every_table_figure_and_the_report_are_made(project):
    folder = project.folder / "results/decided"
    names = {path.stem for path in (folder / "tables").glob("*.parquet")}
    wanted = {"responses", "marginal-means", "positions", "stability", "dependence", "capacity", "norms"}
    assert wanted <= names
    assert len(list((folder / "figures").glob("*.pdf"))) == 10
    assert (folder / "report/index.html").stat().st_size > 100_000


def test_what_was_not_asked_is_counted_as_such(project):
    counts = read(project, "decided/tables/answers").set_index(["model", "status"])["count"]
    for model in MODELS:
        assert counts[model, "not_asked"] == round((1 - asked(project, model)) * N_FLOWS * N_VARIANTS)


def test_kinds_that_need_the_whole_design_have_the_pilot_or_the_block(project):
    pilot = read(project, "decided/tables/stability")
    assert (pilot["flows"] == PILOT).all()
    block = read(project, "decided/tables/missing")
    assert (block.loc[block["by"] == "status", "of"] == 3 * N_FLOWS).all()
    dependence = read(project, "decided/tables/dependence")
    assert (dependence["verdict"] == "depends").all()


def test_tables_figures_and_page_say_what_they_take(project):
    folder = project.folder / "results/decided"
    said = {
        "tables/stability.tex": "shown are the flows of the pilot",
        "tables/missing.tex": "shown are the first 3 variants of every flow",
        "figures/distribution.txt": "shown are the first 3 variants of every flow",
        "figures/norms.txt": "some flows were asked more variants than others",
        "report/index.html": "until the risk that its norm would change is at most 0.05",
    }
    for name, words in said.items():
        text = " ".join((folder / name).read_text(encoding="utf-8").split())
        assert words in text, name
