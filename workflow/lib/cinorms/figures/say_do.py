"""Kind ``say_do``: how acceptable a model calls flows, against how often it shares in them as an agent."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from cinorms.analyses.say_do import SIDES, Compared, SayDoOptions, compared
from cinorms.analyses.shared import Frames, named, stack
from cinorms.core.labels import share
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Kind
from cinorms.figures import theme
from cinorms.figures.colours import SHARES
from cinorms.figures.theme import NOTE_SIZE, FigureOptions, p9
from cinorms.stats.proportions import wilson

#: Groups of flows by how acceptable they are called.
GROUPS = 5
#: Width and height of a panel in inches, and its least width.
PANEL, LEAST_PANEL = 2.2, 1.9
#: Sizes of the points with fewest and with most flows: each can be seen.
SIZES = (1.5, 5.0)


class SayDoFigureOptions(FigureOptions, SayDoOptions):
    """Options of the figure."""


def draw(
    selected: Sequence[Selected], entry: Entry[SayDoFigureOptions], vignettes: Frames, prompts: Frames
) -> theme.Drawn:
    """Return a panel per model and arm that says: share of actions that share, by what is said; see `KINDS`."""
    pairs = list(compared(selected, entry, vignettes, prompts))
    frame = stack([named(groups(pair, entry), pair.names) for pair in pairs], _COLUMNS)
    if frame.empty or frame["flows"].sum() == 0:
        return theme.empty(entry, "no flow has both an answer and an action that could be read.")
    several = len(set(frame["said_in"])) > 1
    own = (frame["said_by"] == frame["model"]).all()
    titles = [
        model + (f", said in {arm}" if several else "") + ("" if own else f", said by {who}")
        for model, arm, who in zip(frame["model"], frame["said_in"], frame["said_by"], strict=True)
    ]
    shown = frame.assign(panel=theme.in_order(titles), count=[f"{n:,}" for n in frame["flows"]])
    width, _, down, panels = theme.panel_grid(shown["panel"].nunique(), entry, PANEL, LEAST_PANEL, 0.8)
    plot = (
        p9.ggplot(shown, p9.aes("accepted", "shares"))
        + p9.geom_abline(slope=1, intercept=0, linetype="dashed", color="#7a7a7a")
        + p9.geom_linerange(p9.aes(ymin="low", ymax="high"), color=theme.LINES, size=0.6)
        + p9.geom_point(p9.aes(size="flows"), color=SHARES[-1])
        + p9.geom_text(p9.aes(label="count"), size=NOTE_SIZE, nudge_x=0.05, ha="left", color="#555555")
        + p9.scale_size_continuous(range=SIZES, guide=None)
        + p9.scale_x_continuous(limits=(0, 1.15), breaks=[0, 0.5, 1], labels=["0", "0.5", "1"])
        + p9.scale_y_continuous(limits=(0, 1), breaks=[0, 0.5, 1], labels=theme.percents)
        + panels
        + p9.labs(x="how acceptable the flow is called (0 to 1)", y="actions that share")
        + theme.base_theme()
    )
    return theme.finish(
        plot,
        entry,
        frame,
        (width, 0.5 + down * PANEL),
        _finding(frame),
        "A point: flows with a mean answer in one fifth of the scale, and the mean share of their actions that give "
        "away a sensitive item. Small numbers: flows.",
        "Dashed: a model that does what it says. Above it, a model shares more than it calls acceptable; below, less.",
        "Lines: 95% intervals, for other flows.",
    )


def _finding(frame: pd.DataFrame) -> str:
    """Return which model shares most in flows that are called unacceptable; without any, in all."""
    no = frame[frame["accepted"] < 0.5]
    called = "unacceptable" if len(no) else "acceptable: no other flow is here"
    most = (no if len(no) else frame).sort_values("shares", kind="stable").iloc[-1]
    if not most["shares"]:
        return f"Nothing is shared in flows called {called}"
    return (
        f"{most['model']} shares in up to {share(most['shares'], 1)} of its actions in flows called {called}"
    )


def groups(pair: Compared, entry: Entry[Any]) -> pd.DataFrame:
    """Return, for flows in each fifth of the scale, their number, how acceptable they are called, and what is done."""
    scale = entry.scales[pair.names["said_in"]].levels
    sides = pair.sides()
    accepted = (np.nanmean(sides.said, axis=1) - scale[0]) / (scale[-1] - scale[0])
    shares = np.nanmean(sides.done, axis=1)
    group = np.minimum((accepted * GROUPS).astype(int), GROUPS - 1)
    rows = []
    for number in np.unique(group):
        share, n = float(shares[group == number].mean()), int((group == number).sum())
        low, high = wilson(share, n)
        mean = accepted[group == number].mean()
        rows.append({"flows": n, "accepted": mean, "shares": share, "low": low, "high": high})
    return pd.DataFrame(rows, columns=_COLUMNS[len(SIDES) :])


_ABOUT = {
    **SIDES,
    "flows": "Flows whose mean level is in this fifth of the scale.",
    "accepted": "Their mean level, as a share of the way from the lowest to the highest.",
    "shares": "Mean share of actions in them that share a sensitive item.",
    "low": "Lower end of its 95% interval.",
    "high": "Its upper end.",
}
_COLUMNS = list(_ABOUT)

KINDS = (
    Kind(
        name="say_do",
        about="How acceptable models call flows, against how often they share in them as agents.",
        function=draw,
        reads="answers",
        report_section="acts",
        key=(*SIDES, "accepted"),
        columns=_ABOUT,
    ),
)
