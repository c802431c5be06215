"""Datasets: read from YAML, checked, and their vignettes, from a factorial design, a CSV file or ConfAIde's files."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from cinorms.core import tables, validation
from cinorms.core.csv_header import check_header
from cinorms.core.errors import ConfigError, DataError
from cinorms.vignettes.source_files import SourceFile, get, own_files, read_source

SCHEMA = Path(__file__).parents[3] / "schemas" / "dataset.schema.yaml"

#: Names that a factor cannot have, because tables keep their own columns next to the factors.
RESERVED = frozenset(
    name
    for contract in (tables.VIGNETTES, tables.PROMPTS, tables.RESPONSES, tables.ANSWERS, tables.NORMS)
    for name in contract.columns
) | {"dataset", "model", "arm"}

#: Keys that a dataset needs, and may have, beyond those that every dataset has; by source.
_NEEDED = {
    "design": {"factors", "template"},
    "csv": {"files", "columns"},
    "confaide": {"factors", "files", "expected_range"},
}
_OPTIONAL = {"design": {"linked", "null_level"}, "csv": {"rows", "expected_range"}, "confaide": {"linked"}}

#: What a template can be made of. Everything else (attributes, calls, filters, loops) is refused.
_TEMPLATE_NODES = frozenset(
    {"Template", "Output", "TemplateData", "Name", "Const", "List", "Tuple"}
    | {"If", "CondExpr", "Compare", "Operand", "And", "Or", "Not"}
)

#: ConfAIde separates instruction and scenario by these two characters, a backslash and an n.
CONFAIDE_BREAK = "\\n"

#: What tables and figures show for a level that is empty in a CSV file.
EMPTY_LABEL = "(empty)"


@dataclass(frozen=True)
class Level:
    """One value of a factor: ``label`` for tables and figures, ``text`` for the vignette."""

    label: str
    text: str


@dataclass(frozen=True)
class NullLevel:
    """The factor that the null principle leaves out, and what its column shows then."""

    factor: str
    label: str


@dataclass(frozen=True)
class Design:
    """Factors, slowest first, with their levels; factors of one ``linked`` group vary together.

    ``template`` is empty where the vignettes come from a file. ``file`` is for messages.
    """

    file: str
    factors: dict[str, tuple[Level, ...]]
    linked: tuple[tuple[str, ...], ...] = ()
    template: str = ""
    null_level: NullLevel | None = None

    def n_flows(self, null_principle: bool = False) -> int:
        """Return the number of flows, those of the null principle included where asked for."""
        extra = math.prod(_sizes(self, _null(self).factor)) if null_principle else 0
        return math.prod(_sizes(self)) + extra


@dataclass(frozen=True)
class Columns:
    """Which columns of a CSV file hold the vignette, the factors (by name) and the expected value."""

    vignette: str
    factors: dict[str, str]
    expected: str | None = None


@dataclass(frozen=True)
class Dataset:
    """The content of a dataset's YAML ``file``. ``expected_range`` holds the values of the scale's two ends.

    ``flows_of`` is the dataset whose flows it tells in another form.
    """

    file: Path
    name: str
    title: str
    context: str
    scale: str
    source: str
    origin: dict[str, str]
    design: Design | None = None
    files: Mapping[str, SourceFile] = field(default_factory=dict)
    columns: Columns | None = None
    rows: int | None = None
    expected_range: tuple[float, float] | None = None
    flows_of: str | None = None

    @property
    def factors(self) -> dict[str, tuple[str, ...]]:
        """Labels of each factor's levels, slowest factor first; none are known before a CSV file is read."""
        if self.design is not None:
            levels = self.design.factors.items()
            return {name: tuple(dict.fromkeys(level.label for level in known)) for name, known in levels}
        return dict.fromkeys(self.columns.factors, ()) if self.columns is not None else {}

    @property
    def null_level(self) -> NullLevel | None:
        """The factor that the null principle leaves out, where the dataset has one."""
        return self.design.null_level if self.design is not None else None

    def inputs(self) -> dict[str, list[str]]:
        """Return what a rule that reads the vignettes must name: the dataset's file, and its ``own`` files."""
        return {"dataset": [str(self.file)], "own": own_files(self.files.values())}

    def n_flows(self, null_principle: bool = False) -> int | None:
        """Return the number of flows without reading the files, None where only a file can tell.

        Raises ``ConfigError`` as ``expand`` does.
        """
        if self.design is not None:
            return self.design.n_flows(null_principle)
        if null_principle:
            raise ConfigError(
                f"{self.name}: null_principle: only a dataset with 'source: design' can have it"
            )
        return self.rows


