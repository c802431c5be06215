"""What the kinds of analyses share: the flows selected, the norms held, and one table out of many."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from cinorms.core.errors import ConfigError
from cinorms.core.labels import listed
from cinorms.entries.entry import Entry, Pair, Selected
from cinorms.entries.options import OfFlows
from cinorms.norms import assessment
from cinorms.stats import pvalues
from cinorms.vignettes.factors import has_levels, other_flows


def for_each(selected: Iterable[Selected], make: Callable[[Selected], pd.DataFrame]) -> pd.DataFrame:
    """Return what ``make`` gives for each table, one below the other, with its arm and model in front."""
    return stack(
        [named(make(one), {"arm": one.arm, "model": one.model}) for one in selected],
    )


def by_pair(selected: Iterable[Selected]) -> dict[Pair, pd.DataFrame]:
    """Return the tables by arm and model."""
    return {(one.arm, one.model): one.frame for one in selected}


def named(table: pd.DataFrame, names: Mapping[str, Any]) -> pd.DataFrame:
    """Return ``table`` with a constant column for each of ``names`` in front."""
    front = pd.DataFrame({name: [value] * len(table) for name, value in names.items()}, index=table.index)
    return pd.concat([front, table], axis=1)


def stack(parts: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Return the parts as one table; those without rows only count if all are so."""
    some = [part for part in parts if len(part)]
    return pd.concat(some or parts[:1], ignore_index=True) if parts else pd.DataFrame()


def chosen(frame: pd.DataFrame, entry: Entry[OfFlows], vignettes: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of ``frame`` whose flow has one of the levels that the entry's ``select`` names."""
    if not entry.options.select:
        return frame
    flows = vignettes.loc[has_levels(vignettes, entry.options.select), "flow"]
    return frame[frame["flow"].isin(flows)].reset_index(drop=True)


def chosen_each(
    selected: Sequence[Selected], entry: Entry[OfFlows], vignettes: Mapping[str, pd.DataFrame]
) -> list[Selected]:
    """Return the selected tables with the flows that the entry's ``select`` names."""
    return [one._replace(frame=chosen(one.frame, entry, vignettes[one.arm])) for one in selected]


def on_flows_of(one: Selected, table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of ``table`` whose flow is one of those that ``one`` has."""
    return table[table["flow"].isin(one.frame["flow"])]


def held(norms: pd.DataFrame, entry: Entry[Any], model: str) -> pd.DataFrame:
    """Return flow and value of every flow, the value missing where the model holds no norm."""
    kept = assessment.status(norms, entry.thresholds[model]) == "kept"
    return pd.DataFrame({"flow": norms["flow"], "value": norms["value"].where(kept)})


def check_same_scale(entry: Entry[Any], arms: Iterable[str]) -> None:
    """Refuse to compare or pool levels of ``arms`` that were answered on different scales."""
    scales = {entry.scales[arm].name for arm in arms}
    if len(scales) > 1:
        raise ConfigError(
            f"{entry.section}.{entry.name}: its arms are answered on different scales ({listed(sorted(scales))}), "
            "whose levels cannot be compared; use arms with one scale, or the kind scale_effects"
        )


def check_same_flows(entry: Entry[Any], vignettes: Mapping[str, pd.DataFrame], a: str, b: str) -> None:
    """Refuse to match the flows of two arms by their number where these are not the same flows.

    The check of the study did so already, except where only a file tells the levels.
    """
    told = entry.factors_of[a], entry.factors_of[b]
    if why := other_flows(*told, vignettes[a], vignettes[b]):
        raise ConfigError(f"{entry.section}.{entry.name}: arms '{a}' and '{b}': {why}")


def corrected(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with its p-values corrected over all its rows, not over each part."""
    of_parts = [c for c in table.columns if c in ("p", "p_text") or str(c).endswith(pvalues.METHODS)]
    table = table.drop(columns=of_parts).astype({"log10_p": "float64"})
    return pvalues.add_columns(table, corrections=True)
