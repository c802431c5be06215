"""Datasets: the keys of resources/vignettes/{name}.yaml, how they are checked, and the flows of a factorial design."""

import math
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import pandas as pd
from jinja2 import StrictUndefined, TemplateError, nodes
from jinja2.sandbox import SandboxedEnvironment
from pydantic import Field

from cinorms.core import tables
from cinorms.core.errors import ConfigError
from cinorms.core.schema import Distinct, NotRequired, Number, ResourceName, Text, Value
from cinorms.core.validation import load_as, unknown
from cinorms.vignettes.source_files import Declared, Origin, SourceFile, own_files, read_source

FactorName = Annotated[
    str,
    Field(
        pattern=r"^[a-z][a-z0-9_]*(?!\n)$",
        description="a factor's name has lower-case letters, digits and '_', and begins with a letter",
    ),
]


class Level(Value):
    """One value of a factor: its label for tables and figures, and its text for the vignette."""

    label: Text = Field(description="What tables and figures show.")
    text: str = Field(pattern=r"^(\S(.*\S)?)?(?!\n)$")
    """What the template receives; it can be empty."""


class Files(Value):
    """The files that hold the vignettes."""

    vignettes: SourceFile = Field(description="The file with one vignette per row or line.")
    labels: NotRequired[SourceFile] = None
    """The file with one expected value per line. For confaide."""


class Columns(Value):
    """Which columns of a CSV file hold the vignette, the factors (by name) and the expected value."""

    vignette: str
    """Column with the vignettes. For privacylens and ci_rl the form in which the flow is told: sentence, story
    (privacylens only) or trajectory."""
    expected: NotRequired[str] = None
    """Column with the expected values; it may have empty cells. Needs expected_range."""
    factors: Mapping[FactorName, Annotated[str, Field(description="Name of the column.")]] = Field(
        min_length=1,
        description="Column of each factor, by the factor's name, slowest factor first. For privacylens and ci_rl the "
        "keys that lead to it, such as seed.data_type.",
    )


class DatasetFile(Value):
    """The flows of one context, either as a factorial design or as a list of vignettes in a file."""

    title: Text = Field(description="Name for people, used in tables, figures and the report.")
    context: Text = Field(description="The social context that the flows belong to.")
    about: NotRequired[Text] = None
    """What the flows pass on, for headlines: smart-home data."""
    short: NotRequired[Mapping[Text, Text]] = None
    """Short texts of levels, for headlines and the heads of narrow columns."""
    scale: ResourceName
    """The answer scale (resources/scales) that the flows are judged on."""
    source: Literal["design", "csv", "confaide", "privacylens", "ci_rl"]
    """design: the product of the factors below; csv: one row per flow; confaide: the scenarios and labels of ConfAIde;
    privacylens, ci_rl: flows with what an agent saw, in the layout of PrivacyLens or of the tasks of CI-RL
    (docs/say-and-do.md)."""
    origin: Origin = Field(description="Where the flows come from.")
    flows_of: NotRequired[ResourceName] = None
    """The dataset whose flows this one tells in another form (a story, another language), flow by flow under the same
    numbers. Analyses match flows of two datasets only if one states this of the other, or if their factor levels are
    equal."""
    factors: NotRequired[
        Mapping[
            FactorName,
            Annotated[tuple[Text | Level, ...], Field(min_length=1, description="The levels of one factor.")],
        ]
    ] = Field(None, min_length=1)
    """Levels of each factor, slowest factor first, each a text, or its label and its text for the vignette. For design
    and confaide."""
    linked: tuple[Annotated[Distinct[str], Field(min_length=2)], ...] = ()
    """Groups of factors whose levels vary together; each group takes the place of its first factor. For design and
    confaide."""
    template: NotRequired[str] = Field(None, min_length=1)
    """The vignette as a Jinja2 template over the factors' names; {{ factor }}, {% if %} and comparisons only. For
    design."""
    files: NotRequired[Files] = None
    """The files that hold the vignettes. For csv and confaide."""
    columns: NotRequired[Columns] = Field(None, description="The columns of the file. For csv.")
    numbers: NotRequired[Mapping[str, Annotated[int, Field(ge=0, description="Number of the flow.")]]] = (
        Field(None, min_length=1)
    )
    """The number of the flow that a record (by its name) tells, for flows_of; records that are not listed are left out.
    For privacylens."""
    rows: NotRequired[int] = Field(None, ge=1)
    """Number of flows in the file. Required with an address, so that a study can be planned before the download. Not
    for design and confaide."""
    expected_range: NotRequired[tuple[Number, Number]] = None
    """Lowest and highest possible expected value, e.g. [-100, 100]; they correspond to the ends of the scale."""


