"""Kind ``calibration``: the norms recovered from planted respondents, compared with the planted ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from pydantic import Field

from cinorms.analyses.columns import WHO
from cinorms.analyses.shared import chosen_each, held
from cinorms.core.labels import NO_NORM, model_labels
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Column, Kind
from cinorms.entries.options import Names, OfNorms
from cinorms.figures.options import FigureOptions
from cinorms.figures.texts import widest, wrap
from cinorms.figures.theme import (
    INK,
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

#: Side of a cell in inches.
CELL = 0.5


class CalibrationOptions(FigureOptions, OfNorms):
    """Options of the matrices."""

    arms: Names = Field(description="Arms whose norms are compared; each has one panel per respondent.")


def draw(
    selected: Sequence[Selected],
    entry: Entry[CalibrationOptions],
    vignettes: Mapping[str, pd.DataFrame],
    planted: Mapping[tuple[str, str], pd.DataFrame],
) -> Drawn:
    """Return a matrix per respondent: of the flows planted at a level, the share recovered at each."""
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

    frame = recovered(chosen_each(selected, entry, vignettes), entry, planted)
    if frame.empty:
        return empty(entry, "nothing was planted here: no respondent that holds norms is among the models.")
    options = [*entry.scales[selected[0].arm].binned.options]
    across = min(4, frame["panel"].nunique())
    down = -(-frame["panel"].nunique() // across)
    labels = {option: wrap(option, 1.2, TEXT_SIZE - 1) for option in [*options, NO_NORM]}
    titles = [wrap(str(p), 5 * CELL, TEXT_SIZE, bold=True) for p in frame["panel"].cat.categories]
    shown = frame.assign(panel=frame["panel"].cat.rename_categories(titles))
    same = shown[(shown["planted"] == shown["recovered"])]
    plot = (
        ggplot(shown, aes("planted", "recovered"))
        + geom_tile(aes(fill="share"), color="white", size=0.8)
        + geom_tile(data=same, fill="none", color=INK, size=0.7, width=0.94, height=0.94)
        + geom_text(aes(label="label", color="ink"), size=TEXT_SIZE - 1.5)
        + facet_wrap("panel", ncol=across)
        + scale_color_identity()
        + scale_fill_gradientn(colors=list(SHARE_COLOURS), limits=(0, 1), na_value="#e0e0e0", guide=None)
        + scale_x_discrete(limits=options, labels=[labels[o] for o in options])
        + scale_y_discrete(limits=[NO_NORM, *options], labels=[labels[o] for o in [NO_NORM, *options]])
        + coord_equal(expand=False)
        + labs(x="planted norm", y="recovered norm")
        + base_theme()
        + theme(
            panel_grid_major=element_blank(),
            panel_spacing=0.03,
            axis_text=element_text(size=TEXT_SIZE - 1),
            axis_text_x=element_text(rotation=90),
        )
    )
    label = widest(labels.values(), TEXT_SIZE - 1)
    size = (max(5.0, across * 5.4 * CELL + label + 0.9), down * (6 * CELL + 0.5) + label + 1.7)
    return finish(
        plot,
        entry,
        frame[["arm", "model", "planted", "recovered", "flows", "of", "share"]],
        size,
        f"For each planted level: the share of its flows recovered at each level. {_same(frame)}",
        "Outlined: the recovered norm is the planted one. A dash: no flow was planted at that level.",
        thresholds_text(entry),
        selection_text(entry),
    )


def recovered(
    selected: Sequence[Selected],
    entry: Entry[CalibrationOptions],
    planted: Mapping[tuple[str, str], pd.DataFrame],
) -> pd.DataFrame:
    """Return a row per respondent, planted level and recovered level (or none).

    Respondents that hold no norms (controls) and models have no rows.
    """
    parts = []
    for name, one in zip(model_labels((one.arm, one.model) for one in selected), selected, strict=True):
        truth = planted.get((one.arm, one.model))
        if truth is None or truth["level"].isna().all() or one.frame.empty:
            continue
        scale = entry.scales[one.arm]
        options = [*scale.binned.options]
        norms = held(one.frame, entry, one.model)
        level = (
            scale.in_bins(truth.set_index("flow")["level"])
            .reindex(norms["flow"])
            .to_numpy(dtype=np.float64, na_value=np.nan)
        )
        value = norms["value"].to_numpy(dtype=np.float64, na_value=np.nan)
        row = scale.binned.places(value) + 1  # 0 where there is no norm
        column = scale.binned.places(level[~np.isnan(level)])
        counts = np.zeros((len(options) + 1, len(options)), dtype=int)
        np.add.at(counts, (row[~np.isnan(level)], column), 1)
        across, down = np.meshgrid(options, [NO_NORM, *options])
        in_all = np.broadcast_to(counts.sum(axis=0), counts.shape)
        parts.append(
            pd.DataFrame(
                {"panel": name, "arm": one.arm, "model": one.model, "planted": across.ravel()}
            ).assign(recovered=down.ravel(), flows=counts.ravel(), of=in_all.ravel())
        )
    if not parts:
        return pd.DataFrame()
    frame = pd.concat(parts, ignore_index=True)
    share = (frame["flows"] / frame["of"].where(frame["of"] > 0)).astype("float64")
    return frame.assign(
        share=share,
        label=["-" if np.isnan(s) else f"{s:.0%}" if s else "" for s in share],
        ink=inks_on_shares(share),
        panel=pd.Categorical(frame["panel"], categories=list(dict.fromkeys(frame["panel"]))),
    )


def _same(frame: pd.DataFrame) -> str:
    parts = []
    for name, part in frame.groupby("panel", observed=True, sort=False):
        kept = part.loc[part["recovered"] != NO_NORM, "flows"].sum()
        same = part.loc[part["recovered"] == part["planted"], "flows"].sum()
        share = f"{same / kept:.0%}" if kept else "none"
        parts.append(f"{name} n = {part['flows'].sum():,} flows, {kept:,} norms, {share} as planted")
    return f"{'; '.join(parts)}."


KINDS = (
    Kind(
        name="calibration",
        about="Norms recovered from planted (simulated) respondents, compared with the planted norms.",
        options=CalibrationOptions,
        function=draw,
        reads="norms",
        also=("vignettes", "planted"),
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
