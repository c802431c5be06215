"""What one job may spend of a study's cap: its share, by what its model should cost, less what it has spent before.

No job needs to know what another one spends meanwhile: the shares of all jobs together are the cap.
"""

import json
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cinorms.inference.questions import CODER, PARAPHRASES
from cinorms.inference.store import paid_in


def left_to_spend(runtime: Mapping[str, Any]) -> float | None:
    """Return the dollars that a job may still spend; None where the study has no cap."""
    if runtime.get("max_cost_usd") is None:
        return None
    cap, model, shard = float(runtime["max_cost_usd"]), str(runtime["model"]), str(runtime["shard"])
    spent = defaultdict[tuple[str, str], float](float)
    for job, usd in paid_in(Path(runtime["store"]).glob("*/*.jsonl"), runtime["study"]):
        spent[job] += usd
    left = max(cap - sum(spent.values()), 0.0)
    if shard == CODER:  # it is asked last, once all others have ended
        return left
    expected: dict[str, float] = json.loads(Path(runtime["expected_usd"]).read_bytes())
    shares = {each: cap * usd / (sum(expected.values()) or 1.0) for each, usd in expected.items()}
    unspent = {each: max(share - _spent(spent, each), 0.0) for each, share in shares.items()}
    # With another arm or price, a share can be smaller than what was spent of it: then the others have less.
    fits = min(1.0, left / (sum(unspent.values()) or 1.0))
    if (payer := _payer(model, shard)) == shard:
        return unspent[payer] * fits
    n_shards = int(shard.rpartition("-")[2])
    of_split = {
        name: usd
        for (other, name), usd in spent.items()
        if other == model and name.endswith(f"-of-{n_shards}")
    }
    before = _spent(spent, model) - sum(of_split.values())
    return max((shares[model] - before) / n_shards - of_split.get(shard, 0.0), 0.0) * fits


def _payer(model: str, shard: str) -> str:
    """Return whose share a job spends: its own where the model paraphrases or codes, else the model's."""
    return shard if shard == CODER or shard.startswith(PARAPHRASES) else model


def _spent(spent: Mapping[tuple[str, str], float], payer: str) -> float:
    """Return what was spent of a share."""
    return sum(usd for job, usd in spent.items() if _payer(*job) == payer)