#: Names that a factor cannot have, because tables keep their own columns next to the factors.
RESERVED = frozenset(
    name
    for schema in (tables.VIGNETTES, tables.PROMPTS, tables.RESPONSES, tables.ANSWERS, tables.NORMS)
    for name in schema.columns
) | {"dataset", "model", "arm"}

#: Keys that a dataset needs, and may have, beyond those that every dataset has; by source.
_NEEDED = {
    "design": {"factors", "template"},
    "csv": {"files", "columns"},
    "confaide": {"factors", "files", "expected_range"},
    "privacylens": {"files", "columns"},
    "ci_rl": {"files", "columns"},
}
_OPTIONAL = {
    "design": {"linked"},
    "csv": {"rows", "expected_range"},
    "confaide": {"linked"},
    "privacylens": {"rows", "numbers"},
    "ci_rl": {"rows"},
}

#: What a template can be made of. Everything else (attributes, calls, filters, loops) is refused.
_TEMPLATE_NODES = frozenset(
    {"Template", "Output", "TemplateData", "Name", "Const", "List", "Tuple"}
    | {"If", "CondExpr", "Compare", "Operand", "And", "Or", "Not"}
)

#: What a template reads as something other than a factor.
_WORDS = frozenset({"self", "true", "false", "none"})


class Dataset(Declared, DatasetFile):
    """The flows of one context, as the file at ``path`` declares them; ``files`` says where their files are."""

    @property
    def has_items(self) -> bool:
        """Whether its flows are trajectories, on which a model can act."""
        form = self.columns.vignette if self.columns else ""
        return self.source in ("privacylens", "ci_rl") and form == "trajectory"

    @cached_property
    def design(self) -> dict[str, tuple[Level, ...]]:
        """The levels of each factor, slowest factor first; empty where only a file has them."""
        return {
            name: tuple(
                level if isinstance(level, Level) else Level(label=level, text=level) for level in levels
            )
            for name, levels in (self.factors or {}).items()
        }

    @property
    def levels(self) -> dict[str, tuple[str, ...]]:
        """Labels of each factor's levels, slowest factor first; none are known before a CSV file is read."""
        if self.columns is not None:
            return dict.fromkeys(self.columns.factors, ())
        return {name: tuple(dict.fromkeys(x.label for x in levels)) for name, levels in self.design.items()}

    @property
    def sources(self) -> dict[str, SourceFile]:
        """The files to fetch, by what is in them."""
        return {key: file for key, file in self.files or () if file}

    def inputs(self) -> dict[str, list[str]]:
        """Return what a rule that reads the vignettes must name: the dataset's file, and its ``own`` files."""
        return {"dataset": [str(self.path)], "own": own_files(self.sources.values())}

    def n_flows(self) -> int | None:
        """Return the number of flows without reading the files, None where only a file can tell."""
        return math.prod(_sizes(self)) if self.design else self.rows