def load_dataset(path: str | Path) -> Dataset:
    """Read the dataset at ``path``; its name is the file's name without ``.yaml``.

    Raises ``ConfigError`` with the file, the key, what is given and what is allowed.
    """
    path = Path(path)
    document = validation.load_yaml(path)
    validation.check(document, SCHEMA, str(path))
    source = document["source"]
    _check_keys(str(path), document, source)
    design = None
    if "factors" in document:
        factors = {
            name: tuple(
                Level(**given) if isinstance(given, dict) else Level(given, given) for given in levels
            )
            for name, levels in document["factors"].items()
        }
        linked = tuple(tuple(group) for group in document.get("linked", []))
        null = NullLevel(**document["null_level"]) if "null_level" in document else None
        design = Design(str(path), factors, linked, document.get("template", ""), null)
        _check_design(design, with_template=source == "design")
    columns = Columns(**document["columns"]) if "columns" in document else None
    if columns is not None:
        _check_names(str(path), "columns.factors", columns.factors)
        if columns.expected is not None and "expected_range" not in document:
            raise ConfigError(f"{path}: key 'expected_range' is missing; columns.expected needs it")
    expected_range = document.get("expected_range")
    if expected_range is not None and not expected_range[0] < expected_range[1]:
        raise ConfigError(
            f"{path}: expected_range: {expected_range} does not rise; put the lower value first"
        )
    stated = document.get("files", {}).items()
    files = {key: read_source(path, f"files.{key}", given) for key, given in stated}
    if source == "csv" and "rows" not in document and files["vignettes"].path is None:
        raise ConfigError(
            f"{path}: key 'rows' is missing; a file with an address needs it, so that a study can be planned "
            "before the file is downloaded"
        )
    return Dataset(
        file=path,
        name=path.stem,
        title=document["title"],
        context=document["context"],
        scale=document["scale"],
        source=source,
        origin=dict(document["origin"]),
        design=design,
        files=files,
        columns=columns,
        rows=document.get("rows"),
        expected_range=tuple(expected_range) if expected_range is not None else None,
        flows_of=document.get("flows_of"),
    )


def expand(design: Design, null_principle: bool = False) -> pd.DataFrame:
    """Return every flow of ``design`` with its vignette, under the contract ``tables.VIGNETTES``.

    The flows are the full product of the factors (a linked group counts as one), the first factor slowest;
    ``flow`` is the row number. With ``null_principle`` the flows without the factor of ``null_level`` follow:
    the template sees ``None`` for it and its column holds the null level's label. ``expected`` is missing.

    Raises ``ConfigError`` where there is no null level, or where two flows have the same vignette.
    """
    frame = _expand_part(design, None)
    if null_principle:
        more, columns = _expand_part(design, _null(design)), {}
        # pandas.concat would turn categoricals with different categories into text.
        for name in design.factors:
            columns[name] = pd.api.types.union_categoricals([frame[name], more[name]])
        texts = pd.concat([frame["vignette"], more["vignette"]], ignore_index=True)
        frame = pd.DataFrame(columns).assign(vignette=texts)
    twins = frame["vignette"].duplicated(keep=False)
    if twins.any():
        flows = frame.index[frame["vignette"] == frame.loc[twins, "vignette"].iloc[0]][:2].tolist()
        raise ConfigError(
            f"{design.file}: template: flows {flows[0]} and {flows[1]} have the same vignette "
            f"{frame['vignette'].iloc[flows[0]]!r}; the template must tell all levels apart"
        )
    frame.insert(0, "flow", np.arange(len(frame), dtype=np.int32))
    return frame.assign(expected=np.nan)


