"""The study of docs/your-first-context.md as it is in the repository: an endpoint, a report, a reader's override."""

import os
import re
from pathlib import Path

import pytest
import yaml

from cinorms.core import tables
from cinorms.core.csv_files import read_csv

from ..snakemake_runs import ROOT, copy_project, snakemake
from .server import Endpoint, answer_to

ODD = "Well, that is fine with me"


@pytest.fixture
def folder(tmp_path: Path, endpoint: Endpoint) -> Path:
    """Return a copy of the project in which the example's model is behind the loopback endpoint."""
    copy_project(tmp_path, "examples")
    models = tmp_path / "examples/library/models.yaml"
    text = models.read_text(encoding="utf-8")
    models.write_text(text.replace("http://127.0.0.1:8000/v1", endpoint.url), encoding="utf-8")
    return tmp_path


def run(folder: Path, *arguments: str) -> None:
    environment = {**os.environ, "PYTHONPATH": str(folder / "workflow/lib")}
    snakemake(folder, "--configfile", "examples/library/study.yaml", *arguments, environment=environment)


@pytest.mark.slow
def test_the_tutorial_from_the_first_run_to_an_override(folder, endpoint):
    endpoint.answer = lambda chat: ODD if "a bookshop" in chat[0]["content"] else answer_to(chat)
    run(folder)
    results = folder / "results/library"
    assert endpoint.number == 36 * 6 * 5
    norms = read_csv(results / "norms.csv")
    assert len(norms) == 36
    at_bookshop = norms["recipient"] == "a bookshop"
    assert set(norms.loc[at_bookshop, "status"]) == {"below_t_val"}
    review = read_csv(results / "answers/main/my-endpoint.review.csv", as_text=True)
    assert review["text"].tolist() == [ODD]
    assert (results / "report/index.html").stat().st_size > 10_000

    # Step 5, with the lines that the page shows.
    page = (ROOT / "docs/your-first-context.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"```\n(text,sha256,[^\n]*\n.*?)```", page, flags=re.DOTALL)
    (folder / "overrides.csv").write_text(shown, encoding="utf-8")
    study = yaml.safe_load((folder / "examples/library/study.yaml").read_text(encoding="utf-8"))
    (folder / "examples/library/study.yaml").write_text(
        yaml.safe_dump({**study, "overrides": "overrides.csv"}, sort_keys=False), encoding="utf-8"
    )
    run(folder)
    assert endpoint.number == 36 * 6 * 5, "nothing is asked again"
    norms = read_csv(results / "norms.csv")
    assert set(norms.loc[at_bookshop, "level"]) == {1}
    answers = tables.read(results / "answers/main/my-endpoint.parquet", tables.ANSWERS)
    assert (answers["rule"] == "override").sum() == 9 * 30


def test_the_page_shows_the_files_of_the_example():
    page = (ROOT / "docs/your-first-context.md").read_text(encoding="utf-8")
    shown = {
        name: yaml.safe_load(text)
        for name, text in re.findall(r"```yaml\n# (examples/\S+).*?\n(.*?)```", page, re.DOTALL)
    }
    assert set(shown) == {
        f"examples/library/{n}"
        for n in ("vignettes/library.yaml", "prompts/plain.yaml", "models.yaml", "study.yaml")
    }
    for name, part in shown.items():
        whole = yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))
        assert is_part(part, whole), name
    expected = (ROOT / "examples/library/expected.csv").read_text(encoding="utf-8")
    (lines,) = re.findall(r"```\n(information_type,.*?)```", page, flags=re.DOTALL)
    assert expected.startswith(lines)


def is_part(part: object, whole: object) -> bool:
    """Tell whether all that ``part`` states is in ``whole``."""
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(key in whole and is_part(value, whole[key]) for key, value in part.items())
    if isinstance(part, list) and isinstance(whole, list):
        return part == whole[: len(part)]
    return part == whole
