"""Printed tables: layout, stars, order of rows; LaTeX and HTML are whole and escape everything."""

import csv
import io
import re
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from cinorms.core.csv_files import undo_defusing
from cinorms.core.errors import ConfigError
from cinorms.core.labels import PLANTED_MARK
from cinorms.entries.entry import Entry, Selected
from cinorms.printed.cells import (
    Cell,
    Printed,
    RowGroup,
    heading,
    p_starred,
    p_times,
    rounded,
    scientific,
    share,
)
from cinorms.printed.filtering import discarded, lost
from cinorms.printed.models import SPECULATED, coefficients, models, pairs
from cinorms.printed.write import LONG, to_csv, to_html, to_latex

from ...entries import make_entry
from ...html_page import Page

HOSTILE = ["a & b_c", "50% $x$ #1", "{\\input{x}}", "<script>alert(1)</script>", "\"quoted\" 'text'"]
HOSTILE += ["[x] *y", "=1+1", "\r@x", "－1|2"]


def cells(table: Printed) -> list[list[str]]:
    return list(csv.reader(io.StringIO(to_csv(table))))


def entry(kind: str, **options: Any) -> Entry[Any]:
    """Return an entry of a kind that is made from tables."""
    return make_entry("printed", kind, {"from": ["table"], **options})


def one(frame: pd.DataFrame) -> list[Selected]:
    return [Selected("", "table", frame.assign(any_planted=False))]


def check_latex(table: Printed) -> str:
    """Check that braces, environments and columns are balanced; return the LaTeX."""
    latex = to_latex(table)
    bare = re.sub(r"\\[\\{}&%$#_]", "", latex)
    assert bare.count("{") == bare.count("}")
    assert bare.count("$") % 2 == 0
    begun, ended = re.findall(r"\\begin\{(\w+)\}", latex), re.findall(r"\\end\{(\w+)\}", latex)
    assert begun == ended
    assert len(begun) == 1
    alignment = re.search(r"\\begin\{\w+\}\{([lr]+)\}", latex)
    assert len(alignment[1]) == table.width
    body = latex.split("\\toprule\n")[1].split("\\bottomrule")[0]
    for line in body.split("\n"):
        if line.endswith("\\\\") and "\\multicolumn" not in line:
            assert len(re.findall(r"(?<!\\)&", line)) == table.width - 1
    return latex


def test_discarded_flows_are_shares_of_all_flows_and_then_of_those_left():
    columns = ["t_val", "t_maj", "below_t_val", "discarded", "of"]
    numbers = [(10, "plurality", 6, 0, 6906), (10, "0.25", 6, 700, 6906), (30, "0.25", 6912, 0, 0)]
    rows = pd.DataFrame(numbers, columns=columns).assign(model="a_b", flows=6912, arm="main")
    table = discarded(one(pd.concat([rows, rows.assign(t_val=15).head(2)])), entry("discarded"))
    assert cells(table) == [
        ["Models", "T_val", "≥ T_val", "T_maj plurality", "T_maj ≥ 25%"],
        ["a_b", "10", "6/6912 (0.09%)", "0/6906 (0%)", "700/6906 (10%)"],
        ["a_b", "15", "6/6912 (0.09%)", "0/6906 (0%)", "700/6906 (10%)"],
    ]  # no flow reaches a T_val of 30
    assert (
        "a\\_b & 10 & 6/6912 (0.09\\%) & 0/6906 (0\\%) & 700/6906 (10\\%) \\\\\n & 15 & 6/6912"
        in check_latex(table)
    )
    check_html(table)
    arms = one(pd.concat([rows, rows.assign(arm="hot")]))
    assert cells(discarded(arms, entry("discarded", t_val=[30], t_maj=[0.25]))) == [
        ["arm", "Models", "T_val", "≥ T_val", "T_maj ≥ 25%"],
        ["main", "a_b", "30", "6912/6912 (100%)", "--"],
        ["hot", "a_b", "30", "6912/6912 (100%)", "--"],
    ]


