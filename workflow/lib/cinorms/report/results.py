"""What cards and the page are made from: a study's tables, read from the files that their rules name."""

import base64
import gzip
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
import numpy.typing as npt
import pandas as pd

from cinorms.core import tables
from cinorms.core.arrays import Ints
from cinorms.core.csv_files import read_csv
from cinorms.core.labels import relabelled
from cinorms.core.scales import Scale
from cinorms.norms import assessment
from cinorms.prompts.orders import codes_of
from cinorms.study.metadata import StudyMetadata

Bytes = npt.NDArray[np.uint8]

# --- Answers as one byte each, flows by variants: small enough for a page, quick enough to count in

#: Code of an answer: 0, 1, ... for the levels, lowest first, then one for each status without a level, in this order.
INVALID = tuple(status for status in tables.ANSWER_STATUSES if status != "ok")
#: Code of what was not asked, and of an order that is not known.
NOTHING, NO_ORDER = 255, 65535
#: The file that lists the scripts with a model's replies in an arm, and the call that each of them makes.
INDEX, CALL = "index.json", ('cinormsReplies("', '");\n')


@dataclass(frozen=True)
class AnswerCodes:
    """Codes of a model's answers in an arm: ``answers[i, j]`` is that to ``flows[i]`` in variant ``j``.

    ``shown`` holds the order of the options in that prompt, as its code (`orders.Orders`). The levels are those of the
    ``scale``, a number line in bins.
    """

    flows: Ints
    answers: Bytes
    shown: npt.NDArray[np.uint16]
    scale: Scale

    @property
    def n_levels(self) -> int:
        """Number of levels."""
        return len(self.scale.levels)

    @property
    def n_asked(self) -> int:
        """Number of answers, valid or not."""
        return int((self.answers != NOTHING).sum())

    @property
    def n_valid(self) -> int:
        """Number of answers that have a level."""
        return int((self.answers < self.n_levels).sum())

    def invalid(self) -> dict[str, int]:
        """Return how many answers have each status without a level, most frequent first."""
        n = np.bincount(self.answers.ravel(), minlength=NOTHING + 1)
        counts = Counter({status: int(n[self.n_levels + i]) for i, status in enumerate(INVALID)})
        return dict((+counts).most_common())


def pack(data: bytes) -> str:
    """Return ``data`` as base64 of gzip, equal data equally; nothing in it can end a text or a script."""
    return base64.b64encode(gzip.compress(data, 6, mtime=0)).decode()


def encode(answers: pd.DataFrame, prompts: pd.DataFrame, scale: Scale) -> AnswerCodes:
    """Return the codes of an answers table; the columns are the variants in the order of ``prompts``."""
    flows, row = np.unique(answers["flow"].to_numpy(np.int64), return_inverse=True)
    level = assessment.valid_levels(answers)
    # Each category of variant and status is looked up once.
    variant, status = (answers[name].astype("category").cat for name in ("variant", "status"))
    variants = pd.Index(prompts["variant"].astype(str))
    column = variants.get_indexer(variant.categories.astype(str))[variant.codes]
    places = len(scale.binned.levels) + pd.Index(INVALID).get_indexer(status.categories.astype(str))
    code = np.where(np.isnan(level), places[status.codes], scale.places(level))
    whole = np.full((len(flows), len(prompts)), NOTHING, dtype=np.uint8)
    shown = np.full(whole.shape, NO_ORDER, dtype=np.uint16)
    whole[row, column] = code.astype(np.uint8)
    order = codes_of(answers["order"], scale.n_shown)
    shown[row, column] = np.where(order < 0, NO_ORDER, order)
    return AnswerCodes(flows, whole, shown, scale.binned)


# --- The results of a study

Pair = tuple[str, str]
#: By what they hold: the files of each arm and model, name, or name and ending.
Files = Mapping[str, Mapping[Any, Path]]

#: Texts that no exact rule read: so many of each model's are shown.
SHOWN_TEXTS = 3


