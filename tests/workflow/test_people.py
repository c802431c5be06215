"""A study of people next to planted respondents, run to its end: what it shows; and no identifier is in any file."""

import gzip
import json
import re
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator
from pathlib import Path

import pandas as pd
import pytest

from ..snakemake_runs import write_yaml
from ..unit.human.surveys import COMMENT, DATASET, IDS, SURVEY, WIDE, as_csv, rows, write_wide
from .conftest import PROMPTS, Project

#: The ids of the second wave.
AGAIN = (*(f"ZWJQX{i}LATERQZ{i * i}" for i in range(3)), *IDS[8:2:-1])
STUDY = {
    "study": "doors",
    "resources": ["../mine"],
    "models": ["planted-uniform", "planted-gpt-4o-mini"],
    "arms": {
        "main": {"dataset": "doors", "prompts": "two", "orders": {"count": 2}},
        "people": {"dataset": "doors", "source": "human", "ratings": "doors_survey"},
        "own": {"dataset": "doors", "source": "human", "ratings": "doors_survey/personal"},
        "wide": {"dataset": "doors", "source": "human", "ratings": "wide"},
        "again": {"dataset": "doors", "source": "human", "ratings": "second_wave"},
    },
    "norms": {"t_val": 2, "grid": {"t_val": [2]}},
    "analyses": {
        "answers": {"kind": "answer_counts", "arms": ["main", "people", "own", "wide"]},
        "raters": {"kind": "answer_counts", "arms": ["people"]},
        "reliability": {"kind": "reliability", "arms": ["main", "people"]},
        "again": {"kind": "norms_again", "arms": ["people"]},
        "groups": {
            "kind": "people_groups",
            "arms": ["main", "people", "again"],
            "people": ["people", "again"],
        }
        | {"same_people": True},
        "distances": {"kind": "people_distances", "arms": ["main", "people"], "people": ["people"]},
        "flows": {"kind": "people_flows", "arms": ["main", "people"], "people": ["people"]},
    },
    "figures": {
        "distribution": {"kind": "distribution", "arms": ["main", "people"]},
        "spread": {"kind": "variance", "arms": ["main", "people"]},
    },
    "printed": {"models": {"kind": "models"}},
}


@pytest.fixture(scope="module")
def rated(tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, str]:
    """Return a project in which the study has been run, and what it printed."""
    folder = tmp_path_factory.mktemp("rated")
    project = Project(folder / "project")
    write_yaml(folder / "mine/vignettes/doors.yaml", DATASET)
    write_yaml(folder / "mine/prompts/two.yaml", {**PROMPTS, "scale": "agreement"})
    write_yaml(folder / "mine/ratings/doors_survey.yaml", SURVEY)
    (folder / "mine/ratings/doors.csv").write_text(as_csv(), encoding="utf-8")
    # The second wave: six of the nine people, in another order, and three who are new.
    wave = [{**row, "WorkerId": AGAIN[IDS.index(str(row["WorkerId"]))]} for row in reversed(rows())]
    second = {
        **SURVEY,
        "file": {"url": "again.csv"},
        "numbered_as": {"url": "doors.csv", "column": "WorkerId"},
    }
    write_yaml(folder / "mine/ratings/second_wave.yaml", second)
    (folder / "mine/ratings/again.csv").write_text(as_csv(wave), encoding="utf-8")
    write_yaml(folder / "mine/ratings/wide.yaml", WIDE)
    write_wide(folder / "mine/ratings")
    project.write("doors.yaml", STUDY)
    printed = project.run("--configfile", "doors.yaml")
    return project, printed + project.run("people", "--configfile", "doors.yaml")


def contents(path: Path) -> Iterator[bytes]:
    """Yield the bytes of a file, what is packed inside it, and the texts of a table's columns."""
    data = path.read_bytes()
    yield data
    if path.suffix == ".gz":
        yield gzip.decompress(data)
    if path.suffix == ".parquet":
        frame = pd.read_parquet(path)
        yield frame.to_csv().encode()
        yield repr([list(frame[c].cat.categories) for c in frame.select_dtypes("category")]).encode()
    if path.suffix == ".html":
        for packed in re.findall(rb"H4sI[A-Za-z0-9+/=]{20,}", data):
            yield gzip.decompress(b64decode(packed))