def factor_columns(design: Design) -> pd.DataFrame:
    """Return the level of each factor (label, categorical) for every flow, in flow order."""
    return _label_columns(design, _level_numbers(design, None))


def read_vignettes(
    dataset: Dataset, cache_dir: str | Path, mirror: str | Path | None = None, null_principle: bool = False
) -> pd.DataFrame:
    """Return the flows of ``dataset`` under the contract ``tables.VIGNETTES``, one column per factor.

    ``expected`` is in the units of ``dataset.expected_range`` and missing where nothing is known. Files are
    looked for in the folder ``mirror``, then in ``cache_dir``, then fetched.

    Raises ``ConfigError`` where ``null_principle`` is not possible, ``DataError`` where a file is not as
    declared.
    """
    n_flows, design = dataset.n_flows(null_principle), dataset.design
    if dataset.source == "design" and design is not None:
        return expand(design, null_principle)
    files = {key: get(file, cache_dir, mirror) for key, file in dataset.files.items()}
    path = files["vignettes"]
    if dataset.columns is not None:
        frame = _read_csv(path, dataset.columns)
    else:
        assert design is not None, "a dataset has columns or factors"
        frame = _read_confaide(path, files["labels"], design)
    if frame.empty:
        raise DataError(f"{path}: has no rows; a dataset needs at least one")
    if n_flows is not None and len(frame) != n_flows:
        raise DataError(f"{path}: has {len(frame)} rows, the dataset's file declares {n_flows}")
    empty = frame["vignette"].str.strip() == ""
    if empty.any():
        raise DataError(f"{path}: row {_first(empty)} has no vignette")
    if dataset.expected_range is not None:
        low, high = dataset.expected_range
        outside = frame["expected"].notna() & ~frame["expected"].between(low, high)
        if outside.any():
            row = _first(outside)
            raise DataError(
                f"{path}: flow {row}: expected value {frame['expected'].iloc[row]} is outside expected_range "
                f"[{low}, {high}]"
            )
    frame.insert(0, "flow", np.arange(len(frame), dtype=np.int32))
    return frame


def _read_csv(path: Path, columns: Columns) -> pd.DataFrame:
    check_header(path)
    try:
        raw = pd.read_csv(path, dtype="str", keep_default_na=False, encoding="utf-8")
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: cannot be read as a CSV file in UTF-8: {error}") from None
    wanted = [columns.vignette, *columns.factors.values(), *([columns.expected] if columns.expected else [])]
    absent = [name for name in wanted if name not in raw.columns]
    if absent:
        raise DataError(f"{path}: has no column {absent[0]!r}; it has: {', '.join(raw.columns)}")
    frame = pd.DataFrame(index=raw.index)
    for name, column in columns.factors.items():
        values = raw[column].replace("", EMPTY_LABEL)
        # Categories in the order in which they first come.
        frame[name] = values.astype(pd.CategoricalDtype(list(dict.fromkeys(values))))
    frame["vignette"] = raw[columns.vignette]
    frame["expected"] = _numbers(path, raw[columns.expected]) if columns.expected else np.nan
    return frame


def _first(wrong: pd.Series) -> int:
    """Return the number of the first row in which ``wrong`` is true."""
    return int(wrong.to_numpy().argmax())


def _lines(path: Path) -> list[str]:
    # Not splitlines(), which also breaks at characters that a story may hold.
    return path.read_text(encoding="utf-8").removesuffix("\n").split("\n")


def _numbers(path: Path, values: pd.Series) -> pd.Series:
    given = values.str.strip() != ""
    numbers = pd.to_numeric(values.where(given), errors="coerce").astype("float64")
    wrong = given & numbers.isna()
    if wrong.any():
        row = _first(wrong)
        raise DataError(f"{path}: row {row}: expected value {values[row]!r} is not a number")
    return numbers


