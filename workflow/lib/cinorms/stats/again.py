"""How probable each norm is in other wordings: `rewordings.recurrence` of a model's answers, as a table."""

import numpy as np
import pandas as pd

from cinorms.core.scales import Scale
from cinorms.core.tables import AGAIN
from cinorms.norms.assessment import held, level_matrix
from cinorms.norms.thresholds import Thresholds
from cinorms.stats.wordings import level_counts, template_numbers
from rewordings import Recurrence, recurrence

#: What the table calls a status.
STATUSES = {"few_wordings": "few_templates", "few_items": "few_flows", "no_verdicts": "no_norms"}


def predict(
    answers: pd.DataFrame,
    norms: pd.DataFrame,
    prompts: pd.DataFrame,
    scale: Scale,
    thresholds: Thresholds,
    *,
    people: bool,
) -> pd.DataFrame:
    """Return how probable each norm is in as many fresh wordings, and how many are expected (`tables.AGAIN`).

    People are asked in one wording: status ``people``.
    """
    levels, template = level_matrix(answers), template_numbers(prompts)
    norm = held(norms, thresholds).set_index("flow")["value"].reindex(levels.index)
    if people:
        found = Recurrence(np.full(len(levels), np.nan), int(norm.notna().sum()), "people")
    else:
        place = scale.binned.places(norm.to_numpy(dtype=np.float64, na_value=np.nan))
        found = recurrence(level_counts(levels, template, scale), place, thresholds.rule)
    return pd.DataFrame(
        {
            "flow": levels.index.astype(np.int32),
            "p_again": found.probability,
            "flows": len(levels),
            "templates": template.reindex(levels.columns).nunique(),
            "norms": found.verdicts,
            "effective_templates": found.effective_wordings,
            "status": STATUSES.get(found.status, found.status),
            **{
                name: getattr(found, name) for name in ("again", "low", "high", "half_predicted", "half_seen")
            },
        }
    )[list(AGAIN.columns)].astype({"status": "category"})