def load_dataset(path: str | Path) -> Dataset:
    """Read the dataset at ``path``; its name is the file's name without ``.yaml``."""
    path = Path(path)
    stated = load_as(DatasetFile, path)
    _check_keys(str(path), stated)
    dataset = Dataset.model_construct(**dict(stated), path=path)
    if dataset.design:
        _check_design(dataset)
    if stated.columns is not None:
        _check_names(str(path), "columns.factors", stated.columns.factors)
        if stated.columns.expected is not None and stated.expected_range is None:
            raise ConfigError(f"{path}: key 'expected_range' is missing; columns.expected needs it")
    if stated.expected_range is not None and not stated.expected_range[0] < stated.expected_range[1]:
        raise ConfigError(
            f"{path}: expected_range: {list(stated.expected_range)} does not rise; put the lower value first"
        )
    files = {key: read_source(path, f"files.{key}", file) for key, file in dataset.sources.items()}
    if stated.columns is not None and stated.rows is None and files["vignettes"].path is None:
        raise ConfigError(
            f"{path}: key 'rows' is missing; a file with an address needs it, so that a study can be planned "
            "before the file is downloaded"
        )
    return dataset.model_copy(update={"files": stated.files and stated.files.model_copy(update=files)})


def expand(dataset: Dataset) -> pd.DataFrame:
    """Return every flow of a factorial design with its vignette, under the schema ``tables.VIGNETTES``.

    The flows are the full product of the factors (a linked group counts as one), the first factor slowest;
    ``flow`` is the row number. ``expected`` is missing.

    Raises ``ConfigError`` where two flows have the same vignette.
    """
    numbers, render = _level_numbers(dataset), _compile(dataset)
    frame = _label_columns(dataset, numbers)
    texts = {name: [dataset.design[name][level].text for level in levels] for name, levels in numbers.items()}
    rows = zip(*texts.values(), strict=True)
    try:
        vignettes = [render(**dict(zip(texts, row, strict=True))) for row in rows]
    except TypeError as error:
        raise ConfigError(
            f"{dataset.path}: template: cannot be filled ({error}); compare factors with texts in quotes"
        ) from None
    frame["vignette"] = pd.array(vignettes, dtype="str")
    twins = frame["vignette"].duplicated(keep=False)
    if twins.any():
        flows = frame.index[frame["vignette"] == frame.loc[twins, "vignette"].iloc[0]][:2].tolist()
        raise ConfigError(
            f"{dataset.path}: template: flows {flows[0]} and {flows[1]} have the same vignette "
            f"{frame['vignette'].iloc[flows[0]]!r}; the template must tell all levels apart"
        )
    frame.insert(0, "flow", np.arange(len(frame), dtype=np.int32))
    return frame.assign(expected=np.nan)


def factor_columns(dataset: Dataset) -> pd.DataFrame:
    """Return the level of each factor (label, categorical) for every flow, in flow order."""
    return _label_columns(dataset, _level_numbers(dataset))


def _groups(dataset: Dataset) -> list[tuple[str, ...]]:
    """Return the groups of factors that vary together, slowest first; a lone factor is a group of one."""
    group_of = {name: group for group in dataset.linked for name in group}
    return list(dict.fromkeys(group_of.get(name, (name,)) for name in dataset.design))


def _sizes(dataset: Dataset) -> tuple[int, ...]:
    return tuple(len(dataset.design[group[0]]) for group in _groups(dataset))


def _level_numbers(dataset: Dataset) -> dict[str, np.ndarray]:
    """Return, per factor in the order of the file, the number of its level in each flow."""
    groups, sizes = _groups(dataset), _sizes(dataset)
    by_group = np.unravel_index(np.arange(math.prod(sizes)), sizes)
    numbers = {name: axis for group, axis in zip(groups, by_group, strict=True) for name in group}
    return {name: numbers[name] for name in dataset.design}


def _label_columns(dataset: Dataset, numbers: dict[str, np.ndarray]) -> pd.DataFrame:
    columns = {}
    for name, number in numbers.items():
        labels = [level.label for level in dataset.design[name]]
        # Within a linked group a level can come more than once.
        categories = list(dict.fromkeys(labels))
        code = np.array([categories.index(label) for label in labels])
        columns[name] = pd.Categorical.from_codes(code[number], categories=pd.Index(categories))
    return pd.DataFrame(columns)


