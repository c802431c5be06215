"""How often the gate errs on planted models: false failures, wrong passes, its power, and when it stays undecided."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from cinorms.core.arrays import Floats
from cinorms.gate.claims import DISSENT, FARTHEST
from cinorms.stats import equivalence, flips, pvalues
from cinorms.stats.equivalence import DifferenceLimits, Estimate, Sides

FLOWS, ORDERS, PARTS = 120, 3, 8
LEVELS = (-2, -1, 0, 1, 2)
SIDES = (-1, -1, 0, 1, 1)
#: Standard deviations of what moves an answer: the wording (both models alike), the wording (each model in its own
#: way, all flows alike), flow and wording together, the single answer.
WORDING, OWN, BOTH, ANSWER = 0.3, 0.15, 0.3, 0.6
ALPHA = 0.05


class Policy(NamedTuple):
    """The limits of a policy: shift of the mean level, overall and of a part, norms flipped, rise of refusals."""

    margin: float = 0.25
    part_margin: float = 0.4
    flipped: float = 0.05
    rise: float = 0.02

    def limits(self, claim: str) -> DifferenceLimits:
        """Return the limits of a claim on a difference."""
        if claim == "flips":
            return DifferenceLimits(-np.inf, self.flipped)
        if claim == "refusals":
            return DifferenceLimits(-np.inf, self.rise, DISSENT * self.rise)
        margin = self.margin if claim == "shift" else self.part_margin
        return DifferenceLimits(-margin, margin, DISSENT * margin)


USUAL = Policy()
#: Next to nothing is allowed: what fails here are differences that are chance.
TIGHT = Policy(0.001, 0.001, 0.0001, 0.0001)


class Planted(NamedTuple):
    """What the new model differs in: the shift of its mean level, norms on the other side, refusals."""

    shift: float = 0.0
    flipped: float = 0.0
    refusals: float = 0.0


def leanings() -> Floats:
    """Return where each flow lies before it is rounded to a level: the same flows in every run."""
    return np.random.default_rng(1).normal(0, 1.2, FLOWS)


def expected(lean: Floats) -> Floats:
    """Return the mean level of the answers to each flow, over all wordings."""
    from scipy.special import ndtr

    sd = np.sqrt(WORDING**2 + OWN**2 + BOTH**2 + ANSWER**2)
    edges = np.array([level + 0.5 for level in LEVELS[:-1]])
    return LEVELS[0] + (1 - ndtr((edges - lean[:, None]) / sd)).sum(axis=1)


@cache
def moved(shift: float) -> Floats:
    """Return leanings at which the mean level over all flows is higher by ``shift``."""
    lean = leanings()
    low, high = -8.0, 8.0
    target = expected(lean).mean() + shift
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if expected(lean + middle).mean() < target else (low, middle)
    return lean + (low + high) / 2


def ask(rng: np.random.Generator, lean: Floats, wording: Floats, refusals: float = 0.01) -> Floats:
    """Return flows x templates x orders: levels, NaN for refusals, whose share differs between templates."""
    shape = (len(lean), len(wording), ORDERS)
    x = lean[:, None, None] + (wording + rng.normal(0, OWN, len(wording)))[None, :, None]
    x = x + rng.normal(0, BOTH, (*shape[:2], 1)) + rng.normal(0, ANSWER, shape)
    share = np.clip(refusals * rng.gamma(4, 1 / 4, len(wording)), 0, 1)[None, :, None]
    return np.where(rng.random(shape) < share, np.nan, np.clip(np.round(x), LEVELS[0], LEVELS[-1]))


def pair(rng: np.random.Generator, templates: int, planted: Planted) -> tuple[Floats, Floats]:
    """Return the answers of two models with the planted difference."""
    lean = leanings()
    other = moved(planted.shift) if planted.shift else lean
    if planted.flipped:  # norms that are clear, but for noise
        clear = np.flatnonzero(np.abs(lean) > 1.2)[: round(planted.flipped * FLOWS)]
        other = lean.copy()
        other[clear] *= -1
    wording = rng.normal(0, WORDING, templates)
    return ask(rng, lean, wording), ask(rng, other, wording, 0.01 + planted.refusals)


def counts(x: Floats) -> Floats:
    """Return levels x flows x templates."""
    return np.stack([(x == level).sum(axis=2) for level in LEVELS]).astype(np.float64)


def shift_of(base: Floats, new: Floats) -> Floats:
    """Return flows x templates: the new model's level less the base's, over orders that both answered."""
    difference = new - base
    n = (~np.isnan(difference)).sum(axis=2)
    return np.where(n > 0, np.nansum(difference, axis=2) / np.maximum(n, 1), np.nan)


def shift_found(base: Floats, new: Floats, seed: int) -> Estimate:
    return equivalence.paired(shift_of(base, new), True)


def flips_found(base: Floats, new: Floats, seed: int) -> Estimate:
    rule = flips.NormRule(SIDES, "side", 0.5, 0.0)
    return flips.flips(counts(base), counts(new), (rule, rule), True, seed, draws=40).excess


def refusals_found(base: Floats, new: Floats, seed: int) -> Estimate:
    return equivalence.paired(np.isnan(new).mean(axis=2) - np.isnan(base).mean(axis=2), True)


def sides_found(base: Floats, new: Floats, seed: int) -> Sides:
    low = leanings() < -1.2  # flows that are clearly unacceptable
    n = (~np.isnan(new[low])).sum(axis=2)
    cells = np.where(n > 0, np.nansum(new[low], axis=2) / np.maximum(n, 1), np.nan)
    return equivalence.sides(cells, 0.0, 1, FARTHEST * LEVELS[-1])


FINDS = {"shift": shift_found, "flips": flips_found, "refusals": refusals_found, "stay": sides_found}


def findings(base: Floats, new: Floats, seed: int) -> dict[str, Estimate | Sides]:
    """Return what the claims of a usual policy find, whatever its limits are."""
    found = {name: find(base, new, seed) for name, find in FINDS.items()}
    return found | {
        f"shift in part {part}": shift_found(base[part::PARTS], new[part::PARTS], seed)
        for part in range(PARTS)
    }


def decide(claim: str, found: Estimate | Sides, policy: Policy) -> tuple[float, float]:
    """Return p_pass and p_fail."""
    if isinstance(found, Sides):
        return equivalence.decide_sides(found, 0)
    return equivalence.decide(found, policy.limits(claim))


def verdicts(found: dict[str, tuple[float, float]]) -> dict[str, str]:
    """Return the verdict of each claim: failures corrected over all of them (Holm)."""
    with np.errstate(divide="ignore"):
        log = pvalues.adjust(np.log10([p_fail for _, p_fail in found.values()]), "holm")
    fails = log <= np.log10(ALPHA)
    return {
        name: "fail" if failed else ("pass" if p_pass <= ALPHA else "undecided")
        for (name, (p_pass, _)), failed in zip(found.items(), fails, strict=True)
    }


def false_failures(templates: int, runs: int, *policies: Policy) -> list[dict[str, float]]:
    """Return how often identical models fail any claim, pass all of them, and are undecided, for each policy."""
    rng = np.random.default_rng(templates)
    totals = [dict.fromkeys(("fail", "pass", "undecided"), 0) for _ in policies]
    for run in range(runs):
        found = findings(*pair(rng, templates, Planted()), run)
        for total, policy in zip(totals, policies, strict=True):
            of_claims = {claim: decide(claim, each, policy) for claim, each in found.items()}
            judged = verdicts(of_claims).values()
            total["fail" if "fail" in judged else "undecided" if "undecided" in judged else "pass"] += 1
    return [{name: n / runs for name, n in total.items()} for total in totals]


def shares(templates: int, planted: Planted, claim: str, runs: int) -> dict[str, float]:
    """Return how often one claim, decided alone, passes, fails and stays undecided."""
    rng = np.random.default_rng([templates, round(1000 * sum(planted))])
    found = dict.fromkeys(("pass", "undecided", "fail"), 0)
    for run in range(runs):
        finding = FINDS[claim](*pair(rng, templates, planted), run)
        found[verdicts({claim: decide(claim, finding, USUAL)})[claim]] += 1
    return {name: n / runs for name, n in found.items()}
