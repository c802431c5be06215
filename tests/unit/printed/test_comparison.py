"""Printed numbers beside computed ones, releases of published answers, arms that take answers from them."""

import math
from hashlib import sha256
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from cinorms.core.csv_tables import SENTENCES
from cinorms.core.errors import ConfigError, DataError
from cinorms.core.scales import papers_scale
from cinorms.core.yaml_files import load_yaml
from cinorms.entries.kind import kinds
from cinorms.printed import comparison
from cinorms.printed.comparison import compare_sentences, sentences_text, unexpected
from cinorms.prompts.variants import list_variants
from cinorms.published import releases
from cinorms.published.releases import load_release
from cinorms.study.load import load_study, read_layers
from cinorms.study.plan import as_text, estimate

from ..published.test_frames import VIGNETTES, save, wide

ROOT = Path(__file__).parents[3]
PETS = ROOT / "resources/published/pets2026.yaml"


# --- rounding and matching


@pytest.mark.parametrize(
    ("value", "printed", "shown", "same"),
    [
        (12.3, "positive", "", True),
        (0.0, "positive", "", False),
        (-0.1, "negative", "", True),
        (3, "<= 3", "", True),
        (3, ">= 3", "", True),
        (2, ">= 3", "", False),
        (3, "< 3", "", False),
        (3, "> 3", "", False),
        (0.0009, "< 0.001", "", True),
        (-3.1, "< 0.001", "power of ten", True),
        (-2.9, "< 0.001", "power of ten", False),
        (math.log10(2.347e-18), "2.3e-18", "power of ten", True),
        (math.log10(2.351e-18), "2.3e-18", "power of ten", False),
        (math.log10(9.96e-19), "1.0e-18", "power of ten", True),  # the mantissa is carried over
        (math.log10(3.985e-3), "4e-3", "power of ten", True),
        (-434.4, "0", "power of ten", True),  # no double is that small
        (-300.0, "0", "power of ten", False),
        (0.0977, "10", "percent", True),
        (0.45052, "45.05", "percent", True),
        (-4.0, "***", "stars", True),
        (-4.0, "**", "stars", False),
        (math.log10(0.02), "*", "stars", True),
        (-0.5, "none", "stars", True),
    ],
)
def test_what_agrees_with_print(value, printed, shown, same):
    assert comparison.agrees(value, printed, shown) is same


TABLE = pd.DataFrame(
    {"model": ["a", "b", "c"], "t_val": 10, "x": [1.25, -2.0, np.nan], "n": [3, 4, 5], "of": [6, 8, 0]}
)


def row(printed, where="model=a", column="x", shown="", counted="yes", analysis="t", cell="one"):
    names = {"paper": "P", "item": "Table 1", "cell": cell, "printed": printed, "analysis": analysis}
    return pd.DataFrame([names | {"where": where, "column": column, "shown": shown, "counted": counted}])


@pytest.mark.parametrize(
    ("given_row", "expected"),
    [
        (row("1.3"), ("1.3", "1.25", "yes")),
        (row("1.2"), ("1.3", "1.25", "no")),
        (row("1.2", counted="no"), ("1.3", "1.25", "not counted")),
        (row("> 1", counted="words"), ("1.2", "1.25", "holds")),
        (row("negative", counted="words"), ("positive", "1.25", "does not hold")),
        (row("> 1", "model=c", counted="words"), ("", "", "does not hold")),
        (row("50", column="n / of", shown="percent"), ("50", "50", "yes")),
        (row("3.25", "model=a; t_val=10 minus model=b"), ("3.25", "3.25", "yes")),
        (row("positive", "model=b"), ("negative", "-2", "no")),
        (row("0.0", "model=c"), ("", "", "no")),  # no number never matches
        (row("0", "model=c", "n / of"), ("", "", "no")),
        (row("0.0", "model=a; t_val=11"), ("", "", "no")),  # nor does a row that is not there
    ],
)
def test_a_printed_number_is_compared_with_the_cell_it_names(given_row, expected):
    found = comparison.compare(given_row, {"t": TABLE})
    assert list(found) == ["paper", "item", "cell", "printed", "computed", "computed_full", "match"]
    assert tuple(found.loc[0, ["computed", "computed_full", "match"]]) == expected


