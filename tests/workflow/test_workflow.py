"""A study runs end to end, and every file that it can name is used."""

import json
import re
import sys
import zipfile

import pandas as pd
import pyarrow.parquet as pq
import pytest
import yaml

from ..snakemake_runs import ROOT, run
from .conftest import SMALL

TINY = ("--configfile", "tiny.yaml")


@pytest.mark.parametrize("study", ["config", "pets2026", "llm-ci2024"])
def test_the_page_on_size_states_the_jobs_of_a_dry_run(project, study):
    page = (ROOT / "docs/running.md").read_text(encoding="utf-8")
    row = re.search(rf"^\| `{study}\.yaml`.*\|$", page, flags=re.MULTILINE)
    assert row is not None
    stated = [[int(number) for number in re.findall(r"\d+", cell)] for cell in row[0].split("|")[3:-1]]
    printed = project.run("-n", "--quiet", "rules", "--configfile", f"config/{study}.yaml")
    jobs = {n: int(count) for n, count in re.findall(r"^(\w+)\s+(\d+)$", printed, flags=re.MULTILINE)}
    by_gpu, by_api, planted = (jobs.get(f"ask_{name}", 0) for name in ("vllm", "openai", "planted"))
    asked, fetched = by_gpu + by_api + planted, jobs.get("fetch_checkpoint_vllm", 0)
    parts, total = [by_gpu, by_api] if by_gpu else [], jobs["total"]
    assert stated == [[total], [asked, *parts], [fetched], [total - asked - fetched]]


def test_run_makes_every_stage(finished):
    results = finished.folder / "results" / "tiny"
    responses = pq.read_table(results / "responses/main/planted-gpt-4o-mini.parquet")
    assert responses.num_rows == 9 * 2 * 12 * 5
    answers = pd.read_parquet(results / "answers/main/planted-gpt-4o-mini.parquet")
    assert len(answers) == responses.num_rows
    norms = pd.read_parquet(results / "norms/main/planted-gpt-4o-mini.parquet")
    assert len(norms) == 9 * 2 * 12
    counts = pd.read_csv(results / "tables/answers.csv")
    assert counts.groupby("model")["count"].sum().eq(responses.num_rows).all()
    for kind in ("pdf", "png", "svg"):
        assert (results / f"figures/distribution.{kind}").stat().st_size > 5_000
    page = (results / "report/index.html").read_text(encoding="utf-8")
    assert "Simulated respondents: no model gave their answers" in page


def test_quiet_respondent_is_recovered_and_a_constant_position_comes_out_flat(finished):
    results = finished.folder / "results" / "tiny"
    norms = pd.read_parquet(results / "norms/main/planted-gpt-4o-mini.parquet")
    planted = pd.read_parquet(results / "planted/main/planted-gpt-4o-mini.parquet")
    both = norms.merge(planted, on="flow")
    kept = both[(both["n_valid"] >= 3) & (both["share"] >= 0.5) & ~both["tie"]]
    assert len(kept) > 0.85 * len(both)
    assert (kept["value"] == kept["level"]).mean() > 0.9
    flat = pd.read_parquet(results / "norms/main/planted-constant-position.parquet")
    assert (flat[["n_m2", "n_m1", "n_0", "n_p1", "n_p2"]] == 1).all(axis=None)
    facts = json.loads((results / "planted/main/planted-gpt-4o-mini.json").read_text(encoding="utf-8"))
    held = {(row["factor"], row["level"]): row["coefficient"] for row in facts["coefficients"]}
    assert held["transmission_principle", "if owner has given consent"] == 12.43


