"""Kind ``sensitivity``: share of flows that keep a norm as thresholds rise (PETS table 2 as a picture)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
from pydantic import Field

from cinorms.analyses.columns import T_MAJ, T_VAL, WHO
from cinorms.analyses.shared import chosen_each
from cinorms.core.labels import model_labels
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Column, Kind
from cinorms.entries.options import Names, OfFlows
from cinorms.figures.options import FigureOptions
from cinorms.figures.texts import wrap
from cinorms.figures.theme import (
    GROUP_COLOURS,
    GROUP_MARKERS,
    TEXT_SIZE,
    Drawn,
    base_theme,
    empty,
    finish,
    selection_text,
)
from cinorms.stats import survivorship

#: Width and height of a model's panel in inches.
PANEL = (2.25, 1.9)


class SensitivityOptions(FigureOptions, OfFlows):
    """Options of the lines."""

    arms: Names = Field(description="Arms whose norms are counted; each has one panel per model.")


def draw(
    selected: Sequence[Selected], entry: Entry[SensitivityOptions], vignettes: Mapping[str, pd.DataFrame]
) -> Drawn:
    """Return a panel per model: share of flows kept over t_maj, a line for each t_val."""
    from plotnine import (
        aes,
        element_text,
        facet_wrap,
        geom_line,
        geom_point,
        ggplot,
        labs,
        scale_color_manual,
        scale_shape_manual,
        scale_x_discrete,
        scale_y_continuous,
        theme,
    )

    frame = kept_shares(chosen_each(selected, entry, vignettes), entry)
    if frame.empty:
        return empty(entry, "no flow was asked.")
    lines = list(frame["line"].cat.categories)
    across = min(4, frame["panel"].nunique())
    down = -(-frame["panel"].nunique() // across)
    names = [wrap(panel, PANEL[0] - 0.2, TEXT_SIZE, bold=True) for panel in frame["panel"].cat.categories]
    frame = frame.assign(panel=frame["panel"].cat.rename_categories(names))
    plot = (
        ggplot(frame, aes("majority", "share", color="line", shape="line", group="line"))
        + geom_line(size=0.8)
        + geom_point(size=2.2)
        + facet_wrap("panel", ncol=across)
        + scale_color_manual(values=dict(zip(lines, GROUP_COLOURS, strict=False)), limits=lines)
        + scale_shape_manual(values=dict(zip(lines, GROUP_MARKERS, strict=False)), limits=lines)
        + scale_x_discrete(limits=list(frame["majority"].cat.categories))
        + scale_y_continuous(limits=(0, 1), labels=lambda shares: [f"{share:.0%}" for share in shares])
        + labs(x="share of the valid answers that must agree (t_maj)", y="flows that keep a norm")
        + base_theme()
        + theme(axis_text_x=element_text(rotation=45, ha="right"), panel_spacing=0.03)
    )
    flows = frame["flows"]
    each = f"{flows.min():,}" if flows.min() == flows.max() else f"{flows.min():,} to {flows.max():,}"
    size = (max(5.0, across * PANEL[0] + 0.9), down * (PANEL[1] + 0.25) + 1.7)
    return finish(
        plot,
        entry,
        frame[["arm", "model", "t_val", "t_maj", "flows", "kept", "share"]],
        size,
        f"n = {each} flows per model. Lines: valid answers that a flow needs (t_val).",
        "A t_val above a model's number of variants is left out. Nothing else is filtered.",
        _extremes(frame),
        selection_text(entry),
    )


def kept_shares(selected: Sequence[Selected], entry: Entry[SensitivityOptions]) -> pd.DataFrame:
    """Return one row per model, t_val and t_maj with the flows kept."""
    parts = []
    for name, one in zip(model_labels((one.arm, one.model) for one in selected), selected, strict=True):
        if one.frame.empty:
            continue
        asked = int(one.frame["n_asked"].max())
        table = survivorship.discarded(one.frame, [under for under in entry.grid if under.t_val <= asked])
        parts.append(table.assign(panel=name, arm=one.arm, model=one.model))
    if not parts:
        return pd.DataFrame()
    frame = pd.concat(parts, ignore_index=True)
    t_majs = dict.fromkeys(under.t_maj for under in entry.grid)
    majorities = {str(t): t if t == "plurality" else f"{t:.0%}" for t in t_majs}
    lines = {t: f"at least {t}" for t in sorted(set(frame["t_val"]))}
    return pd.DataFrame(
        {
            **{name: frame[name] for name in ("arm", "model", "t_val")},
            "t_maj": frame["t_maj"].astype(str),
            "panel": pd.Categorical(frame["panel"], categories=list(dict.fromkeys(frame["panel"]))),
            "line": pd.Categorical(frame["t_val"].map(lines), categories=list(lines.values()), ordered=True),
            "majority": pd.Categorical(
                frame["t_maj"].map(majorities), categories=list(majorities.values()), ordered=True
            ),
            "flows": frame["flows"],
            "kept": frame["kept"],
            "share": frame["kept"] / frame["flows"],
        }
    )


def _extremes(frame: pd.DataFrame) -> str:
    least = frame.iloc[int(frame["share"].to_numpy().argmin())]
    model = str(least["panel"]).replace("\n", "")
    return (
        f"{model} keeps the fewest flows, with {least['line']} valid answers and {least['majority']}: "
        f"{least['kept']:,} of {least['flows']:,}."
    )


KINDS = (
    Kind(
        name="sensitivity",
        about="Share of flows that keep a norm as T_maj and T_val rise, per model.",
        options=SensitivityOptions,
        function=draw,
        reads="norms",
        also=("vignettes",),
        decided="pilot",
        report_section="sensitivity",
        key=("arm", "model", "t_val", "t_maj"),
        columns=(
            *WHO,
            T_VAL,
            T_MAJ,
            Column("flows", "Flows that were asked."),
            Column("kept", "Flows that keep a norm."),
            Column("share", "kept / flows."),
        ),
    ),
)
