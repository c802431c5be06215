"""What each claim of a policy finds: an estimate, its p-values, what is missing for a decision, the flows behind it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from cinorms.core.tables import ANSWER_STATUSES
from cinorms.gate import evidence
from cinorms.gate.matched import Matched, mean_over
from cinorms.gate.policy import NO_LEVEL, ByFactor, Claim, Flips, Policy, Shift, Side, Status
from cinorms.stats import equivalence, flips, held_sides
from cinorms.stats.equivalence import Estimate, Limits
from cinorms.vignettes.factors import text

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Need:
    """How many more units would give a decision."""

    unit: str
    more: int


@dataclass(frozen=True)
class Finding:
    """One claim about one group of flows, before the claims are judged together.

    ``estimate`` has the unit ``unit``: levels, or a share. ``limits`` are those of the claim. ``facts`` are further
    numbers to show: counts, and shares. ``need`` is None where no number of units is likely to decide. ``flows`` are
    those behind the finding.
    """

    name: str
    kind: str
    about: str
    says: str
    unit: str
    estimate: float
    low: float
    high: float
    limits: tuple[float | None, float | None]
    n_flows: int
    n_templates: int
    p_pass: float
    p_fail: float
    need: Need | None
    facts: dict[str, int | float] = field(default_factory=dict)
    flows: pd.DataFrame = field(default_factory=pd.DataFrame)


def findings(matched: Matched, policy: Policy, seed: int) -> list[Finding]:
    """Return what each claim finds, one finding per level for claims by a factor."""
    counted = [
        (claim, part, rows) for claim in policy.claims for part, rows in _parts(matched, policy, claim)
    ]
    n = len(counted)
    found = []
    for claim, part, rows in counted:
        one = MAKERS[claim.kind](matched, policy, claim, rows, (part, n, seed))
        about = str(claim.options.about or "")
        found.append(replace(one, name=f"{claim.name}: {part}" if part else claim.name, about=about))
    return found


def _parts(matched: Matched, policy: Policy, claim: Claim) -> Iterator[tuple[str, Bools]]:
    """Yield each group of flows that a claim is made for, with the name of its level."""
    _check_names(matched, policy, claim)
    rows = matched.select(claim.options.select)
    if not rows.any():
        raise policy.unknown(
            claim, "select", dict(claim.options.select or {}), [], "selection that leaves a flow"
        )
    by = claim.options.by if isinstance(claim.options, ByFactor) else None
    if by is None:
        yield "", rows
        return
    levels = matched.flows[by].map(text)
    for level in dict.fromkeys(levels[rows]):
        yield level, rows & (levels == level).to_numpy()


def _check_names(matched: Matched, policy: Policy, claim: Claim) -> None:
    options, factors = claim.options, matched.new.factors
    named = list(options.select or {})
    for key, given in [("select", name) for name in named] + [("by", getattr(options, "by", None))]:
        if given is not None and given not in factors:
            raise policy.unknown(claim, key, given, factors, f"factor of dataset {matched.new.dataset!r}")
    margins = list(options.margin_for or {}) if isinstance(options, Shift) else []
    stated = [
        (f"select.{name}", name, level) for name, levels in (options.select or {}).items() for level in levels
    ]
    stated += [("margin_for", str(getattr(options, "by", "")), level) for level in margins]
    for key, factor, level in stated:
        known = list(dict.fromkeys(matched.flows[factor].map(text)))
        if str(level) not in known:
            raise policy.unknown(claim, key, level, known, f"level of {factor!r} among the flows compared")


def _shift(
    matched: Matched, policy: Policy, claim: Claim, rows: Bools, place: tuple[str, int, int]
) -> Finding:
    options = claim.options
    assert isinstance(options, Shift)
    margin = float((options.margin_for or {}).get(place[0], options.margin))
    found = matched.shift(rows, policy.settings.flows == "fixed")
    says = f"The mean level of {_of(matched, claim, place[0])} moves by less than {margin:g} levels."
    direction = 0 if math.isnan(found.value) else int(np.sign(found.value))
    flows = evidence.moved(matched, rows, direction)
    return _difference(matched, policy, claim, place, found, Limits(-margin, margin), says, "levels", flows)


def _status(
    matched: Matched, policy: Policy, claim: Claim, rows: Bools, place: tuple[str, int, int]
) -> Finding:
    options = claim.options
    assert isinstance(options, Status)
    statuses = [str(name) for name in options.statuses]
    if NO_LEVEL in statuses:
        statuses = [name for name in ANSWER_STATUSES if name != "ok"]
    found = matched.rise(rows, statuses, policy.settings.flows == "fixed")
    which = f"with status {' or '.join(statuses)}" if NO_LEVEL not in options.statuses else "without a level"
    says = (
        f"In {_of(matched, claim, place[0])}, the share of answers {which} rises by less than "
        f"{100 * float(options.may_rise):g}%."
    )
    flows, before, after = evidence.risen(matched, rows, statuses)
    limit = float(options.may_rise)
    limits = Limits(-math.inf, limit, dissent=2 * limit)
    one = _difference(matched, policy, claim, place, found, limits, says, "share", flows)
    return replace(one, facts={"share in base": before, "share in new": after})


def _flips(
    matched: Matched, policy: Policy, claim: Claim, rows: Bools, place: tuple[str, int, int]
) -> Finding:
    options = claim.options
    assert isinstance(options, Flips)
    rules = evidence.rules_of(matched, options.change)
    base, new = (counts[:, rows] for counts in evidence.counts_of(matched))
    found = flips.flips(base, new, rules, matched.same_units, place[2])
    what = "to the other side of the scale" if options.change == "side" else "to another level"
    says = (
        f"Of the norms in {_of(matched, claim, place[0])}, less than {100 * float(options.at_most):g}% change {what}, "
        "beyond what other wordings change."
    )
    flows, changed, both = evidence.changed(matched, rows, options.change)
    limits = Limits(-math.inf, float(options.at_most))
    one = _difference(matched, policy, claim, place, found.excess, limits, says, "share", flows)
    facts: dict[str, int | float] = {"norms in both": both, "of these changed": changed}
    facts |= {"between halves of both": found.between, "between halves of one": found.within}
    return replace(one, facts=facts)


def _side(
    matched: Matched, policy: Policy, claim: Claim, rows: Bools, place: tuple[str, int, int]
) -> Finding:
    options = claim.options
    assert isinstance(options, Side)
    wrong = 1 if options.stays == "unacceptable" else -1
    middle = matched.new.midpoint
    if options.held_by_base:
        of_base = mean_over(matched.of_base.level, axis=(1, 2))
        rows = rows & ((of_base - middle) * wrong < 0)
    cells = mean_over(matched.of_new.level[rows], axis=2)
    found = held_sides.sides(cells, middle, wrong)
    n = len(cells)
    allowed = math.floor(float(options.allowed) * n)
    p_pass, p_fail = held_sides.decide(found, allowed) if n else (1.0, 1.0)
    need = None
    if n and p_pass > policy.alpha:
        more = held_sides.more_needed(cells, found, middle, allowed, policy.alpha)
        need = None if more is None else Need(matched.new.unit, max(more, 1))
    few = "no flow" if not allowed else f"at most {allowed} of {n:,} flows"
    held = ", as far as the base has them there," if options.held_by_base else ""
    other = "acceptable" if wrong > 0 else "unacceptable"
    are = "are" if allowed else "is"
    says = f"{_of(matched, claim, '').capitalize()}{held} stay {options.stays}: {few} {are} {other}."
    on_wrong, sure = int((found.mean > 0).sum()), int((found.p_wrong <= policy.alpha).sum())
    facts: dict[str, int | float] = {
        "flows on the other side": on_wrong,
        "of these beyond chance, each alone": sure,
    }
    facts["flows on this side beyond chance"] = int((found.p_right <= policy.alpha).sum())
    return Finding(
        claim.name,
        claim.kind,
        "",
        says,
        "share",
        on_wrong / n if n else np.nan,
        np.nan,
        np.nan,
        (None, allowed / n if n else 0.0),
        n,
        int(found.n_units.min(initial=10**6)) if n else 0,
        p_pass,
        p_fail,
        need,
        facts,
        evidence.on_a_side(matched, rows, wrong),
    )


def _difference(
    matched: Matched,
    policy: Policy,
    claim: Claim,
    place: tuple[str, int, int],
    found: Estimate,
    limits: Limits,
    says: str,
    unit: str,
    flows: pd.DataFrame,
) -> Finding:
    """Return the finding on a difference that has an interval."""
    p_pass, p_fail = equivalence.decide(found, limits)
    low, high = found.interval(1 - 2 * policy.alpha) if found.n_templates > 1 else (np.nan, np.nan)
    more = equivalence.more_needed(found, limits, policy.alpha, policy.alpha / place[1])
    need = None
    if more is not None and found.n_flows:
        need = Need(_called(matched) if more[0] == "templates" else "flows", more[1])
    lower = None if limits.lower == -math.inf else limits.lower
    return Finding(
        claim.name,
        claim.kind,
        "",
        says,
        unit,
        found.value,
        low,
        high,
        (lower, limits.upper),
        found.n_flows,
        found.n_templates,
        p_pass,
        p_fail,
        need,
        {},
        flows,
    )


def _called(matched: Matched) -> str:
    """Return what more of is needed, in words."""
    if matched.same_units or matched.base.unit == matched.new.unit:
        return matched.new.unit
    return f"{matched.new.unit} and {matched.base.unit}"


def _of(matched: Matched, claim: Claim, part: str) -> str:
    """Return the flows that a claim is about, in the words of the study."""
    options = claim.options
    names = [f"{name.replace('_', ' ')} {_listed(levels)}" for name, levels in (options.select or {}).items()]
    by = getattr(options, "by", None)
    if by:
        names.append(f"{by.replace('_', ' ')} “{part}”")
    return f"flows with {' and '.join(names)}" if names else "all flows"


def _listed(levels: Any) -> str:
    return " or ".join(f"“{level}”" for level in levels)


#: What makes the finding of each kind of claim.
MAKERS: dict[str, Callable[..., Finding]] = {
    "shift": _shift,
    "side": _side,
    "flips": _flips,
    "status": _status,
}