def test_a_match_within_reach_counts_and_says_so():
    table = {"t": TABLE.assign(z=20.305037, p=-135.7089)}
    power = row("1.9e-136", column="p", shown="power of ten", cell="two")
    printed = pd.concat([row("20.30", column="z"), power, row("20.30", column="z", cell="three")])
    found = comparison.compare(printed, table, {("Table 1", "one"): 0.0008, ("Table 1", "two"): 0.004})
    assert found["match"].tolist() == ["within reach", "within reach", "no"]
    assert found["computed"].tolist() == ["20.31", "2.0e-136", "20.31"]
    assert comparison.summary(found)[["matched", "total"]].to_numpy().tolist() == [[2, 3]]
    assert comparison.mismatches(found)["cell"].tolist() == ["three"]


@pytest.mark.parametrize(
    ("given_row", "message"),
    [
        (row("1", analysis="u"), "Table 1: one: analysis 'u' is not known; allowed: t"),
        (row("1", column="y"), "Table 1: one: column 'y' is not known"),
        (row("1", "modl=a"), "Table 1: one: where: column 'modl' is not known.*did you mean 'model'"),
        (row("1", "t_val=10"), "Table 1: one: 3 rows have t_val=10; name one"),
        (row("1", shown="promille"), "Table 1: one: shown: 'promille' is not known"),
        (row("1", cell="onne"), "reach: item 'Table 1' has no printed number 'one'; did you mean 'onne'"),
    ],
)
def test_a_place_that_is_not_there_is_named(given_row, message):
    with pytest.raises(DataError, match=message):
        comparison.compare(given_row, {"t": TABLE}, {("Table 1", "one"): 0.1})


def three():
    printed = pd.concat([row("1.3"), row("1.2", cell="two"), row("9", counted="no", cell="three")])
    return comparison.compare(printed, {"t": TABLE})


def test_the_summary_counts_items_and_lists_what_does_not_match():
    found = three()
    assert comparison.summary(found).to_numpy().tolist() == [["P", "Table 1", 1, 2]]
    assert "1 of 2: 1 do not match" in comparison.summary_text(found)
    assert comparison.mismatch_text(found) == "  Table 1: two: printed 1.2, computed 1.3 (1.25)"
    good = found[found["match"] != "no"]
    assert "1 of 1: all matched" in comparison.summary_text(good)
    assert comparison.mismatch_text(good) == ""
    none = found[found["match"] == "not counted"]
    assert "0 of 0: nothing is compared" in comparison.summary_text(none)
    assert comparison.mismatch_text(none) == "  nothing is compared"


# --- the page


def test_the_page_shows_every_cell_escaped_and_needs_no_network(tmp_path):
    remark = {"where": "S<1>", "claim": "Says.", "printed": "P.", "computed": "C.", "why": "But."}
    release = load_release(release_file(tmp_path, remarks=[remark], not_compared=["<Table 9>"]))

    def item(name, *rows, **reaches):
        near = {("Table 1", cell): by for cell, by in reaches.items()}
        return comparison.compare(pd.concat(rows), {"t": TABLE.assign(s=0.17497)}, near).assign(item=name)

    found = three().assign(cell=["<b>one</b>", "two", "three"])
    once = item("Table 2", row("0.18", column="s"), row("< 2", cell="three"))
    # Of all cells only this needs to be rounded to four decimals first.
    assert comparison.rounded_twice(pd.concat([found, once]))["cell"].tolist() == ["one"]
    whole = [
        *(found, once),
        item("Table 1, maximum likelihood", row("1.3", cell="two", counted="no")),
        item("Table 3", row("1.2", cell="near"), near=0.01),
        item("Table 4", row("-2.0", "model=b", cell="1-2")),
    ]
    sentence = dict.fromkeys(SENTENCES.about, "") | {"section": "5", "sentence": "<i>S", "holds": "no"}
    cells, models = pd.DataFrame([sentence]), ["m", "unknown"]
    text = comparison.render(
        release,
        pd.concat(whole),
        cells,
        [("Figure <8>", "1 of 2", "parts")],
        models,
        "Planted <p>",
        {"f1": "<F>"},
    )
    for part in (
        "&lt;b&gt;one&lt;/b&gt;",
        "S&lt;1&gt;",
        "<strong>Planted &lt;p&gt;</strong>",
        "5 of 6 printed numbers match</strong>, not always by the computation",
        '<a href="figures/f1.png">&lt;F&gt;</a>',
        "Figure &lt;8&gt;: 1 of 2 parts",
        "<li>&lt;Table 9&gt;</li>",
        "Table 3, near is printed as 1.2 and computed as 1.25 on this machine",
        "two: printed 1.2, computed 1.3 (1.25)",
        "Table 2, one is printed as 0.18 and computed as 0.17497",
        "0 of its 1 numbers would be printed differently",
        "Section 5: &lt;i&gt;S: 0 of 1 hold",
        '<td>1-2</td><td class="number">−2.0</td><td class="number">−2.0</td>',
    ):
        assert part in text
    assert not [part for part in ("<b>one</b>", "src=", "<script") if part in text]