def files_naming(files: Iterable[Path], names: Iterable[str]) -> list[Path]:
    """Return the files in which one of the names is."""
    any_name = re.compile("|".join(map(re.escape, names)).encode())
    return [path for path in files if any(any_name.search(data) for data in contents(path))]


def test_no_identifier_is_in_any_file(rated):
    project, printed = rated
    made = [project.folder / name for name in ("results", "logs", ".snakemake")]
    files = [path for folder in made for path in folder.rglob("*") if path.is_file()]
    assert {".parquet", ".html", ".log", ".csv", ".json", ".svg"} <= {path.suffix for path in files}
    assert files_naming(files, (*IDS, *AGAIN, COMMENT)) == []
    assert not any(text in printed for text in (*IDS, *AGAIN))


def test_two_waves_are_two_groups_and_the_page_says_how_far_they_differ(rated):
    results = rated[0].folder / "results/doors"
    table = pd.read_csv(results / "tables/groups.csv").set_index(["who", "measure"])
    assert table.loc[("in_one_only", "rms"), ["n_people", "n_other"]].tolist() == [9, 3]
    assert (table.loc["same_person", "n_people"] == 6).all()
    assert set(table.loc["two_wordings", "arm"]) == {"main"}
    page = " ".join((results / "people/index.html").read_text(encoding="utf-8").split())
    assert "How far do two groups of people differ?" in page
    assert "6 people are in both surveys; here they count in the smaller group only." in page
    assert "the same person, asked twice" in page
    assert "simulated: at random, in two wordings" in page
    assert (
        0 < page.index("Who says so?") < page.index("How sure is that?") < page.index("How far is each model")
    )


def test_an_identifier_is_found_wherever_it_hides(tmp_path):
    """The search that finds nothing above would find one: in a table, and packed in a page."""
    pd.DataFrame({"rater": pd.Categorical(["A1WORKER"])}).to_parquet(tmp_path / "a.parquet")
    packed = b64encode(gzip.compress(b"x" * 100 + b"I live next door to it")).decode()
    (tmp_path / "b.html").write_text(f'<script>"{packed}"</script>', encoding="utf-8")
    (tmp_path / "c.csv").write_text("rater\n0\n", encoding="utf-8")
    files = sorted(tmp_path.glob("?.*"))
    assert [path.name for path in files_naming(files, ["A1WORKER", "I live next door to it"])] == [
        "a.parquet",
        "b.html",
    ]


def test_results_say_which_are_people(rated):
    project, printed = rated
    results = project.folder / "results/doors"
    mark = "Rated by people, not by a model: people. The others are simulated respondents"
    assert mark in printed
    page, appendix = ((results / f"report/{name}.html").read_text("utf-8") for name in ("index", "appendix"))
    assert mark in page
    assert "rated by people, not by models: nine neighbours gave 54 ratings" in appendix
    names = ("distribution", "spread")
    captions = {
        name: " ".join((results / f"figures/{name}.txt").read_text("utf-8").split()) for name in names
    }
    assert all(mark in caption for caption in captions.values()), captions
    assert "people (6 flows in 9 raters)" in captions["spread"]
    card = (results / "cards/people.md").read_text(encoding="utf-8")
    assert "Ratings by people: no model gave these answers." in card
    assert "6 flows, each rated by up to 10 people" in card
    assert "people" in (results / "printed/models.csv").read_text(encoding="utf-8")
    assert pd.read_csv(results / "tables/answers.csv")["any_planted"].all()
    assert not pd.read_csv(results / "tables/raters.csv")["any_planted"].any()


def test_tables_treat_raters_as_templates(rated):
    project, _ = rated
    tables = project.folder / "results/doors/tables"
    measures = pd.read_csv(tables / "reliability.csv").set_index(["arm", "model", "measure"]).sort_index()
    assert {"icc_1", "alpha"} <= set(measures.loc[("people", "people")].index)
    assert "icc_1" not in measures.loc[("main", "planted-uniform")].index


def test_codes_that_are_no_ratings_are_counted(rated):
    project, _ = rated
    counts = (
        pd.read_csv(project.folder / "results/doors/tables/answers.csv")
        .query("arm == 'wide'")
        .set_index("outcome")["count"]
    )
    assert counts["not_a_rating: don't know"] == 2
    assert counts["empty"] == 1


