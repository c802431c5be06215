"""A published study, read back with the validators of the projects whose formats it has.

``make test-publish`` makes their environments. The RO-Crate validator downloads two contexts; without internet it takes
copies of them from the folder ``ro-crate`` of CINORMS_MIRROR (crate.jsonld, workflow-run.jsonld).
"""

import json
import os
import subprocess
import urllib.request
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from ..snakemake_runs import ROOT
from ..workflow.conftest import SMALL, Project

HERE = Path(__file__).parent
PYTHON = ROOT / ".venv-publish/bin/python"
EVERY_EVAL_EVER = ROOT / ".venv-every-eval-ever/bin/every_eval_ever"


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a small study that was run and published."""
    project = Project(tmp_path_factory.mktemp("published") / "project")
    stated = {"creator": "A laboratory", "licence": "CC-BY-4.0", "url": "https://example.org/study"}
    project.write("tiny.yaml", {**SMALL, "figures": {}, "publish": stated})
    project.run("--configfile", "tiny.yaml", "--", "publish")
    return project.folder / "results/tiny/published"


def run(*command: str | Path, folder: Path) -> str:
    done = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "HOME": str(folder.parent)},
        text=True,
        capture_output=True,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    return done.stdout


def is_reachable(address: str) -> bool:
    try:
        urllib.request.urlopen(address, timeout=5).close()
    except OSError:
        return False
    return True


def test_mlcroissant_loads_every_table(published):
    found = json.loads(run(PYTHON, HERE / "check_croissant.py", published, folder=published).splitlines()[-1])
    assert found["errors"] == []
    for records in ("norms", "tables/answers", "tables/regression"):
        assert found["rows"][records] == len(pd.read_csv(published / f"{records}.csv"))
    for records in ("answers", "responses"):
        assert found["rows"][records] == len(pd.read_parquet(published / f"{records}.parquet"))


def test_every_eval_ever_accepts_the_records(published):
    folder = published / "every_eval_ever"
    files = [path.relative_to(folder) for path in sorted(folder.rglob("*.json"))]
    assert len(files) == len(SMALL["models"])  # type: ignore[arg-type]
    assert f"{len(files)} passed" in run(EVERY_EVAL_EVER, "validate", *files, folder=folder)


def test_the_ro_crate_validator_finds_nothing(published):
    mirror = Path(os.environ.get("CINORMS_MIRROR", ""), "ro-crate")
    copies = [mirror / f"{name}.jsonld" for name in ("crate", "workflow-run")]
    given: list[Any] = copies if all(path.is_file() for path in copies) else []
    if not given and not is_reachable("https://w3id.org/ro/crate/1.1/context"):
        pytest.skip("the contexts of RO-Crate can neither be downloaded nor found in CINORMS_MIRROR/ro-crate")
    printed = run(PYTHON, HERE / "check_crate.py", published, *given, folder=published)
    issues = json.loads(printed.splitlines()[-1])
    assert {profile: texts for profile, texts in issues.items() if texts} == {}
    assert len(issues) == 4


def test_the_crate_has_every_file_of_the_folder(published):
    crate = json.loads((published / "ro-crate-metadata.json").read_text(encoding="utf-8"))
    parts = next(one for one in crate["@graph"] if one["@id"] == "./")["hasPart"]
    files = {str(path.relative_to(published)) for path in published.rglob("*") if path.is_file()}
    assert {part["@id"] for part in parts} == files - {"ro-crate-metadata.json"}
