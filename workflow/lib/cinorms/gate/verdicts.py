"""From findings to verdicts: pass, fail or undecided per claim, and one for the gate with its exit code.

- **fail** needs evidence beyond chance over all claims together (Holm): where every claim of a policy is true, at most
  5% of gates fail any of them (with the usual ``confidence: 0.95``).
- **pass** needs evidence of its own for each claim: where wordings react about normally, a claim that is not true
  passes in at most 5% of gates; `worst_cells.json` has how many pass where they do not. A gate passes only if
  every claim does (an intersection-union test), so it needs no correction.
- **undecided** is the rest: the answers are too few, or the truth is too near the limit.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from cinorms.core.arrays import Bools
from cinorms.core.labels import origin_mark
from cinorms.gate.claims import KINDS, ByFactor, Claim, ClaimFinding, FlowGroup, Shift
from cinorms.gate.evidence import too_thin
from cinorms.gate.policy import Policy
from cinorms.gate.side import Address, Matched, match, read_side
from cinorms.stats import pvalues
from cinorms.stats.equivalence import FEWEST
from cinorms.vignettes.factors import text
from cumulink import tails

Verdict = Literal["pass", "fail", "undecided"]

#: What a gate ends with. 2 is for what cannot be judged: a mistake in the policy, results that are not there.
EXIT_CODES: dict[str, int] = {"pass": 0, "fail": 1, "undecided": 3}

#: The warning about a policy in which a refusal counts nowhere.
SILENT = (
    "no claim notices a model that refuses instead of answering; add a claim of kind status, or 'missing: moved' to a "
    "claim of kind shift"
)


@dataclass(frozen=True)
class Judged:
    """A finding with its verdict. ``p_fail_holm`` is corrected over all claims of the policy."""

    finding: ClaimFinding
    verdict: Verdict
    p_fail_holm: float
    why: str


@dataclass(frozen=True)
class Gate:
    """A gate that has been judged."""

    policy: Policy
    matched: Matched
    claims: tuple[Judged, ...]

    @property
    def verdict(self) -> Verdict:
        """Fail where a claim fails, else undecided where one is, else pass."""
        verdicts = [claim.verdict for claim in self.claims]
        return "fail" if "fail" in verdicts else ("undecided" if "undecided" in verdicts else "pass")

    @property
    def planted(self) -> list[str]:
        """Which of base and new are simulated."""
        return [name for name in ("base", "new") if getattr(self.matched, name).planted]

    @property
    def mark(self) -> str:
        """Whose answers these are; empty where none are simulated."""
        pair = (("base", self.matched.base), ("new", self.matched.new))
        sides = {f"{name} ({side.address.name})": side for name, side in pair}
        # Where only one side's people are real, those of the other count as what they are: planted.
        unreal = all(side.planted for side in sides.values() if side.are_people)
        people = [name for name, side in sides.items() if side.are_people and side.planted == unreal]
        planted = [name for name, side in sides.items() if side.planted and name not in people]
        return origin_mark(planted, sides, people, unreal) if self.planted else ""

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the claims cannot notice."""
        noticed = any(
            claim.kind == "status" or getattr(claim.options, "missing", "") == "moved"
            for claim in self.policy.claims
        )
        return (*(() if noticed else (SILENT,)), *self._missing())

    def _missing(self) -> Iterator[str]:
        for name, side in (("base", self.matched.base), ("new", self.matched.new)):
            if n := side.answers.missing.sum():
                asked = (side.answers.status >= 0).sum()
                yield (
                    f"{name} ({side.address.name}): {n:,} of {asked:,} questions have no answer (technical errors, "
                    "rows that are not there); claims pass only if they hold with the worst of these"
                )

    @property
    def exit_code(self) -> int:
        """The exit code; the policy says what undecided claims end with."""
        ends_with = self.policy.settings.undecided
        if self.verdict != "undecided" or ends_with == "report":
            return EXIT_CODES[self.verdict]
        # Nothing passes on too few answers.
        return EXIT_CODES["undecided" if ends_with == "pass" and self.is_thin else ends_with]

    @property
    def is_thin(self) -> bool:
        """Whether a claim has too few answers for any verdict."""
        return any(claim.finding.thin for claim in self.claims)


