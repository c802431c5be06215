"""Releases: answers and numbers that a paper's authors published, as ``resources/published`` names them."""

import csv
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from cinorms.core.errors import ConfigError, DataError, damage_named, listing
from cinorms.core.scales import Scale
from cinorms.core.schema import SHA256, Distinct, NotRequired, Number, SomeText, Value
from cinorms.core.tables import SHARED
from cinorms.core.validation import load_as, unknown
from cinorms.published import frames
from cinorms.published.frames import category, scored_answers
from cinorms.vignettes.agent_files import items_of
from cinorms.vignettes.source_files import Declared, Origin, SourceFile, get, own_files, read_source

#: Columns of a file of printed numbers. ``printed`` has the digits of the paper; ``analysis``, ``where``
#: ("model=tulu-2-7b; t_val=10") and ``column`` say where this project's number is; ``shown`` says how the
#: paper shows it (`replication.SHOWN`); ``counted`` is yes, no for what is listed only, or words for a claim that the
#: text makes without a number.
COLUMNS = ("item", "cell", "printed", "analysis", "where", "column", "shown", "counted")

#: Between the name of a release and that of one of its frames.
SEPARATOR = "/"


class FrameFile(SourceFile):
    """A file with published answers. It is downloaded once, checked, and never becomes part of the project."""

    sha256: str = Field(pattern=SHA256, description="its SHA-256 is 64 lower-case hexadecimal digits")


class Frame(Value):
    """One published frame: its file, and which of its rows: the prompt set, and the value of other columns."""

    file: str
    """One of the files above; {model} is replaced by the model's name in the frames, where each has one."""
    format: Literal["scores", "letters", "verdicts"] = "scores"
    """scores: pickled frames; letters: a CSV file with a letter for each answer; verdicts: JSON with a judge's verdict
    on each item of an action."""
    column: NotRequired[SomeText] = Field(None, description="For letters: the column with the answers.")
    options: Mapping[str, Annotated[SomeText, Field(description="Option of the arm's scale.")]] = {}
    """For letters: the option that each letter stands for."""
    prompt_set: NotRequired[SomeText] = None
    """The prompt set's name in the frame, where it holds several."""
    where: Mapping[str, Annotated[SomeText, Field(description="The value, as text.")]] = Field(
        {}, min_length=1
    )
    """Column of the frame -> the value that its rows must have, where it holds several runs."""
    order: NotRequired[Annotated[str, Field(pattern=r"^[0-9a]{2,11}(?!\n)$")]] = None
    """The order of the options that every prompt showed, e.g. 01234; left out where it was not published."""
    orders: Mapping[
        str, Annotated[str, Field(pattern=r"^[a-z0-9_]+\.csv\.gz(?!\n)$", description="The file's name.")]
    ] = {}
    """Model -> a file in this folder with the order that each of its prompts showed (columns flow, template,
    occurrence, order)."""


class RawReplies(Value):
    """Where the authors' own replies are, which are not fetched."""

    url: SomeText = Field(description="Address of the archive.")
    git_blob: str = Field(pattern=r"^[0-9a-f]{40}(?!\n)$", description="What `git hash-object FILE` prints.")
    note: SomeText = Field(description="What it holds.")


class Reach(Value):
    """One printed number."""

    item: SomeText = Field(description="Its item in the files of numbers.")
    cell: SomeText = Field(description="Its cell there.")
    by: Number = Field(gt=0)
    """How far the computed number moves from machine to machine, in its own unit (of a p-value kept as a logarithm, in
    powers of ten)."""


class Image(Value):
    """What the authors' own image of a figure shows, read by pixel."""

    item: SomeText = Field(description="What tables call the figure.")
    file: str = Field(pattern=r"^[a-z0-9_]+\.csv(\.gz)?(?!\n)$")
    """CSV file in this folder, with columns of the figure's data; an empty cell could not be read."""
    compared: Distinct[SomeText] = Field(min_length=1)
    """The columns that are compared; the others name a row of the figure's data."""
    counted: SomeText = Field(description="What the image shows that is counted: triangles, ...")
    within: NotRequired[Number] = Field(None, gt=0)
    """How far a number may be from the image's, which is as exact as its pixels; without it texts are compared."""