def test_a_persons_readings_stated_norms_and_a_pilot_are_files_a_study_names(project):
    """One project, step by step: answers that a person settled, expected values, the plan of the next study."""
    models = ["planted-tulu-2-7b", "planted-gpt-4o-mini"]
    project.write("tiny.yaml", {**SMALL, "models": models, "figures": {}})
    project.run(*TINY, "--", "tables")
    answers = project.folder / "results/tiny/answers/main" / f"{models[0]}.parquet"
    review = pd.read_csv(answers.with_suffix(".review.csv"))
    assert review["count"].is_monotonic_decreasing
    row = review[review["status"] == "needs_context"].iloc[0]
    before = pd.read_parquet(answers)

    (project.folder / "mine.csv").write_text(f"sha256,level\n{row['sha256']},-2\n", encoding="utf-8")
    law = "recipient,expected,note\nthe local police,-2,warrant\n"
    (project.folder / "law.csv").write_text(law, encoding="utf-8")
    expected = {"arms": ["main"], "of": "means", "expected": "law.csv"}
    analyses = {
        **SMALL["analyses"],
        "law": {"kind": "privacy_bias", **expected},
        "distance": {"kind": "delta", **expected, "by": ["recipient"]},
    }
    study = {**SMALL, "models": models, "figures": {}, "overrides": "mine.csv", "analyses": analyses}
    project.write("tiny.yaml", study)
    planned = project.run("-n", "--quiet", "rules", *TINY, "--", "tables")
    assert re.search(r"^read_answers +2$", planned, flags=re.MULTILINE)
    assert "ask_planted" not in planned
    project.run(*TINY, "--", "tables")
    after = pd.read_parquet(answers)
    settled = after["rule"] == "override"
    assert settled.sum() == row["count"]
    assert after.loc[settled, "level"].eq(-2).all()
    assert after.loc[~settled, "level"].equals(before.loc[~settled, "level"])

    checked = "results/tiny/answers/overrides.csv"
    project.run(*TINY, "--", checked)
    assert pd.read_csv(project.folder / checked)["n_responses"].tolist() == [row["count"]]
    lines = f"sha256,text,level\n{row['sha256']},,-2\n,nobody said this,1\n"
    (project.folder / "mine.csv").write_text(lines, encoding="utf-8")
    printed = project.run(*TINY, "--", checked, ok=False)
    assert "mine.csv, line 3: no response of this study has the text 'nobody said this'" in printed

    tables = project.folder / "results/tiny/tables"
    bias = pd.read_csv(tables / "law.csv")
    stated = bias[bias["recipient"] == "the local police"]
    assert bias["expected"].notna().sum() == len(stated) > 0
    assert (stated["expected_source"] == "line 2: warrant").all()
    distance = pd.read_csv(tables / "distance.csv").set_index(["model", "recipient", "metric"]).sort_index()
    found = distance.loc[(models[1], "the local police", "mean_signed"), "value"]
    assert found == pytest.approx(stated.loc[stated["model"] == models[1], "delta"].mean())
    assert (distance.loc[(models[1], "its manufacturer"), "status"] == "no_expected").all()

    project.write("next.yaml", {**study, "study": "next", "plan": {"pilot": "tiny", "target_phi": 0.9}})
    printed = project.run("--configfile", "next.yaml", "--forcerun", "plan", "--", "plan")
    plan = pd.read_csv(project.folder / "results/next/plan.csv").set_index("model")
    assert plan["templates_needed"].ge(1).all()
    assert plan["phi"].between(0, 1).all()
    assert "templates_needed" in printed


@pytest.mark.slow
@pytest.mark.parametrize("study", ["pets2026", "llm-ci2024"])
def test_the_papers_studies_run_on_stand_ins(project, study):
    """Their shape is checked on a few flows: every arm and entry is made, the planted mark is on the page."""
    settings = yaml.safe_load((ROOT / f"config/{study}.yaml").read_text(encoding="utf-8"))
    few = {"sender": ["a fitness tracker"], "recipient": ["its manufacturer"]}
    settings["arms"] = {n: a for n, a in settings["arms"].items() if a["dataset"] == "iot"}
    for arm in settings["arms"].values():
        arm["select"] = few
    for section in ("analyses", "figures"):
        for entry in settings[section].values():
            entry["arms"] = [a for a in entry["arms"] if a in settings["arms"]]
        settings[section] = {n: e for n, e in settings[section].items() if e["arms"]}
    project.write(f"{study}.yaml", {**settings, "engine": "planted"})
    project.run("--configfile", f"{study}.yaml")
    results = project.folder / f"results/{study}"
    page = (results / "report/index.html").read_text(encoding="utf-8")
    assert "Simulated respondents: no model gave their answers" in page
    assert {path.stem for path in results.glob("figures/*.pdf")} == set(settings["figures"])
    for name in ("table1", "table2", "table3", "table4"):
        assert "Simulated respondents" in (results / f"printed/{name}.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_snakemakes_report_shows_what_a_study_made(finished):
    """The page, the cards, figures and tables, each with its caption, category and label."""
    finished.run("--configfile", "tiny.yaml", "--report", "report.zip")
    with zipfile.ZipFile(finished.folder / "report.zip") as archive:
        text = archive.read("report/report.html").decode("utf-8")
        kept = {name.rpartition("/")[2] for name in archive.namelist()}
    assert {
        "index.html",
        "appendix.html",
        "distribution.png",
        "answers.csv",
        "planted-gpt-4o-mini.md",
    } <= kept
    categories = ("Report", "Norm cards", "Figures", "Tables")
    for quoted in (*categories, "the report", "planted-gpt-4o-mini.md"):
        assert f'"{quoted}"' in text, quoted
    mark = "Simulated respondents: no model gave their answers."
    captions = ("for readers who do not run Python", "Norm card of", "Nothing is filtered", "answer_counts")
    for caption in (*captions, mark):
        assert caption in text, caption


def test_the_picture_of_the_data_flow_in_the_architecture_is_that_of_the_rules(tmp_path):
    drawn = tmp_path / "data-flow.svg"
    run([sys.executable, ROOT / "docs/tools/data_flow.py", drawn], tmp_path)
    kept = (ROOT / "docs/images/data-flow.svg").read_text(encoding="utf-8")
    message = "run `make docs` and commit docs/images/data-flow.svg"
    assert drawn.read_text(encoding="utf-8") == kept, message
    assert kept.count('class="rule"') > 20
