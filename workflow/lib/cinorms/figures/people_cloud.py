"""Kind ``people_cloud``: people by the weights of two levels, or by strictness, with models among them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from pydantic import Field

from cinorms.analyses.columns import usual
from cinorms.core.labels import model_labels
from cinorms.core.scales import spoken_of
from cinorms.core.schema import Distinct, LeftOut
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Kind
from cinorms.entries.options import OfArms
from cinorms.figures import theme
from cinorms.figures.colours import INK, group_looks
from cinorms.figures.theme import EntryPlace, FigureOptions, p9

#: The kind of table that is drawn, and the bins of the distribution of mean answers.
TABLE, BINS = "people_positions", 20
PERSON = "#9db4c8"


class CloudOptions(FigureOptions, OfArms):
    """Options of the cloud of people."""

    table: str = Field(description=f"Name of an analysis of kind {TABLE}.")
    weights: LeftOut[Distinct[str]] = Field(None, min_length=2, max_length=2)
    """Two levels of the factor, whose weights are the two axes. Default: the distribution of the mean answer, a low one
    being strict."""

    def check(self, place: EntryPlace) -> None:
        """Look up the analysis, and the levels of its factor."""
        super().check(place)
        analyses = place.study.settings.analyses
        fitting = [name for name, stated in analyses.items() if stated["kind"] == TABLE]
        if self.table not in fitting:
            raise place.unknown("table", self.table, fitting, f"analysis of kind {TABLE}")
        place.check_names("arms", self.arms, analyses[self.table]["arms"], f"arm of analysis {self.table!r}")


def draw(selected: Sequence[Selected], entry: Entry[CloudOptions]) -> theme.Drawn:
    """Return the people of the table as a cloud or a distribution, and each model as a mark with its intervals."""
    table, levels = selected[0].frame, entry.options.weights
    table = table[(table["status"] == "ok") & table["arm"].isin(entry.arms)]
    what = table["what"] == "mean" if levels is None else table["level"].isin(levels)
    shown = table.loc[what, ["arm", "model", "person", "what", "level", "value", "conf_low", "conf_high"]]
    people = shown[shown["person"].notna()]
    if levels and set(levels) - set(people["level"]):
        why = f"the table '{entry.options.table}' has no weight of {' or '.join(levels)}."
        return theme.empty(entry, why)
    if people.empty:
        return theme.empty(entry, f"the table '{entry.options.table}' has no people.")
    models = shown[shown["person"].isna()]
    models = models.assign(who=theme.in_order(model_labels(zip(models["arm"], models["model"], strict=True))))
    names = list(models["who"].cat.categories)
    says = spoken_of(entry.scales.values())
    x = f"mean answer, from 0 (the lowest option: {says.less}) to 1 (the highest: {says.more})"
    width = theme.room(entry, 7.0, 4.2)
    x = theme.wrap(x, width - 1, theme.TITLE_SIZE)
    plot = _strictness(people, models, x) if levels is None else _cloud(people, models, levels)
    plot += _looks(names, entry, width)
    n = people["person"].nunique()
    weight = "Weight: the mean answer with the level, less that with the others; 0.5 is half of the scale."
    noise = "Each person is one random draw of what their answers imply, without the noise of single answers."
    return theme.finish(
        plot,
        entry,
        shown,
        (width, 4.6 if levels is None else 6.4),
        f"n = {n:,} people. Lines: 95% intervals.{' ' + weight if levels else ''}",
        noise,
    )


def _strictness(people: pd.DataFrame, models: pd.DataFrame, title: str) -> "p9.ggplot":
    """Return the distribution of people's mean answers, with a line for each model."""
    # A draw can be a little beyond the ends of the line.
    people = people.assign(value=people["value"].clip(0, 1))
    edges = np.linspace(0, 1, BINS + 1)
    top = float(np.histogram(people["value"], edges)[0].max())
    rows = models.assign(y=-top * 0.06 * (1 + models["who"].cat.codes.to_numpy()))
    return (
        p9.ggplot()
        + p9.geom_histogram(p9.aes("value"), people, breaks=list(edges), fill=PERSON, color="white")
        + p9.geom_segment(p9.aes("conf_low", "y", xend="conf_high", yend="y", color="who"), rows, size=1.2)
        + p9.geom_point(p9.aes("value", "y", color="who", shape="who"), rows, size=3.5)
        + p9.scale_x_continuous(breaks=[0, 0.25, 0.5, 0.75, 1])
        + p9.labs(x=title, y="people")
    )


def _cloud(people: pd.DataFrame, models: pd.DataFrame, levels: Sequence[str]) -> "p9.ggplot":
    """Return people and models by the weights of two levels."""
    x, y = levels
    cloud = people.pivot_table("value", "person", "level").rename(columns={x: "x", y: "y"})
    sides = [
        models[models["level"] == level].set_index("who")[["value", "conf_low", "conf_high"]].add_suffix(side)
        for level, side in ((x, "_x"), (y, "_y"))
    ]
    marks = sides[0].join(sides[1]).reset_index()
    return (
        p9.ggplot()
        + p9.geom_hline(yintercept=0, color="#999999", size=0.4)
        + p9.geom_vline(xintercept=0, color="#999999", size=0.4)
        + p9.geom_point(p9.aes("x", "y"), cloud, color=PERSON, alpha=0.7, size=1.6)
        + p9.geom_segment(
            p9.aes("conf_low_x", "value_y", xend="conf_high_x", yend="value_y", color="who"), marks, size=1
        )
        + p9.geom_segment(
            p9.aes("value_x", "conf_low_y", xend="value_x", yend="conf_high_y", color="who"), marks, size=1
        )
        + p9.geom_point(p9.aes("value_x", "value_y", color="who", shape="who"), marks, size=4)
        + p9.labs(x=_axis(x, 5.0), y=_axis(y, 3.5))
    )


def _axis(level: str, inches: float) -> str:
    return theme.wrap(f"weight of ‘{level}’", inches, theme.TEXT_SIZE)


def _looks(names: Sequence[str], entry: Entry[CloudOptions], width: float) -> list[Any]:
    """Return colours and marks of the models, and the theme."""
    colours, marks = group_looks(names, entry)
    keys = theme.key_columns(names, width - 0.7)
    legend = p9.theme(
        legend_position="top" if names else "none",
        legend_title=p9.element_blank(),
        axis_title=p9.element_text(color=INK),
    )
    scales = (
        [
            p9.scale_color_manual(colours, limits=names),
            p9.scale_shape_manual(marks, limits=names),
            p9.guides(color=p9.guide_legend(ncol=keys), shape=p9.guide_legend(ncol=keys)),
        ]
        if names
        else []
    )
    return [*scales, theme.base_theme(), legend]


KINDS = (
    Kind(
        name="people_cloud",
        about="People by strictness, or by the weights that they give two levels of a factor, with models among them.",
        function=draw,
        reads="table",
        report_section="factors",
        key=("arm", "model", "person", "what", "level"),
        columns={
            **usual("arm", "model"),
            "person": "Number of the person; missing for a model.",
            "what": "mean or weight.",
            **usual("level"),
            "value": "The mean answer, or the weight of the level.",
            **usual("conf_low", "conf_high"),
        },
    ),
)
