"""The keys of a dataset's file, resources/vignettes/{name}.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from cinorms.core.schema import Distinct, LeftOut, Number, Text, Value
from cinorms.vignettes.source_files import Origin, SourceFile

FactorName = Annotated[
    str,
    Field(
        pattern=r"^[a-z][a-z0-9_]*(?!\n)$",
        description="a factor's name has lower-case letters, digits and '_', and begins with a letter",
    ),
]
ResourceName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]*(?!\n)$")]


class Level(Value):
    """One value of a factor: its label for tables and figures, and its text for the vignette."""

    label: Text = Field(description="What tables and figures show.")
    text: str = Field(
        pattern=r"^(\S(.*\S)?)?(?!\n)$", description="What the template receives; it can be empty."
    )


class NullLevel(Value):
    """The factor that the null principle leaves out, and what its column shows then."""

    factor: str = Field(description="Name of the factor that is left out.")
    label: Text = Field(description="What tables and figures then show as its level.")


class Files(Value):
    """The files that hold the vignettes."""

    vignettes: SourceFile = Field(description="The file with one vignette per row or line.")
    labels: LeftOut[SourceFile] = Field(
        None, description="The file with one expected value per line. For confaide."
    )


class Columns(Value):
    """Which columns of a CSV file hold the vignette, the factors (by name) and the expected value."""

    vignette: str = Field(description="Column with the vignettes.")
    expected: LeftOut[str] = Field(
        None, description="Column with the expected values; it may have empty cells. Needs expected_range."
    )
    factors: Mapping[FactorName, Annotated[str, Field(description="Name of the column.")]] = Field(
        min_length=1, description="Column of each factor, by the factor's name, slowest factor first."
    )


class DatasetFile(Value):
    """The flows of one context, either as a factorial design or as a list of vignettes in a file."""

    title: Text = Field(description="Name for people, used in tables, figures and the report.")
    context: Text = Field(description="The social context that the flows belong to.")
    scale: ResourceName = Field(
        description="The answer scale (resources/scales) that the flows are judged on."
    )
    source: Literal["design", "csv", "confaide"] = Field(
        description="design: the product of the factors below; csv: one row per flow; confaide: the scenarios and "
        "labels of ConfAIde."
    )
    origin: Origin = Field(description="Where the flows come from.")
    flows_of: LeftOut[ResourceName] = Field(
        None,
        description="The dataset whose flows this one tells in another form (a story, another language), flow by flow "
        "under the same numbers. Analyses match flows of two datasets only if one states this of the other, or if "
        "their factor levels are equal.",
    )
    factors: LeftOut[
        Mapping[
            FactorName,
            Annotated[tuple[Text | Level, ...], Field(min_length=1, description="The levels of one factor.")],
        ]
    ] = Field(
        None,
        min_length=1,
        description="Levels of each factor, slowest factor first, each a text, or its label and its text for the "
        "vignette. For design and confaide.",
    )
    linked: tuple[Annotated[Distinct[str], Field(min_length=2)], ...] = Field(
        (),
        description="Groups of factors whose levels vary together; each group takes the place of its first factor. "
        "For design and confaide.",
    )
    null_level: LeftOut[NullLevel] = Field(
        None,
        description="The factor that can be left out; that gives the additional flows of the null principle. For "
        "design.",
    )
    template: LeftOut[str] = Field(
        None,
        min_length=1,
        description="The vignette as a Jinja2 template over the factors' names; {{ factor }}, {% if %} and "
        "comparisons only. For design.",
    )
    files: LeftOut[Files] = Field(
        None, description="The files that hold the vignettes. For csv and confaide."
    )
    columns: LeftOut[Columns] = Field(None, description="The columns of the file. For csv.")
    rows: LeftOut[int] = Field(
        None,
        ge=1,
        description="Number of flows in the file. Required with an address, so that a study can be planned before the "
        "download. For csv.",
    )
    expected_range: LeftOut[tuple[Number, Number]] = Field(
        None,
        description="Lowest and highest possible expected value, e.g. [-100, 100]; they correspond to the ends of the "
        "scale.",
    )
