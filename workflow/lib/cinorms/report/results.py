"""What cards and the page are made from: a study's tables, read from the files that their rules name."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import pandas as pd

from cinorms.core import tables
from cinorms.core.csv_files import read_csv
from cinorms.core.scales import Scale
from cinorms.norms import assessment
from cinorms.norms.thresholds import Thresholds
from cinorms.report.answer_codes import AnswerCodes, encode
from cinorms.study.facts import StudyFacts

Pair = tuple[str, str]
Paths = Mapping[str, Sequence[str]]
Key = TypeVar("Key")
Files = TypeVar("Files")

#: Texts that no exact rule read: so many of each model's are shown.
SHOWN_TEXTS = 3


class Figure(NamedTuple):
    """The files of a figure that the page shows: the drawing, its caption, its numbers."""

    svg: Path
    txt: Path
    csv: Path


class PrintedTable(NamedTuple):
    """The files of a table set out as in print that the page shows."""

    html: Path
    csv: Path


class Card(NamedTuple):
    """The files of a model's norm card."""

    md: Path
    json: Path


@dataclass(frozen=True)
class Results:
    """Results of a study; pairs are (arm, model).

    ``tables`` holds the CSV file of each analysis, ``asked`` the files of vignettes and prompts by the name that the
    page gives them. What only the page shows (`read_page_results`) is empty for a card.
    """

    study: StudyFacts
    norms: dict[Pair, pd.DataFrame]
    codes: dict[Pair, AnswerCodes]
    vignettes: dict[str, pd.DataFrame]
    prompts: dict[str, pd.DataFrame]
    provenance: dict[str, Any]
    tables: dict[str, Path]
    asked: dict[str, Path]
    reviews: dict[Pair, pd.DataFrame] = field(default_factory=dict)
    figures: dict[str, Figure] = field(default_factory=dict)
    printed: dict[str, PrintedTable] = field(default_factory=dict)
    cards: dict[str, Card] = field(default_factory=dict)
    #: How well the coder agrees with a person, and how many answers each rule read; None without a coder.
    agreement: pd.DataFrame | None = None
    readers: pd.Series[int] | None = None

    def flows(self, arm: str) -> pd.DataFrame:
        """Return the vignettes of the arm's dataset."""
        return self.vignettes[self.study.arms[arm].dataset]

    def factors(self, arm: str) -> list[str]:
        """Return the factors of the arm's dataset that vary."""
        names = self.study.dataset_of(arm).factors
        return [name for name in names if len(self.flows(arm)[name].unique()) > 1]

    def status(self, arm: str, model: str) -> pd.Series[str]:
        """Return why each flow of a model has a norm or none, under the study's own thresholds."""
        study = self.study
        needed = Thresholds(study.t_val[model], study.t_maj, study.consensus)
        return assessment.status(self.norms[arm, model], needed).astype(str)

    def scale(self, arm: str) -> Scale:
        """Return the scale on which an arm's norms are held."""
        return self.study.arms[arm].scale.binned

    def held(self, arm: str, model: str) -> pd.Series[Any]:
        """Return the value of every norm that a model holds; index: flow."""
        norms = self.norms[arm, model].loc[(self.status(arm, model) == "kept").to_numpy()]
        return norms.set_index("flow")["value"].astype("int64")

    def pairs(self, arm: str) -> list[Pair]:
        """Return the arm's pairs, in the order of the study."""
        return [pair for pair in self.norms if pair[0] == arm]

    def is_people(self, arm: str) -> bool:
        """Tell whether people answered in an arm."""
        return bool(self.study.arms[arm].people)

    def tables_of(
        self, kind: str, arm: str | None = None, model: str | None = None, as_text: bool = False
    ) -> Iterator[pd.DataFrame]:
        """Yield the tables of the study's analyses of a kind: their rows of an arm and a model, where they have any."""
        for name in self.study.analyses_of(kind, arm):
            table = read_csv(self.tables[name], as_text)
            for column, value in (("arm", arm), ("model", model)):
                if value is not None:
                    table = table[table[column] == value]
            if arm is None or len(table):
                yield table

    def main_arm(self) -> str:
        """Return the arm with most norms (the first of equals), of models if any are asked: findings are about it."""
        arms = list(dict.fromkeys(arm for arm, _ in self.norms))
        return max(
            arms,
            key=lambda arm: (not self.is_people(arm), sum(len(self.norms[pair]) for pair in self.pairs(arm))),
        )


def card_inputs_of(study: StudyFacts, folder: str) -> dict[str, list[str]]:
    """Return the files below ``folder`` that a card is made from, by what they hold.

    `read_results` relies on the order of the files, which is the study's.
    """
    pairs, arms, datasets = study.pairs(), _arms(study), _datasets(study)
    return {
        "norms": [f"{folder}/norms/{arm}/{model}.parquet" for arm, model in pairs],
        "answers": [f"{folder}/answers/{arm}/{model}.parquet" for arm, model in pairs],
        "vignettes": [f"{folder}/vignettes/{name}.parquet" for name in datasets],
        "prompts": [f"{folder}/prompts/{arm}.parquet" for arm in arms],
        "tables": [f"{folder}/tables/{name}.csv" for name in study.analyses],
        "provenance": [f"{folder}/provenance.json"],
    }


