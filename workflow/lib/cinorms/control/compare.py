"""The norms recovered from the control model, compared with those planted in it."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from cinorms.control.corpus import is_held_out, plant_exactly, probabilities
from cinorms.core.errors import EngineError
from cinorms.core.scales import Scale
from cinorms.inference.engines.vllm.conversations import split_mass
from cinorms.norms.assessment import status
from cinorms.norms.thresholds import Thresholds

#: Share of the flows whose norm must be the planted one.
LEAST_AGREEMENT = 0.95


def compare(
    arm: str,
    norms: pd.DataFrame,
    responses: pd.DataFrame,
    vignettes: pd.DataFrame,
    factors: Sequence[str],
    planted_norms: Mapping[str, Any],
    scale: Scale,
    thresholds: Thresholds,
    seed: int,
) -> pd.DataFrame:
    """Return one row per part of the flows of ``arm`` (all, shown in training, held out).

    Columns: arm, flows, n_flows, n_kept, agreement (share of *all* flows whose norm was kept and is the
    planted one), p_off_by and outside (for a readout of options: how far the normalised probabilities of
    the options are from the planted ones on average, and the mean mass outside the options; else missing).
    ``thresholds`` say which norms are kept.
    """
    planted = plant_exactly(vignettes, factors, planted_norms, scale, seed)
    both = norms.merge(planted, on="flow", validate="one_to_one")
    is_kept = (status(both, thresholds) == "kept").to_numpy()
    right = is_kept & (both["value"] == both["level"]).fillna(False).to_numpy(dtype=bool)
    held_out = is_held_out(both["flow"].to_numpy(), seed)
    # Of each response: how far its probabilities are from the planted ones, and the mass outside the options.
    off = outside = None
    if responses["p_options"].notna().all():
        p, outside_mass = split_mass(np.stack(list(responses["p_options"])))
        linear = planted.set_index("flow")["linear"].loc[responses["flow"]]
        expected = probabilities(linear.to_numpy(), planted_norms["thresholds"])
        off = pd.Series(np.abs(p - expected).mean(axis=1), index=linear.index)
        outside = pd.Series(outside_mass, index=linear.index)
    rows = []
    for name, part in (("all", held_out | ~held_out), ("shown", ~held_out), ("held out", held_out)):
        flows = both.loc[part, "flow"]
        rows.append(
            {
                "arm": arm,
                "flows": name,
                "n_flows": len(flows),
                "n_kept": int(is_kept[part].sum()),
                "agreement": float(right[part].mean()) if len(flows) else None,
                "p_off_by": None if off is None else float(off[off.index.isin(flows)].mean()),
                "outside": None if outside is None else float(outside[outside.index.isin(flows)].mean()),
            }
        )
    return pd.DataFrame(rows)


def summary(table: pd.DataFrame) -> str:
    """Return the comparison as lines for people."""
    shown = table.assign(agreement=table["agreement"].map("{:.1%}".format))
    return f"Planted and recovered norms of the control model:\n{shown.to_string(index=False, na_rep='-')}"


def check_agreement(table: pd.DataFrame) -> None:
    """Insist that what was recovered is what was planted.

    Raises ``EngineError`` where fewer than ``LEAST_AGREEMENT`` of an arm's flows have their planted norm.
    """
    low = table[(table["flows"] == "all") & (table["agreement"] < LEAST_AGREEMENT)]
    if len(low):
        worst = low.iloc[0]
        raise EngineError(
            f"control model: {worst['agreement']:.1%} of the norms recovered in arm {worst['arm']} are the "
            f"planted ones, expected at least {LEAST_AGREEMENT:.0%}. The model passed its check after training: "
            "before you spend an allocation, find how vLLM here differs from a sound one (dtype, version, GPU driver)"
        )