class Remark(Value):
    """One place where the paper's text and its numbers disagree."""

    where: SomeText = Field(description="Section, table or figure.")
    claim: SomeText = Field(description="What the text says.")
    printed: SomeText = Field(description="What is printed about it.")
    computed: SomeText = Field(description="What the published answers give.")
    why: SomeText = Field(description="Why they differ, or what follows.")


#: Factor -> levels, or model -> answer options.
Choices = Mapping[str, Annotated[tuple[SomeText, ...], Field(description="Names, as tables have them.")]]


class Sentence(Value):
    """A sentence of the paper about flows, as data."""

    section: SomeText = Field(description="Section of the paper.")
    says: SomeText = Field(description="The sentence, shortened.")
    flows: Choices = Field({})
    """Factor -> levels: the flows that the sentence is about; all where it is left out."""
    others: Choices = Field({}, description="Factor -> levels that the sentence makes an exception of.")
    levels: Choices = Field({})
    """Model -> answer options; its norm for each of these flows is one of them."""
    opposite: tuple[SomeText, SomeText] | None = None
    """Two models whose norms are on different sides of the scale."""
    different: tuple[SomeText, SomeText] | None = None
    """Two models whose norms are different levels."""
    share: bool = False
    """Whether the sentence is about most of its flows; their share is shown, not counted."""
    but: str = Field("", description="What the published answers say instead: no cell is expected to hold.")
    paper: str = ""
    """Another paper whose sentence it is, about answers of its own; whether it holds of these answers is only shown."""
    table: str = Field("", description="Another analysis of kind flow_norms to compare it with.")

    @property
    def pair(self) -> tuple[str, str] | None:
        """The two models that the sentence says differ, if it says so."""
        return self.opposite or self.different


class Sentences(Value):
    """Sentences of the paper about flows."""

    table: SomeText = Field(description="The study's analysis of kind flow_norms with the models' norms.")
    rows: tuple[Sentence, ...] = Field(description="The sentences.")


class ReleaseFile(Value):
    """The scored answers that the authors of a paper published, and the numbers that it prints; one may be missing."""

    title: SomeText = Field(description="Name for people.")
    paper: SomeText = Field(description="What tables call the paper.")
    origin: Origin = Field(description="Where the answers come from.")
    files: Mapping[str, FrameFile] = Field({}, min_length=1)
    """The files with answers, by a short name; each by the full id of a commit."""
    frames: Mapping[str, Frame] = Field({}, min_length=1)
    """Names that an arm can use as its frame, after the release's name and '/'."""
    models: Mapping[str, Annotated[SomeText, Field(description="Name in the frames.")]] = Field(
        {}, min_length=1, description="The name in the frames of each model of config/models.yaml."
    )
    raw: NotRequired[RawReplies] = Field(None, description=str(RawReplies.__doc__))
    numbers: Distinct[Annotated[str, Field(pattern=r"^[a-z0-9_]+\.csv(?!\n)$")]] = ()
    """CSV files in this folder with the paper's printed numbers (their format is in docs/replication.md)."""
    images: Mapping[str, Image] = Field({}, description="By the name of the study's figure.")
    reach: tuple[Reach, ...] = ()
    """Numbers of an optimiser so near to a tie that their rounding depends on the machine (docs/replication.md
    describes the measurement)."""
    remarks: tuple[Remark, ...] = ()
    """Where the paper's text and its numbers disagree, or where the text leaves open what the numbers settle."""
    findings: tuple[SomeText, ...] = ()
    """What else the published answers show."""
    not_compared: tuple[SomeText, ...] = ()
    """What of the paper nothing here is compared with."""
    sentences: NotRequired[Sentences] = None
    """Sentences of the paper about flows, compared with the norms of the study."""


