"""One shard asked from the command line: equal specs give equal bytes, and the file says what it holds."""

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from cinorms.core import tables
from cinorms.inference.questions import Questions
from cinorms.inference.spec import Spec
from cinorms.prompts.variants import ask_grid, messages
from cinorms.study.spec import make_spec
from cinorms.study.study import Study

from ...scales import ACCEPTABILITY, ORDERS
from ...specs import ask_shard

LIBRARY = Path(__file__).parents[3] / "workflow/lib"


@pytest.fixture(scope="module")
def spec(build_study: Callable[..., Study]) -> Spec:
    """Return the spec of a shard of two templates of a planted respondent."""
    arm = {"dataset": "iot", "prompts": "chatgpt", "templates": 2, "select": {"sender": ["a door lock"]}}
    study = build_study({"arms": {"main": arm}})
    return make_spec(study, "main", "planted-tulu-2-7b", "2-of-2")


def run(folder: Path, plain: dict[str, Any], out: Path, log: Path) -> subprocess.CompletedProcess[str]:
    """Ask from the command line; ``folder`` has the vignettes and the variants."""
    files = {name: folder / f"{name}.parquet" for name in ("vignettes", "variants")}
    words = {"spec": json.dumps(plain), **files, "out": out, "log": log}
    command = [sys.executable, "-m", "cinorms.ask", *(f"--{name}={value}" for name, value in words.items())]
    return subprocess.run(command, env={"PYTHONPATH": str(LIBRARY)}, capture_output=True, text=True)


@pytest.fixture(scope="module")
def asked(
    spec: Spec, iot_flows: pd.DataFrame, iot_variants: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Ask the shard from the command line and return where its responses are."""
    folder = tmp_path_factory.mktemp("asked")
    tables.write(iot_flows, folder / "vignettes.parquet", tables.VIGNETTES)
    tables.write(iot_variants, folder / "variants.parquet", tables.PROMPTS)
    out, log = folder / "responses/main/planted-tulu-2-7b/2-of-2.parquet", folder / "logs/ask.log"
    done = run(folder, spec.as_plain(), out, log)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert "planted-tulu-2-7b: 2,592 responses in " in log.read_text(encoding="utf-8")
    return out


def test_a_shard_asks_its_own_part_of_the_grid(asked, iot_flows, iot_variants):
    responses = tables.read(asked, tables.RESPONSES)
    flows = iot_flows[iot_flows["sender"] == "a door lock"]["flow"]
    assert responses["variant"].tolist() == ["1_0", "1_1", "1_2"] * 864
    assert responses["flow"].tolist() == list(flows.repeat(3))
    grid = ask_grid(flows, iot_variants, "balanced", 2026, 5)
    of_template_1 = grid[grid["row"].between(3, 5)]
    assert [ORDERS.index(order) for order in responses["order"]] == of_template_1["order_code"].tolist()
    assert responses["text"].notna().all()
    assert responses["n_prompt_tokens"].isna().all()


def test_the_command_line_writes_what_the_library_gives(asked, spec, iot_flows, iot_variants, tmp_path):
    responses, facts = ask_shard(spec, iot_flows, iot_variants)
    tables.write(responses, tmp_path / "again.parquet", tables.RESPONSES, facts)
    assert (tmp_path / "again.parquet").read_bytes() == asked.read_bytes()


def test_the_file_says_what_was_asked_and_shows_its_first_prompt(asked, spec, iot_flows, iot_variants):
    facts = tables.facts(asked)
    assert json.loads(facts["spec"]) == spec.as_plain()
    assert facts["engine"] == "planted"
    assert facts["questions_sha256"] == Questions.of(spec, iot_flows, iot_variants).digest
    first = tables.read(asked, tables.RESPONSES).iloc[0]
    chat = messages(
        iot_variants["template"][3],
        iot_flows["vignette"][first["flow"]],
        ORDERS.index(first["order"]),
        ACCEPTABILITY,
    )
    assert json.loads(facts["example_prompt"]) == chat
    digest = hashlib.sha256(facts["example_prompt"].encode()).hexdigest()
    assert facts["example_prompt_sha256"] == digest


def test_a_selection_that_keeps_nothing_is_one_message_and_no_file(asked, spec, tmp_path):
    wrong = {**spec.as_plain(), "select": {"sender": ["a dor lock"]}}
    done = run(asked.parents[3], wrong, tmp_path / "a/b/c/x.parquet", tmp_path / "ask.log")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "did you mean 'a door lock'?" in done.stderr
    assert not list(tmp_path.rglob("*.parquet"))


def test_neighbours_share_their_beginning(spec, iot_flows, iot_variants):
    questions = Questions.of(replace(spec, shard="1-of-1"), iot_flows, iot_variants)
    answered = np.zeros(len(questions.grid), dtype=bool)
    answered[::7] = True
    todo = questions.missing(answered)
    assert sorted(todo) == np.flatnonzero(~answered).tolist()
    asked = questions.variants.iloc[questions.grid["row"].iloc[todo]]
    flows = questions.grid["flow"].iloc[todo]
    places = list(zip(asked["template_no"], flows, asked["order_no"], strict=True))
    assert places == sorted(places)
    assert len(set(asked["template_no"])) == 2