def test_without_steps_every_pair_is_printed_and_a_missing_one_is_a_dash():
    rows = [("a", "plurality", "0.5", 0.1), ("a", "0.5", "0.67", 0.2), ("a", "plurality", "0.67", 0.3)]
    frame = pd.DataFrame(rows, columns=["model", "from", "to", "share_lost"]).assign(arm="main", t_val=9)
    assert cells(lost(one(frame), entry("lost")))[1] == ["a", "10.00%", "30.00%", "20.00%"]
    chosen = lost(one(frame.assign(t_val=0)), entry("lost", steps=[[0.5, 0.67], ["plurality", 0.5]]))
    assert cells(chosen) == [["Models", "≥ 50% → ≥ 67%", "plurality → ≥ 50%"], ["a", "20.00%", "10.00%"]]
    assert chosen.notes[-1] == "No T_val."
    assert cells(lost(one(frame.iloc[:2]), entry("lost")))[1] == ["a", "10.00%", "--", "20.00%"]


def check_html(table: Printed) -> str:
    """Check that every row has all columns; return the page's text."""
    rows = [re.findall(r"<t[dh]([^>]*)>", row) for row in to_html(table).split("<tr>")[1:]]
    spans = [[re.search(r'colspan="(\d+)"', cell) for cell in row] for row in rows]
    assert {sum(int(span[1]) if span else 1 for span in row) for row in spans} == {table.width}
    return Page(to_html(table)).text


TERMS = pd.DataFrame(
    [
        ("a", "sender", "a camera", "a tracker", -0.5, 0.1, -5.0, -6.2, "ok"),
        ("a", "sender", "a door", "a tracker", 0.25, 0.1, 2.5, -1.9, "ok"),
        ("a", "sender", "a lamp", "a tracker", -2.0, 0.1, -20.0, -435.4, "ok"),
        ("a", "sender", "a meter", "a tracker", None, None, None, None, "separated"),
        ("b", "sender", "a camera", "a tracker", 0.17497, 0.14, 1.6, -0.96, "ok"),
        ("b", "threshold", "-2|-1", None, 1.0, 0.1, None, None, "ok"),
    ],
    columns=["model", "term", "level", "baseline", "estimate", "std_err", "statistic", "log10_p", "status"],
).assign(arm="main")


def test_table_4_has_stars_groups_and_the_papers_order_of_rows():
    table = coefficients(one(TERMS), entry("coefficients"))
    rows = cells(table)
    assert rows[0][:4] == ["factor", "Parameters", "a Coef.", "a Std. err."]
    sender, none = "Sender (baseline: a tracker)", ["--"] * 4
    assert rows[1:] == [
        [sender, "A door", "0.25", "0.10", "2.50", "1.3e-2*", *none],
        [sender, "A lamp", "-2.00", "0.10", "-20.00", "4.0e-436***", *none],
        [sender, "A camera", "-0.50", "0.10", "-5.00", "6.3e-7***", "0.18", "0.14", "1.60", "1.1e-1"],
        [sender, "A meter", *none, *none],
    ]
    assert any("separated: no finite estimate" in note for note in table.notes)
    latex = check_latex(table)
    assert "\\multicolumn{4}{c}{a} & \\multicolumn{4}{c}{b}" in latex
    assert "\\cmidrule(lr){2-5}\\cmidrule(lr){6-9}" in latex
    assert "6.3e-7$^{***}$" in latex
    assert "$-0.50$" in latex
    assert "<sup>***</sup>" in to_html(table)
    check_html(table)


@pytest.mark.parametrize(
    ("value", "decimals", "text"),
    [
        (0.175, 2, "0.18"),  # a tie goes up
        (0.17497, 2, "0.18"),  # four decimals make it a tie
        (0.17494, 2, "0.17"),
        (0.1447, 2, "0.14"),  # not by way of three
        (-0.005, 2, "-0.01"),  # and away from 0
        (-0.004, 2, "0.00"),
        (0.5, 0, "1"),
        (2.5, 0, "3"),
        (1.00005, 4, "1.0001"),
        (1e16, 1, "10000000000000000.0"),
    ],
)
def test_rounding_is_half_up_by_way_of_four_decimals(value, decimals, text):
    assert rounded(value, decimals) == text


