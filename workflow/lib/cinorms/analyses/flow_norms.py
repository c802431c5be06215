"""Kind ``flow_norms``: every flow, its factors in words, and each model's norm for it or why it holds none.

Every study has this table of all its arms and models as `results/{study}/norms.csv`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from cinorms.analyses.columns import CONF_HIGH, CONF_LOW, WHO
from cinorms.analyses.shared import Frames, for_each_model, named
from cinorms.core.labels import NORM_LABELS
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Column, Kind
from cinorms.entries.options import OfNorms
from cinorms.norms import assessment
from cinorms.norms.assessment import level_matrix
from cinorms.stats.wordings import flow_intervals, template_numbers

#: Columns of the vignettes that are no factor.
_NO_FACTORS = ("flow", "vignette", "expected")
_BEFORE = (
    *WHO,
    Column("dataset", "Name of the dataset."),
    Column("planted", "Whether the respondent is planted (simulated, with known norms)."),
    Column("flow", "Number of the flow in its dataset."),
    Column("vignette", "The flow as text (only where its dataset has no factors)."),
)
_AFTER = (
    Column("norm", "The norm in the words of the scale; missing where there is none."),
    Column("level", "The norm as a level of the scale; missing where there is none."),
    Column("status", "kept where there is a norm, else why there is none."),
    Column("reason", "The status in words; missing where there is a norm."),
    Column("n_asked", "Answers, valid or not."),
    Column("n_valid", "Valid answers: those with a level."),
    Column("share", "Share of the valid answers at the most frequent level; missing without valid answers."),
    Column("tie", "Whether several levels are equally frequent."),
    Column("mean", "Mean level of the valid answers; missing without any."),
    CONF_LOW._replace(about="Lower end of the 95% interval of the mean over other wordings, in levels."),
    CONF_HIGH._replace(about="Upper end of the 95% interval of the mean over other wordings, in levels."),
    Column("interval_status", "ok, or why there is no interval: no_answers, one_template."),
)
#: Names that a factor cannot have here.
_TAKEN = {column.name for column in (*_BEFORE, *_AFTER)}


def flow_norms(
    selected: Sequence[Selected],
    entry: Entry[OfNorms],
    answers: Sequence[Selected],
    vignettes: Frames,
    prompts: Frames,
) -> pd.DataFrame:
    """Return one row per arm, model and flow; see `KINDS` for its columns."""
    table = _flows_of(selected, entry, answers=answers, vignettes=vignettes, prompts=prompts)
    before, after = ([column.name for column in part if column.name in table] for part in (_BEFORE, _AFTER))
    factors = [name for name in table if name not in _TAKEN]
    return table[[*before, *factors, *after]]


@for_each_model
def _flows_of(
    one: Selected,
    entry: Entry[OfNorms],
    answers: pd.DataFrame,
    vignettes: pd.DataFrame,
    prompts: pd.DataFrame,
) -> pd.DataFrame:
    intervals = flow_intervals(level_matrix(answers), template_numbers(prompts), entry.scales[one.arm])
    facts = {
        "dataset": entry.factors_of[one.arm].dataset,
        "planted": (one.arm, one.model) in entry.respondents,
    }
    flows = pd.concat([_in_words(one.frame["flow"], vignettes), _held(one.frame, entry, one)], axis=1)
    return named(flows.merge(_named(intervals), on="flow", validate="one_to_one"), facts)


def _in_words(flows: pd.Series[int], vignettes: pd.DataFrame) -> pd.DataFrame:
    """Return the flows with the level of each factor as text; with the vignette where there are no factors."""
    rows = vignettes.set_index("flow").loc[flows]
    factors = [name for name in vignettes if name not in _NO_FACTORS]
    named = {f"factor_{name}" if name in _TAKEN else str(name): rows[name] for name in factors}
    words = pd.DataFrame(named or {"vignette": rows["vignette"]}).astype("str")
    return words.rename_axis("flow").reset_index()


def _held(norms: pd.DataFrame, entry: Entry[OfNorms], one: Selected) -> pd.DataFrame:
    """Return the norm of each flow, or why there is none."""
    norms = norms.reset_index(drop=True)
    status = assessment.status(norms, entry.thresholds[one.model]).astype("str")
    level = norms["value"].where(status == "kept").astype("Int8")
    words = entry.scales[one.arm].binned.labels
    return pd.DataFrame(
        {
            "norm": level.map(words, na_action="ignore").astype("str"),
            "level": level,
            "status": status,
            "reason": status.map(NORM_LABELS).astype("str"),
            **{name: norms[name] for name in ("n_asked", "n_valid", "share", "tie", "mean")},
        }
    )


def _named(intervals: pd.DataFrame) -> pd.DataFrame:
    names: dict[str, Any] = {"low": "conf_low", "high": "conf_high", "status": "interval_status"}
    found = intervals.rename(columns=names)[["flow", *names.values()]]
    return found.astype({"flow": np.int32})


KINDS = (
    Kind(
        name="flow_norms",
        about="Every flow with its factors in words, and each model's norm or why it holds none.",
        options=OfNorms,
        function=flow_norms,
        reads="norms",
        also=("answers", "vignettes", "prompts"),
        report_section="answers",
        key=("arm", "model", "flow"),
        columns=(*_BEFORE, Column("<factor>", "Level of each factor of the dataset, in words."), *_AFTER),
    ),
)
