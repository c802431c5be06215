"""The schemas of all Parquet tables, and the only way to read and write them."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from cinorms.core.checksums import verified, with_checksum
from cinorms.core.errors import REMEDY, DataError, damage_named
from cinorms.core.files import replacing

#: What an answer can be. Only ``ok`` carries a level and votes.
ANSWER_STATUSES = (
    "ok",
    "refusal",
    "needs_context",
    "nonsense",
    "ambiguous",
    "empty",
    "truncated",
    "error",
    "invalid",  # published as missing, the reason was not published
    "conditional",  # different verdicts for two or more cases, as "if the owner consented, X; otherwise Y"
    "trace_cut",  # the trace was cut short, and no answer follows; only models that reason
    "not_a_rating",  # an answer of another kind than the scale's, such as don't know; only people
)
#: Those that a person can give a reply without a level. The others say where a table is from, not what a text says.
OVERRIDE_STATUSES = tuple(
    s for s in ANSWER_STATUSES if s not in {"ok", "invalid", "trace_cut", "not_a_rating"}
)
#: Those that few studies can have: a table lists them only where they occur.
RARE_STATUSES = frozenset({"invalid", "conditional", "trace_cut", "not_a_rating"})
#: Statuses of actions of which it is known what they disclose: those that do nothing disclose nothing.
KNOWN_ACTS = ("ok", "refusal", "needs_context")
#: Those that a model's answers can have, and the categories of answers without a trace that was cut: in the order in
#: which every version has written them.
MODEL_STATUSES, USUAL_STATUSES = ANSWER_STATUSES[:-1], ANSWER_STATUSES[:-2]

#: What a flow's norm can be under one pair of thresholds. Only ``kept`` is a norm.
NORM_STATUSES = ("kept", "below_t_val", "no_majority", "tie")

TEXT = pa.string()
#: Few distinct values: stored once each.
CATEGORY = pa.dictionary(pa.int32(), pa.string())

#: How much of an item an action discloses, and a column with that for each item of a flow.
WITHHELD, GENERALISED, SHARED = 0, 1, 2
ITEMS = pa.list_(pa.int8())

NULLABLE_INTS = {pa.int8(): pd.Int8Dtype(), pa.int16(): pd.Int16Dtype(), pa.int32(): pd.Int32Dtype()}


@dataclass(frozen=True)
class TableSchema:
    """Columns with their types, the key that must be unique, and a version, raised where a column gets another meaning.

    ``extra`` is the type of further columns (factors of a dataset);
    ``None`` forbids them. ``counts`` says that there is a column for each level of the scale (`count_columns`), after
    the column that it names. ``nullable`` names the columns in which a missing value has a meaning.
    ``file`` is the table's path in a study, ``holds`` describes its content, and ``about`` has one sentence per column.
    ``remedy`` is what to do with a file that cannot be read.
    """

    name: str
    version: int
    key: tuple[str, ...]
    columns: dict[str, pa.DataType]
    nullable: frozenset[str] = field(default_factory=frozenset)
    extra: pa.DataType | None = None
    counts: str | None = None
    file: str = ""
    holds: str = ""
    about: dict[str, str] = field(default_factory=dict)
    remedy: str = REMEDY
    #: Columns that only some tables of this schema have.
    optional: frozenset[str] = field(default_factory=frozenset)

    def arrow(self, names: list[str]) -> pa.Schema:
        """Return the Arrow schema for a frame with the columns ``names``; raise ``DataError`` for wrong ones."""
        missing = [name for name in self.columns if name not in names and name not in self.optional]
        counted = count_columns(count_levels(names)) if self.counts else []
        unknown = [name for name in names if name not in self.columns and name not in counted]
        if missing or (unknown and self.extra is None):
            raise DataError(
                f"table {self.name}: columns missing {missing}, columns not in the schema {unknown}"
            )
        types = {name: COUNT if name in counted else self.columns.get(name, self.extra) for name in names}
        optional = self.nullable.union(unknown)
        fields = [pa.field(name, kind, nullable=name in optional) for name, kind in types.items()]
        return pa.schema(fields, metadata={b"cinorms": f"{self.name} v{self.version}".encode()})

    def described(self, levels: Sequence[int] = ()) -> dict[str, str]:
        """Return one sentence per column, those that count each of ``levels`` included."""
        counts = {count_columns([level])[0]: f"Valid answers at level {level}." for level in levels}
        described: dict[str, str] = {}
        for name, about in self.about.items():
            described |= {name: about, **(counts if name == self.counts else {})}
        return described


def count_columns(levels: Sequence[int]) -> list[str]:
    """Return the names of the columns that count the answers at each of ``levels``: n_m1, n_0, n_p1, ..."""
    return [f"n_{_SIGNS[(level > 0) - (level < 0)]}{abs(level)}" for level in levels]


def count_levels(names: Iterable[str]) -> list[int]:
    """Return the levels that the columns ``names`` count, in the order of the columns (see `count_columns`)."""
    matches = (_COUNTED.fullmatch(name) for name in names)
    return [int(match[2]) * (-1 if match[1] == "m" else 1) for match in matches if match]


_SIGNS = {-1: "m", 0: "", 1: "p"}
_COUNTED = re.compile(r"n_(m|p|)(\d+)")
COUNT = pa.int32()

VIGNETTES = TableSchema(
    "vignettes",
    1,
    ("flow",),
    {"flow": pa.int32(), "vignette": TEXT, "expected": pa.float64(), "items": TEXT},
    nullable=frozenset({"expected"}),
    optional=frozenset({"items"}),
    extra=CATEGORY,
    file="results/{study}/vignettes/{dataset}.parquet",
    holds="The flows of a dataset, as levels of its factors and as text.",
    about={
        "flow": "Number of the flow in its dataset, from 0.",
        "vignette": "The flow as text, as models are asked about it.",
        "expected": "The value that the dataset expects; missing where it states none.",
        "items": "Only of trajectories: what an action should not disclose (sensitive) and has to (needed), as JSON.",
    },
)
PROMPTS = TableSchema(
    "prompts",
    1,
    ("variant",),
    {
        "variant": TEXT,
        "template": TEXT,
        "prompt_set": TEXT,
        "template_no": pa.int32(),
        "order_no": pa.int32(),
    },
    file="results/{study}/prompts/{arm}.parquet",
    holds="The variants of an arm: its wordings, each in every order of the answer options.",
    about={
        "variant": "Name of the variant, {template_no}_{order_no}.",
        "template": "Text of the wording.",
        "prompt_set": "The prompt set that the wording is from.",
        "template_no": "Number of the wording in its prompt set; 0 is the original.",
        "order_no": "Number of the order of the answer options, from 0.",
    },
)
RESPONSES = TableSchema(
    "responses",
    1,
    ("flow", "variant"),
    {
        "flow": pa.int32(),
        "variant": CATEGORY,
        "order": CATEGORY,
        "text": CATEGORY,
        "finish_reason": CATEGORY,
        "n_prompt_tokens": pa.int32(),
        "n_output_tokens": pa.int32(),
        "p_options": pa.list_(pa.float32()),
        "n_trace_tokens": pa.int32(),
        "trace_status": CATEGORY,
    },
    nullable=frozenset(
        {"text", "n_prompt_tokens", "n_output_tokens", "p_options", "n_trace_tokens", "trace_status"}
    ),
    optional=frozenset({"n_trace_tokens", "trace_status"}),
    file="results/{study}/responses/{arm}/{model}.parquet",
    holds="What a model wrote, never altered.",
    about={
        "flow": "The flow that was asked about.",
        "variant": "The variant of the prompt.",
        "order": "The options by number (10 is written a), lowest 0, in the order shown; 01234 is the papers' order.",
        "text": "What the model wrote; missing where the engine gave no text. If the model reasons, the answer alone.",
        "finish_reason": "Why the model stopped, as the engine reports it.",
        "n_prompt_tokens": "Tokens of the prompt; missing where the engine does not count them.",
        "n_output_tokens": "Tokens of the response, its trace included; missing where the engine does not count them.",
        "p_options": "Probability of each option, lowest first; missing unless the arm's readout is options. All "
        "together are at most 0.0001 too low, as the rarest spellings are not asked for.",
        "n_trace_tokens": "Only of models that reason: tokens of the trace, 0 without one; missing where unknown.",
        "trace_status": "Only of models that reason. none: there is no trace; whole: the model ended it; cut: a limit "
        "did; unclosed: the model ended its turn in it; missing where the engine does not say.",
    },
    remedy="delete it and rerun: it is collected from the store, nothing is asked again",
)
ANSWERS = TableSchema(
    "answers",
    1,
    ("flow", "variant"),
    {
        "flow": pa.int32(),
        "variant": CATEGORY,
        "order": CATEGORY,
        "level": pa.int8(),
        "status": CATEGORY,
        "rule": CATEGORY,
        "sensitive": ITEMS,
        "needed": ITEMS,
    },
    nullable=frozenset({"order", "level", "sensitive", "needed"}),
    optional=frozenset({"sensitive", "needed"}),
    file="results/{study}/answers/{arm}/{model}.parquet",
    holds="The level read from each response, or why there is none.",
    about={
        "flow": "The flow that was asked about.",
        "variant": "The variant of the prompt.",
        "order": "The options by number, in the order shown; missing where it was not published.",
        "level": "The level that was answered, a level of the arm's scale; missing unless the status is ok.",
        "status": "ok, or why the answer has no level.",
        "rule": "The rule that read the answer; override: a person read it; coder NAME: the model of that name did. "
        "Of not_a_rating: what the code says.",
        "sensitive": "Only of actions: for each sensitive item of the flow 0 (withheld), 1 (generalised), 2 (shared); "
        "missing where the action cannot be read.",
        "needed": "Only of actions: the same for each item that the task needs.",
    },
)
CODES = TableSchema(
    "codes",
    2,
    ("model", "item"),
    {"model": CATEGORY, "item": TEXT, "level": pa.int8(), "status": CATEGORY, "rule": CATEGORY},
    nullable=frozenset({"level"}),
    file="results/{study}/coding/codes.parquet",
    holds="Codes that a coder and a person gave to replies that no exact rule read; only codes that count.",
    about={
        "model": "The model that gave the reply.",
        "item": "Name (as in to_code.csv) of a distinct reply to a flow that no exact rule read.",
        "level": "The level that the reply gives, a level of the scale; missing unless the status is ok.",
        "status": "ok, or why the reply has no level.",
        "rule": "Who gave the code; override: a person; coder NAME: the model of that name.",
    },
)
READINGS = TableSchema(
    "readings",
    1,
    ("model", "item"),
    {"model": CATEGORY, "item": TEXT, "level": pa.int8()},
    nullable=frozenset({"level"}),
    file="results/{study}/coding/{scale}/readings.parquet",
    holds="What the rules made of each reply that no exact rule read.",
    about={
        "model": "The model that gave the reply.",
        "item": "Name (as in to_code.csv) of a distinct reply to a flow.",
        "level": "The level that the rules read; missing without one.",
    },
)
NORMS = TableSchema(
    "norms",
    2,
    ("flow",),
    {
        "flow": pa.int32(),
        "n_asked": pa.int32(),
        "n_valid": pa.int32(),
        "value": pa.int8(),
        "share": pa.float64(),
        "tie": pa.bool_(),
        "mean": pa.float64(),
    },
    nullable=frozenset({"value", "share", "mean"}),
    counts="n_valid",
    file="results/{study}/norms/{arm}/{model}.parquet",
    holds="How the answers to each flow are spread over the levels. Whether that is a norm depends on the thresholds.",
    about={
        "flow": "The flow that was asked about.",
        "n_asked": "Answers, valid or not.",
        "n_valid": "Valid answers: those with a level.",
        "value": "The most frequent level; missing without valid answers and, under consensus strict, in a tie.",
        "share": "Share of the valid answers at the most frequent level; missing without valid answers.",
        "tie": "Whether several levels are the most frequent.",
        "mean": "Mean level of the valid answers; missing without any.",
    },
)
AGAIN = TableSchema(
    "again",
    1,
    ("flow",),
    {
        "flow": pa.int32(),
        "p_again": pa.float64(),
        **dict.fromkeys(("flows", "norms"), pa.int32()),
        **dict.fromkeys(("again", "low", "high"), pa.float64()),
        "templates": pa.int32(),
        **dict.fromkeys(("effective_templates", "half_predicted", "half_seen"), pa.float64()),
        "status": CATEGORY,
    },
    nullable=frozenset(
        {"p_again", "again", "low", "high", "effective_templates", "half_predicted", "half_seen"}
    ),
    file="results/{study}/again/{arm}/{model}.parquet",
    holds="Whether as many fresh wordings would give the same norm under the study's thresholds. Columns other than "
    "flow and p_again are about the model: every row has the same.",
    about={
        "flow": "The flow that was asked about.",
        "p_again": "Probability that as many fresh wordings give the same norm; missing without a norm, and where "
        "again is missing.",
        "flows": "Flows that were asked.",
        "norms": "Flows that hold a norm.",
        "again": "Norms that are expected to be the same in as many fresh wordings and orders.",
        "low": "Lower end of the 95% interval of that number, over wordings.",
        "high": "Upper end of that interval.",
        "templates": "Wordings that were asked.",
        "effective_templates": "What they are worth, in wordings that do not answer alike.",
        "half_predicted": "Of the norms of one half of the wordings, the share that was predicted to be the same in "
        "the other half.",
        "half_seen": "The share of them that was the same there.",
        "status": "ok, or why there is no number: few_templates, few_flows, no_norms, people (asked in one wording); "
        "or wide: these wordings cannot show the number.",
    },
)
PLANTED = TableSchema(
    "planted",
    1,
    ("flow",),
    {"flow": pa.int32(), "level": pa.int8(), "linear": pa.float64(), "residual": pa.float64()},
    nullable=frozenset({"level"}),
    file="results/{study}/planted/{arm}/{model}.parquet",
    holds="What was planted in a simulated respondent.",
    about={
        "flow": "The flow that was asked about.",
        "level": "The planted norm, a level of the scale; missing for a respondent without norms.",
        "linear": "Sum of the coefficients of the flow's levels, shifted, in logits.",
        "residual": "Random part of the flow, added to the coefficients, in logits.",
    },
)
#: The tables of the stages, in the order of the stages.
STAGES = (VIGNETTES, PROMPTS, RESPONSES, READINGS, CODES, ANSWERS, NORMS, AGAIN, PLANTED)


def write(
    frame: pd.DataFrame, path: str | Path, schema: TableSchema, metadata: dict[str, str] | None = None
) -> None:
    """Write ``frame`` to ``path`` under ``schema``; ``metadata`` is written into the file.

    The file appears whole or not at all, and the same frame always gives the same bytes. Raises ``DataError``
    where the frame is not what the schema says.
    """
    data = with_checksum(_as_table(frame, schema, metadata))
    with replacing(path) as part:
        part.write_bytes(data)


def _as_table(frame: pd.DataFrame, schema: TableSchema, metadata: dict[str, str] | None) -> pa.Table:
    arrow = schema.arrow(list(frame.columns))
    if metadata:
        extra = {f"cinorms:{k}".encode(): v.encode() for k, v in sorted(metadata.items())}
        arrow = arrow.with_metadata({**arrow.metadata, **extra})
    if frame.duplicated(list(schema.key)).any():
        twice = frame.loc[frame.duplicated(list(schema.key)), list(schema.key)].head(3)
        raise DataError(
            f"table {schema.name}: key {schema.key} is not unique, e.g. {twice.to_dict('records')}"
        )
    try:
        table = pa.Table.from_pandas(frame, schema=arrow, preserve_index=False, safe=True)
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise DataError(f"table {schema.name}: {' '.join(map(str, error.args))}") from None
    return table.replace_schema_metadata(arrow.metadata)


def read(path: str | Path, schema: TableSchema, columns: list[str] | None = None) -> pd.DataFrame:
    """Read the table at ``path``, or ``columns`` of it; refuse one of another version of ``schema``."""
    with damage_named(path, schema.remedy):
        source = verified(path)
        stated = (pq.read_schema(source).metadata or {}).get(b"cinorms", b"no cinorms table").decode()
        expected = f"{schema.name} v{schema.version}"
        if stated != expected:
            raise DataError(f"{path}: has format {stated}, expected {expected}; {schema.remedy}")
        source.seek(0)
        table = pq.read_table(source, columns=columns)
    frame: pd.DataFrame = table.to_pandas()
    for column in table.schema:
        if column.nullable and column.type in NULLABLE_INTS:
            # Left to itself, pandas would make floats of whole numbers where one is missing.
            frame[column.name] = table[column.name].to_pandas(types_mapper=NULLABLE_INTS.get)
    return frame


def origin(study: str, arm: str, model: str, answers: int | None = None) -> dict[str, str]:
    """Return the metadata of a file of answers: whose they are, and how many were taken where no prompts say it."""
    stated = {"study": study, "arm": arm, "model": model}
    return stated if answers is None else {**stated, "answers": str(answers)}


def metadata(path: str | Path, schema: TableSchema = RESPONSES) -> dict[str, str]:
    """Return the metadata that ``write`` put into a file."""
    with damage_named(path, schema.remedy):
        stated = pq.read_schema(verified(path)).metadata or {}
        return {k.decode()[8:]: v.decode() for k, v in stated.items() if k.startswith(b"cinorms:")}


def by_key(frame: pd.DataFrame, schema: TableSchema) -> pd.DataFrame:
    """Return the rows sorted by the schema's key, categories (variants) in the order in which they are listed."""
    return frame.sort_values(list(schema.key), kind="stable", ignore_index=True)