def test_nothing_is_left_to_do_and_a_plan_asks_models_only(rated):
    project, _ = rated
    assert "Nothing to be done" in project.run("--configfile", "doors.yaml", "-n")
    project.run("plan", "--configfile", "doors.yaml")
    plan = pd.read_csv(project.folder / "results/doors/plan.csv")
    assert set(plan["arm"]) == {"main"}
    record = json.loads((project.folder / "results/doors/provenance.json").read_text(encoding="utf-8"))
    assert {one["arm"] for one in record["asked"]} == {"main"}


LINE_STUDY = {
    **STUDY,
    "study": "line",
    "models": ["planted-gpt-4o-mini"],
    "arms": {
        "main": {"dataset": "doors", "prompts": "two", "orders": {"count": 1}},
        "people": {"dataset": "doors", "source": "human", "ratings": "made"},
    },
    "analyses": {name: STUDY["analyses"][name] for name in ("distances", "flows")},  # type: ignore[index]
    "figures": {
        "distribution": {"kind": "distribution", "arms": ["main", "people"]},
        "norms": {"kind": "norm_distribution", "arms": ["main"]},
    },
    "printed": {},
}


@pytest.fixture(scope="module")
def on_a_line(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the results of a study of the doors on a number line, with 20 people who are made up."""
    folder = tmp_path_factory.mktemp("line")
    project = Project(folder / "project")
    of_line = {"scale": "appropriateness_0_100"}
    write_yaml(folder / "mine/vignettes/doors.yaml", DATASET | of_line)
    # Ten wordings of three flows: as many answers as the report wants for a level of the sender.
    wordings = [f"Judge this on {{options}} ({i}): {{scenario}}." for i in range(10)]
    write_yaml(folder / "mine/prompts/two.yaml", PROMPTS | of_line | {"templates": wordings})
    asked = {"appropriate": {"text": "This is an appropriate use.", "column": "score"}}
    survey = {**SURVEY, **of_line, "people": "20 simulated people", "file": {"url": "made.csv"}}
    survey |= {
        "rater": {"column": "person"},
        "flow": "flow",
        "questions": asked,
        "raters": 20,
        "ratings": 120,
    }
    write_yaml(folder / "mine/ratings/made.yaml", {k: v for k, v in survey.items() if k != "checks"})
    ratings = [(i % 20, i // 20, 40 + i % 20 + i * 7919 % 11) for i in range(120)]
    made = pd.DataFrame(ratings, columns=["person", "flow", "score"])
    made.to_csv(folder / "mine/ratings/made.csv", index=False)
    project.write("line.yaml", LINE_STUDY)
    project.run("people", "--configfile", "line.yaml")
    return project.folder / "results/line"


def test_people_and_models_on_a_number_line(on_a_line):
    distances = pd.read_csv(on_a_line / "tables/distances.csv")
    assert set(distances["status"]) == {"ok"}
    assert set(distances["n_flows"]) == {6}


def test_cards_and_pages_of_a_number_line_use_its_bins(on_a_line):
    norms = pd.read_parquet(on_a_line / "norms.parquet")
    assert set(norms["level"].dropna()) <= {10, 30, 50, 70, 90}
    card = (on_a_line / "cards/planted-gpt-4o-mini.md").read_text(encoding="utf-8")
    assert "norm +90: 81 to 100" in card
    assert "norm +2:" not in card
    page = (on_a_line / "people/index.html").read_text(encoding="utf-8")
    assert "20 simulated people" in page
    assert "from 0 (not at all appropriate) to 100 (completely appropriate)" in " ".join(page.split())
    assert "This is an appropriate use." in page


def test_no_result_of_another_scale_speaks_of_what_is_acceptable(on_a_line):
    appendix, report = (
        " ".join((on_a_line / f"report/{name}.html").read_text("utf-8").split())
        for name in ("appendix", "index")
    )
    assert "Each model rated information flows (appropriateness): who" in appendix
    assert "<title>61 to 80: 67%</title>" in report
    card = (on_a_line / "cards/planted-gpt-4o-mini.md").read_text(encoding="utf-8")
    assert "### Most approved of" in card
    assert "| approved of, of all flows | disapproved of, of all flows |" in card
    assert "higher (more appropriate)" in card
    page = (on_a_line / "people/index.html").read_text(encoding="utf-8")
    figures = [*on_a_line.glob("figures/*.txt"), *on_a_line.glob("figures/*.svg")]
    for text in (page, card, *(path.read_text(encoding="utf-8") for path in figures)):
        assert "accept" not in text.lower()
