"""Kind ``coefficients``: the terms of an ordinal regression with their intervals, models side by side."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from pydantic import Field

from cinorms.analyses.columns import usual
from cinorms.core.labels import POOLED, model_labels
from cinorms.core.scales import spoken_of
from cinorms.core.schema import NotRequired
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Kind
from cinorms.entries.options import Models, Names, OfArms
from cinorms.entries.place import EntryLocation
from cinorms.figures import theme
from cinorms.figures.colours import group_looks
from cinorms.figures.theme import NOTE_SIZE, TEXT_SIZE, WORDS, FigureOptions, p9
from cinorms.vignettes.factors import nameable_factors

#: The kinds of tables with terms.
REGRESSIONS = ("answer_regression", "ordinal_regression")
#: How a term without numbers is marked.
MARKS = {
    "separated": "separated: no finite value",
    "aliased": "aliased with other terms",
    "constant_factor": "one level only",
    "not_estimated": "not estimated",
}
#: Most and least width of the labels of levels in inches, of the panel next to them, and height of one model's line.
LABELS, PANEL, LINE_HEIGHT = (2.6, 1.35), (5.4, 1.8), 0.12


#: A heading covers the lines behind it.
HEADING = {"fontweight": "bold", "color": WORDS, "fill": "white", "label_size": 0, "label_padding": 0.1}


class CoefficientsOptions(FigureOptions, OfArms):
    """Options of the forest plot."""

    arms: Names = Field(description="Arms whose terms are shown.")
    models: NotRequired[Models] = None
    """Models whose terms are shown; default: all models of the table."""
    first: NotRequired[int] = Field(None, ge=1, le=1000)
    """Show at most this many models, the first ones."""
    table: str = Field(description="Name of an analysis of kind answer_regression or ordinal_regression.")
    factors: NotRequired[Names] = Field(None, description="Factors of the regression to show; default: all.")

    def check_options(self, place: EntryLocation) -> None:
        """Look up the analysis, and in it the arms, the models and the factors."""
        super().check_options(place)
        study = place.study
        analyses = study.entries["analyses"]
        fitting = [name for name, options in analyses.items() if options.kind in REGRESSIONS]
        if self.table not in fitting:
            raise place.unknown("table", self.table, fitting, "regression of this study")
        fit, analysis = analyses[self.table], f"of analysis {self.table!r}"
        place.check_names("arms", self.arms, fit.arms, f"arm {analysis}")
        fitted = fit.models or study.all_models()
        place.check_names("models", self.models or (), fitted, f"model {analysis}")
        usual = [name for arm in fit.arms for name in nameable_factors(study.factors_of(arm))]
        place.check_names("factors", self.factors or (), fit.factors or usual, f"factor {analysis}")


def draw(selected: Sequence[Selected], entry: Entry[CoefficientsOptions]) -> theme.Drawn:
    """Return a forest plot of the table: a block per factor, a line per level, a mark per model."""
    table = selected[0].frame
    frame = terms(table, entry)
    if frame.empty or not frame["estimate"].notna().any():
        return theme.empty(entry, f"no term of the table '{entry.options.table}' has an estimate.")
    fits = list(frame["fit"].cat.categories)
    width, labels = _widths(frame, entry)
    lines = _lines(frame, labels, width - labels - 0.4)
    y = frame.merge(lines, on=["term", "level"])["y"].to_numpy()
    shift = (frame["fit"].cat.codes.to_numpy() - (len(fits) - 1) / 2) * LINE_HEIGHT
    levels = lines[lines["level"] != ""]
    across = theme.key_columns(fits, width - labels, len(fits))
    keys = -(-len(fits) // across)
    colours, marks = group_looks(fits)
    more = spoken_of(entry.scales.values()).more
    scale = f"log-odds of a higher answer, against the baseline (above 0: {more})"
    plot = (
        _marks(frame.assign(y=y - shift), lines[lines["level"] == ""], width - labels - 0.4)
        + p9.scale_color_manual(values=colours, limits=fits)
        + p9.scale_fill_manual(values=colours, limits=fits)
        + p9.scale_shape_manual(values=marks, limits=fits)
        + p9.scale_y_continuous(
            breaks=list(levels["y"]),
            labels=list(levels["label"]),
            minor_breaks=[],
            expand=(0, 0),
            limits=(lines["y"].min() - LINE_HEIGHT * len(fits) / 2 - 0.15, 0.1),
        )
        + p9.guides(**{look: p9.guide_legend(ncol=across) for look in ("color", "fill", "shape")})
        + p9.labs(x=scale, y="")
        + theme.base_theme()
        + p9.theme(legend_position="top" if len(fits) > 1 else "none", panel_grid_minor=p9.element_blank())
    )
    n = frame.groupby("fit", observed=True)["n"].max().dropna().astype(int)
    fitted = ", ".join(f"{fit} {count:,}" for fit, count in n.items())
    shown = len(frame.drop_duplicates(["term", "level"]))
    failed = frame.loc[frame["status"] != "ok", "status"].value_counts()
    without = ", ".join(f"{count} {MARKS.get(str(status), str(status))}" for status, count in failed.items())
    top = frame.sort_values("estimate", key=abs, na_position="first").iloc[-1]
    return theme.finish(
        plot,
        entry,
        frame.drop(columns="fit").rename(columns={"term": "factor"}),
        (width, 0.8 + 0.2 * keys - lines["y"].min()),
        f"‘{top['level']}’ {'raises' if top['estimate'] > 0 else 'lowers'} the answers of {top['fit']} most "
        f"(log-odds {top['estimate']:+.1f})",
        f"n = {f'norms or answers fitted: {fitted}; ' if fitted else ''}{shown} terms per regression. "
        "Lines: 95% intervals. Hollow: the interval includes 0.",
        f"Terms of table '{entry.options.table}': log-odds of a higher answer, against the baseline.",
        f"Terms with a problem: {without}." if without else "Every term has a finite estimate.",
    )


def _widths(frame: pd.DataFrame, entry: Entry[CoefficientsOptions]) -> tuple[float, float]:
    """Return the width of the figure and of its labels: with less room, they have more lines."""
    wide, narrow = (
        theme.widest((theme.wrap(level, inches, TEXT_SIZE) for level in frame["level"].unique()), TEXT_SIZE)
        for inches in LABELS
    )
    width = theme.room(entry, PANEL[0] + wide, PANEL[1] + narrow)
    return width, min(wide, max(narrow, 0.35 * width))


def _marks(frame: pd.DataFrame, headings: pd.DataFrame, inches: float) -> "p9.ggplot":
    """Return estimates with intervals, and words where a term has no estimate."""
    some, none = frame[frame["estimate"].notna()], frame[frame["estimate"].isna()]
    numbers = frame[["estimate", "conf_low", "conf_high"]].to_numpy()
    low, high = min(0.0, float(np.nanmin(numbers))), max(0.0, float(np.nanmax(numbers)))
    span = high - low or 1.0
    why = ("× " + none["status"].map(MARKS).fillna(none["status"])).astype(str)
    words = none.assign(
        x=high + 0.03 * span, label=[theme.wrap(text, max(1.0, 0.3 * inches), NOTE_SIZE) for text in why]
    )
    # The words are as wide as they are, whatever the panel's inches.
    free = min(0.6, theme.widest(words["label"], NOTE_SIZE) / inches)
    left, right = low - 0.04 * span, high + 0.04 * span + 1.1 * span * free / (1 - free)
    heads, text = headings.assign(x=left), {"size": TEXT_SIZE, "ha": "left"}
    known = some[some["conf_low"].notna()]
    decided = some[~((some["conf_low"] <= 0) & (some["conf_high"] >= 0))]
    plot = (
        p9.ggplot(some, p9.aes(color="fit"))
        + p9.geom_vline(xintercept=0, color=theme.LINES, size=0.5)
        + p9.geom_segment(p9.aes(x="conf_low", xend="conf_high", y="y", yend="y"), known)
        # Hollow: the interval does not tell which side of 0 it is on.
        + p9.geom_point(p9.aes(x="estimate", y="y", shape="fit"), size=1.9, fill="white", stroke=0.6)
        + p9.geom_point(p9.aes(x="estimate", y="y", shape="fit", fill="fit"), decided, size=1.9)
        + p9.geom_label(p9.aes("x", "y", label="title"), heads, **text, **HEADING)
        + p9.scale_x_continuous(limits=(left, right), expand=(0, 0))
    )
    if len(words):
        text |= {"size": NOTE_SIZE, "show_legend": False}
        plot += p9.geom_text(p9.aes("x", "y", label="label", color="fit"), words, **text)
    return plot


def terms(table: pd.DataFrame, entry: Entry[CoefficientsOptions]) -> pd.DataFrame:
    """Return the rows of the regression's table that are shown, in its order; thresholds are left out."""
    frame = table[table["term"].notna() & (table["term"] != "threshold") & table["level"].notna()]
    frame = frame[frame["arm"].isin([*entry.arms, POOLED])]
    frame = frame[frame["model"].isin([*(model for _, model in entry.selected), POOLED])]
    if entry.options.factors:
        frame = frame[frame["term"].isin(entry.options.factors)]
    fits = model_labels(zip(frame["arm"], frame["model"], strict=True))
    numbers = ["estimate", "conf_low", "conf_high"]
    frame = frame.reindex(columns=["arm", "model", "term", "level", "baseline", *numbers, "n", "status"])
    frame = frame.astype(dict.fromkeys(numbers, "float64")).assign(fit=theme.in_order(fits))
    return frame.reset_index(drop=True)


