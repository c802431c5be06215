"""Arms with answers from published frames or raw CSV files, and printed numbers held against them."""

import csv
import hashlib
import lzma
import os
import pickle
import re
import shutil
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pytest

from cinorms.printed.comparison import compare
from cinorms.published.releases import COLUMNS, load_release, read_numbers

from ..printed_numbers import differences, other_stars
from ..snakemake_runs import ROOT, snakemake
from .conftest import Project

MODELS = {"tulu-2-7b": "tulu-2-7b", "gpt-4o-mini": "gpt-4o-mini-8B"}
SENDERS, RECIPIENTS = ["a teacher", "a pupil"], ["a parent", "the press"]
SCHOOL = {
    "title": "A school",
    "context": "education",
    "scale": "acceptability",
    "source": "design",
    "origin": {"citation": "made for a test", "licence": "MIT"},
    "factors": {"sender": SENDERS, "recipient": RECIPIENTS},
    "template": "{{ sender }} tells {{ recipient }}",
}
FLOWS = [f"{sender} tells {recipient}" for sender in SENDERS for recipient in RECIPIENTS]
PUBLISHED = {"dataset": "school", "prompts": "chatgpt", "source": "published", "frame": "school/whole"}
STUDY = {
    "study": "printed",
    "compare": "school",
    "models": list(MODELS),
    "arms": {"main": {**PUBLISHED, "templates": 2, "orders": {"count": 2}}},
    "norms": {
        "consensus": "papers",
        "t_val": 3,
        "t_maj": "plurality",
        "grid": {"t_val": [3], "t_maj": [0.67]},
    },
    "analyses": {"counts": {"kind": "discarded", "arms": ["main"]}},
    "figures": {"answers": {"kind": "distribution", "arms": ["main"]}},
}
#: What is printed as a number, not as a bound or a sign.
NUMBER = r"-?\d+(\.\d+)?(e-\d+)?"
REPLICATE = ("--configfile", "printed.yaml", "--", "replicate")


def frame() -> pd.DataFrame:
    """Return a wide frame laid out as the published ones: -2..2, missing where the answer was invalid."""
    scores = {
        "p#0_0": [2.0, 1.0, None, -1.0],
        "p#0_1": [2.0, 1.0, None, 1.0],
        "p#1_0": [2.0, 1.0, 0.0, 2.0],
        "p#1_1": [2.0, -1.0, 0.0, -2.0],
    }
    texts = ("Scenario", "dataset", "model")
    parts = [
        pd.DataFrame({"Scenario": FLOWS[::-1], "dataset": "school", "model": name} | scores)
        for name in MODELS.values()
    ]
    whole = pd.concat(parts, ignore_index=True).astype(dict.fromkeys(texts, object))
    whole.columns = pd.Index(list(whole.columns), dtype=object)
    return whole


def numbers(discarded: str) -> list[list[str]]:
    at = "model=tulu-2-7b; t_val=3; t_maj=0.67"
    return [
        ["Table 1", "flows", "4", "counts", at, "flows", "", "yes"],
        ["Table 1", "below T_val", "1", "counts", at, "below_t_val", "", "yes"],
        ["Table 1", "discarded", discarded, "counts", at, "discarded", "", "yes"],
        ["Table 1", "share", "33.3", "counts", at, "share_discarded", "percent", "yes"],
        ["Listed", "share", "99", "counts", at, "share_discarded", "percent", "no"],
    ]