def _compile(dataset: Dataset) -> Callable[..., str]:
    """Return the template as a function of the factors, after checking what it is made of."""
    try:
        return _checked(dataset)
    except (RecursionError, SyntaxError, MemoryError):  # what Python makes of too many brackets or conditions
        raise ConfigError(
            f"{dataset.path}: template: its brackets or conditions are nested too deeply; write it with fewer levels"
        ) from None


def _checked(dataset: Dataset) -> Callable[..., str]:
    environment = SandboxedEnvironment(undefined=StrictUndefined, autoescape=False)
    environment.globals.clear()
    environment.filters.clear()
    environment.tests.clear()
    try:
        tree = environment.parse(dataset.template or "")
    except TemplateError as error:
        raise ConfigError(f"{dataset.path}: template: not a valid Jinja2 template: {error}") from None
    for node in tree.find_all(nodes.Node):
        if (kind := type(node).__name__) not in _TEMPLATE_NODES:
            raise ConfigError(
                f"{dataset.path}: template: {kind} on line {node.lineno} is not allowed; "
                "allowed: {{ factor }}, {% if %} and comparisons"
            )
    for name in sorted(_WORDS & set(dataset.design)):
        raise ConfigError(
            f"{dataset.path}: factors: {name!r} cannot name a factor, because templates have another value of that "
            "name; use another name"
        )
    # Every name: jinja2 takes some, such as self, for declared.
    for name in sorted({node.name for node in tree.find_all(nodes.Name)}):
        if name not in dataset.design:
            raise unknown(str(dataset.path), "template", name, dataset.design, "factor")
    return environment.from_string(tree).render


def _check_keys(file: str, stated: DatasetFile) -> None:
    source, stated_keys = stated.source, stated.model_fields_set
    specific = set().union(*_NEEDED.values(), *_OPTIONAL.values())
    fitting = _NEEDED[source] | _OPTIONAL[source]
    if unfit := next(
        (key for key in DatasetFile.model_fields if key in stated_keys & specific - fitting), None
    ):
        allowed = ", ".join(sorted(fitting))
        raise ConfigError(f"{file}: {unfit}: does not fit 'source: {source}'; allowed there: {allowed}")
    for key in sorted(_NEEDED[source] - stated_keys):
        raise ConfigError(f"{file}: key '{key}' is missing; 'source: {source}' needs it")
    labels = stated.files and stated.files.labels
    if source == "confaide" and not labels:
        raise ConfigError(f"{file}: files: key 'labels' is missing; 'source: confaide' needs it")
    if source == "csv" and labels:
        raise ConfigError(f"{file}: files.labels: does not fit 'source: csv'; use columns.expected")


def _check_design(dataset: Dataset) -> None:
    """Refuse what the schema cannot see: unknown names, unequal lengths, repeated levels."""
    _check_names(str(dataset.path), "factors", dataset.design)
    seen: set[str] = set()
    for group in dataset.linked:
        for name in group:
            if name not in dataset.design:
                raise unknown(str(dataset.path), "linked", name, dataset.design, "factor")
            if name in seen:
                raise ConfigError(f"{dataset.path}: linked: factor {name!r} is in two groups; keep it in one")
            seen.add(name)
        if len({len(dataset.design[name]) for name in group}) > 1:
            sizes = ", ".join(f"{name} {len(dataset.design[name])}" for name in group)
            raise ConfigError(
                f"{dataset.path}: linked: factors need the same number of levels; they have: {sizes}"
            )
    for group in _groups(dataset):
        rows = list(zip(*([level.label for level in dataset.design[name]] for name in group), strict=True))
        if twice := next((row for number, row in enumerate(rows) if row in rows[:number]), None):
            raise ConfigError(
                f"{dataset.path}: factors.{group[0]}: level {' + '.join(twice)!r} appears twice"
            )
    if dataset.template:
        _compile(dataset)


def _check_names(file: str, key: str, names: Iterable[str]) -> None:
    for name in names:
        if name in RESERVED:
            raise ConfigError(
                f"{file}: {key}: {name!r} cannot name a factor, because tables have such a column; use another name"
            )