def _lines(frame: pd.DataFrame, labels: float, inches: float) -> pd.DataFrame:
    """Return a line for each factor (level "") and for each of its levels.

    Columns: term, level, title (of a factor), label (of a level), y: the middle of the line, in inches from
    the top, negative.
    """
    rows: list[tuple[Any, ...]] = []
    for term, part in frame.groupby("term", sort=False):
        baseline = " / ".join(dict.fromkeys(part["baseline"].dropna().astype(str)))
        title = f"{str(term).replace('_', ' ')} (baseline: {baseline})"
        rows.append((term, "", theme.wrap(title, inches - 0.3, TEXT_SIZE, bold=True), ""))
        levels = dict.fromkeys(part["level"])
        rows += [(term, level, "", theme.wrap(str(level), labels, TEXT_SIZE)) for level in levels]
    # A level's line has room for a mark of each model.
    least = LINE_HEIGHT * (len(frame["fit"].cat.categories) + 0.6)
    lines = pd.DataFrame(rows, columns=["term", "level", "title", "label"])
    texts = (lines["label"] + lines["title"]).map(lambda text: theme.height_of(text, TEXT_SIZE) + 0.08)
    heights = np.maximum(texts, np.where(lines["title"] == "", least, 0))
    return lines.assign(y=heights / 2 - np.cumsum(heights))


KINDS = (
    Kind(
        name="coefficients",
        about="Terms of an ordinal regression with their intervals, models side by side.",
        function=draw,
        reads="table",
        report_section="factors",
        key=("arm", "model", "factor", "level"),
        columns={
            "arm": "Name of the arm, or pooled for a regression of several.",
            "model": "Name of the model, or pooled for a regression of several.",
            **usual("factor", "level", "baseline", "estimate", "conf_low", "conf_high"),
            "n": "Norms or answers in the fit.",
            **usual("status"),
        },
    ),
)
