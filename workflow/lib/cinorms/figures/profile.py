"""Kind ``profile``: how a model responds (valid answers, first option, dependence on the flow)."""

from collections.abc import Sequence

import pandas as pd

from cinorms.analyses.columns import WHO
from cinorms.analyses.quality import DependenceOptions, flow_dependence
from cinorms.analyses.shared import Frames
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Kind
from cinorms.entries.options import OfNorms
from cinorms.figures import theme
from cinorms.figures.colours import SHARES
from cinorms.figures.theme import NOTE_SIZE, TEXT_SIZE, FigureOptions, p9
from cinorms.norms.assessment import assess, held
from cinorms.stats import reliability
from cinorms.stats.flow_dependence import DEPENDS

#: The panels: how each is called, and what its stroke is.
PANELS = {
    "valid": "valid answers",
    "first": "takes the option shown first",
    "norms": "flows with a norm",
    "share": "variance of answers that goes with the flow",
}


class ProfileOptions(FigureOptions, DependenceOptions, OfNorms):
    """Options of the profile."""


def draw(selected: Sequence[Selected], entry: Entry[ProfileOptions], prompts: Frames) -> theme.Drawn:
    """Return bars per model in four panels, and strokes where a model would be that does not read the flow."""
    table = flow_dependence(selected, entry, prompts=prompts)
    frame = measures(table, selected, entry)
    data = frame[["arm", "model", "panel", "value", "reference"]].rename(columns={"panel": "measure"})
    data["measure"] = data["measure"].map(PANELS)
    order = list(dict.fromkeys(frame["who"]))
    frame["who"] = theme.in_order(frame["who"], order[::-1])
    frame["panel"] = theme.in_order(frame["panel"].map(PANELS), PANELS.values())
    # One colour for all bars: no panel compares models by colour.
    width = theme.room(entry, 8.4, theme.ONE_COLUMN)
    across = 4 if width > 6.6 else 2 if width > 4 else 1
    inches = (width - theme.widest(order, TEXT_SIZE)) / across
    strip = max(
        theme.height_of(theme.wrap(name, inches, TEXT_SIZE, bold=True), TEXT_SIZE) for name in PANELS.values()
    )
    strokes = frame[frame["reference"].notna()]
    plot = (
        p9.ggplot(frame[frame["value"].notna()], p9.aes("who"))
        + p9.geom_col(p9.aes(y="value.clip(0)"), fill=SHARES[-1], width=0.6)
        + p9.geom_errorbar(
            p9.aes(x="who", ymin="reference", ymax="reference"),
            data=strokes,
            width=0.9,
            size=0.9,
            color=theme.LINES,
        )
        + p9.geom_text(
            p9.aes(y="value.clip(reference.fillna(0).clip(0))", label="text"),
            ha="left",
            nudge_y=0.03,
            size=NOTE_SIZE,
        )
        + theme.panels("panel", across, inches)
        + p9.coord_flip()
        + p9.scale_y_continuous(breaks=[0, 0.5, 1], labels=theme.percents)
        + p9.expand_limits(y=1.22)
        + theme.base_theme()
        + p9.theme(panel_grid_major_y=p9.element_blank(), panel_spacing_x=0.02)
        + p9.labs(x="", y="")
    )
    verdicts = "; ".join(map(": ".join, zip(order, table["verdict_text"], strict=True)))
    return theme.finish(
        plot,
        entry,
        data,
        (width, 0.4 + (0.36 * len(order) + 0.4 + strip) * (4 // across)),
        f"The answers of {table['verdict'].isin(DEPENDS).sum()} of {len(order)} "
        f"{'respondents' if len(entry.respondents) == len(order) else 'models'} depend on the flow",
        "Vertical strokes: what chance alone gives (the same answers, shuffled between flows or option orders).",
        f"Permutation test with {entry.options.draws} draws: {verdicts}.",
        theme.thresholds_text(entry),
    )


def measures(table: pd.DataFrame, selected: Sequence[Selected], entry: Entry[ProfileOptions]) -> pd.DataFrame:
    """Return a row per model and panel: who, panel, value, reference (missing where there is none) and text."""
    rows, selected_by = [], theme.by_label(selected)
    pairs = zip(selected_by.items(), table.to_dict("records"), strict=True)
    for (who, (arm, model, answers)), depends in pairs:
        positions = reliability.position_effects(answers, entry.scales[arm])
        first = positions.iloc[0] if len(positions) else None
        thresholds = entry.thresholds[model]
        norms = held(assess(answers, thresholds.consensus, entry.scales[arm]), thresholds)
        values = {
            "valid": (depends["valid"], None),
            "first": (None, None) if first is None else (first["share"], first["expected"]),
            "norms": (norms["value"].notna().mean(), None),
            "share": (depends["share"], 0.0),
        }
        for panel, (value, reference) in values.items():
            text = (
                theme.in_cell(value).replace("-0%", "0%") if value is not None and pd.notna(value) else "none"
            )
            rows.append((who, arm, model, panel, value, reference, text))
    frame = pd.DataFrame(rows, columns=["who", "arm", "model", "panel", "value", "reference", "text"])
    return frame.astype({"value": float, "reference": float})


KINDS = (
    Kind(
        name="profile",
        about="How each model responds: valid answers, choice of the first option, norms, dependence on the flow.",
        function=draw,
        reads="answers",
        report_section="answers",
        key=("arm", "model", "measure"),
        columns={
            **WHO,
            "measure": "Which of the four shares.",
            "value": "The share. That of variance is corrected for chance, so it can be below 0.",
            "reference": "The share to expect if answers did not depend on the flow, or on the order; none of norms.",
        },
    ),
)
