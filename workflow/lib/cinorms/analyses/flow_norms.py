"""Every flow, its factors in words, and each model's norm for it or why it holds none.

Every study has the table ``flow_norms`` of all its arms and models as `results/{study}/norms.csv`.
"""

import numpy as np
import pandas as pd

from cinorms.analyses.columns import usual
from cinorms.analyses.shared import for_each_model, named
from cinorms.core.labels import NORM_LABELS
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Kind
from cinorms.entries.options import OfNorms
from cinorms.norms import assessment
from cinorms.norms.assessment import level_matrix
from cinorms.stats.wordings import flow_intervals, template_numbers
from rewordings import FEWEST_ITEMS, FEWEST_WORDINGS


@for_each_model
def flow_norms(
    one: Selected,
    entry: Entry[OfNorms],
    answers: pd.DataFrame,
    again: pd.DataFrame,
    vignettes: pd.DataFrame,
    prompts: pd.DataFrame,
) -> pd.DataFrame:
    """Return one row per arm, model and flow; see `KINDS` for its columns."""
    norms, scale = one.frame.reset_index(drop=True), entry.scales[one.arm]
    rows = vignettes.set_index("flow").loc[norms["flow"]].reset_index(drop=True)
    factors = [name for name in vignettes if name not in ("flow", "vignette", "expected")]
    taken = entry.declared.columns
    words = {f"factor_{name}" if name in taken else str(name): rows[name] for name in factors}
    flows = pd.DataFrame(words or {"vignette": rows["vignette"]}).astype("str")
    held = assessment.held(norms, entry.thresholds[one.model])
    status = held["status"].astype("str")
    flows = flows.assign(
        flow=norms["flow"].astype(np.int64),
        norm=held["value"].map(scale.binned.labels, na_action="ignore").astype("str"),
        level=held["value"],
        status=status,
        reason=status.map(NORM_LABELS).astype("str"),
        **{name: norms[name] for name in ("n_asked", "n_valid", "share", "tie", "mean")},
    )
    intervals = flow_intervals(level_matrix(answers), template_numbers(prompts), scale)
    for more in (intervals, again[["flow", "p_again"]]):
        flows = flows.merge(more, on="flow", validate="one_to_one")
    facts = {"dataset": entry.factors_of[one.arm].dataset, "planted": one.pair in entry.respondents}
    return named(flows, facts)


KINDS = (
    Kind(
        name="flow_norms",
        about="Every flow with its factors in words, and each model's norm or why it holds none.",
        function=flow_norms,
        reads="norms",
        report_section="answers",
        key=("arm", "model", "flow"),
        columns={
            **usual("arm", "model"),
            "dataset": "Name of the dataset.",
            "planted": "Whether the respondent is planted (simulated, with known norms).",
            "flow": "Number of the flow in its dataset.",
            "vignette": "The flow as text (only where its dataset has no factors).",
            "<factor>": "Level of each factor of the dataset, in words.",
            "norm": "The norm in the words of the scale; missing where there is none.",
            "level": "The norm as a level of the scale; missing where there is none.",
            "status": "kept where there is a norm, else why there is none.",
            "reason": "The status in words; missing where there is a norm.",
            "n_asked": "Answers, valid or not.",
            "n_valid": "Valid answers: those with a level.",
            "share": "Share of the valid answers at the most frequent level; missing without valid answers.",
            "tie": "Whether several levels are equally frequent.",
            "mean": "Mean level of the valid answers; missing without any.",
            "conf_low": "Lower end of the 95% interval of the mean over other wordings, in levels.",
            "conf_high": "Upper end of the 95% interval of the mean over other wordings, in levels.",
            "interval_status": "ok, or why there is no interval: no_answers, one_template.",
            "p_again": "Probability that as many fresh wordings give the same norm, under the study's thresholds; "
            "missing without a norm, "
            f"with fewer than {FEWEST_WORDINGS} wordings or {FEWEST_ITEMS} flows, and for people.",
        },
    ),
)