# --- releases


def release_file(folder, **changes):
    """Write a release of one frame with its file and return the path of its YAML."""
    frame = wide(**{"p#0_0": [1.0, np.nan, 2.0], "p#0_1": [2.0] * 3}, model="M")
    payload = save(frame, folder / "frame.pkl.lzma").read_bytes()
    document = {
        "title": "Test",
        "paper": "P",
        "origin": {"citation": "made for a test", "licence": "MIT"},
        "files": {"f": {"url": "frame.pkl.lzma", "sha256": sha256(payload).hexdigest()}},
        "frames": {"whole": {"file": "f"}},
        "models": {"m": "M"},
    }
    path = folder / "made.yaml"
    path.write_text(yaml.safe_dump(document | changes), encoding="utf-8")
    return path


def imported(path, frame="whole", variants=None):
    variants = list_variants("set", ["t"], 1, 2) if variants is None else variants
    return dict(releases.import_answers(load_release(path), frame, ["m"], VIGNETTES, variants, path.parent))


def test_a_release_gives_the_answers_of_its_models(tmp_path):
    answers = imported(release_file(tmp_path))["m"]
    assert answers["variant"].tolist() == ["0_0", "0_1"] * 3
    assert answers["level"].tolist() == [1, 2, pd.NA, 2, 2, 2]
    assert answers["status"].tolist() == ["ok", "ok", "invalid", "ok", "ok", "ok"]


def test_a_changed_file_and_a_variant_that_was_not_asked_are_refused(tmp_path):
    path = release_file(tmp_path)
    with pytest.raises(DataError, match=r"frame made/whole, model m: variant 0_1 .*'orders.count'"):
        imported(path, variants=list_variants("set", ["t"], 1, 1))
    (tmp_path / "frame.pkl.lzma").write_bytes(b"other")
    with pytest.raises(DataError, match="SHA-256"):
        imported(path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"frames": {"whole": {"file": "g"}}}, "frames.whole.file: 'g' is not a file; allowed: f"),
        ({"remark": {}}, "remark: there is no such key here"),
        ({"numbers": ["none.csv"]}, "numbers: there is no file .*none.csv"),
        ({"models": {}}, "models: {} is not allowed; allowed: a mapping of names"),
        ({"reach": [{"item": "T", "cell": "c", "by": 0}]}, r"reach.0.\.by: 0 is not allowed; .*more than 0"),
    ],
)
def test_a_wrong_release_is_refused(tmp_path, changes, message):
    with pytest.raises(ConfigError, match=message):
        load_release(release_file(tmp_path, **changes))


def test_files_of_numbers_are_checked(tmp_path):
    def numbers(*lines):
        (tmp_path / "n.csv").write_text("\n".join(lines))
        return load_release(release_file(tmp_path, numbers=["n.csv"]))

    with pytest.raises(DataError, match=r"columns .* expected"):
        releases.read_numbers(numbers("item,cell", "x,y"))
    header = ",".join(releases.COLUMNS)
    with pytest.raises(DataError, match=r"\['T', 'c'\] appears twice"):
        releases.read_numbers(numbers(header, "T,c,1,a,m=1,x,,yes", "T,c,2,b,m=1,x,,yes"))
    three = numbers(header, "T,c,1,a,m=1,x,,yes", "T,d,2,b,m=1,x,,yes", "T,e,2,a,m=1,x,,yes")
    assert releases.compared_with(three) == ["a", "b"]
    assert releases.compared_with(None) == []


def test_a_source_without_an_organisation_has_the_engine_for_one():
    assert releases.raw_file("raw/{organisation}/{name}.csv", "gpt-4o", "openai") == "raw/openai/gpt-4o.csv"


# --- the study


def arm(**changes):
    base = {"dataset": "iot", "prompts": "chatgpt", "models": ["tulu-2-7b"], "source": "published"}
    return {"arms": {"main": base | {"frame": "pets2026/regular"} | changes}, "analyses": {}, "figures": {}}


