"""Kind ``agreement``: how often every two models hold the same norm, as two matrices."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from pydantic import Field

from cinorms.analyses.floor import Repeats, between_norms, floor, held_norms, of_norms
from cinorms.analyses.shared import chosen_each, held
from cinorms.core.labels import model_labels
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Column, Kind
from cinorms.entries.options import Names, OfNorms
from cinorms.figures.options import FigureOptions, OfOneDataset
from cinorms.figures.texts import widest, wrap
from cinorms.figures.theme import (
    SHARE_COLOURS,
    TEXT_SIZE,
    Drawn,
    base_theme,
    empty,
    finish,
    inks_on_shares,
    selection_text,
    thresholds_text,
)
from cinorms.stats.agreement import pairs

#: Columns of `agreement.pairs` that are shown, and how a panel is called.
PANELS = {"agreement": "share of flows with the same norm", "kappa_quadratic": "kappa, quadratic weights"}
#: Side of a cell and width of the labels, in inches.
CELL, LABELS = 0.62, 1.35
#: Pairs that a caption names; of more, it gives the number.
FEW = 4


class AgreementOptions(FigureOptions, OfOneDataset, OfNorms):
    """Options of the matrices."""

    arms: Names = Field(description="Arms of one dataset. With several arms, all their models are compared.")


def draw(
    selected: Sequence[Selected],
    entry: Entry[AgreementOptions],
    vignettes: Mapping[str, pd.DataFrame],
    repeats: Repeats,
) -> Drawn:
    """Return two model by model matrices, agreement and kappa, with the number of flows in each cell."""
    from plotnine import (
        aes,
        coord_equal,
        element_blank,
        element_text,
        facet_wrap,
        geom_text,
        geom_tile,
        ggplot,
        labs,
        scale_color_identity,
        scale_fill_gradientn,
        scale_x_discrete,
        scale_y_discrete,
        theme,
    )

    names = model_labels((one.arm, one.model) for one in selected)
    if len(names) < 2:
        return empty(entry, f"agreement needs two models; {names[0] if names else 'none'} alone is there.")
    shown = chosen_each(selected, entry, vignettes)
    frame = matrix(shown, entry)
    if not frame["n_flows"].any():
        return empty(entry, "no two models hold a norm for the same flow.")
    labels = [wrap(name, LABELS, TEXT_SIZE) for name in names]
    plot = (
        ggplot(frame, aes("column", "row"))
        + geom_tile(aes(fill="fill"), color="white", size=1)
        + geom_text(aes(label="label", color="ink"), size=TEXT_SIZE, nudge_y=0.13)
        + geom_text(aes(label="count", color="ink"), size=TEXT_SIZE - 3, nudge_y=-0.22)
        + facet_wrap("measure", nrow=1)
        + scale_color_identity()
        + scale_fill_gradientn(colors=list(SHARE_COLOURS), limits=(0, 1), na_value="#e0e0e0", guide=None)
        + scale_x_discrete(limits=names, labels=labels)
        + scale_y_discrete(limits=names[::-1], labels=labels[::-1])
        + coord_equal(expand=False)
        + labs(x="", y="")
        + base_theme()
        + theme(panel_grid_major=element_blank(), axis_text_x=element_text(rotation=90), panel_spacing=0.02)
    )
    side = len(names) * CELL
    left = widest(labels, TEXT_SIZE)
    size = (2 * side + left + 1.1, side + left + 1.9)
    return finish(
        plot,
        entry,
        frame[["measure", "arm_a", "model_a", "arm_b", "model_b", "n_flows", "value"]],
        size,
        "Small numbers: n, the flows for which both models hold a norm.",
        "Cohen's kappa corrects agreement for chance; a distance of two levels weighs four times as much as a "
        "distance of one. A dash: kappa is not defined (both models hold a single level, or share no flow).",
        _engine_text(shown, names, entry, repeats),
        thresholds_text(entry),
        selection_text(entry),
    )


def _engine_text(
    selected: Sequence[Selected], names: Sequence[str], entry: Entry[AgreementOptions], repeats: Repeats
) -> str:
    """Return which pairs differ in no more norms than one model asked twice; nothing where none was asked again."""
    engine = [of_norms(one, repeats, entry) for one in selected]
    known = [each.share for each in engine if each is not None and each.n]
    if not known:
        return ""
    within = []
    for a, b in itertools.combinations(range(len(selected)), 2):
        norms = pd.concat([held_norms(selected[i].frame, entry, selected[i]) for i in (a, b)], axis=1)
        if floor(between_norms(norms), engine[a], engine[b])["engine_status"] == "not_above":
            within.append(f"{names[a]} and {names[b]}")
    text = f"Asked again, the engine alone changes up to {max(known):.1%} of a model's norms"
    if not within:
        return f"{text}; every pair differs in more."
    few = f": {'; '.join(within)}" if len(within) <= FEW else ""
    are = "pair differs" if len(within) == 1 else "pairs differ"
    return f"{text}; {len(within)} {are} in no more, so the engine alone may be the reason{few}."


def matrix(selected: Sequence[Selected], entry: Entry[AgreementOptions]) -> pd.DataFrame:
    """Return one row per measure and ordered pair of models; the diagonal has none: a model agrees with itself."""
    names = model_labels((one.arm, one.model) for one in selected)
    columns = [
        held(one.frame, entry, one.model).set_index("flow")["value"].astype("Float64") for one in selected
    ]
    values = pd.DataFrame(dict(zip(names, columns, strict=True))).astype(np.float64)
    found = pairs(values)
    mirrored = found.rename(columns={"model_a": "model_b", "model_b": "model_a"})
    parts = [
        pd.concat([found, mirrored])[["model_a", "model_b", "n_flows", column]]
        .rename(columns={column: "value", "model_a": "row", "model_b": "column"})
        .assign(measure=title)
        for column, title in PANELS.items()
    ]
    frame = pd.concat(parts, ignore_index=True)
    share = frame["measure"] == PANELS["agreement"]
    texts = [f"{v:.0%}" if s else f"{v:.2f}" for v, s in zip(frame["value"].fillna(0), share, strict=True)]
    who = {name: (one.arm, one.model) for name, one in zip(names, selected, strict=True)}
    return frame.assign(
        **{f"{what}_a": [who[name][i] for name in frame["row"]] for i, what in enumerate(("arm", "model"))},
        **{
            f"{what}_b": [who[name][i] for name in frame["column"]] for i, what in enumerate(("arm", "model"))
        },
        label=np.where(frame["value"].isna(), "-", texts),
        count=[f"{n:,}" for n in frame["n_flows"]],
        ink=inks_on_shares(frame["value"]),
        measure=pd.Categorical(frame["measure"], categories=list(PANELS.values()), ordered=True),
        fill=frame["value"].clip(0, 1),
    )


KINDS = (
    Kind(
        name="agreement",
        about="Matrices of the agreement and kappa of each pair of models.",
        options=AgreementOptions,
        function=draw,
        reads="norms",
        also=("vignettes", "repeats"),
        report_section="agreement",
        key=("measure", "arm_a", "model_a", "arm_b", "model_b"),
        columns=(
            Column("measure", "Which of the two matrices: the share of equal norms, or kappa."),
            Column("arm_a", "Arm of the row."),
            Column("model_a", "Model of the row."),
            Column("arm_b", "Arm of the column."),
            Column("model_b", "Model of the column."),
            Column("n_flows", "Flows for which both models hold a norm."),
            Column("value", "The share or kappa; missing where it is not defined."),
        ),
    ),
)