@dataclass(frozen=True)
class StudyResults:
    """Results of a study; pairs are (arm, model).

    ``files`` are those that it is made from. What only the page shows (`read_page_results`) is empty for a card. On the
    page, models that have one of the ``labels`` (by name) are called by it, everywhere here.
    """

    study: StudyMetadata
    norms: dict[Pair, pd.DataFrame]
    codes: dict[Pair, AnswerCodes]
    vignettes: dict[str, pd.DataFrame]
    prompts: dict[str, pd.DataFrame]
    provenance: dict[str, Any]
    files: Files
    #: How probable it is that as many other wordings give the same norm; index: flow.
    again: dict[Pair, pd.Series] = field(default_factory=dict)
    reviews: dict[Pair, pd.DataFrame] = field(default_factory=dict)
    #: How well a coder agrees with a person, and how many answers each rule read; None where no person codes a sample.
    agreement: pd.DataFrame | None = None
    readers: "pd.Series[int] | None" = None
    labels: Mapping[str, str] = field(default_factory=dict)

    def of_model(self, model: str) -> "StudyResults":
        """Return what the card of ``model`` is made from: its own results alone."""
        norms = {pair: table for pair, table in self.norms.items() if pair[1] == model}
        return replace(self, study=self.study.of_model(model), norms=norms)

    def name_of(self, model: str) -> str:
        """Return what files and addresses call a model."""
        return next((name for name, label in self.labels.items() if label == model), model)

    def link(self, arm: str, models: Iterable[str], **state: str) -> str:
        """Return the address of a state of the explorer, as report_state.js reads it."""
        pairs = [("arm", arm), *(("model", self.name_of(model)) for model in models), *state.items()]
        return "#explorer?" + urlencode(pairs)

    def nouns(self, models: Iterable[str]) -> str:
        """Return what models are, in the plural."""
        return "respondents" if set(models) <= set(self.study.planted) else "models"

    def table(self, name: str, as_text: bool = False) -> pd.DataFrame:
        """Return the table of an analysis."""
        return relabelled(read_csv(self.files["tables"][name], as_text), self.labels)

    def flows(self, arm: str) -> pd.DataFrame:
        """Return the vignettes of the arm's dataset."""
        return self.vignettes[self.study.arms[arm].dataset]

    def factors(self, arm: str) -> list[str]:
        """Return the factors of the arm's dataset that vary."""
        names = self.study.dataset_of(arm).factors
        return [name for name in names if len(self.flows(arm)[name].unique()) > 1]

    def status(self, arm: str, model: str) -> "pd.Series[str]":
        """Return why each flow of a model has a norm or none, under the study's own thresholds."""
        return assessment.status(self.norms[arm, model], self.study.thresholds(model)).astype(str)

    def scale(self, arm: str) -> Scale:
        """Return the scale on which an arm's norms are held."""
        return self.study.arms[arm].scale.binned

    def held(self, arm: str, model: str) -> pd.Series:
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
        self, kind: str, arm: str | None = None, model: str | None = None
    ) -> Iterator[pd.DataFrame]:
        """Yield the tables of the study's analyses of a kind: their rows of an arm and a model, where they have any."""
        for name in self.study.analyses_of(kind, arm):
            table = self.table(name)
            for column, value in (("arm", arm), ("model", model)):
                if value is not None:
                    table = table[table[column] == value]
            if arm is None or len(table):
                yield table

    def row_of(self, kind: str, arm: str, model: str | None = None) -> dict[str, Any]:
        """Return the first row about an arm (or a model in it) in the first table of a kind; None: it has no value."""
        for table in self.tables_of(kind, arm, model):
            rows = table.astype(object).where(table.notna(), None)
            return {str(name): value for name, value in rows.iloc[0].items()}
        return {}

    def main_arm(self) -> str:
        """Return the arm with most norms (the first of equals), of models if any are asked: findings are about it."""
        arms = list(dict.fromkeys(arm for arm, _ in self.norms))
        return max(
            arms,
            key=lambda arm: (not self.is_people(arm), sum(len(self.norms[pair]) for pair in self.pairs(arm))),
        )


def card_inputs_of(study: StudyMetadata, folder: str) -> dict[str, list[str]]:
    """Return the files below ``folder`` that cards are made from, by what they hold."""
    return _below(folder, _card_files(study))


def page_inputs_of(study: StudyMetadata, folder: str) -> dict[str, list[str]]:
    """Return `card_inputs_of` and the files that the page alone is made from."""
    return _below(folder, _page_files(study))


def _below(folder: str, files: Mapping[str, Mapping[Any, str]]) -> dict[str, list[str]]:
    return {what: [f"{folder}/{file}" for file in named.values()] for what, named in files.items()}