def _read_confaide(vignettes: Path, labels: Path, design: Design) -> pd.DataFrame:
    """Return ConfAIde's scenarios, without the instruction before them, with the levels of ``design``."""
    frame = factor_columns(design)
    lines = _lines(vignettes)
    values = pd.Series(_lines(labels), dtype="str")
    for path, count in ((vignettes, len(lines)), (labels, len(values))):
        if count != len(frame):
            raise DataError(f"{path}: has {count} lines, the dataset's factors make {len(frame)} flows")
    without = [number for number, line in enumerate(lines) if CONFAIDE_BREAK not in line]
    if without:
        raise DataError(
            f"{vignettes}: line {without[0] + 1} has no {CONFAIDE_BREAK!r} between instruction and scenario"
        )
    frame["vignette"] = pd.array([line.partition(CONFAIDE_BREAK)[2].strip() for line in lines], dtype="str")
    frame["expected"] = _numbers(labels, values)
    return frame


def _expand_part(design: Design, without: NullLevel | None) -> pd.DataFrame:
    numbers = _level_numbers(design, without.factor if without else None)
    frame = _label_columns(design, numbers)
    if without is not None:
        absent = pd.Categorical.from_codes(
            np.zeros(len(frame), dtype=np.int8), categories=pd.Index([without.label])
        )
        frame.insert(list(design.factors).index(without.factor), without.factor, pd.Series(absent))
    return frame.assign(vignette=pd.array(_render(design, numbers), dtype="str"))


def _groups(design: Design, without: str | None = None) -> list[tuple[str, ...]]:
    """Return the groups of factors that vary together, slowest first; a lone factor is a group of one."""
    group_of = {name: group for group in design.linked for name in group}
    groups = dict.fromkeys(group_of.get(name, (name,)) for name in design.factors if name != without)
    return list(groups)


def _sizes(design: Design, without: str | None = None) -> tuple[int, ...]:
    return tuple(len(design.factors[group[0]]) for group in _groups(design, without))


def _level_numbers(design: Design, without: str | None) -> dict[str, np.ndarray]:
    """Return, per factor in the order of the design, the number of its level in each flow."""
    groups = _groups(design, without)
    sizes = _sizes(design, without)
    by_group = np.unravel_index(np.arange(math.prod(sizes)), sizes)
    numbers = {name: axis for group, axis in zip(groups, by_group, strict=True) for name in group}
    return {name: numbers[name] for name in design.factors if name != without}


def _label_columns(design: Design, numbers: dict[str, np.ndarray]) -> pd.DataFrame:
    columns = {}
    for name, number in numbers.items():
        labels = [level.label for level in design.factors[name]]
        # Within a linked group a level can come more than once.
        categories = list(dict.fromkeys(labels))
        code = np.array([categories.index(label) for label in labels])
        columns[name] = pd.Categorical.from_codes(code[number], categories=pd.Index(categories))
    return pd.DataFrame(columns)


def _render(design: Design, numbers: dict[str, np.ndarray]) -> list[str]:
    render = _compile(design)
    texts = {name: [level.text for level in design.factors[name]] for name in numbers}
    columns = [[texts[name][i] for i in number] for name, number in numbers.items()]
    absent = dict.fromkeys(name for name in design.factors if name not in numbers)
    names = list(numbers)
    return [render(**absent, **dict(zip(names, row, strict=True))) for row in zip(*columns, strict=True)]