@pytest.mark.parametrize(
    ("log10", "decimals", "parts"),
    [(-2.0, 1, ("1.0", -2)), (-1804.77, 2, ("1.70", -1805)), (-0.0001, 1, ("1.0", 0)), (0.5, 0, ("3", 0))],
)
def test_a_mantissa_is_below_ten(log10, decimals, parts):
    assert scientific(log10, decimals) == parts


@pytest.mark.parametrize(
    ("log10_p", "starred", "times"),
    [
        (-3.0, "1.0e-3**", "1.00e-3"),
        (-3.01, "9.8e-4***", "9.77e-4"),
        (-1.31, "4.9e-2*", "4.90e-2"),
        (0.0, "1.0e0", "1.00"),
        (-304.78, "1.7e-305***", "1.66e-305"),
        (None, "--", "--"),
    ],
)
def test_p_values_have_one_form_each(log10_p, starred, times):
    assert str(p_starred(log10_p)) == starred
    assert str(p_times(log10_p)) == times


def test_a_share_below_a_percent_has_two_decimals():
    shown = [share(0, 10), share(1, 1000), share(10, 1000), share(675, 6912), share(0, 0)]
    percent = ["0/10 (0%)", "1/1000 (0.10%)", "10/1000 (1%)", "675/6912 (10%)", "--"]
    assert [cell.text for cell in shown] == percent


PAIRS = pd.DataFrame(
    [("x", "a", "b", -304.78), ("x", "a", "c", -1.0), ("x", "b", "c", None), ("y", "a", "b", 0.0)],
    columns=["arm_a", "model_a", "model_b", "log10_p"],
).assign(arm_b=lambda f: f["arm_a"], test="wilcoxon_pairs", status=["ok", "ok", "no_differences", "ok"])


def test_pairs_are_the_lower_half_of_a_square_for_each_arm():
    across = PAIRS.iloc[[2]].assign(arm_b="y", log10_p=-2.0)  # a pair of two arms has no place in a square
    table = pairs(one(pd.concat([PAIRS, across])), entry("pairs"))
    assert cells(table) == [
        ["arm", "", "a", "b"],
        *(["x", "a", "—", ""], ["x", "b", "1.66e-305", "—"], ["x", "c", "1.00e-1", "--"]),
        *(["y", "a", "—", ""], ["y", "b", "1.00", "—"], ["y", "c", "--", "--"]),
    ]
    assert "$1.66\\times 10^{-305}$" in check_latex(table)
    assert "1.66 × 10<sup>-305</sup>" in to_html(table)
    assert table.notes[1] == "--: b and c: no differences."


def test_models_are_told_by_what_was_done_to_them():
    def made(registry: dict[str, Any], mark: str = "", **options: Any) -> Printed:
        return models([], make_entry("printed", "models", options, registry=registry, mark=mark))

    stated = {
        "base": ("f", 7, "none", "none", "Hugging Face: o/n"),
        "both": ("f", 13.5, "dpo", "awq", "elsewhere"),
        "half": ("f", 7, "none", None, "Hugging Face: o/n"),
        "silent": (None, None, None, None, "elsewhere"),
    }
    keys = ("family", "capacity", "alignment", "quantisation", "origin")
    known = {name: dict(zip(keys, facts, strict=True)) for name, facts in stated.items()}
    table = made(known)
    assert cells(table)[1:] == [
        ["base", "f", "7B", "Base", "Hugging Face: o/n"],
        ["both", "f", "13.5B", "DPO + AWQ", "elsewhere"],
        ["half", "f", "7B", "unknown", "Hugging Face: o/n"],
        ["silent", "unknown", "NA", "unknown", "elsewhere"],
    ]
    assert not {SPECULATED, PLANTED_MARK, ""} & set(table.notes)
    assert made(known, PLANTED_MARK).notes[-1] == PLANTED_MARK
    check_latex(table)
    check_html(table)
    guessed = {name: known[name] | {"speculated_capacity": 8} for name in ("silent", "base")}
    assert [row[2] for row in cells(made(guessed))[1:]] == ["NA", "7B"]  # as in PETS
    table = made(guessed, speculated=True)
    assert [row[2] for row in cells(table)[1:]] == ["8B*", "7B"]
    assert SPECULATED in table.notes