def run(base: Address, new: Address, policy: Policy, seed: int = 1) -> Gate:
    """Read both sides and judge every claim of the policy."""
    matched = match(read_side(base), read_side(new))
    return Gate(policy, matched, judge(find(matched, policy, seed), policy.alpha))


def find(matched: Matched, policy: Policy, seed: int) -> list[ClaimFinding]:
    """Return what each claim finds, one finding per level for claims by a factor."""
    parts = [(claim, *part) for claim in policy.claims for part in _parts(matched, policy, claim)]
    whole = len(parts), policy.alpha, policy.settings.flows == "fixed", seed, float(policy.settings.answered)
    groups = [FlowGroup(claim, level, matched, rows, *whole) for claim, level, rows in parts]
    return [_find(group) for group in groups]


def _find(group: FlowGroup) -> ClaimFinding:
    """Return what a claim finds about a group of flows; nothing is decided where too few were answered."""
    found = KINDS[group.claim.kind].find(group, group.claim.options)
    counts_all = getattr(group.claim.options, "missing", "") == "moved"
    judges = None if counts_all else KINDS[group.claim.kind].judges
    thin = found.thin or too_thin(group.matched, group.rows, group.answered, judges)
    return replace(found, p_pass=1.0, p_fail=1.0, need=None, thin=thin) if thin else found


def _parts(matched: Matched, policy: Policy, claim: Claim) -> Iterator[tuple[str, Bools]]:
    """Yield each group of flows that a claim is made for, with the name of its level."""
    _check_names(matched, policy, claim)
    rows = matched.select(claim.options.select)
    if not rows.any():
        given = dict(claim.options.select or {})
        raise policy.unknown(claim, "select", given, [], "selection that leaves a flow")
    by = claim.options.by if isinstance(claim.options, ByFactor) else None
    if by is None:
        yield "", rows
        return
    levels = matched.flows[by].map(text)
    for level in dict.fromkeys(levels[rows]):
        yield level, rows & (levels == level).to_numpy()


def _check_names(matched: Matched, policy: Policy, claim: Claim) -> None:
    options, factors = claim.options, list(matched.new.factors.factors)
    select = options.select or {}
    for key, given in [("select", name) for name in select] + [("by", getattr(options, "by", None))]:
        if given is not None and given not in factors:
            raise policy.unknown(claim, key, given, factors, f"factor of dataset {matched.new.dataset!r}")
    margins = list(options.margin_for or {}) if isinstance(options, Shift) else []
    stated = [(f"select.{name}", name, level) for name, levels in select.items() for level in levels]
    stated += [("margin_for", str(getattr(options, "by", "")), level) for level in margins]
    for key, factor, level in stated:
        known = list(dict.fromkeys(matched.flows[factor].map(text)))
        if str(level) not in known:
            raise policy.unknown(claim, key, level, known, f"level of {factor!r} among the flows compared")


def judge(findings: Sequence[ClaimFinding], alpha: float) -> tuple[Judged, ...]:
    """Return the verdict of each finding."""
    with np.errstate(divide="ignore"):
        log = np.log10(np.array([finding.p_fail for finding in findings]))
    corrected = tails.to_p(pvalues.adjust(log, "holm"))
    judged = []
    for finding, p in zip(findings, map(float, corrected), strict=True):
        verdict: Verdict = "undecided"
        if p <= alpha:
            verdict = "fail"
            why = f"clearly outside the limit (p = {_p(p)}, over all claims)"
        elif finding.p_pass <= alpha:
            verdict, why = "pass", f"clearly within the limit (p = {_p(finding.p_pass)})"
        else:
            why = _why_undecided(finding)
        judged.append(Judged(finding, verdict, p, why))
    return tuple(judged)


def _why_undecided(finding: ClaimFinding) -> str:
    if finding.thin:
        return finding.thin
    if not finding.n_flows:
        return "no flow was answered on both sides"
    if finding.n_templates < FEWEST:
        reason = f"a verdict needs at least {FEWEST} wordings; there are {finding.n_templates}"
    elif finding.need is None:
        return "too near the limit for any number of wordings to decide"
    else:
        reason = f"not enough {finding.need.unit} to tell"
    return f"{reason}; about {finding.need.more:,} more might decide it (a guide)" if finding.need else reason


def _p(p: float) -> str:
    return pvalues.show(float(np.log10(max(p, tails.SMALLEST))))