class Release(Declared, ReleaseFile):
    """What a paper's authors published, as the file at ``path`` declares it."""

    @property
    def reaches(self) -> dict[tuple[str, str], float]:
        """How far a number computed by an optimiser moves with the machine, by item and cell."""
        return {(reach.item, reach.cell): float(reach.by) for reach in self.reach}

    def inputs(self, frame: str) -> dict[str, list[str]]:
        """Return what a rule that reads ``frame`` must name: the release's file, and the frame's if it is one's own."""
        orders = [str(self.path.parent / name) for name in self.frames[frame].orders.values()]
        return {"release": [str(self.path)], "own": [*own_files(self.files_of(frame)), *orders]}

    def files_of(self, frame: str) -> list[SourceFile]:
        """Return the files of ``frame``: one, or one for each model."""
        names = dict.fromkeys(self.frames[frame].file.format(model=m) for m in self.models.values())
        return [self.files[name] for name in names]


def load_release(path: str | Path) -> Release:
    """Read the release at ``path``; its name is the file's name without ``.yaml``.

    Raises ``ConfigError`` with the file, the key, what is given and what is allowed.
    """
    path = Path(path)
    stated = load_as(ReleaseFile, path)
    for name, frame in stated.frames.items():
        for model in stated.models.values() if "{model}" in frame.file else [""]:
            if (file := frame.file.replace("{model}", model)) not in stated.files:
                raise unknown(str(path), f"frames.{name}.file", file, stated.files, "file")
        if frame.format == "letters" and not (frame.column and frame.options):
            raise ConfigError(
                f"{path}: frames.{name}: format 'letters' needs the keys 'column' and 'options'"
            )
    for name, frame in stated.frames.items():
        for model, file in frame.orders.items():
            if not os.path.isfile(path.parent / file):
                raise ConfigError(
                    f"{path}: frames.{name}.orders.{model}: there is no file {path.parent / file}; correct the name"
                )
    stated_files = [("numbers", name) for name in stated.numbers]
    stated_files += [(f"images.{name}.file", image.file) for name, image in stated.images.items()]
    for key, name in stated_files:
        if not os.path.isfile(path.parent / name):
            raise ConfigError(f"{path}: {key}: there is no file {path.parent / name}; correct the name")
    files = {name: read_source(path, f"files.{name}", file) for name, file in stated.files.items()}
    return Release.model_construct(**{**dict(stated), "files": files, "path": path})