@pytest.mark.parametrize(("kind", "frame"), [(coefficients, TERMS), (pairs, PAIRS)])
def test_planted_answers_are_marked(kind, frame):
    marked = replace(entry(kind.__name__), mark="Planted: some.")
    assert kind(one(frame), marked).notes[-1] == "Planted: some."
    assert "" not in kind(one(frame), entry(kind.__name__)).notes


def test_nothing_in_a_table_is_a_command_or_a_tag():
    first, *_, last = HOSTILE
    rows = tuple((Cell(text), Cell("-1"), Cell("2", stars="*")) for text in HOSTILE)
    header = ((Cell(""), Cell(first, span=2)), heading("x", last, "p"))
    table = Printed(first, header, (RowGroup(first, rows),), notes=tuple(HOSTILE))
    latex = check_latex(table)
    assert "\\input" not in latex
    assert "\\cmidrule(lr){2-3}" in latex
    assert "\n{}[x] *y &" in latex
    shown = check_html(table)
    assert "<script>" not in to_html(table)
    assert all(text in shown for text in HOSTILE)
    shown = [cell for row in cells(table) for cell in row]
    assert not any(cell.startswith(("=", "+", "@", "\r", "－")) for cell in shown)
    assert set(HOSTILE) <= {undo_defusing(cell) for cell in shown}


def test_a_long_table_breaks_over_pages():
    rows = tuple((Cell(f"l{number}"), Cell("1")) for number in range(LONG + 1))
    for shown, environment in ((rows[1:], "tabular"), (rows, "longtable")):
        latex = check_latex(Printed("", (heading("", "n"),), (RowGroup("", shown),)))
        assert f"\\begin{{{environment}}}" in latex
        assert ("\\endhead" in latex) is (environment == "longtable")


# --- The entries of a study

STUDY = {
    "study": "s",
    "analyses": {
        "gone": {"kind": "discarded", "arms": ["main"]},
        "lost": {"kind": "lost", "arms": ["main"]},
        "fit": {"kind": "ordinal_regression", "arms": ["main"], "models": ["planted-tulu-2-7b"]},
        "by-size": {"kind": "model_pairs", "arms": ["main"], "factor": "capacity"},
    },
    "figures": {},
}


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        ({"kind": "discarded", "from": ["lost"]}, "from: 'lost' is not an analysis of kind discarded"),
        ({"kind": "discarded", "from": ["gone"], "t_val": [11]}, "printed.t.t_val: T_val 11 .*10, 15, 30"),
        ({"kind": "discarded", "from": ["gone"], "t_val_for": {"gpt": [10]}}, "'gpt' is not a model of"),
        ({"kind": "lost", "from": ["lost"], "steps": [[0.5, 0.25]]}, "has the higher threshold first; write"),
        ({"kind": "lost", "from": ["lost"], "steps": [[0.5, 0.9]]}, "printed.t.steps: T_maj 0.9"),
        ({"kind": "coefficients", "from": ["fit"], "models": ["planted-tulu-2-13b"]}, "printed.t.models"),
        ({"kind": "pairs", "from": ["by-size"]}, "name analyses without that key"),
        ({"kind": "models", "models": ["nobody"]}, "printed.t.models: 'nobody' is not a"),
    ],
)
def test_a_mistake_is_one_message(build_study, stated, message):
    with pytest.raises(ConfigError, match=message):
        build_study({**STUDY, "printed": {"t": stated}})
