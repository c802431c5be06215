"""What the report is made from: a study's tables, read from its folder of results."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from cinorms.core import tables
from cinorms.norms import assessment
from cinorms.norms.assessment import Thresholds
from cinorms.report.answer_codes import Codes, encode

Pair = tuple[str, str]

#: Texts that no exact rule read: so many of each model's are shown.
SHOWN_TEXTS = 3


@dataclass(frozen=True)
class Material:
    """Results of a study. ``study`` is `describe`'s; pairs are (arm, model); ``folder`` is results/{study}."""

    study: Mapping[str, Any]
    folder: Path
    norms: dict[Pair, pd.DataFrame]
    codes: dict[Pair, Codes]
    vignettes: dict[str, pd.DataFrame]
    prompts: dict[str, pd.DataFrame]
    provenance: dict[str, Any]
    reviews: dict[Pair, pd.DataFrame] = field(default_factory=dict)

    def flows(self, arm: str) -> pd.DataFrame:
        """Return the vignettes of the arm's dataset."""
        return self.vignettes[self.study["arms"][arm]["dataset"]]

    def factors(self, arm: str) -> list[str]:
        """Return the factors of the arm's dataset that vary."""
        names = self.study["datasets"][self.study["arms"][arm]["dataset"]]["factors"]
        return [name for name in names if len(self.flows(arm)[name].unique()) > 1]

    def status(self, arm: str, model: str) -> pd.Series[str]:
        """Return why each flow of a model has a norm or none, under the study's own thresholds."""
        study = self.study
        needed = Thresholds(study["t_val"][model], study["t_maj"], study["consensus"])
        return assessment.status(self.norms[arm, model], needed).astype(str)

    def held(self, arm: str, model: str) -> pd.Series[Any]:
        """Return the value of every norm that a model holds; index: flow."""
        norms = self.norms[arm, model].loc[(self.status(arm, model) == "kept").to_numpy()]
        return norms.set_index("flow")["value"].astype("int64")

    def pairs(self, arm: str) -> list[Pair]:
        """Return the arm's pairs, in the order of the study."""
        return [pair for pair in self.norms if pair[0] == arm]

    def main_arm(self) -> str:
        """Return the arm with most norms, the first of equals: what is said of the whole study is of it."""
        arms = list(dict.fromkeys(arm for arm, _ in self.norms))
        return max(arms, key=lambda arm: sum(len(self.norms[pair]) for pair in self.pairs(arm)))


def read_material(study: Mapping[str, Any], folder: Path) -> Material:
    """Read what a study has made below ``folder``."""
    pairs = [(arm, model) for arm, settings in study["arms"].items() for model in settings["models"]]
    arms = list(dict.fromkeys(arm for arm, _ in pairs))
    prompts = {arm: tables.read(folder / f"prompts/{arm}.parquet", tables.PROMPTS) for arm in arms}
    return Material(
        study=study,
        folder=folder,
        norms={(a, m): tables.read(folder / f"norms/{a}/{m}.parquet", tables.NORMS) for a, m in pairs},
        codes={(a, m): _codes(folder / f"answers/{a}/{m}.parquet", prompts[a]) for a, m in pairs},
        vignettes={
            name: tables.read(folder / f"vignettes/{name}.parquet", tables.VIGNETTES)
            for name in dict.fromkeys(study["arms"][arm]["dataset"] for arm in arms)
        },
        prompts=prompts,
        provenance=json.loads((folder / "provenance.json").read_text(encoding="utf-8")),
        reviews={
            (a, m): _review(folder / f"answers/{a}/{m}.review.csv")
            for a, m in pairs
            if study["arms"][a]["source"] != "published"
        },
    )


def _codes(path: Path, prompts: pd.DataFrame) -> Codes:
    return encode(tables.read(path, tables.ANSWERS, ["flow", "variant", "order", "level", "status"]), prompts)


def _review(path: Path) -> pd.DataFrame:
    """Return the most frequent texts that are no valid answer."""
    texts = pd.read_csv(path, dtype=str, keep_default_na=False)
    return texts.loc[texts["status"] != "ok", ["text", "count", "status"]].head(SHOWN_TEXTS)