@pytest.mark.parametrize(
    ("study", "message"),
    [
        (arm(frame=None), "arms.main.source: 'published' also needs the key 'frame'; add it to arms.main"),
        (arm(frame="pets2026/regula"), "'pets2026/regula' is not a frame.*did you mean 'pets2026/regular'"),
        (arm(models=["planted-uniform"]), "'planted-uniform' is not a model of this release"),
        (arm(source="model"), "arms.main.frame: 'pets2026/regular' does not fit source 'model'; remove it"),
        (arm(source="raw_csv", frame=None), "also needs the key 'raw_files'"),
        (arm(source="asked"), "'asked' is not allowed; allowed: model, published, raw_csv, human, responses"),
        (
            arm() | {"engine": "planted"},
            "engine: 'planted' cannot replace the existing answers of arm 'main'",
        ),
        (arm() | {"compare": "pets"}, "compare: 'pets' is not a release.*did you mean 'pets2026'"),
        (arm() | {"compare": "pets2026"}, "the numbers of 'pets2026' need an analysis or figure 'table2'"),
    ],
)
def test_a_study_that_takes_answers_from_nowhere_is_refused(build_study, study, message):
    with pytest.raises(ConfigError, match=message):
        build_study(study)


def test_nothing_is_asked_of_a_published_arm(build_study):
    study = build_study(arm())
    assert study.asked() == []
    assert "No model is asked" in as_text(estimate([], {}, {}))
    assert study.arms_from("published") == ["main"]
    assert study.published_models() == ["tulu-2-7b"]
    assert build_study().arms_from("published", "raw_csv") == []


def test_the_replication_has_an_analysis_for_every_printed_number(root):
    study = load_study(read_layers([ROOT / "config/replication.yaml"], root), root)
    assert study.compared().name == "pets2026"
    has = {*study.settings.analyses, *study.settings.figures}
    assert set(releases.compared_with(study.compared())) <= has
    assert len(study.published_models()) == 8
    assert not study.planted()


# --- the printed numbers


def test_the_printed_numbers_are_all_there_and_can_be_read():
    numbers = releases.read_numbers(load_release(PETS))
    counted = numbers[numbers["counted"] == "yes"]
    sizes = {"Table 2": 22 * 7, "Table 2, percentages": 22 * 4, "Table 3": 8 * 5, "Table 4": 66 * 4}
    assert counted["item"].value_counts()[list(sizes)].to_dict() == sizes
    assert set(numbers["shown"]) <= set(comparison.SHOWN)
    assert set(numbers["counted"]) == {"yes", "no", "words"}
    assert set(load_release(PETS).reaches) <= set(zip(counted["item"], counted["cell"], strict=True))
    forms = r"positive|negative|none|\*+|[<>]=? [\d.]+|-?\d+(\.\d+)?(e-\d+)?"
    assert numbers["printed"].str.fullmatch(forms).all()


def test_the_printed_numbers_are_those_of_the_tables_typed_from_the_paper():
    tables = ROOT / "tests/reference/pets2026"
    own = releases.read_numbers(load_release(PETS)).groupby("item")["printed"].apply(list)
    second = pd.read_csv(tables / "table2.csv", dtype=str)
    columns = ["below_t_val", "discarded_25", "of_25", "discarded_50", "of_50", "discarded_67", "of_67"]
    assert own["Table 2"] == second[columns].to_numpy().ravel().tolist()
    third = pd.read_csv(tables / "table3.csv").drop(columns="model").to_numpy().ravel()
    assert list(map(float, own["Table 3"])) == third.tolist()
    fourth = pd.read_csv(tables / "table4.csv", dtype=str, keep_default_na=False)
    assert own["Table 4"] == fourth[["coef", "std_err", "z", "p"]].to_numpy().ravel().tolist()
    assert own["Table 4, stars"] == [int(n) * "*" or "none" for n in fourth["stars"]]


# --- what the replication brought with it


def norms() -> pd.DataFrame:
    """Return norms for two flows; model b holds none for the second, which model c was not asked."""
    tied = "several most frequent answers"
    rows = [
        ("a", 1, "x", -2, False, "bad", ""),
        ("a", 2, "y", 0, True, "neutral", ""),
        ("b", 1, "x", 2, False, "good", ""),
        ("b", 2, "y", None, False, None, tied),
        ("c", 1, "x", 0, True, "neutral", ""),
    ]
    columns = ["model", "flow", "sender", "level", "tie", "norm", "reason"]
    return pd.DataFrame(rows, columns=columns).astype({"level": "Int8"})


def compared(tmp_path, **sentence):
    stated = {"section": "5", "says": "S", **sentence}
    path = release_file(tmp_path, sentences={"table": "flows", "rows": [stated]})
    return compare_sentences(load_release(path), {"flows": norms()})