def import_answers(
    release: Release,
    frame: str,
    models: Sequence[str],
    vignettes: pd.DataFrame,
    variants: pd.DataFrame,
    cache_dir: str | Path,
    mirror: str | Path | None = None,
    scale: Scale | None = None,
) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield each model of ``models`` with its answers (`tables.ANSWERS`) in a frame of ``release``.

    The frame's file is looked for in the folder ``mirror``, then in ``cache_dir``, then fetched.

    Raises ``DataError`` where the file cannot be obtained or is not as declared, as `published.to_answers`, and
    where the frame has a variant that ``variants`` (the arm's prompts) lacks.
    """
    source, table = release.frames[frame], pd.DataFrame()
    if source.format == "scores":
        table = _rows_of(release, frame, get(release.files[source.file], cache_dir, mirror))
    for model in models:
        if source.format == "scores":
            answers = frames.to_answers(table, release.models[model], vignettes, source.prompt_set)
            if source.order is not None:
                answers["order"] = category(np.zeros(len(answers), dtype=np.int8), [source.order])
            elif model in source.orders:
                answers["order"] = read_orders(release.path.parent / source.orders[model], answers)
        else:
            assert scale is not None, "letters and verdicts are put on a scale"
            file = get(
                release.files[source.file.replace("{model}", release.models[model])], cache_dir, mirror
            )
            if source.format == "letters":
                answers = read_letters(file, str(source.column), source.options, vignettes, scale)
            else:
                answers = read_verdicts(file, vignettes, scale)
        check_variants(answers, variants, f"frame {release.name}{SEPARATOR}{frame}, model {model}")
        yield model, answers


def _rows_of(release: Release, frame: str, path: Path) -> pd.DataFrame:
    """Return the rows of the published frame at ``path`` that ``frame`` of the release names."""
    source, table, whose = (
        release.frames[frame],
        frames.read_frame(path),
        f"{release.path}: frames.{frame}.where",
    )
    for column, value in source.where.items():
        if column not in table:
            raise DataError(f"{whose}: the frame has no column '{column}'; it has {list(map(str, table))}")
        texts = table[column].astype(str)
        table = table[texts == value].reset_index(drop=True)
        if table.empty:
            allowed = ", ".join(sorted(texts.unique())[:20])
            raise DataError(f"{whose}.{column}: no row has '{value}'; allowed: {allowed}")
    if source.prompt_set in set(table.get("paraphrasing", ())):
        table = table[table["paraphrasing"] == source.prompt_set].reset_index(drop=True)
    return table


def read_orders(path: Path, answers: pd.DataFrame) -> "pd.Series[Any]":
    """Return the order that the prompt of each answer showed, missing where the file at ``path`` has none."""
    with damage_named(path, "give a CSV file with the columns flow, template, occurrence, order"):
        shown = pd.read_csv(path, dtype={"order": "str"})
        names = shown["template"].astype(str) + "_" + shown["occurrence"].astype(str)
        orders = shown.assign(variant=names)[["flow", "variant", "order"]]
        asked = answers[["flow", "variant"]].astype({"variant": "str"})
        joined = asked.merge(orders, "left", on=["flow", "variant"], validate="1:1")
    return joined["order"].astype("category").set_axis(answers.index)


def check_variants(rows: pd.DataFrame, variants: pd.DataFrame, whose: str) -> None:
    """Insist that every variant of ``rows`` is one of the arm's; raise ``DataError`` for the first other."""
    others = sorted(set(rows["variant"].unique().astype(str)) - set(variants["variant"]))
    if others:
        raise DataError(
            f"{whose}: variant {others[0]} (template_order) is not among the arm's {len(variants)} variants; "
            "set the arm's 'prompts', 'templates' and 'orders.count' to what was asked"
        )


def raw_file(pattern: str, source: str, engine: str) -> str:
    """Return ``pattern`` with the two parts of a model's ``source`` ("organisation/name") put in.

    A source without an organisation has the engine's name for one.
    """
    organisation, _, name = source.rpartition("/")
    return pattern.replace("{organisation}", organisation or engine).replace("{name}", name)


def read_numbers(release: Release) -> pd.DataFrame:
    """Return the printed numbers of ``release`` as text, with a column ``paper``; see `COLUMNS`.

    Raises ``DataError`` for a file that is not laid out so or states a cell twice.
    """
    parts = []
    for name in release.numbers:
        path = release.path.parent / name
        with damage_named(path, "give the printed numbers as a CSV file in UTF-8"):
            frame = pd.read_csv(path, dtype="str", keep_default_na=False, encoding="utf-8")
        if list(frame.columns) != list(COLUMNS):
            raise DataError(f"{path}: has the columns {list(frame.columns)}, expected {list(COLUMNS)}")
        twice = frame.duplicated(["item", "cell"])
        if twice.any():
            raise DataError(
                f"{path}: {frame.loc[twice, ['item', 'cell']].iloc[0].tolist()} appears twice; keep one"
            )
        parts.append(frame)
    whole = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=list(COLUMNS), dtype="str")
    whole.insert(0, "paper", release.paper)
    return whole


