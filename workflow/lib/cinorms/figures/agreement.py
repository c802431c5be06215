"""Kinds ``agreement`` and ``calibration``: matrices of equal norms, of two models, or recovered and planted."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from pydantic import Field

from cinorms.analyses.columns import WHO
from cinorms.analyses.comparing import Repeats, between_norms, floor, held_norms, of_norms
from cinorms.analyses.shared import held
from cinorms.core.labels import NO_NORM
from cinorms.entries.entry import Entry, Pair, Selected
from cinorms.entries.kind import Column, Kind
from cinorms.entries.options import Names, OfNorms
from cinorms.figures import theme
from cinorms.figures.theme import TEXT_SIZE, FigureOptions, OfOneDataset
from cinorms.stats.agreement import pairs

#: Columns of `agreement.pairs` that are shown, and how a panel is called.
PANELS = {"agreement": "share of flows with the same norm", "kappa_quadratic": "kappa, quadratic weights"}
#: Side of a cell and width of the labels, in inches.
CELL, LABELS, PLANTED_CELL = 0.62, 1.35, 0.5
#: Pairs that a caption names; of more, it gives the number.
FEW = 4


class MatrixOptions(FigureOptions, OfOneDataset, OfNorms):
    """Options of the matrices of models."""

    arms: Names = Field(description="Arms of one dataset. With several arms, all their models are compared.")


class RecoveredOptions(FigureOptions, OfNorms):
    """Options of the matrices of planted norms."""

    arms: Names = Field(description="Arms whose norms are compared; each has one panel per respondent.")


def _matrix(x: Mapping[str, str], y: Mapping[str, str]) -> list[Any]:
    """Return the scales and looks of a matrix of shares; ``x`` and ``y`` map its values in their order to labels."""
    import plotnine as p9

    colours = list(theme.SHARE_COLOURS)
    return [
        p9.scale_color_identity(),
        p9.scale_fill_gradientn(colors=colours, limits=(0, 1), na_value="#e0e0e0", guide=None),
        p9.scale_x_discrete(limits=list(x), labels=list(x.values())),
        p9.scale_y_discrete(limits=list(y), labels=list(y.values())),
        p9.coord_equal(expand=False),
        theme.base_theme(),
        p9.theme(panel_grid_major=p9.element_blank(), axis_text_x=p9.element_text(rotation=90)),
    ]


def draw(selected: Sequence[Selected], entry: Entry[MatrixOptions], repeats: Repeats) -> theme.Drawn:
    """Return two model by model matrices, agreement and kappa, with the number of flows in each cell."""
    import plotnine as p9

    names = list(theme.by_label(selected))
    if len(names) < 2:
        alone = names[0] if names else "none"
        return theme.empty(entry, f"agreement needs two models; {alone} alone is there.")
    frame = matrix(selected, entry)
    if not frame["n_flows"].any():
        return theme.empty(entry, "no two models hold a norm for the same flow.")
    labels = {name: theme.wrap(name, LABELS, TEXT_SIZE) for name in names}
    plot = (
        p9.ggplot(frame, p9.aes("column", "row"))
        + p9.geom_tile(p9.aes(fill="fill"), color="white", size=1)
        + p9.geom_text(p9.aes(label="label", color="ink"), size=TEXT_SIZE, nudge_y=0.13)
        + p9.geom_text(p9.aes(label="count", color="ink"), size=TEXT_SIZE - 3, nudge_y=-0.22)
        + p9.facet_wrap("measure", nrow=1)
        + p9.labs(x="", y="")
        + _matrix(labels, dict(reversed(labels.items())))
        + p9.theme(panel_spacing=0.02)
    )
    side, left = len(names) * CELL, theme.widest(labels.values(), TEXT_SIZE)
    return theme.finish(
        plot,
        entry,
        frame[["measure", "arm_a", "model_a", "arm_b", "model_b", "n_flows", "value"]],
        (2 * side + left + 1.1, side + left + 1.9),
        "Small numbers: n, the flows for which both models hold a norm.",
        "Cohen's kappa corrects agreement for chance; a distance of two levels weighs four times as much as a "
        "distance of one. A dash: kappa is not defined (both models hold a single level, or share no flow).",
        _engine_text(selected, names, entry, repeats),
        theme.thresholds_text(entry),
    )


def _engine_text(
    selected: Sequence[Selected], names: Sequence[str], entry: Entry[MatrixOptions], repeats: Repeats
) -> str:
    """Return which pairs differ in no more norms than one model asked twice; nothing where none was asked again."""
    engine = [of_norms(one, repeats, entry) for one in selected]
    known = [share.share for share in engine if share is not None and share.n]
    if not known:
        return ""
    within, held_by = [], [held_norms(one.frame, entry, one) for one in selected]
    for a, b in itertools.combinations(range(len(selected)), 2):
        differ = between_norms(pd.concat([held_by[a], held_by[b]], axis=1))
        if floor(differ, engine[a], engine[b])["engine_status"] == "not_above":
            within.append(f"{names[a]} and {names[b]}")
    text = f"Asked again, the engine alone changes up to {max(known):.1%} of a model's norms"
    if not within:
        return f"{text}; every pair differs in more."
    few = f": {'; '.join(within)}" if len(within) <= FEW else ""
    are = "pair differs" if len(within) == 1 else "pairs differ"
    return f"{text}; {len(within)} {are} in no more, so the engine alone may be the reason{few}."


def matrix(selected: Sequence[Selected], entry: Entry[MatrixOptions]) -> pd.DataFrame:
    """Return one row per measure and ordered pair of models; the diagonal has none: a model agrees with itself."""
    who = theme.by_label(selected)
    norms = {name: held(one.frame, entry, one.model).set_index("flow")["value"] for name, one in who.items()}
    values = pd.DataFrame({name: norm.astype("Float64") for name, norm in norms.items()}).astype(np.float64)
    there = pairs(values).rename(columns={"model_a": "row", "model_b": "column"})
    both = pd.concat([there, there.rename(columns={"row": "column", "column": "row"})])
    frame = both[["row", "column", "n_flows", *PANELS]].rename(columns=PANELS)
    frame = frame.melt(["row", "column", "n_flows"], var_name="measure")
    share = frame["measure"] == PANELS["agreement"]
    texts = [f"{v:.0%}" if s else f"{v:.2f}" for v, s in zip(frame["value"].fillna(0), share, strict=True)]
    sides = {
        f"{part}_{side}": [getattr(who[name], part) for name in frame[axis]]
        for side, axis in (("a", "row"), ("b", "column"))
        for part in ("arm", "model")
    }
    return frame.assign(
        **sides,
        label=np.where(frame["value"].isna(), "-", texts),
        count=[f"{n:,}" for n in frame["n_flows"]],
        ink=theme.inks_on_shares(frame["value"]),
        measure=theme.in_order(frame["measure"], PANELS.values()),
        fill=frame["value"].clip(0, 1),
    )


def draw_calibration(
    selected: Sequence[Selected], entry: Entry[RecoveredOptions], planted: Mapping[Pair, pd.DataFrame]
) -> theme.Drawn:
    """Return a matrix per respondent: of the flows planted at a level, the share recovered at each."""
    import plotnine as p9

    frame = recovered(selected, entry, planted)
    if frame.empty:
        why = "nothing was planted here: no respondent that holds norms is among the models."
        return theme.empty(entry, why)
    options = entry.scales[selected[0].arm].binned.options
    rows = {option: theme.wrap(option, 1.2, TEXT_SIZE - 1) for option in (NO_NORM, *options)}
    labels = {option: rows[option] for option in options}
    panel, across, down = theme.panels(frame["panel"], 5 * PLANTED_CELL)
    shown = frame.assign(panel=panel)
    same = shown[shown["planted"] == shown["recovered"]]
    counts = []
    for name, part in frame.groupby("panel", observed=True, sort=False):
        kept = part.loc[part["recovered"] != NO_NORM, "flows"].sum()
        n_same = part.loc[part["recovered"] == part["planted"], "flows"].sum()
        share = f"{n_same / kept:.0%}" if kept else "none"
        counts.append(f"{name} n = {part['flows'].sum():,} flows, {kept:,} norms, {share} as planted")
    plot = (
        p9.ggplot(shown, p9.aes("planted", "recovered"))
        + p9.geom_tile(p9.aes(fill="share"), color="white", size=0.8)
        + p9.geom_tile(data=same, fill="none", color=theme.INK, size=0.7, width=0.94, height=0.94)
        + p9.geom_text(p9.aes(label="label", color="ink"), size=TEXT_SIZE - 1.5)
        + p9.facet_wrap("panel", ncol=across)
        + p9.labs(x="planted norm", y="recovered norm")
        + _matrix(labels, rows)
        + p9.theme(panel_spacing=0.03, axis_text=p9.element_text(size=TEXT_SIZE - 1))
    )
    label = theme.widest(rows.values(), TEXT_SIZE - 1)
    return theme.finish(
        plot,
        entry,
        frame[["arm", "model", "planted", "recovered", "flows", "of", "share"]],
        (max(5.0, across * 5.4 * PLANTED_CELL + label + 0.9), down * (6 * PLANTED_CELL + 0.5) + label + 1.7),
        f"For each planted level: the share of its flows recovered at each level. {'; '.join(counts)}.",
        "Outlined: the recovered norm is the planted one. A dash: no flow was planted at that level.",
        theme.thresholds_text(entry),
    )


def recovered(
    selected: Sequence[Selected], entry: Entry[RecoveredOptions], planted: Mapping[Pair, pd.DataFrame]
) -> pd.DataFrame:
    """Return a row per respondent, planted level and recovered level (or none).

    Respondents that hold no norms (controls) and models have no rows.
    """
    parts = []
    for name, (arm, model, frame) in theme.by_label(selected).items():
        truth = planted.get((arm, model))
        if truth is None or truth["level"].isna().all() or frame.empty:
            continue
        scale = entry.scales[arm]
        options = [*scale.binned.options]
        norms = held(frame, entry, model)
        levels = scale.in_bins(truth.set_index("flow")["level"]).reindex(norms["flow"])
        level, value = (
            numbers.to_numpy(dtype=np.float64, na_value=np.nan) for numbers in (levels, norms["value"])
        )
        known = ~np.isnan(level)
        row = scale.binned.places(value[known]) + 1  # 0 where there is no norm
        counts = np.zeros((len(options) + 1, len(options)), dtype=int)
        np.add.at(counts, (row, scale.binned.places(level[known])), 1)
        cells = pd.DataFrame(
            itertools.product([NO_NORM, *options], options), columns=["recovered", "planted"]
        )
        cells = cells.assign(flows=counts.ravel(), of=np.tile(counts.sum(axis=0), len(counts)))
        parts.append(cells.assign(panel=name, arm=arm, model=model))
    if not parts:
        return pd.DataFrame()
    whole = pd.concat(parts, ignore_index=True)
    share = (whole["flows"] / whole["of"].where(whole["of"] > 0)).astype("float64")
    return whole.assign(
        share=share,
        label=["-" if np.isnan(s) else f"{s:.0%}" if s else "" for s in share],
        ink=theme.inks_on_shares(share),
        panel=theme.in_order(whole["panel"]),
    )


KINDS = (
    Kind(
        name="agreement",
        about="Matrices of the agreement and kappa of each pair of models.",
        options=MatrixOptions,
        function=draw,
        reads="norms",
        also=("repeats",),
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
    Kind(
        name="calibration",
        about="Norms recovered from planted (simulated) respondents, compared with the planted norms.",
        options=RecoveredOptions,
        function=draw_calibration,
        reads="norms",
        also=("planted",),
        report_section="calibration",
        key=("arm", "model", "planted", "recovered"),
        columns=(
            *WHO,
            Column("planted", "Level that was planted."),
            Column("recovered", "Level of the norm that was recovered, or no norm."),
            Column("flows", "Flows planted at level planted and recovered as recovered."),
            Column("of", "All flows planted at that level."),
            Column("share", "flows / of; missing where no flow was planted at the level."),
        ),
    ),
)
