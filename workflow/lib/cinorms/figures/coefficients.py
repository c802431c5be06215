"""Kind ``coefficients``: the terms of an ordinal regression with their intervals, models side by side."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from pydantic import Field

from cinorms.analyses.columns import (
    ARM,
    BASELINE,
    CONF_HIGH,
    CONF_LOW,
    ESTIMATE,
    FACTOR,
    LEVEL,
    MODEL,
    STATUS,
)
from cinorms.core.labels import POOLED, model_labels
from cinorms.core.scales import spoken_of
from cinorms.core.schema import LeftOut
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Column, Kind
from cinorms.entries.options import Names, OfArms
from cinorms.figures.options import FigureOptions
from cinorms.figures.texts import height_of, widest, wrap
from cinorms.figures.theme import (
    GROUP_COLOURS,
    GROUP_MARKERS,
    INK,
    TEXT_SIZE,
    Drawn,
    base_theme,
    empty,
    finish,
)
from cinorms.vignettes.factors import nameable_factors

if TYPE_CHECKING:
    from cinorms.study.entry_place import EntryPlace

if TYPE_CHECKING:
    from plotnine import ggplot

#: Kinds of analyses whose table has terms.
TABLES = (
    "ordinal_regression",
    "response_regression",
    "calibration_coefficients",
    "linear_regression",
    "people_differences",
)
#: What an estimate is in a table with this column, which is not of a cumulative link model.
MEANINGS = {
    "people_estimate": "coefficient of the model less that of people, in steps of the answer scale",
    "sd_residual": "change of the mean answer from the baseline, in steps of the answer scale",
}
#: How a term without numbers is marked.
MARKS = {
    "separated": "separated: no finite value",
    "aliased": "aliased with other terms",
    "constant_factor": "one level only",
    "not_estimated": "not estimated",
}
#: Room for the labels of levels and for headings in inches; height of one model's line.
LABELS, HEADINGS, LINE_HEIGHT = 3.0, 5.4, 0.13


class CoefficientsOptions(FigureOptions, OfArms):
    """Options of the forest plot."""

    arms: Names = Field(description="Arms whose terms are shown.")
    models: LeftOut[Names] = Field(
        None, description="Models whose terms are shown; default: all models of the table."
    )
    first: LeftOut[int] = Field(
        None, ge=1, le=1000, description="Show at most this many models, the first ones."
    )
    table: str = Field(description=f"Name of an analysis of kind {', '.join(TABLES[:-1])} or {TABLES[-1]}.")
    factors: LeftOut[Names] = Field(None, description="Factors of the regression to show; default: all.")

    def check(self, place: EntryPlace) -> None:
        """Look up the analysis, and in it the arms, the models and the factors."""
        super().check(place)
        study = place.study
        analyses = study.settings.analyses
        fitting = [name for name, stated in analyses.items() if stated["kind"] in TABLES]
        if self.table not in fitting:
            raise place.unknown("table", self.table, fitting, "analysis with terms", hint=True)
        stated, analysis = analyses[self.table], f"of analysis {self.table!r}"
        place.check_names("arms", self.arms, stated["arms"], f"arm {analysis}")
        place.check_names(
            "models", self.models or (), stated.get("models", study.all_models()), f"model {analysis}"
        )
        usual = [name for arm in stated["arms"] for name in nameable_factors(study.factors_of(arm))]
        place.check_names("factors", self.factors or (), stated.get("factors", usual), f"factor {analysis}")


def draw(selected: Sequence[Selected], entry: Entry[CoefficientsOptions]) -> Drawn:
    """Return a forest plot of the table: a block per factor, a line per level, a mark per model."""
    from plotnine import (
        element_blank,
        guide_legend,
        guides,
        labs,
        scale_color_manual,
        scale_shape_manual,
        scale_y_continuous,
        theme,
    )

    frame = terms(selected[0].frame, entry)
    if frame.empty or not frame["estimate"].notna().any():
        return empty(entry, f"no term of the table '{entry.options.table}' has an estimate.")
    fits = list(frame["fit"].cat.categories)
    lines = _lines(frame)
    y = frame.merge(lines, on=["term", "level"])["y"].to_numpy()
    shift = (frame["fit"].cat.codes.to_numpy() - (len(fits) - 1) / 2) * LINE_HEIGHT
    levels = lines[lines["level"] != ""]
    across = max(1, int(HEADINGS / (widest(fits, TEXT_SIZE) + 0.4)))
    plot = (
        _marks(frame.assign(y=y - shift), lines[lines["level"] == ""])
        + scale_color_manual(values=dict(zip(fits, cycle(GROUP_COLOURS), strict=False)), limits=fits)
        + scale_shape_manual(values=dict(zip(fits, cycle(GROUP_MARKERS), strict=False)), limits=fits)
        + scale_y_continuous(
            breaks=list(levels["y"]),
            labels=list(levels["label"]),
            minor_breaks=[],
            expand=(0, 0),
            limits=(lines["y"].min() - LINE_HEIGHT * len(fits) / 2 - 0.15, 0.1),
        )
        + guides(color=guide_legend(ncol=across), shape=guide_legend(ncol=across))
        + labs(
            x=_meaning(selected[0].frame)
            or "coefficient (change of the latent answer from the baseline; above 0: "
            f"{spoken_of(entry.scales.values()).more})",
            y="",
        )
        + base_theme()
        + theme(legend_position="top" if len(fits) > 1 else "none", panel_grid_minor=element_blank())
    )
    size = (6.3 + widest(levels["label"], TEXT_SIZE), 1.8 + 0.2 * -(-len(fits) // across) - lines["y"].min())
    data = frame.drop(columns="fit").rename(columns={"term": "factor"})
    return finish(plot, entry, data, size, _counted(frame), *_more(frame, entry, _meaning(selected[0].frame)))


def _marks(frame: pd.DataFrame, headings: pd.DataFrame) -> ggplot:
    """Return estimates with intervals, planted coefficients, and words where a term has no estimate."""
    from plotnine import aes, geom_point, geom_segment, geom_text, geom_vline, ggplot, scale_x_continuous

    some, none = frame[frame["estimate"].notna()], frame[frame["estimate"].isna()]
    numbers = frame[["estimate", "conf_low", "conf_high", "planted"]].to_numpy()
    low, high = min(0.0, float(np.nanmin(numbers))), max(0.0, float(np.nanmax(numbers)))
    span = high - low or 1.0
    words = none.assign(x=high + 0.03 * span, label="× " + none["status"].map(MARKS).fillna(none["status"]))
    left, right = low - 0.04 * span, high + (0.35 if len(words) else 0.04) * span
    heads = headings.assign(x=left)
    plot = (
        ggplot(some, aes(color="fit"))
        + geom_vline(xintercept=0, color=INK, size=0.5)
        + geom_segment(aes(x="conf_low", xend="conf_high", y="y", yend="y"), some[some["conf_low"].notna()])
        + geom_point(aes(x="estimate", y="y", shape="fit"), size=2.1)
        + geom_text(
            aes("x", "y", label="title"), heads, ha="left", size=TEXT_SIZE, fontweight="bold", color=INK
        )
        + scale_x_continuous(limits=(left, right), expand=(0, 0))
    )
    if len(words):
        text = {"size": TEXT_SIZE - 2.5, "ha": "left", "show_legend": False}
        plot += geom_text(aes("x", "y", label="label", color="fit"), words, **text)
    planted = frame[frame["planted"].notna()]
    if len(planted):
        plot += geom_point(aes(x="planted", y="y"), planted, shape="|", size=3, color=INK)
    return plot


def terms(table: pd.DataFrame, entry: Entry[CoefficientsOptions]) -> pd.DataFrame:
    """Return the rows of the regression's table that are shown, in its order.

    Thresholds are left out, and of a table with both the terms fitted to planted norms.
    """
    frame = table.rename(columns={"factor": "term"})
    frame = frame[frame["term"].notna() & (frame["term"] != "threshold") & frame["level"].notna()]
    if "source" in frame:
        frame = frame[frame["source"] == "recovered"]
    frame = frame[frame["arm"].isin([*entry.arms, POOLED])]
    frame = frame[frame["model"].isin([*(model for _, model in entry.selected), POOLED])]
    if entry.options.factors:
        frame = frame[frame["term"].isin(entry.options.factors)]
    fits = model_labels(zip(frame["arm"], frame["model"], strict=True))
    known = [
        "arm",
        "model",
        "term",
        "level",
        "baseline",
        "estimate",
        "conf_low",
        "conf_high",
        "planted",
        "n",
        "status",
    ]
    frame = frame.reindex(columns=known).assign(
        fit=pd.Categorical(fits, categories=list(dict.fromkeys(fits)))
    )
    numbers = dict.fromkeys(("estimate", "conf_low", "conf_high", "planted"), "float64")
    return frame.astype(numbers).reset_index(drop=True)


def _lines(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a line for each factor (level "") and for each of its levels.

    Columns: term, level, title (of a factor), label (of a level), y: the middle of the line, in inches from
    the top, negative.
    """
    rows: list[dict[str, Any]] = []
    for term, part in frame.groupby("term", sort=False):
        baseline = " / ".join(dict.fromkeys(part["baseline"].dropna().astype(str)))
        title = wrap(f"{str(term).replace('_', ' ')} (baseline: {baseline})", HEADINGS, TEXT_SIZE, bold=True)
        rows.append({"term": term, "level": "", "title": title, "label": ""})
        rows += [
            {"term": term, "level": level, "title": "", "label": wrap(str(level), LABELS, TEXT_SIZE)}
            for level in dict.fromkeys(part["level"])
        ]
    least = LINE_HEIGHT * (len(frame["fit"].cat.categories) + 0.6)
    heights = np.array(
        [
            max(height_of(row["label"] + row["title"], TEXT_SIZE) + 0.08, 0 if row["title"] else least)
            for row in rows
        ]
    )
    return pd.DataFrame(rows).assign(y=heights / 2 - np.cumsum(heights))