def _card_files(study: StudyMetadata) -> dict[str, dict[Any, str]]:
    pairs = study.pairs()
    arms = list(dict.fromkeys(arm for arm, _ in pairs))
    datasets = dict.fromkeys(study.arms[arm].dataset for arm in arms)
    return {
        "norms": {(arm, model): f"norms/{arm}/{model}.parquet" for arm, model in pairs},
        "answers": {(arm, model): f"answers/{arm}/{model}.parquet" for arm, model in pairs},
        "vignettes": {name: f"vignettes/{name}.parquet" for name in datasets},
        "prompts": {arm: f"prompts/{arm}.parquet" for arm in arms},
        "tables": {name: f"tables/{name}.csv" for name in study.analyses},
        "provenance": {"": "provenance.json"},
    }


def _page_files(study: StudyMetadata) -> dict[str, dict[Any, str]]:
    def of_each(folder: str, names: Iterable[str], *endings: str) -> dict[Any, str]:
        return {(name, ending): f"{folder}/{name}.{ending}" for name in names for ending in endings}

    # Only answers that were read out of responses leave texts that a person should read.
    read_here = study.read_here()
    shown = read_here if study.settings["report"]["replies"] != "none" else []
    return _card_files(study) | {
        "reviews": {(arm, model): f"answers/{arm}/{model}.review.csv" for arm, model in read_here},
        "replies": {(arm, model): f"report/replies/{arm}/{model}" for arm, model in shown},
        "figures": of_each("figures", study.figures, "svg", "txt", "csv"),
        "printed": of_each("printed", study.settings["printed"], "html", "csv"),
        "cards": of_each("cards", study.models, "md", "json"),
        "listed": {"": "norms.parquet"},
        "agreement": {"": "coding/agreement.csv"} if study.hand_sample else {},
    }


def _found(files: Mapping[str, Mapping[Any, str]], paths: Mapping[str, Sequence[str]]) -> Files:
    """Return where the files of a study are; each of ``paths`` has them in the order of ``files``."""
    return {what: dict(zip(named, map(Path, paths[what]), strict=True)) for what, named in files.items()}


def read_results(study: StudyMetadata, paths: Mapping[str, Sequence[str]]) -> StudyResults:
    """Read what cards are made from; ``paths`` are `card_inputs_of` the study, wherever the files are now."""
    files = _found(_card_files(study), paths)
    variants = {arm: tables.read(path, tables.PROMPTS) for arm, path in files["prompts"].items()}
    asked = ["flow", "variant", "order", "level", "status"]
    return StudyResults(
        study=study,
        norms={pair: tables.read(path, tables.NORMS) for pair, path in files["norms"].items()},
        codes={
            (arm, model): encode(
                tables.read(path, tables.ANSWERS, asked), variants[arm], study.arms[arm].scale
            )
            for (arm, model), path in files["answers"].items()
        },
        vignettes={name: tables.read(path, tables.VIGNETTES) for name, path in files["vignettes"].items()},
        prompts=variants,
        provenance=json.loads(files["provenance"][""].read_text(encoding="utf-8")),
        files=files,
    )


def read_page_results(study: StudyMetadata, paths: Mapping[str, Sequence[str]]) -> StudyResults:
    """Read what the page is made from; ``paths`` are `page_inputs_of` the study, wherever the files are now.

    This is where models get their labels: what the page is made from knows no other names.
    """
    labels, study = study.labels, study.called()
    files = _found(_page_files(study), paths)
    reviews = {}
    for pair, path in files["reviews"].items():
        texts = read_csv(path, as_text=True)
        reviews[pair] = texts.loc[texts["status"] != "ok", ["text", "count", "status"]].head(SHOWN_TEXTS)
    columns = ["arm", "model", "flow", "p_again"]
    listed = relabelled(pd.read_parquet(files["listed"][""], columns=columns), labels)
    readers = None
    if study.hand_sample:
        rules = [tables.read(path, tables.ANSWERS, ["rule"])["rule"] for path in files["answers"].values()]
        counts = pd.concat([rule.value_counts().rename(index=str) for rule in rules])
        readers = counts.groupby(level=0).sum()
    results = read_results(study, paths)
    called = {
        part: [
            record | {"model": labels.get(record["model"], record["model"])}
            for record in results.provenance.get(part, ())
        ]
        for part in ("asked", "received")
    }
    return replace(
        results,
        files=files,
        labels=labels,
        provenance=results.provenance | called,
        again={
            (str(arm), str(model)): rows.set_index("flow")["p_again"].astype(np.float64)
            for (arm, model), rows in listed.groupby(["arm", "model"], observed=True)
        },
        reviews=reviews,
        agreement=relabelled(read_csv(files["agreement"][""]), labels) if study.hand_sample else None,
        readers=readers,
    )
