"""Kind ``sensitivity``: share of flows that keep a norm as thresholds rise (PETS table 2 as a picture)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from pydantic import Field

from cinorms.analyses.columns import usual
from cinorms.core.labels import share
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Kind
from cinorms.entries.options import Names, OfFlows
from cinorms.figures import theme
from cinorms.figures.colours import group_looks
from cinorms.figures.theme import FigureOptions, p9
from cinorms.norms.thresholds import majority
from cinorms.stats import survivorship

#: Width and height of a model's panel in inches, and its least width.
PANEL, LEAST_PANEL = (2.0, 1.7), 1.35
#: What the horizontal axis has.
AGREE = "share of the valid answers that must agree (t_maj)"
#: Widths of the first line and of the last: where several are the same, each is seen round the next.
LINES = (2.8, 0.7)


class SensitivityOptions(FigureOptions, OfFlows):
    """Options of the lines."""

    arms: Names = Field(description="Arms whose norms are counted; each has one panel per model.")


def draw(selected: Sequence[Selected], entry: Entry[SensitivityOptions]) -> theme.Drawn:
    """Return a panel per model: share of flows kept over t_maj, a line for each t_val."""
    frame = kept_shares(selected, entry)
    if frame.empty:
        return theme.empty(entry, "no flow was asked.")
    lines = list(frame["line"].cat.categories)
    n_panels = frame["panel"].nunique()
    width, _, down, panels = theme.panel_grid(n_panels, entry, PANEL[0], LEAST_PANEL, 0.6)
    colours, marks = group_looks(lines)
    size = p9.stage(start="line", after_scale="size * 1.5 + 1")
    # A layer for each line: of one layer, plotnine draws the points marker by marker.
    points: list[Any] = [p9.geom_point(p9.aes(size=size), frame[frame["line"] == line]) for line in lines]
    plot = (
        p9.ggplot(frame, p9.aes("majority", "share", color="line", shape="line", group="line"))
        + p9.geom_line(p9.aes(size="line"))
        + panels
        + p9.scale_color_manual(values=colours, limits=lines)
        + p9.scale_shape_manual(values=marks, limits=lines)
        + p9.scale_size_manual(values=list(np.linspace(*LINES, len(lines))), limits=lines)
        + p9.scale_x_discrete(limits=list(frame["majority"].cat.categories))
        + p9.scale_y_continuous(limits=(0, 1), labels=theme.percents)
        + p9.labs(x=AGREE, y="flows that keep a norm")
        + theme.base_theme()
        + p9.theme(axis_text_x=p9.element_text(rotation=45, ha="right"), panel_spacing=0.03)
    )
    plot += points
    least = frame.iloc[int(frame["share"].to_numpy().argmin())]
    return theme.finish(
        plot,
        entry,
        frame[["arm", "model", "t_val", "t_maj", "flows", "kept", "share"]],
        (width, down * (PANEL[1] + 0.25) + 1.0),
        f"{least['panel']} keeps the fewest norms: {share(least['kept'], least['flows'])} of its flows "
        "under the strictest thresholds",
        f"n = {theme.span(frame['flows'])} flows per model. Lines: valid answers that a flow needs (t_val). "
        "Where a wide line surrounds a thin one, both are equal.",
        "A t_val above a model's number of variants is left out. Nothing else is filtered.",
        f"{least['panel']} keeps the fewest flows, with {least['line']} valid answers and {least['majority']}: "
        f"{least['kept']:,} of {least['flows']:,}.",
    )


def kept_shares(selected: Sequence[Selected], entry: Entry[SensitivityOptions]) -> pd.DataFrame:
    """Return one row per model, t_val and t_maj with the flows kept."""
    parts = []
    for name, (arm, model, norms) in theme.by_label(selected).items():
        if norms.empty:
            continue
        asked = int(norms["n_asked"].max())
        table = survivorship.discarded(norms, [under for under in entry.grid if under.t_val <= asked])
        parts.append(table.assign(panel=name, arm=arm, model=model))
    if not parts:
        return pd.DataFrame()
    frame = pd.concat(parts, ignore_index=True)
    t_majs = dict.fromkeys(under.t_maj for under in entry.grid)
    majorities = {str(t): majority(t) for t in t_majs}
    lines = {t: f"at least {t}" for t in sorted(set(frame["t_val"]))}
    return frame.assign(
        panel=theme.in_order(frame["panel"]),
        line=theme.in_order(frame["t_val"].map(lines), lines.values()),
        majority=theme.in_order(frame["t_maj"].map(majorities), majorities.values()),
        share=frame["kept"] / frame["flows"],
    )


KINDS = (
    Kind(
        name="sensitivity",
        about="Share of flows that keep a norm as T_maj and T_val rise, per model.",
        function=draw,
        reads="norms",
        report_section="sensitivity",
        key=("arm", "model", "t_val", "t_maj"),
        columns={
            **usual("arm", "model", "t_val", "t_maj"),
            "flows": "Flows that were asked.",
            "kept": "Flows that keep a norm.",
            "share": "kept / flows.",
        },
    ),
)