def _counted(frame: pd.DataFrame) -> str:
    n = frame.groupby("fit", observed=True)["n"].max().dropna().astype(int)
    each = ", ".join(f"{fit} {count:,}" for fit, count in n.items())
    terms_each = (
        f"{len(frame.drop_duplicates(['term', 'level']))} terms per regression. Lines: 95% intervals."
    )
    return f"n = norms or answers fitted: {each}; {terms_each}" if each else f"n = {terms_each}"


def _meaning(table: pd.DataFrame) -> str:
    """Return what an estimate of the table is; nothing for a cumulative link model."""
    return next((text for column, text in MEANINGS.items() if column in table), "")


def _more(frame: pd.DataFrame, entry: Entry[CoefficientsOptions], meaning: str) -> list[str]:
    counts = frame.loc[frame["status"] != "ok", "status"].value_counts()
    without = ", ".join(f"{n} {MARKS.get(str(s), str(s))}" for s, n in counts.items())
    planted = "Vertical mark: the planted coefficient." if frame["planted"].notna().any() else ""
    return [
        f"Terms of table '{entry.options.table}': {meaning}."
        if meaning
        else f"Terms of table '{entry.options.table}', on the scale of the link function (logits for a logit link).",
        f"Terms with a problem: {without}." if without else "Every term has a finite estimate.",
        planted,
    ]


KINDS = (
    Kind(
        name="coefficients",
        about="Terms of an ordinal regression with their intervals, models side by side.",
        options=CoefficientsOptions,
        function=draw,
        reads="table",
        report_section="factors",
        key=("arm", "model", "factor", "level"),
        columns=(
            ARM._replace(about="Name of the arm, or pooled for a regression of several."),
            MODEL._replace(about="Name of the model, or pooled for a regression of several."),
            FACTOR,
            LEVEL,
            BASELINE,
            ESTIMATE,
            CONF_LOW,
            CONF_HIGH,
            Column("planted", "The planted coefficient; missing where the table has none."),
            Column("n", "Norms or answers in the fit."),
            STATUS,
        ),
    ),
)