def publish(project: Project, discarded: str = "1") -> None:
    """Write a release of the frame with its printed numbers into the project."""
    payload = lzma.compress(pickle.dumps(frame(), protocol=4), format=lzma.FORMAT_ALONE)
    folder = project.folder / "resources/published"
    (folder / "school.pkl.lzma").write_bytes(payload)
    release = {
        "title": "A school",
        "paper": "Test 2026",
        "origin": {"citation": "made for a test", "licence": "MIT"},
        "files": {"f": {"url": "school.pkl.lzma", "sha256": hashlib.sha256(payload).hexdigest()}},
        "frames": {"whole": {"file": "f"}},
        "models": MODELS,
        "numbers": ["school.csv"],
        "remarks": [
            {"where": "Section 1", "claim": "It says so.", "printed": "1", "computed": "2", "why": "A slip."}
        ],
    }
    project.write("resources/published/school.yaml", release)
    with (folder / "school.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([COLUMNS, *numbers(discarded)])


@pytest.fixture
def school(project: Project) -> Project:
    """Return a project with a published frame of a made-up school and a study of it."""
    project.write("resources/vignettes/school.yaml", SCHOOL)
    project.write("printed.yaml", {**STUDY, "compare": None})
    publish(project)
    return project


def test_printed_numbers_are_computed_from_published_answers(school):
    assert "compare: null names no release" in school.run(*REPLICATE, ok=False)

    # One number does not match: it fails, and everything else is there.
    school.write("printed.yaml", STUDY)
    publish(school, discarded="2")
    printed = school.run(*REPLICATE, ok=False)
    assert "printed numbers do not match" in printed
    assert "Table 1: discarded: printed 2, computed 1 (1)" in printed
    assert "3 of 4" in printed
    assert "Traceback" not in printed
    results = school.folder / "results/printed"
    assert all((results / name).exists() for name in ("comparison.csv", "tables/counts.csv"))
    assert not (results / "comparison.txt").exists()
    assert "do not match" in (results / "index.html").read_text(encoding="utf-8")

    publish(school)
    printed = school.run("--quiet", "rules", "reason", "host", *REPLICATE)
    assert re.search(r"Table 1 +4 of 4\n", printed)
    assert "all matched" in printed
    assert "page: results/printed/index.html" in printed
    comparison = pd.read_csv(results / "comparison.csv", dtype=str, keep_default_na=False)
    assert list(comparison) == ["paper", "item", "cell", "printed", "computed", "computed_full", "match"]
    assert comparison["match"].tolist() == ["yes"] * 4 + ["not counted"]
    assert comparison["computed_full"].tolist()[3] == "33.33333333"
    page = (results / "index.html").read_text(encoding="utf-8")
    assert "4 of 4 printed numbers match" in page
    texts = re.findall(r">([^<>]+)</td>", page)
    assert " It says so., 1, 2, A slip." in ", ".join(texts)
    assert '<a href="figures/answers.png">' in page
    answers = pd.read_parquet(results / "answers/main/tulu-2-7b.parquet")
    first = answers[answers["flow"] == 0].set_index("variant")["level"]
    assert first.to_dict() == {"0_0": -1, "0_1": 1, "1_0": 2, "1_1": -2}
    assert answers["status"].value_counts().to_dict() == {"ok": 14, "invalid": 2}
    norms = pd.read_parquet(results / "norms/main/tulu-2-7b.parquet")
    assert norms["value"].tolist() == [-1, 0, 1, 2]  # a tie goes to the first variant
    assert norms["n_valid"].tolist() == [4, 2, 4, 4]
    assert not (results / "responses").exists()
    assert not (results / "prompts/main.preview.csv").exists()
    assert "Nothing to be done" in school.run(*REPLICATE)


RAW = """,Scenario,Prompt,Response,prompt_id,likert,likert_order_id
0,{0},p,Somewhat acceptable,p#0_0,-,1
1,{0},p,"I would say: strongly unacceptable.",p#0_1,-,120
2,{1},p,"As an AI language model, I cannot provide a personal opinion.",p#0_0,-,7
3,{1},p,neutral,p#1_0,-,7
4,{2},p,,p#0_0,-,7
"""


def test_raw_files_go_through_the_answers_stage(school):
    raw = school.folder / "raw/allenai/school"
    raw.mkdir(parents=True)
    (raw / "tulu-2-7b_school_t0_kshot.csv").write_text(RAW.format(*FLOWS), encoding="utf-8")
    arm = STUDY["arms"]["main"] | {  # type: ignore[index]
        "source": "raw_csv",
        "frame": None,
        "raw_files": "raw/{organisation}/school/{name}_school_t0_kshot.csv",
        "models": ["tulu-2-7b"],
    }
    school.write("raw.yaml", {**STUDY, "study": "raw", "compare": None, "arms": {"main": arm}})
    school.run("--configfile", "raw.yaml")
    results = school.folder / "results/raw"
    responses = pd.read_parquet(results / "responses/main/tulu-2-7b.parquet")
    assert responses["text"].tolist()[1] == "I would say: strongly unacceptable."
    assert responses["order"].tolist()[:2] == ["01234", "43210"]
    answers = pd.read_parquet(results / "answers/main/tulu-2-7b.parquet")
    found = answers.set_index(["flow", "variant"])
    levels = {(0, "0_0"): 1, (0, "0_1"): -2, (1, "1_0"): 0}
    assert found["level"].dropna().to_dict() == levels
    assert found.index.tolist() == [(0, "0_0"), (0, "0_1"), (1, "0_0"), (1, "1_0"), (2, "0_0")]
    assert found["status"].tolist() == ["ok", "ok", "refusal", "ok", "empty"]
    arm["orders"] = {"count": 1}
    school.write("raw.yaml", {**STUDY, "study": "raw", "compare": None, "arms": {"main": arm}})
    printed = school.run("--configfile", "raw.yaml", ok=False)
    assert "variant 0_1 (template_order) is not among the arm's 2 variants" in printed


@pytest.mark.slow
def test_every_printed_number_of_the_paper_is_found_again(project, mirror):
    printed = {n: f"results/replication/printed/table{n}.csv" for n in (2, 3, 4)}
    comparison_file = "results/replication/comparison.csv"
    options = ("--configfile", "config/replication.yaml", "--rerun-triggers", "mtime", "params", "code")
    targets = (*options, "--", comparison_file, *printed.values())
    # What `make replicate` made counts: Snakemake makes again what code or data have changed since. Its files of the
    # project were in another folder, which is no change.
    for made in ("results/replication", ".snakemake/metadata", ".snakemake/incomplete"):
        if (ROOT / made).is_dir():
            shutil.copytree(ROOT / made, project.folder / made)
    snakemake(project.folder, *targets, environment={**os.environ, "CINORMS_MIRROR": str(mirror)})
    comparison = pd.read_csv(project.folder / comparison_file, dtype=str, keep_default_na=False)
    assert comparison[comparison["match"] == "no"].empty
    near = set(comparison.loc[comparison["match"] == "within reach", "cell"])
    counted = comparison[comparison["match"].isin(["yes", "within reach"])].groupby("item").size()
    assert counted[["Table 2", "Table 3", "Table 4"]].tolist() == [154, 40, 264]
    assert counted.sum() == 622
    for number, path in printed.items():
        others = differences(number, project.folder / path)
        assert [text for text in others if text.partition(": printed ")[0] not in near] == []
    assert len(other_stars(project.folder / printed[4])) == 5  # the paper's own, see resources/published
    off_by_one(project.folder / "results/replication/tables")


def off_by_one(tables: Path) -> None:
    """Insist that no counted number would match with one unit more or less in its last place.

    Only the cells with a stated reach may: there the machine decides.
    """
    release = load_release(ROOT / "resources/published/pets2026.yaml")
    numbers = read_numbers(release)
    numbers = numbers[(numbers["counted"] == "yes") & numbers["printed"].str.fullmatch(NUMBER)]
    assert len(numbers) == 594
    computed = {name: pd.read_parquet(tables / f"{name}.parquet") for name in numbers["analysis"].unique()}
    for units in (-1, 1):
        shifted = numbers.assign(printed=[moved(text, units) for text in numbers["printed"]])
        found = compare(shifted, computed, release.reaches)
        wrong = found[found["match"] != "no"]
        assert set(zip(wrong["item"], wrong["cell"], strict=True)) <= set(release.reaches)


def moved(printed: str, units: int) -> str:
    """Return a printed number with so many units more in its last place."""
    mantissa, e, power = printed.partition("e")
    decimals = len(mantissa.partition(".")[2])
    return f"{Decimal(mantissa) + units * Decimal(1).scaleb(-decimals):f}{e}{power}"
