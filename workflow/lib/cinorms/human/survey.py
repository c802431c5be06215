"""Surveys: what a file of ``resources/ratings`` declares about people's ratings of the flows of a dataset."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from cinorms.core import validation
from cinorms.core.errors import ConfigError
from cinorms.vignettes.source_files import SourceFile, own_files, read_source

SCHEMA = Path(__file__).parents[3] / "schemas" / "ratings.schema.yaml"

#: Between the name of a survey and that of one of its questions.
SEPARATOR = "/"


@dataclass(frozen=True)
class Question:
    """One question: the column with its ratings, and the value of each option of the scale, lowest first.

    ``values`` is empty for a number line, whose numbers are the ratings.
    """

    text: str
    column: str
    values: tuple[str | float, ...] = ()


@dataclass(frozen=True)
class Check:
    """What is done with rows that have one of ``values`` in ``column``."""

    column: str
    values: tuple[str | float, ...]
    then: Literal["keep", "no_answer", "leave_out", "leave_out_rater"]


@dataclass(frozen=True)
class FactorColumn:
    """Where the levels of a factor are, and the dataset's level for what the file spells differently."""

    column: str
    levels: Mapping[str, str]


@dataclass(frozen=True)
class Survey:
    """What people rated, and in which columns of ``source`` it is; ``file`` declares it."""

    file: Path
    name: str
    title: str
    people: str
    dataset: str
    scale: str
    origin: Mapping[str, str]
    source: SourceFile
    rater: str
    modulo: int | None
    repeated: bool
    flow: str | None
    factors: Mapping[str, FactorColumn]
    where: Mapping[str, str]
    questions: Mapping[str, Question]
    checks: tuple[Check, ...]
    raters: int
    ratings: int | None

    def inputs(self) -> dict[str, list[str]]:
        """Return what a rule that reads the ratings must name: the survey's file, and the user's ``own`` CSV file."""
        return {"survey": [str(self.file)], "own": own_files([self.source])}

    def question(self, name: str) -> Question:
        """Return the question ``name``, or the first for an empty name."""
        return self.questions[name or next(iter(self.questions))]

    def columns(self, question: Question) -> list[str]:
        """Return the columns that are read; all others may tell who somebody is."""
        named = [self.rater, *([self.flow] if self.flow else []), question.column]
        named += [factor.column for factor in self.factors.values()]
        return list(dict.fromkeys([*named, *self.where, *(check.column for check in self.checks)]))


def split_name(ratings: str) -> tuple[str, str]:
    """Return the survey and the question (empty: the first) that an arm names as ``survey`` or ``survey/question``."""
    survey, _, question = ratings.partition(SEPARATOR)
    return survey, question


def load_survey(path: str | Path) -> Survey:
    """Read the survey at ``path``; its name is the file's name without ``.yaml``.

    Raises ``ConfigError`` with the file, the key, what is given and what is allowed.
    """
    path = Path(path)
    document = validation.load_yaml(path)
    validation.check(document, SCHEMA, str(path))
    if ("flow" in document) == ("factors" in document):
        given = "has both" if "flow" in document else "is missing"
        raise ConfigError(
            f"{path}: flow: {given}; name the column with the numbers of the flows under 'flow', or the "
            "columns of the factors under 'factors', not both"
        )
    return Survey(
        file=path,
        name=path.stem,
        **{key: document[key] for key in ("title", "people", "dataset", "scale", "raters")},
        origin=dict(document["origin"]),
        source=read_source(path, "file", document["file"]),
        rater=document["rater"]["column"],
        modulo=document["rater"].get("modulo"),
        repeated=document.get("repeated", False),
        flow=document.get("flow"),
        factors={name: _factor(given) for name, given in document.get("factors", {}).items()},
        where=dict(document.get("where", {})),
        questions={
            name: Question(given["text"], given["column"], tuple(given.get("values", ())))
            for name, given in document["questions"].items()
        },
        checks=tuple(
            Check(given["column"], tuple(given["values"]), given["then"])
            for given in document.get("checks", ())
        ),
        ratings=document.get("ratings"),
    )


def _factor(given: Mapping[str, Any]) -> FactorColumn:
    return FactorColumn(given["column"], dict(given.get("levels", {})))
