"""The results of a study as its users read them: norms.csv, the dictionary, the Python face, the notebook."""

import json
import os
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import plotnine as p9
import pyarrow.parquet as pq
import pytest

import cinorms
from cinorms.core.csv_files import read_header
from cinorms.core.errors import ConfigError, DataError
from cinorms.core.labels import NORM_LABELS
from cinorms.core.version import RELEASE
from cinorms.results import Results

from ..scales import ACCEPTABILITY
from ..snakemake_runs import ROOT, run
from ..wheel import install_wheel
from .conftest import SMALL, Project

NOTEBOOK = ROOT / "docs/notebooks/read-results.ipynb"
STUDY = {
    **SMALL,
    "study": "demo",
    "analyses": {
        **SMALL["analyses"],  # type: ignore[dict-item]
        "marginal-means": {"kind": "marginal_means", "arms": ["main"]},
        "distance": {"kind": "delta", "arms": ["main"], "of": "means", "by": ["recipient"]},
    },
    "figures": {
        "norms-held": {"kind": "norm_distribution", "arms": ["main"]},
        "norms": {"kind": "norms", "arms": ["main"], "first": 1},
        "orders": {"kind": "variance", "arms": ["main"], "over": "orders"},  # one order: nothing to show
    },
    "printed": {"models": {"kind": "models"}},
}


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a project in which a study called demo has been run."""
    project = Project(tmp_path_factory.mktemp("demo") / "project")
    project.write("demo.yaml", STUDY)
    project.run("--configfile", "demo.yaml")
    return project.folder


@pytest.fixture
def results(demo: Path) -> Results:
    """Return its results."""
    opened: Results = cinorms.open_results(demo / "results/demo")
    return opened


def test_norms_csv_and_the_parquet_file_say_the_same(demo, results):
    ours = pd.read_csv(demo / "results/demo/norms.csv")
    assert len(ours) == 2 * 9 * 2 * 12
    pd.testing.assert_frame_equal(ours, results.norms, check_dtype=False)
    for column in ("planted", "tie"):
        assert ours[column].dtype == bool
    text = (demo / "results/demo/norms.csv").read_text(encoding="utf-8")
    assert ",TRUE," in text
    assert ",True," not in text


def test_a_tensor_has_each_norm_at_its_levels(results):
    model, other = results.study.models
    tensor = results.tensor(model)
    rows = results.norms[results.norms["model"] == model]
    assert list(tensor.index.names) == [
        "sender",
        "subject",
        "information_type",
        "recipient",
        "transmission_principle",
    ]
    for row in rows.iloc[::50].itertuples():
        at = tuple(getattr(row, name) for name in tensor.index.names)
        assert pd.isna(tensor[at]) if pd.isna(row.level) else tensor[at] == row.level
    recipient = rows["recipient"].iloc[0]
    assert (
        tensor.xs(recipient, level="recipient").sum() == rows[rows["recipient"] == recipient]["level"].sum()
    )
    pd.testing.assert_series_equal(tensor.loc[:, :, :, recipient], tensor.xs(recipient, level="recipient"))
    means = results.tensor(model, "main", of="mean") - results.tensor(other, of="mean")
    assert len(means) == len(rows)
    with pytest.raises(DataError, match=r"no column 'meen'.*mean"):
        results.tensor(model, of="meen")
    with pytest.raises(DataError, match="there is no model 'gpt'"):
        results.tensor("gpt")


def test_a_plot_is_one_of_plotnine_to_go_on_with_and_is_checked_like_a_studys(results):
    plot = results.plot("norms", width="text") + p9.labs(title="Mine")
    assert plot.labels.title == "Mine"
    assert isinstance(results.plot("agreement"), p9.ggplot), (
        "a kind that the study does not draw, in its only arm"
    )
    for name, options, message in (
        ("normz", {}, r"plot: figures\.normz\.kind: .*did you mean 'norms'"),
        ("norms", {"models": ["gpt"]}, r"plot: figures\.norms\.models: 'gpt' is not a model"),
        ("norms", {"widths": 7}, "did you mean 'width'"),
    ):
        with pytest.raises(ConfigError, match=message):
            results.plot(name, **options)


def test_the_norms_are_those_that_the_page_and_the_tables_count(demo, results):
    norms, figure = results.norms, results.figures["norms-held"]
    words = ACCEPTABILITY.options
    for model, part in norms.groupby("model"):
        shown = figure[figure["model"] == model].set_index("outcome")["flows"]
        for column, names in (("norm", list(words)), ("reason", list(NORM_LABELS.values()))):
            counts = part[column].value_counts().reindex(names, fill_value=0)
            assert counts.tolist() == shown[names].tolist()
        assert shown.sum() == len(part)
    card = json.loads((demo / "results/demo/cards/planted-gpt-4o-mini.json").read_text(encoding="utf-8"))
    first = norms[norms["model"] == "planted-gpt-4o-mini"]
    assert first["status"].value_counts().to_dict() == card["arms"][0]["norms"]


def test_the_dictionary_has_every_column_of_every_file(demo, results):
    folder, dictionary = demo / "results/demo", results.dictionary
    assert dictionary.columns.tolist() == ["file", "holds", "column", "description"]
    described = dictionary.groupby("file")["column"].apply(list)
    files = [path for path in folder.rglob("*") if ".replies" not in str(path)]
    made = [path for path in files if path.suffix in (".csv", ".parquet")]
    assert len(made) > 20
    for path in made:
        place = path.relative_to(folder)
        columns = read_header(path) if path.suffix == ".csv" else pq.read_schema(path).names
        if place.parts[0] == "printed":
            assert pd.isna(described[str(place)][0])
            continue
        names = described[file_of(place, set(described.index))]
        missing = [column for column in columns if column.lstrip("\ufeff") not in names]
        assert not missing or "<factor>" in names, f"{place}: {missing}"
    assert dictionary["holds"].str.contains("One row per|in print").all()


def file_of(place: Path, known: set[str]) -> str:
    """Return the file of the dictionary that stands for one of the results."""
    name = str(place)
    if name not in known and place.with_suffix(".csv").parts[0] in ("tables", "norms.csv", "dictionary.csv"):
        name = str(place.with_suffix(".csv"))
    patterns = {
        "vignettes": "vignettes/{dataset}.parquet",
        "responses": "responses/{arm}/{model}.parquet",
        "answers": "answers/{arm}/{model}"
        + "".join(place.suffixes[-2:] if ".review" in name else [".parquet"]),
        "prompts": "prompts/{arm}" + (".preview.csv" if name.endswith(".csv") else ".parquet"),
        "norms": "norms/{arm}/{model}.parquet",
        "again": "again/{arm}/{model}.parquet",
        "planted": "planted/{arm}/{model}.parquet",
    }
    return name if name in known else patterns[place.parts[0]]


def test_an_empty_figure_has_a_header_and_a_reason(results):
    orders = results.figures["orders"]
    assert orders["figure_status"].tolist() == ["empty"]
    assert "no flow has the two valid answers" in orders["figure_reason"].iloc[0]
    assert "mean" in orders
    assert results.figures["norms"]["figure_status"].eq("ok").all()


def test_answers_have_factors_and_levels_in_words(demo, results):
    whole = results.answers()
    assert len(whole) == 2 * 9 * 2 * 12 * 5
    one = results.answers("main", "planted-gpt-4o-mini")
    assert set(one["model"]) == {"planted-gpt-4o-mini"}
    assert set(one["recipient"]) == {"its manufacturer", "the local police"}
    valid = one["status"] == "ok"
    assert one.loc[valid, "answer"].notna().all()
    assert one.loc[~valid, "answer"].isna().all()
    assert set(one.loc[one["level"] == -2, "answer"]) == {"strongly unacceptable"}
    stored = pd.read_parquet(demo / "results/demo/answers/main/planted-gpt-4o-mini.parquet")
    assert one["level"].tolist() == stored["level"].astype("Int8").tolist()
    mean = one[valid].groupby("flow")["level"].mean()
    norms = results.norms[results.norms["model"] == "planted-gpt-4o-mini"].set_index("flow")["mean"].dropna()
    assert mean.astype(float).tolist() == pytest.approx(norms.tolist())


def test_tables_are_those_of_the_study_and_nobody_changes_them_for_others(results):
    table = results.tables["answers"]
    table["count"] = 0
    assert results.tables["answers"]["count"].sum() > 0
    always = ["finding", "consistency", "variance", "agreement", "dependence"]
    assert list(results.tables) == [*STUDY["analyses"], *always]  # type: ignore[misc]
    assert len(results.figures) == 3
    assert "planted-gpt-4o-mini" in repr(results)
    described = results.describe("tables/distance")
    assert "recipient" in described.index
    assert described.attrs["holds"].endswith("One row per arm, model, <factor> and metric.")


def test_a_study_that_names_none_states_how_often_a_model_takes_the_same_side(results):
    """The table, from single answers: a mean over pairs of answers of a flow in two wordings, then over flows."""
    for row in results.tables["consistency"].to_dict("records"):
        one = results.answers("main", row["model"]).dropna(subset="level")
        one = one.assign(side=np.sign(one["level"]), wording=one["variant"].str.partition("_")[0])
        pairs = one.merge(one, on="flow").query("wording_x < wording_y")  # one order: an answer each
        same = (pairs["side_x"] == pairs["side_y"]).groupby(pairs["flow"]).mean()
        assert row["same_side"] == pytest.approx(same.mean(), abs=1e-6)
        assert (row["flows"], row["pairs"], row["wordings"]) == (len(same), len(pairs), 5)
    assert results.tables["finding"]["factor"].notna().all()


def test_what_is_not_there_is_named(demo, results, tmp_path):
    for ask, message in (
        (lambda: results.tables["answer"], r"no table 'answer'; did you mean 'answers'"),
        (lambda: results.answers(model="gpt"), "no model 'gpt' in this study"),
        (lambda: results.describe("tables/x"), "there is no file 'tables/x'"),
        (lambda: cinorms.open_results(tmp_path / "nowhere"), "no such folder; run the study first"),
        (lambda: cinorms.open_results(tmp_path), r"has no study.json, .*; run it again"),
    ):
        with pytest.raises(DataError, match=message):
            ask()


def test_importing_the_package_needs_no_other():
    code = "import sys; before = set(sys.modules); import cinorms; print(*sorted(set(sys.modules) - before))"
    printed = run([sys.executable, "-c", code], ROOT, environment={"PYTHONPATH": str(ROOT / "workflow/lib")})
    assert not {"pandas", "numpy", "pyarrow", "pydantic", "yaml"} & set(printed.split())


def test_the_notebook_runs(demo):
    """Its cells are executed in order, in one namespace, in the folder that has the results."""
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert len(sources) >= 8
    script = demo / "notebook.py"
    script.write_text("\n\n".join(sources), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "workflow/lib")}
    assert "One row per arm, model and flow." in run([sys.executable, script], demo, environment=environment)


def test_a_wheel_made_from_the_source_archive_reads_results_without_a_clone(demo, tmp_path):
    programs, site = install_wheel(tmp_path)
    code = (
        "import sys, cinorms; results = cinorms.open_results('results/demo'); print(cinorms.__file__)\n"
        "print(len(results.norms), len(results.answers(text=True)), *map(len, results.tables.values()))\n"
        "print({'snakemake', 'openai', 'statsmodels', 'scipy', 'plotnine'} & set(sys.modules))"
    )
    printed = run([programs / "python", "-c", code], demo, environment={})
    assert f"{site}/cinorms/__init__.py" in printed
    assert printed.splitlines()[-1] == "set()"

    command = programs / "cinorms"
    printed = run([command, "--help"], demo, environment={})
    assert re.search(rf"cinorms {re.escape(RELEASE)}\+files\.[0-9a-f]{{8}}:", printed)
    assert "needs the workflow" in run([command, "run"], demo, 2, environment={})
    one, other, *_ = cinorms.open_results(demo / "results/demo").study.models
    policy = tmp_path / "policy.yaml"
    policy.write_text("undecided: pass\nclaims:\n  shift: {kind: shift, margin: 4}\n", encoding="utf-8")
    sides = ["--base", f"demo/main/{one}", "--new", f"demo/main/{other}"]
    judged = ["gate", *sides, "--policy", policy, "--out", tmp_path / "gate"]
    assert "shift" in run([command, *judged], demo, environment={})
    assert "<h1" in (tmp_path / "gate/index.html").read_text(encoding="utf-8")