def page_inputs_of(study: StudyFacts, folder: str) -> dict[str, list[str]]:
    """Return `card_inputs_of` and the files that the page alone is made from."""
    return card_inputs_of(study, folder) | {
        "reviews": [f"{folder}/answers/{arm}/{model}.review.csv" for arm, model in _read_here(study)],
        "figures": _each(f"{folder}/figures", study.figures, Figure._fields),
        "printed": _each(f"{folder}/printed", study.printed, PrintedTable._fields),
        "cards": _each(f"{folder}/cards", study.models, Card._fields),
        "agreement": [f"{folder}/coding/agreement.csv"] if study.coder else [],
    }


def read_results(study: StudyFacts, paths: Paths) -> Results:
    """Read what a card is made from; ``paths`` are `card_inputs_of` the study."""
    pairs, arms, datasets = study.pairs(), _arms(study), _datasets(study)
    vignettes, prompts = _by(datasets, paths["vignettes"]), _by(arms, paths["prompts"])
    norms, answers = _by(pairs, paths["norms"]), _by(pairs, paths["answers"])
    variants = {arm: tables.read(path, tables.PROMPTS) for arm, path in prompts.items()}
    (provenance,) = paths["provenance"]
    asked = {f"vignettes/{name}.parquet": path for name, path in vignettes.items()}
    return Results(
        study=study,
        norms={pair: tables.read(path, tables.NORMS) for pair, path in norms.items()},
        codes={
            (arm, model): encode(
                tables.read(path, tables.ANSWERS, ["flow", "variant", "order", "level", "status"]),
                variants[arm],
                study.arms[arm].scale,
            )
            for (arm, model), path in answers.items()
        },
        vignettes={name: tables.read(path, tables.VIGNETTES) for name, path in vignettes.items()},
        prompts=variants,
        provenance=json.loads(Path(provenance).read_text(encoding="utf-8")),
        tables=_by(study.analyses, paths["tables"]),
        asked=asked | {f"prompts/{arm}.parquet": path for arm, path in prompts.items()},
    )


def read_page_results(study: StudyFacts, paths: Paths) -> Results:
    """Read what the page is made from; ``paths`` are `page_inputs_of` the study."""
    reviews = {}
    for pair, path in _by(_read_here(study), paths["reviews"]).items():
        texts = read_csv(path, as_text=True)
        reviews[pair] = texts.loc[texts["status"] != "ok", ["text", "count", "status"]].head(SHOWN_TEXTS)
    readers = None
    if study.coder:
        counts = [
            tables.read(path, tables.ANSWERS, ["rule"])["rule"].value_counts() for path in paths["answers"]
        ]
        readers = pd.concat([by_rule.rename(index=str) for by_rule in counts]).groupby(level=0).sum()
    return replace(
        read_results(study, paths),
        reviews=reviews,
        figures=_by_each(study.figures, paths["figures"], Figure),
        printed=_by_each(study.printed, paths["printed"], PrintedTable),
        cards=_by_each(study.models, paths["cards"], Card),
        agreement=read_csv(paths["agreement"][0]) if study.coder else None,
        readers=readers,
    )


def _read_here(study: StudyFacts) -> list[Pair]:
    """Return the pairs whose answers were read out of responses, which leaves texts that a person should read."""
    return [
        (arm, model) for arm, model in study.pairs() if study.arms[arm].source not in ("published", "human")
    ]


def _arms(study: StudyFacts) -> list[str]:
    """Return the arms in which a model is asked."""
    return list(dict.fromkeys(arm for arm, _ in study.pairs()))


def _datasets(study: StudyFacts) -> list[str]:
    return list(dict.fromkeys(study.arms[arm].dataset for arm in _arms(study)))


def _by(keys: Iterable[Key], paths: Sequence[str]) -> dict[Key, Path]:
    return dict(zip(keys, map(Path, paths), strict=True))


def _each(folder: str, names: Iterable[str], endings: Iterable[str]) -> list[str]:
    """Return the files of each name, one for every ending."""
    endings = list(endings)
    return [f"{folder}/{name}.{ending}" for name in names for ending in endings]


def _by_each(names: Iterable[str], paths: Sequence[str], kind: Callable[..., Files]) -> dict[str, Files]:
    """Return the files of each name, of equally many to each, as `_each` listed them."""
    files = map(Path, paths)
    n = len(paths) // max(len(keys := list(names)), 1)
    return {name: kind(*itertools.islice(files, n)) for name in keys}
