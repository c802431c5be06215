"""How long a job asks, its traces included: a request for time, made before the vignettes are there."""

from __future__ import annotations

import math

from cinorms.inference.engine_kind import TRACE_SHARE
from cinorms.study.spec import shards_of
from cinorms.study.study import Study

#: Most minutes that a job requests for its traces. One that is stopped goes on where it was, and longer jobs fit in few
#: partitions.
MOST_MINUTES = 720


def asking_minutes(study: Study, arm: str, model: str, attempt: int) -> int:
    """Return the minutes to request for asking one shard of ``model`` in ``arm``, at this attempt."""
    entry = study.registry_entry(model)
    return entry.kind.needs.minutes(entry.settings, attempt) + attempt * trace_minutes(study, arm, model)


def trace_minutes(study: Study, arm: str, model: str) -> int:
    """Return the minutes to request for the traces of one shard of ``model`` in ``arm``; 0 where it writes none."""
    reasoning, entry = study.arms[arm].reasoning, study.registry_entry(model)
    if reasoning is None or not reasoning.budget or entry.kind.needs.tokens_per_minute is None:
        return 0
    share = entry.own_settings.rates.trace_share or TRACE_SHARE
    tokens = reasoning.budget * share * _prompts(study, arm) * study.templates(arm, model)
    minutes = tokens / len(shards_of(study, arm, model)) / entry.kind.needs.tokens_per_minute(entry.settings)
    return min(math.ceil(minutes), MOST_MINUTES)


def _prompts(study: Study, arm: str) -> float:
    """Return about how many prompts one template makes: selected levels cut all flows in proportion.

    A dataset in a file that states no number of rows counts as one flow.
    """
    settings = study.arms[arm]
    dataset = study.dataset(settings.dataset)
    flows = float(dataset.n_flows(study.null_principle(settings.dataset)) or 1)
    for factor, levels in settings.plain()["select"].items():
        known = dataset.factors.get(factor)
        flows *= len(levels) / len(known) if known else 1
    return flows * settings.orders.count
