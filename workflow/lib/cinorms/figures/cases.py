"""Kind ``cases``: PETS Figure 1 from data, each flow by its bias and by the spread of its answers."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
from pydantic import Field

from cinorms.analyses.columns import WHO
from cinorms.analyses.deltas import CasesOptions, cases_of_flows
from cinorms.analyses.shared import Frames
from cinorms.core.scales import spoken_of
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Kind
from cinorms.entries.options import Names
from cinorms.figures import theme
from cinorms.figures.colours import INK, group_looks
from cinorms.figures.theme import FigureOptions, p9

#: Width and height of a model's panel in inches, and its least width.
PANEL, LEAST_PANEL = (2.35, 1.9), 1.9
#: The cases with an expected value.
CASES = {
    "A": "A: consistent, near the expected value",
    "B": "B: no spread, far from it",
    "C": "C: little spread, far from it",
    "D": "D: much spread, inconclusive",
}


class CasesFigureOptions(FigureOptions, CasesOptions):
    """Options of the points."""

    arms: Names = Field(description="Arms whose flows are shown; each has one panel per model.")


def draw(
    selected: Sequence[Selected], entry: Entry[CasesFigureOptions], vignettes: Frames, expected: Path | None
) -> theme.Drawn:
    """Return a panel per model: bias of each flow across, spread of its answers upwards."""
    found = cases_of_flows(selected, entry, vignettes=vignettes, expected=expected)
    frame = found[found["case"].isin(CASES) & found["bias"].notna()]
    if frame.empty:
        return theme.empty(entry, "no flow has both a mean answer and an expected value.")
    labels = {one.pair: name for name, one in theme.by_label(selected).items()}
    pairs = list(zip(frame["arm"], frame["model"], strict=True))
    shares = frame.groupby(["arm", "model"])["case"].value_counts(normalize=True)
    titles = {}
    for pair in dict.fromkeys(pairs):
        a, b, c, d = (f"{case} {shares.get((*pair, case), 0):.0%}" for case in CASES)
        titles[pair] = f"{labels[pair]}\n{a}  {b}\n{c}  {d}"
    ordered = theme.in_order([titles[pair] for pair in pairs], titles.values())
    names = pd.Series(ordered, index=frame.index)
    width, panel, across, down = theme.panels(names, entry, PANEL[0], LEAST_PANEL)
    options, legend = entry.options, list(CASES.values())
    colours, shapes = group_looks(legend, entry)
    keys = theme.key_columns(legend, width - 0.6, 2)
    plot = (
        p9.ggplot(frame.assign(panel=panel, case=frame["case"].map(CASES)), p9.aes("bias", "spread"))
        + p9.geom_hline(yintercept=options.little, color=INK, size=0.4, linetype="dashed")
        + p9.geom_vline(xintercept=[-options.near, options.near], color=INK, size=0.4, linetype="dotted")
        + p9.geom_point(p9.aes(color="case", shape="case"), size=1.6, alpha=0.75, stroke=0.4)
        + p9.facet_wrap("panel", ncol=across)
        + p9.scale_color_manual(values=colours, limits=legend)
        + p9.scale_shape_manual(values=shapes, limits=legend)
        + p9.guides(color=p9.guide_legend(ncol=keys), shape=p9.guide_legend(ncol=keys))
        + p9.labs(
            x=f"bias: mean answer less expected value (levels; right: {spoken_of(entry.scales.values()).more})",
            y="spread: standard deviation of the answers (levels)",
        )
        + theme.base_theme()
        + p9.theme(panel_spacing=0.03)
    )
    flows = frame.groupby(["arm", "model"]).size()
    return theme.finish(
        plot,
        entry,
        frame[["arm", "model", "flow", "bias", "spread", "case"]],
        (width, down * (PANEL[1] + 0.4) + 1.9),
        f"n = {theme.span(flows)} flows per model. Dashed: a spread of {options.little:g} levels; dotted: "
        f"{options.near:g} levels from the expected value. These limits are this project's choice: the paper has none.",
        f"Left out: flows without an expected value or with fewer than {max(2, options.t_val)} valid answers "
        f"({len(found) - len(frame):,}).",
    )


KINDS = (
    Kind(
        name="cases",
        about="Each flow by bias and spread, and the share of flows in the cases A to D of PETS Figure 1.",
        function=draw,
        reads="norms",
        decided="pilot",
        report_section="delta",
        key=("arm", "model", "flow"),
        columns={
            **WHO,
            "flow": "Number of the flow in its dataset.",
            "bias": "Mean of the valid answers less the expected value, in levels.",
            "spread": "Standard deviation of the valid answers, in levels.",
            "case": "A, B, C or D, as the kind cases of analyses has them.",
        },
    ),
)