def compared_with(release: Release | None) -> list[str]:
    """Return the analyses and figures that what ``release`` prints and shows is compared with, each once."""
    names = [] if release is None else read_numbers(release)["analysis"].tolist()
    sentences = release.sentences if release else None
    about_flows = [sentences.table, *(row.table for row in sentences.rows)] if sentences else []
    images = release.images if release else {}
    return list(dict.fromkeys(filter(None, [*names, *about_flows, *images])))


# --- What the authors of CI-RL published of agents: answers to a question, and a judge's verdicts on each item
# Records are joined to flows by the number at the end of their name: main1 is flow 0.

#: An answer is its letter, in brackets or not, with what follows.
_LETTER = re.compile(r"\s*\(?([A-Z])\b")


def read_letters(
    path: Path, column: str, options: Mapping[str, str], vignettes: pd.DataFrame, scale: Scale
) -> pd.DataFrame:
    """Return the answers in a column of a CSV file: a letter for each option. Another text is ``invalid``."""
    with damage_named(path, "give a CSV file in UTF-8"), path.open(encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    if not rows or "name" not in rows[0] or column not in rows[0]:
        raise DataError(f"{path}: has no column 'name' or no column {column!r}")
    for option in options.values():
        if option not in scale.options:
            raise DataError(
                f"{path}: a letter stands for {option!r}, no option; {listing(option, scale.options)}"
            )
    matches = [_LETTER.match(row[column] or "") for row in rows]
    answers = [options.get(match[1]) if match else None for match in matches]
    levels = [None if option is None else scale.levels[scale.options.index(option)] for option in answers]
    return _answers(path, [row["name"] for row in rows], levels, vignettes)


def read_verdicts(path: Path, vignettes: pd.DataFrame, scale: Scale) -> pd.DataFrame:
    """Return the actions in a file of verdicts: which sensitive items of each flow a judge calls leaked.

    Raises ``DataError`` where the items are not those of the flow.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        judged: dict[str, list[tuple[str, bool]]] = {}
        for name, of in document.items():
            judged[name] = [(str(item), bool(leaked)) for item, leaked in of["secret_judgment"]]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise DataError(f"{path}: is not a file of verdicts ({type(error).__name__}: {error})") from None
    sensitive = [[SHARED * leaked for _, leaked in of] for of in judged.values()]
    levels: list[int | None] = [scale.levels[-1] if any(of) else scale.levels[0] for of in sensitive]
    answers = _answers(path, list(judged), levels, vignettes, sensitive=sensitive)
    items = items_of(vignettes)
    for flow, of in zip(_flows(path, list(judged)), judged.values(), strict=True):
        if [item for item, _ in of] != items[flow]["sensitive"]:
            raise DataError(f"{path}: the items of flow {flow} are not those of the dataset")
    nothing: list[list[int]] = [[] for _ in range(len(answers))]
    return answers.assign(needed=pd.Series(nothing, answers.index, dtype=object))


def _flows(path: Path, names: list[str]) -> list[int]:
    numbers = [re.search(r"(\d+)$", name) for name in names]
    flows = [int(match[1]) - 1 for match in numbers if match]
    if len(flows) != len(names) or len(set(flows)) != len(flows):
        raise DataError(f"{path}: a record's name has no number of its own at its end")
    return flows


def _answers(
    path: Path, names: list[str], levels: list[int | None], vignettes: pd.DataFrame, **columns: Any
) -> pd.DataFrame:
    """Return an answers table (`tables.ANSWERS`) of the only variant, sorted by flow."""
    flows = _flows(path, names)
    if unknown := sorted(set(flows) - set(vignettes["flow"])):
        raise DataError(f"{path}: flow {unknown[0]} is none of the dataset's {len(vignettes)} flows")
    one_variant = category(np.zeros(len(flows), dtype=np.int8), ["0_0"])
    table = scored_answers(np.array(flows, dtype=np.int32), one_variant, np.array(levels, dtype=np.float64))
    for name, values in columns.items():
        table.insert(1, name, pd.Series(values))
    return table.sort_values("flow", ignore_index=True)
