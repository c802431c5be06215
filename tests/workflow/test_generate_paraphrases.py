"""Paraphrases are planned without being asked for, made once, frozen, and used like published templates."""

import copy

import pandas as pd
import pytest
import yaml

from .conftest import SMALL, Project

pytestmark = pytest.mark.slow

MINE = "resources/prompts/mine.yaml"
FROZEN = "resources/prompts/frozen/mine.yaml"
VARIANTS = "results/tiny/prompts/main.parquet"
DECLARED = {
    "title": "Mine",
    "source": "generate",
    "paraphraser": "planted-gpt-4o-mini",
    "scale": "acceptability",
    "original": "Please say how acceptable this scenario is: {scenario}. Answer with one of these: {options}",
    "count": 4,
    "tries": 2,
    "temperature": 1,
    "seed": 7,
}


@pytest.fixture
def generating(project: Project) -> Project:
    """Return a project whose study asks in a prompt set that is to be generated."""
    study = copy.deepcopy(SMALL)
    study["arms"]["main"] |= {"prompts": "mine", "templates": "all"}
    project.write("tiny.yaml", study)
    project.write(MINE, DECLARED)
    return project


def test_planning_asks_nobody_and_a_run_asks_once(generating):
    planned = generating.run("--configfile", "tiny.yaml", "--", "plan")
    assert "generate_paraphrases" not in planned
    plan = pd.read_csv(generating.folder / "results/tiny/plan.csv")
    assert (plan["templates"] * plan["orders"]).tolist() == [5, 5]
    assert not (generating.folder / FROZEN).exists()

    generating.run("--configfile", "tiny.yaml", "--", VARIANTS)
    frozen = yaml.safe_load((generating.folder / FROZEN).read_text(encoding="utf-8"))
    variants = pd.read_parquet(generating.folder / VARIANTS)
    assert variants["template"].tolist() == frozen["templates"]
    assert frozen["templates"][0] == DECLARED["original"]

    written = (generating.folder / FROZEN).read_bytes()
    assert "Nothing to be done" in generating.run("--configfile", "tiny.yaml", "--", VARIANTS)
    assert "generate_paraphrases" not in generating.run(
        "--forceall", "--configfile", "tiny.yaml", "--", VARIANTS
    )
    assert (generating.folder / FROZEN).read_bytes() == written

    generating.write(MINE, {**DECLARED, "seed": 8})
    message = generating.run("-n", "--configfile", "tiny.yaml", "--", VARIANTS, ok=False)
    assert "seed: 8 differs from 7" in message
    assert "Traceback" not in message


def test_with_planted_respondents_a_model_is_not_asked_and_nothing_is_frozen(generating):
    generating.write(MINE, {**DECLARED, "paraphraser": "gpt-4o-mini"})
    generating.run("--configfile", "tiny.yaml", "--config", "engine=planted", "--", VARIANTS)
    assert len(pd.read_parquet(generating.folder / VARIANTS)) == 5
    assert not (generating.folder / FROZEN).exists()
    made = generating.folder / "results/tiny/paraphrases/mine.yaml"
    assert "no model was asked" in made.read_text(encoding="utf-8")


def test_a_paraphraser_of_vllm_requests_the_gpus_of_its_entry(generating):
    generating.write(MINE, {**DECLARED, "paraphraser": "llama-3.1-8b-instruct"})
    planned = generating.run("-n", "--configfile", "tiny.yaml", "--", VARIANTS)
    job = planned.partition("rule generate_paraphrases_mine:")[2].partition("\n\n")[0]
    assert "gpu=1" in job