def _compile(design: Design) -> Callable[..., str]:
    """Return the template as a function of the factors, after checking what it is made of."""
    from jinja2 import StrictUndefined, TemplateError, nodes
    from jinja2.meta import find_undeclared_variables
    from jinja2.sandbox import SandboxedEnvironment

    environment = SandboxedEnvironment(undefined=StrictUndefined, autoescape=False)
    environment.globals.clear()
    environment.filters.clear()
    environment.tests.clear()
    try:
        tree = environment.parse(design.template)
    except TemplateError as error:
        raise ConfigError(f"{design.file}: template: not a valid Jinja2 template: {error}") from None
    for node in tree.find_all(nodes.Node):
        kind = type(node).__name__
        if kind not in _TEMPLATE_NODES:
            raise ConfigError(
                f"{design.file}: template: {kind} on line {node.lineno} is not allowed; "
                "allowed: {{ factor }}, {% if %} and comparisons"
            )
    for name in sorted(find_undeclared_variables(tree)):
        if name not in design.factors:
            raise validation.unknown(design.file, "template", name, design.factors, "factor")
    return environment.from_string(tree).render


def _null(design: Design) -> NullLevel:
    if design.null_level is None:
        raise ConfigError(
            f"{design.file}: null_principle needs the key 'null_level', which the dataset lacks"
        )
    return design.null_level


def _check_keys(file: str, document: dict[str, Any], source: str) -> None:
    specific = set().union(*_NEEDED.values(), *_OPTIONAL.values())
    for key in document:
        if key in specific and key not in _NEEDED[source] | _OPTIONAL[source]:
            allowed = ", ".join(sorted(_NEEDED[source] | _OPTIONAL[source]))
            raise ConfigError(f"{file}: {key}: does not fit 'source: {source}'; allowed there: {allowed}")
    for key in sorted(_NEEDED[source]):
        if key not in document:
            raise ConfigError(f"{file}: key '{key}' is missing; 'source: {source}' needs it")
    files = document.get("files", {})
    if source == "confaide" and "labels" not in files:
        raise ConfigError(f"{file}: files: key 'labels' is missing; 'source: confaide' needs it")
    if source == "csv" and "labels" in files:
        raise ConfigError(f"{file}: files.labels: does not fit 'source: csv'; use columns.expected")


def _check_design(design: Design, with_template: bool) -> None:
    """Refuse what the schema cannot see: unknown names, unequal lengths, repeated levels."""
    _check_names(design.file, "factors", design.factors)
    _check_linked(design)
    for group in _groups(design):
        rows = list(
            zip(*(tuple(level.label for level in design.factors[name]) for name in group), strict=True)
        )
        twice = next((row for number, row in enumerate(rows) if row in rows[:number]), None)
        if twice is not None:
            raise ConfigError(f"{design.file}: factors.{group[0]}: level {' + '.join(twice)!r} appears twice")
    null = design.null_level
    if null is not None:
        if null.factor not in design.factors:
            raise validation.unknown(design.file, "null_level.factor", null.factor, design.factors, "factor")
        if any(null.factor in group for group in design.linked):
            raise ConfigError(
                f"{design.file}: null_level.factor: {null.factor!r} is in a linked group; name a factor outside them"
            )
        if null.label in {level.label for level in design.factors[null.factor]}:
            raise ConfigError(
                f"{design.file}: null_level.label: {null.label!r} is already a level of {null.factor}; name another"
            )
    if with_template:
        _compile(design)


def _check_linked(design: Design) -> None:
    seen: set[str] = set()
    for group in design.linked:
        for name in group:
            if name not in design.factors:
                raise validation.unknown(design.file, "linked", name, design.factors, "factor")
            if name in seen:
                raise ConfigError(f"{design.file}: linked: factor {name!r} is in two groups; keep it in one")
            seen.add(name)
        counts = {name: len(design.factors[name]) for name in group}
        if len(set(counts.values())) > 1:
            given = ", ".join(f"{name} {count}" for name, count in counts.items())
            raise ConfigError(
                f"{design.file}: linked: factors need the same number of levels; they have: {given}"
            )


def _check_names(file: str, key: str, names: dict[str, Any]) -> None:
    for name in names:
        if name in RESERVED:
            raise ConfigError(
                f"{file}: {key}: {name!r} cannot name a factor, because tables have such a column; use another name"
            )
