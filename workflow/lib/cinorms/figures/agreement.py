"""Kinds ``agreement`` and ``calibration``: matrices of equal norms, of two models, or recovered and planted."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from pydantic import Field

from cinorms.analyses.columns import WHO
from cinorms.core.labels import NO_NORM, share, share_in_cell
from cinorms.entries.entry import Entry, Pair, Selected
from cinorms.entries.kind import Kind
from cinorms.entries.options import Names, OfNorms
from cinorms.figures import theme
from cinorms.figures.colours import share_looks
from cinorms.figures.theme import NOTE_SIZE, TEXT_SIZE, FigureOptions, OfOneDataset, p9
from cinorms.norms.assessment import held
from cinorms.stats.agreement import pairs

#: Columns of `agreement.pairs` that are shown, and how a panel is called.
PANELS = {"agreement": "flows with the same norm", "kappa_quadratic": "kappa, quadratic weights"}
#: Side of a cell and its least side, and width of the labels, in inches.
CELL, LEAST_CELL, LABELS = 0.5, 0.25, 1.2
PLANTED_CELL, LEAST_PLANTED = 0.42, 0.34
#: Side of a cell from which it has room for the number of its flows.
WITH_COUNT = 0.36


class MatrixOptions(FigureOptions, OfOneDataset, OfNorms):
    """Options of the matrices of models."""

    arms: Names = Field(description="Arms of one dataset. With several arms, all their models are compared.")


class RecoveredOptions(FigureOptions, OfNorms):
    """Options of the matrices of planted norms."""

    arms: Names = Field(description="Arms whose norms are compared; each has one panel per respondent.")


def _matrix(x: Mapping[str, str], y: Mapping[str, str]) -> list[Any]:
    """Return the scales and looks of a matrix of shares; ``x`` and ``y`` map its values in their order to labels."""
    # Every cell prints its number, so the colours have no key.
    return [
        p9.scale_color_identity(),
        p9.scale_fill_identity(),
        p9.scale_x_discrete(limits=list(x), labels=list(x.values())),
        p9.scale_y_discrete(limits=list(y), labels=list(y.values())),
        p9.coord_equal(expand=False),
        theme.base_theme(),
        p9.theme(
            panel_grid_major=p9.element_blank(),
            axis_text=p9.element_text(size=NOTE_SIZE),
            axis_text_x=p9.element_text(rotation=90),
            legend_position="none",
        ),
    ]


def draw(selected: Sequence[Selected], entry: Entry[MatrixOptions]) -> theme.Drawn:
    """Return two model by model matrices, agreement and kappa, with the number of flows in each cell."""
    names = list(theme.by_label(selected))
    if len(names) < 2:
        alone = names[0] if names else "none"
        return theme.empty(entry, f"agreement compares two models; only {alone} is here.")
    frame = matrix(selected, entry)
    if not frame["n_flows"].any():
        return theme.empty(entry, "no two models hold a norm for the same flow.")
    labels = {name: theme.wrap(name, LABELS, NOTE_SIZE) for name in names}
    n, left = len(names), theme.widest(labels.values(), NOTE_SIZE) + 0.2
    width = theme.room(
        entry, max(6.0, 2 * n * CELL + left + 0.2), max(theme.ONE_COLUMN, n * LEAST_CELL + left)
    )
    across = 2 if width >= 2 * n * WITH_COUNT + left + 0.2 else 1
    side = (width - left) / across - 0.1
    counted = side / n >= WITH_COUNT
    number: dict[str, Any] = {"size": TEXT_SIZE, "nudge_y": 0.13} if counted else {"size": NOTE_SIZE}
    plot = (
        p9.ggplot(frame, p9.aes("column", "row"))
        + p9.geom_tile(p9.aes(fill="fill"), color="white", size=1)
        + p9.geom_text(p9.aes(label="label", color="ink"), **number)
        + theme.panels("measure", across, side)
        + p9.labs(x="", y="")
        + _matrix(labels, dict(reversed(labels.items())))
        + p9.theme(panel_spacing=0.02)
    )
    if counted:
        plot += p9.geom_text(p9.aes(label="count", color="ink"), size=NOTE_SIZE, nudge_y=-0.22)
    return theme.finish(
        plot,
        entry,
        frame[["measure", "arm_a", "model_a", "arm_b", "model_b", "n_flows", "value"]],
        (width, 2 // across * (side + 0.35) + left + 0.1),
        _least_alike(frame),
        "Small numbers: n, the flows for which both models hold a norm."
        if counted
        else f"n = {theme.span(frame['n_flows'])} flows for which both models hold a norm.",
        "Cohen's kappa corrects agreement for chance; a distance of two levels weighs four times as much as a "
        "distance of one. A dash: kappa is not defined (both models hold a single level, or share no flow).",
        theme.thresholds_text(entry),
    )


def _least_alike(frame: pd.DataFrame) -> str:
    """Return which two models agree least, and which most."""
    shares = frame[(frame["measure"] == PANELS["agreement"]) & frame["value"].notna()]
    (a, b, low), (c, d, high) = shares.loc[
        [shares["value"].idxmin(), shares["value"].idxmax()], ["row", "column", "value"]
    ].to_numpy()
    if len(shares) <= 2:
        return f"{a} and {b} agree on {share(low, 1)} of the flows"
    return f"{a} and {b} agree least ({share(low, 1)} of the flows); {c} and {d} most ({share(high, 1)})"


def matrix(selected: Sequence[Selected], entry: Entry[MatrixOptions]) -> pd.DataFrame:
    """Return one row per measure and ordered pair of models; the diagonal has none: a model agrees with itself."""
    who = theme.by_label(selected)
    norms = {
        name: held(one.frame, entry.thresholds[one.model]).set_index("flow")["value"]
        for name, one in who.items()
    }
    values = pd.DataFrame({name: norm.astype("Float64") for name, norm in norms.items()}).astype(np.float64)
    there = pairs(values).rename(columns={"model_a": "row", "model_b": "column"})
    both = pd.concat([there, there.rename(columns={"row": "column", "column": "row"})])
    frame = both[["row", "column", "n_flows", *PANELS]].rename(columns=PANELS)
    frame = frame.melt(["row", "column", "n_flows"], var_name="measure")
    equal = frame["measure"] == PANELS["agreement"]
    looks = share_looks(frame["value"])
    known = frame["value"].fillna(0)
    texts = np.where(equal, known.map(share_in_cell), known.map("{:.2f}".format))
    sides = {
        f"{part}_{side}": [getattr(who[name], part) for name in frame[axis]]
        for side, axis in (("a", "row"), ("b", "column"))
        for part in ("arm", "model")
    }
    return frame.assign(
        **sides,
        label=np.where(frame["value"].isna(), "-", texts),
        count=[f"{n:,}" for n in frame["n_flows"]],
        measure=theme.in_order(frame["measure"], PANELS.values()),
        **looks,
    )


def draw_calibration(
    selected: Sequence[Selected], entry: Entry[RecoveredOptions], planted: Mapping[Pair, pd.DataFrame]
) -> theme.Drawn:
    """Return a matrix per respondent: of the flows planted at a level, the share recovered at each."""
    frame = recovered(selected, entry, planted)
    if frame.empty:
        why = "none of these models has planted norms."
        return theme.empty(entry, why)
    options = entry.scales[selected[0].arm].binned.options
    rows = {option: theme.wrap(option, 0.9, NOTE_SIZE) for option in (NO_NORM, *options)}
    labels = {option: rows[option] for option in options}
    label, n = theme.widest(rows.values(), NOTE_SIZE), len(options)
    usual, least = (n + 0.4) * PLANTED_CELL, (n + 0.4) * LEAST_PLANTED
    n_panels = frame["panel"].nunique()
    width, across, down, panels = theme.panel_grid(n_panels, entry, usual, least, label + 0.4)
    cell = (width - label - 0.4) / across / (n + 0.4)
    same = frame[frame["planted"] == frame["recovered"]]
    counts, kept = [], frame.loc[frame["recovered"] != NO_NORM, "flows"].sum()
    for name, part in frame.groupby("panel", observed=True, sort=False):
        of, none = part["flows"].sum(), part.loc[part["recovered"] == NO_NORM, "flows"].sum()
        n_same = part.loc[part["recovered"] == part["planted"], "flows"].sum()
        counts.append(
            f"{name}: {share(n_same, of)} as planted, {share(none, of)} without a norm, "
            f"{share(of - n_same - none, of)} another norm"
        )
    plot = (
        p9.ggplot(frame, p9.aes("planted", "recovered"))
        + p9.geom_tile(p9.aes(fill="fill"), color="white", size=0.8)
        + p9.geom_tile(p9.aes(color="ink"), same, fill="none", size=0.7, width=0.86, height=0.86)
        + p9.geom_text(p9.aes(label="label", color="ink"), size=NOTE_SIZE)
        + panels
        + p9.labs(x="planted norm", y="recovered norm")
        + _matrix(labels, rows)
        + p9.theme(panel_spacing=0.35 * cell / width)
    )
    return theme.finish(
        plot,
        entry,
        frame[["arm", "model", "planted", "recovered", "flows", "of", "share"]],
        (width, down * ((len(rows) + 0.2) * cell + 0.3) + label + 0.5),
        f"{share(same['flows'].sum(), kept)} of the norms held are as planted" if kept else "No norm is held",
        "For each planted level: the share of its flows recovered at each level. "
        f"n = {theme.span(frame.groupby('panel', observed=True)['flows'].sum())} flows per respondent. "
        f"{'; '.join(counts)}.",
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
        norms = held(frame, entry.thresholds[model])
        levels = scale.in_bins(truth.set_index("flow")["level"]).reindex(norms["flow"])
        level, value = (x.to_numpy(dtype=np.float64, na_value=np.nan) for x in (levels, norms["value"]))
        known = ~np.isnan(level)
        row = scale.binned.places(value[known]) + 1  # 0 where there is no norm
        counts = np.zeros((len(options) + 1, len(options)), dtype=int)
        np.add.at(counts, (row, scale.binned.places(level[known])), 1)
        names = ["recovered", "planted"]
        cells = pd.DataFrame(itertools.product([NO_NORM, *options], options), columns=names)
        cells = cells.assign(flows=counts.ravel(), of=np.tile(counts.sum(axis=0), len(counts)))
        parts.append(cells.assign(panel=name, arm=arm, model=model))
    if not parts:
        return pd.DataFrame()
    whole = pd.concat(parts, ignore_index=True)
    shares = (whole["flows"] / whole["of"].where(whole["of"] > 0)).astype("float64")
    return whole.assign(
        share=shares,
        label=["-" if np.isnan(part) else share_in_cell(part) if part else "" for part in shares],
        **share_looks(shares, whole["recovered"] == NO_NORM),
        panel=theme.in_order(whole["panel"]),
    )


KINDS = (
    Kind(
        name="agreement",
        about="Matrices of the agreement and kappa of each pair of models.",
        function=draw,
        reads="norms",
        report_section="agreement",
        key=("measure", "arm_a", "model_a", "arm_b", "model_b"),
        columns={
            "measure": "Which of the two matrices: the share of equal norms, or kappa.",
            "arm_a": "Arm of the row.",
            "model_a": "Model of the row.",
            "arm_b": "Arm of the column.",
            "model_b": "Model of the column.",
            "n_flows": "Flows for which both models hold a norm.",
            "value": "The share or kappa; missing where it is not defined.",
        },
    ),
    Kind(
        name="calibration",
        about="Norms recovered from planted (simulated) respondents, compared with the planted norms.",
        function=draw_calibration,
        reads="norms",
        report_section="calibration",
        key=("arm", "model", "planted", "recovered"),
        columns={
            **WHO,
            "planted": "Level that was planted.",
            "recovered": "Level of the norm that was recovered, or no norm.",
            "flows": "Flows planted at level planted and recovered as recovered.",
            "of": "All flows planted at that level.",
            "share": "flows / of; missing where no flow was planted at the level.",
        },
    ),
)