@pytest.mark.parametrize(
    ("sentence", "found", "holds"),
    [
        ({"levels": {"a": ["bad", "neutral"]}}, ["bad", "neutral"], ["yes", "yes"]),
        ({"levels": {"a": ["good"]}, "flows": {"sender": ["y"]}}, ["neutral"], ["no"]),
        ({"levels": {"a": ["bad"]}, "others": {"sender": ["y"]}}, ["bad"], ["yes"]),
        ({"levels": {"b": ["good"]}}, ["good", "several most frequent answers"], ["yes", "no"]),
        ({"opposite": ["a", "b"], "flows": {"sender": ["x"]}}, ["bad, good"], ["yes"]),
        ({"opposite": ["a", "b"], "flows": {"sender": ["y"]}}, ["neutral, several most frequent answers"], ["no"]),
        ({"opposite": ["a", "c"], "flows": {"sender": ["x"]}}, ["bad, neutral"], ["no"]),
        ({"different": ["a", "c"], "flows": {"sender": ["x"]}}, ["bad, neutral"], ["yes"]),
        ({"levels": {"a": ["bad"], "b": ["good"]}, "share": True}, ["50.0%", "50.0%"], ["not counted"] * 2),
    ],
)  # fmt: skip
def test_each_flow_and_model_of_a_sentence_is_compared(tmp_path, sentence, found, holds):
    rows = [(norm, held, "yes" * ("neutral" in norm)) for norm, held in zip(found, holds, strict=True)]
    cells = compared(tmp_path, **sentence)[["found", "holds", "tie"]]
    assert list(cells.itertuples(index=False, name=None)) == rows


def test_a_slip_is_expected_not_to_hold_and_everything_else_to_hold(tmp_path):
    slip = compared(tmp_path, levels={"a": ["bad"]}, but="B")
    assert slip["holds"].tolist() == ["yes", "no"]
    assert unexpected(slip)["found"].tolist() == ["bad"]
    assert sentences_text(slip) == "  sentences about flows: 1 of 2 cells hold, 1 are slips of the paper"
    tie = compared(tmp_path, levels={"a": ["bad", "neutral"]})
    assert sentences_text(tie) == "  sentences about flows: 1 of 2 cells hold, 1 on a tie"
    wrong = compared(tmp_path, levels={"a": ["good"]}, flows={"sender": ["x"]})
    assert unexpected(wrong)[["flow", "stated", "found"]].to_numpy().tolist() == [["x", "good", "bad"]]
    earlier = compared(tmp_path, levels={"a": ["good"]}, paper="P0")
    assert unexpected(earlier).empty
    assert sentences_text(earlier) == "  P0's sentences on these answers: 0 of 2 cells hold, 2 do not hold"
    share = compared(tmp_path, levels={"a": ["good"]}, share=True)
    assert unexpected(share).empty
    assert sentences_text(share) == ""
    assert compare_sentences(load_release(release_file(tmp_path)), {}).empty


@pytest.mark.parametrize(
    ("sentence", "message"),
    [
        ({"levels": {"d": ["bad"]}}, "'S': model: 'd' is not known; .*a, b"),
        ({"levels": {"a": ["bad"]}, "flows": {"sender": ["z"]}}, "sender: 'z' is not known; .*x, y"),
        ({"levels": {"a": ["bad"]}, "others": {"sendr": ["x"]}}, "'sendr' is not known; .*sender"),
    ],
)
def test_names_that_the_norms_do_not_have_are_refused(tmp_path, sentence, message):
    with pytest.raises(DataError, match=message):
        compared(tmp_path, **sentence)


def test_the_papers_sentences_name_options_of_its_scale():
    named = [words for row in load_release(PETS).sentences.rows for words in row.levels.values()]
    assert set().union(*named) <= set(papers_scale("acceptability").options)


@pytest.mark.parametrize(
    ("release", "study"),
    [("pets2026", "replication"), ("llmci2024", "llm-ci2024"), ("agents2025", "say-and-do")],
)
def test_every_printed_number_is_compared_with_a_column_of_a_table_that_its_study_makes(release, study):
    stated, compared = load_yaml(ROOT / f"config/{study}.yaml"), 0
    columns = {
        name: set(kinds(section)[entry["kind"]].columns)
        for section in ("figures", "analyses")
        for name, entry in stated[section].items()
    }
    for path in (ROOT / "resources/published").glob(f"{release}_*.csv"):
        for row in pd.read_csv(path, keep_default_na=False).to_dict("records"):
            if analysis := row.get("analysis"):
                assert set(row["column"].split(" / ")) <= columns[analysis], (path.name, row["cell"])
                compared += 1
    assert compared > 40
