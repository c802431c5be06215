"""Every kind of figure is drawn from the data that it declares."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from cinorms.entries.entry import ENTRIES, Selected
from cinorms.entries.files import call
from cinorms.entries.kind import Kind, kinds
from cinorms.figures import theme
from cinorms.figures.say_do import draw as draw_say_do
from cinorms.figures.theme import ENDING, Drawn, data_of
from cinorms.prompts.variants import list_variants

from ..analyses.test_say_do import DONE, FRAMES, SAID, entry_of

MODELS = ["b", "a"]
#: Flows with norms, some with a minority of answers, one without valid answers.
LEVELS = [[2, 2, 2, -2], [None] * 4, *[[1, 1, 1, 0]] * 22]
FACTORS = ["subject", "sender", "information_type", "recipient", "transmission_principle"]
#: Options without which a kind cannot be made.
NEEDED = {"coefficients": {"table": "regression"}}
#: Options under which a kind has nothing to show: a selection of no flow, where it can select flows.
NOTHING: dict[str, dict[str, Any]] = {
    name: {"select": {"sender": ["nobody"]}}
    for name, kind in kinds("figures").items()
    # A profile shows something whatever was answered.
    if "select" in kind.options.model_fields and name != "profile"
} | {"coefficients": {"factors": ["nobody"]}}


def regression(models: list[str], estimate: float) -> Selected:
    rows = pd.DataFrame([(model, level) for model in models for level in "yz"], columns=["model", "level"])
    numbers = {"estimate": estimate, "conf_low": 0.5, "conf_high": 1.5, "n": 24, "status": "ok"}
    return Selected("", "regression", rows.assign(arm="main", term="sender", baseline="x", **numbers))


#: Labels that matplotlib would set as mathematics, or fail on.
HOSTILE = ["pays $5 or $6 x_1^2", "$\\frac{$ \\alpha_"]


def renamed(vignettes: pd.DataFrame, models: list[str]) -> pd.DataFrame:
    """Return the vignettes, the names of two models in the labels of every factor."""
    if models == MODELS:
        return vignettes
    return vignettes.assign(
        **{
            name: vignettes[name].cat.rename_categories(lambda level: f"{level} {models[0]}")
            for name in FACTORS
        }
    )


@pytest.fixture(scope="session")
def drawn(answers_of, norms_of, figure_entry, small_vignettes, small_prompts):
    """Return a function that draws a kind from whatever it is made from."""
    levels = pd.array(np.resize([-2, -1, 0, 1, 2], 24), dtype="Int8")
    planted = pd.DataFrame({"flow": np.arange(24, dtype=np.int32), "level": levels})

    def draw(
        name: str,
        models: list[str] = MODELS,
        levels: Any = LEVELS,
        estimate: float = 1.0,
        expected: float = 1.0,
        truth: pd.DataFrame | None = planted,
        **options: Any,
    ) -> Drawn:
        kind = kinds("figures")[name]
        further = {
            "vignettes": {"main": renamed(small_vignettes, models).assign(expected=expected)},
            "prompts": {"main": small_prompts},
            "planted": {} if truth is None else {("main", model): truth for model in models},
            "expected": None,
        }
        made: dict[str, Any] = {
            "answers": lambda: [answers_of(model, levels) for model in models],
            "norms": lambda: [norms_of(model, levels) for model in models],
            "table": lambda: [regression(models, estimate)],
        }
        entry = figure_entry(name, models, **NEEDED.get(name, {}), **options)
        return call(entry, made[kind.reads](), further)

    return draw


#: Most kinds are drawn with one model: where they are as high as they have models, they have the least room.
ONE = HOSTILE[:1]
#: Kinds that compare models, and that have no label of a single one.
SEVERAL = {"agreement", "calibration", "norms"}
TITLE = f"Of {HOSTILE[0]} {HOSTILE[1]}" + " a title of several lines" * 5


#: Per format, each thing that is drawn, the first panel before all, and its left, lower, right and upper end in inches.
Places = list[list[tuple[str, Any]]]


def save(shown: Drawn, folder: Path) -> tuple[Path, Places]:
    """Write a figure; return its drawing, and where all is in the PNG, the SVG and the PDF."""
    places: Places = []
    draw = Figure.draw

    def record(figure: Figure, renderer: Any) -> None:
        draw(figure, renderer)
        shapes = figure.findobj(lambda artist: artist.get_visible() and not artist.get_children())
        places.append(
            [(str(a), a.get_window_extent(renderer).extents / figure.dpi) for a in (figure.axes[0], *shapes)]
        )

    files = {kind: folder / f"figure.{kind}" for kind in ("pdf", "png", "svg", "caption")}
    with pytest.MonkeyPatch.context() as patch:
        # Another resolution than that of SVG and PDF, and low: the pixels are not looked at.
        patch.setattr(theme, "DPI", 144)
        patch.setattr(Figure, "draw", record)
        theme.save(shown, **files)
    return files["svg"], places[:3]


#: The figure on actions needs other answers: see below.
NAMES = [name for name in kinds("figures") if name != "say_do"]


@pytest.fixture(scope="session", params=NAMES)
def figure(request, drawn, tmp_path_factory) -> tuple[Kind, Drawn, Path, Places]:
    """Return a kind, its figure with hostile labels, and its drawing; each is drawn once."""
    shown = drawn(request.param, HOSTILE if request.param in SEVERAL else ONE, title=TITLE)
    return kinds("figures")[request.param], shown, *save(shown, tmp_path_factory.mktemp(request.param))


@pytest.mark.parametrize("name", NAMES)
def test_the_data_beside_a_figure_have_the_columns_declared(drawn, name):
    kind, shown = kinds("figures")[name], drawn(name)
    assert "Nothing to show" not in shown.caption
    table = data_of(shown, kind)
    declared = [*kind.columns, *ENDING]
    further = [column for column in table if column not in declared]
    assert further == (FACTORS if "<factor>" in declared else [])
    assert [column for column in table if column not in further] == [c for c in declared if c != "<factor>"]
    assert set(table["figure_status"]) == {"ok"}
    assert not table.duplicated(list(kind.key)).any(), "the key tells the rows apart"


def test_a_figure_calls_models_by_their_labels_and_its_data_by_their_names(norms_of, figure_entry):
    entry = replace(figure_entry("agreement", MODELS), labels={"a": "simulated A"})
    entry = ENTRIES.validate_python(ENTRIES.dump_python(entry), context=entry.labels)
    assert [model for _, model in entry.selected] == ["b", "simulated A"]
    shown = call(entry, [norms_of(model, LEVELS) for _, model in entry.selected], {})
    table = data_of(shown, kinds("figures")["agreement"], entry.labels)
    assert set(table["model_a"]) == set(table["model_b"]) == {"a", "b"}
    assert "simulated A" in shown.plot.labels.title + shown.caption


@pytest.mark.parametrize("name", NOTHING)
def test_a_figure_with_nothing_to_show_has_data_that_say_why(drawn, built, name):
    kind, empty = kinds("figures")[name], drawn(name, **NOTHING[name])
    table = data_of(empty, kind)
    named = [name for name in (*kind.columns, *ENDING) if not name.startswith("<")]
    assert list(table) == named
    assert table.iloc[0].fillna("").tolist() == [*[""] * (len(named) - 2), "empty", empty.nothing]
    assert empty.nothing
    assert f"Nothing to show: {empty.nothing}" in empty.caption
    built(empty.plot)


NONE, CONTROL = [[None] * 4] * 24, pd.DataFrame({"flow": range(24), "level": pd.array([pd.NA] * 24, "Int8")})


@pytest.mark.parametrize(
    ("name", "changes", "reason"),
    [
        ("agreement", {"models": ["a"]}, "agreement compares two models; only a is here"),
        ("agreement", {"levels": NONE}, "no two models hold a norm for the same flow"),
        ("calibration", {"truth": None}, "none of these models has planted norms"),
        ("calibration", {"truth": CONTROL}, "none of these models has planted norms"),
        ("coefficients", {"estimate": np.nan}, "no term of the table 'regression' has an estimate"),
        ("delta", {"expected": np.nan}, "no flow has both a norm and an expected value"),
        ("delta", {"levels": NONE, "by": "recipient"}, "no flow has both a norm and an expected value"),
        ("minority", {"levels": NONE}, "no flow with a norm has an answer outside it"),
        ("minority", {"levels": [[1, 1]] * 24}, "no flow with a norm has an answer outside it"),
        ("variance", {"levels": [[None, None, None, 1]] * 24}, "no flow has the two valid answers needed"),
    ],
)
def test_a_figure_says_why_it_has_nothing_to_show(drawn, name, changes, reason):
    assert reason in drawn(name, **changes).nothing


def test_the_heatmaps_data_have_the_factors_in_words_and_the_norm_of_each_flow(drawn, small_vignettes):
    table = data_of(drawn("norms"), kinds("figures")["norms"])
    assert len(table) == 24 * len(MODELS)
    first = table[table["model"] == MODELS[0]].reset_index(drop=True)
    pd.testing.assert_frame_equal(first[FACTORS], small_vignettes[FACTORS].astype("str"))
    assert first[["shown", "reason", "level"]].head(3).astype(object).fillna("").to_numpy().tolist() == [
        ["strongly acceptable", "", 2],
        ["no norm", "too few valid answers", ""],
        ["somewhat acceptable", "", 1],
    ]


def test_labels_are_drawn_as_they_are_written(figure):
    # Mathematics would be shapes or pieces.
    texts = ElementTree.parse(figure[2]).iter("{http://www.w3.org/2000/svg}text")
    shown = " ".join(" ".join("".join(text.itertext()) for text in texts).split())
    assert TITLE in shown
    # The labels of the drawing itself, beside those of its title.
    for label in HOSTILE if figure[0].name in SEVERAL else ONE:
        assert shown.count(label) > 1, shown


def assert_one_layout(places: Places) -> None:
    """Letters are fitted to the dots of a PNG, up to 3% wider than in print; what follows them moves as much."""
    png, *others = places
    assert len(png) > 10
    for other in others:
        for (name, here), (_, there) in zip(png, other, strict=True):
            if np.isfinite(here).all():
                letters = 0.1 + 0.03 * (here[2] - here[0])
                assert np.abs(here - there).max() < letters, (name, here, there)


def test_png_svg_and_pdf_have_one_layout(figure):
    assert_one_layout(figure[3])


def test_a_panel_has_room_below_a_title_of_several_lines(figure):
    _, (left, lower, right, upper) = figure[3][0][0]
    assert min(right - left, upper - lower) > 0.2


def actions(said_by: str, **options: Any) -> Drawn:
    prompts = dict.fromkeys(FRAMES, list_variants("set", ["text"], 1, 1))
    selected = [Selected("say", said_by, SAID), Selected("act", "m", DONE)]
    return draw_say_do(selected, entry_of("say_do", section="figures", **options), FRAMES, prompts)


@pytest.mark.parametrize("name", kinds("figures"))
def test_in_one_column_no_text_is_below_six_points_or_beyond_the_edge(drawn, tmp_path, name):
    options = {"width": "column", "title": TITLE}
    shown = (
        actions("m", **options) if name == "say_do" else drawn(name, ["model-with-a-name", "a"], **options)
    )
    assert shown.plot.theme.getp("figure_size")[0] == 3.33
    path, places = save(shown, tmp_path)
    drawing = path.read_text(encoding="utf-8")
    inches = float(re.search(r'<svg [^>]*width="([\d.]+)pt"', drawing)[1]) / 72
    sizes = [float(size) for size in re.findall(r"font-size: ([\d.]+)px", drawing)]
    assert len(sizes) > 5
    assert min(sizes) * 3.33 / inches >= 6
    for what, (left, _, right, _) in places[1]:
        if what.startswith("Text") and right > left:
            assert -0.02 < left < right < 3.35, what


def test_what_is_said_and_done_is_in_groups_of_flows_and_has_one_layout(tmp_path):
    shown = actions("m")
    assert set(kinds("figures")["say_do"].columns) == set(shown.data.columns)
    groups = shown.data[["flows", "shares", "accepted"]].to_numpy()
    assert groups == pytest.approx(np.array([[2, 0.5, 0], [1, 0, 0.25], [1, 0, 0.75], [1, 1, 1]]))
    assert np.isfinite(shown.data["low"]).all()
    assert_one_layout(save(shown, tmp_path)[1])
    assert shown.plot.labels.title == "m shares in up to 50% of its actions in flows called unacceptable"
    assert "Nothing to show: no flow has both" in actions("other").caption
