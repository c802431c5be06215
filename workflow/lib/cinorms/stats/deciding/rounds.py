"""The rounds: a first block of variants for every flow and all for the pilot, then one by one for what is undecided.

They are a pure function of the answers: whoever has the answers to what was asked so far finds the same next round.
The pilot tells by how much predictions are too sure of themselves: it rehearses, as if it were asked like the other
flows (docs/method/inference/until_decided.md).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cinorms.core.draws import draw_bits
from cinorms.norms.thresholds import Thresholds
from cinorms.stats.deciding.prediction import Predictor
from cinorms.stats.deciding.schedule import BLOCK, NOT_ASKED, count, first_met, verdict

Ints = npt.NDArray[np.intp]
Flags = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

#: Where the curve begins before any flow was rehearsed: risks are 2.5 times those predicted, as replays of published
#: answers found (1.5 to 4). The spreads say how far the pilot may move it; in logits, and as a slope.
PRIOR = np.array([np.log(2.5), 1.0])
SPREAD = np.array([1.0, 0.25])
#: Standard errors that are added: a bound that holds for four in five pilots.
STANDARD_ERRORS = 0.84
#: Predicted risks above this one are left out: only the curve's lower end is used.
HIGHEST = 0.3
#: Draws that a predicted risk is the share of; half a draw keeps 0 off the end of the scale.
RESOLUTION = 512


@dataclass(frozen=True)
class Calibration:
    """The curve: its intercept and slope in logits, and their covariance."""

    curve: Floats
    covariance: Floats

    @classmethod
    def fit(cls, predicted: Floats, wrong: Flags, weight: float) -> "Calibration":
        """Return the curve through rehearsed looks; ``weight`` is what each counts (one over the orders rehearsed)."""
        used = predicted <= HIGHEST
        terms, outcome = _terms(predicted[used]), wrong[used].astype(np.float64)
        curve, precision = PRIOR.copy(), np.diag(SPREAD**-2)
        for _ in range(50):
            p = 1 / (1 + np.exp(-terms @ curve))
            slope = weight * terms.T @ (outcome - p) - (curve - PRIOR) / SPREAD**2
            precision = weight * (terms * (p * (1 - p))[:, None]).T @ terms + np.diag(SPREAD**-2)
            step = np.linalg.solve(precision, slope)
            curve = curve + step * min(1.0, 1.0 / max(np.abs(step).max(), 1e-12))
            if np.abs(step).max() < 1e-8:
                break
        return cls(curve, np.linalg.inv(precision))

    def risk(self, predicted: Floats) -> Floats:
        """Return the risk that a predicted one stands for, as high as the pilot leaves likely."""
        terms = _terms(predicted)
        error = np.sqrt(np.einsum("nt,ts,ns->n", terms, self.covariance, terms))
        return np.asarray(1 / (1 + np.exp(-(terms @ self.curve + STANDARD_ERRORS * error))))


def _terms(predicted: Floats) -> Floats:
    kept_off = (predicted * RESOLUTION + 0.5) / (RESOLUTION + 1)
    return np.stack([np.ones_like(predicted), np.log(kept_off) - np.log1p(-kept_off)], axis=1)


#: Orders in which each flow of the pilot rehearses.
REHEARSED = 4
#: Variants between two fits of what predicts answers: a fit takes as long as three looks, and changes little.
REFITTED = 3


class DecidingRule(NamedTuple):
    """When a flow is decided: asking it everything would change its verdict with a probability of ``risk`` at most.

    The verdict is the one under ``thresholds``. ``pilot`` flows are asked everything.
    """

    thresholds: Thresholds
    risk: float
    pilot: int

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> "DecidingRule":
        """Return the rule that `plain` returned as plain data."""
        thresholds = Thresholds(plain["t_val"], plain["t_maj"], plain["consensus"])
        return cls(thresholds, plain["risk"], plain["pilot"])

    def plain(self) -> dict[str, Any]:
        """Return the rule as plain data: the key ``asking`` of a spec."""
        return {"risk": self.risk, "pilot": self.pilot, **self.thresholds._asdict()}


@dataclass(frozen=True)
class AskedDesign:
    """What is asked in full: flows, with the level of each on each factor, by variants.

    ``places`` has the place at which each prompt shows each level (flow, variant, level); None where that is not known
    or there is one place only.
    """

    flows: Ints
    factors: Ints
    variants: Sequence[str]
    template_no: Ints
    order_no: Ints
    n_levels: int
    seed: int
    places: Ints | None = None

    def order(self, purpose: str = "asking") -> Ints:
        """Return, for each flow, the positions of the variants in the order in which they are asked.

        A flow meets every template before it meets one again, and every order of the options about equally often on
        the way. The flows are drawn into groups of as many as there are templates; the flows of a group go through the
        templates in one random order, each starting one place further. So whatever number of variants is asked of all
        flows, each template and each order is asked equally often, to within what a few flows can add. Not every
        template needs every order.
        """
        templates, template = np.unique(self.template_no, return_inverse=True)
        orders, order = np.unique(self.order_no, return_inverse=True)
        n_templates, n_orders = len(templates), len(orders)
        drawn = np.argsort(draw_bits(f"{purpose}.flow", self.seed, self.flows), kind="stable")
        place = np.empty(len(self.flows), dtype=np.intp)
        place[drawn] = np.arange(len(self.flows))
        group, shift = np.divmod(place, max(n_templates, 1))
        of_template = draw_bits(f"{purpose}.template", self.seed, group[:, None], np.arange(n_templates))
        rank = np.argsort(np.argsort(of_template, axis=1), axis=1)
        # When each template is met in a round, and which of its orders it starts with: they rotate through a group, and
        # the next group begins one further.
        met = (rank - shift[:, None]) % n_templates
        start = (met + shift[:, None] + group[:, None]) % n_orders
        turn = (order[None, :] - start[:, template]) % n_orders
        return np.argsort(turn * n_templates + met[:, template], axis=1, kind="stable")

    def pilot(self, size: int) -> Flags:
        """Return which flows are the pilot: ``size`` of them, drawn at random."""
        drawn = np.argsort(draw_bits("asking.pilot", self.seed, self.flows), kind="stable")
        return np.isin(np.arange(len(drawn)), drawn[:size])

    def first_block(self) -> Flags:
        """Return which variants every flow is asked, whatever it answers."""
        order = self.order()
        asked = np.zeros(order.shape, dtype=bool)
        np.put_along_axis(asked, order[:, :BLOCK], True, axis=1)
        return asked

    def verdict(self, codes: Ints, thresholds: Thresholds) -> Ints:
        """Return the verdict on each row of ``codes``."""
        first = first_met(codes, self.n_levels, self.rank)
        return verdict(count(codes, self.n_levels), codes.shape[1], thresholds, first)

    @property
    def rank(self) -> Ints:
        """The place of each variant among them all, sorted as strings."""
        return np.argsort(np.argsort(np.asarray(self.variants, dtype=str)))


class AskingRound(NamedTuple):
    """What a look found: variants asked of the flows still open, how many were open before it and after it."""

    variants: int
    before: int
    after: int


class Rounds:
    """Tells round by round what to ask: ask ``todo``, hand all answers so far to ``take``, until nothing is left."""

    def __init__(self, design: AskedDesign, rule: DecidingRule) -> None:
        self.design, self.rule = design, rule
        self.looks: list[AskingRound] = []
        self.pilot = design.pilot(rule.pilot)
        self._order = design.order()
        self.asked: Flags = design.first_block() | self.pilot[:, None]
        self.todo: Flags = self.asked.copy()
        self._open = ~self.pilot & ~self.asked.all(axis=1)
        self._number = BLOCK
        self._fitted: tuple[Predictor, Calibration] | None = None
        self._rehearsals = _Rehearsals(self)

    def take(self, codes: Ints) -> None:
        """Look at the answers so far (NOT_ASKED elsewhere), and set what is ``todo`` next: empty at the end."""
        self.todo = np.zeros_like(self.asked)
        before = np.flatnonzero(self._open)
        if not len(before):
            return
        design, rule, number = self.design, self.rule, self._number
        seen = np.where(self.asked, codes, NOT_ASKED)
        rng = np.random.default_rng([design.seed % 2**63, number])
        if self._fitted is None or (number - BLOCK) % REFITTED == 0:
            predictor = self.predictor(seen, self._fitted and self._fitted[0], rng)
            self._fitted = predictor, self._rehearsals.look(seen, number, predictor, rng)
        predictor, calibration = self._fitted
        predicted = predictor.change(before, seen[before], rule.thresholds, design.rank, rng)
        self._open[before[calibration.risk(predicted) <= rule.risk]] = False
        still = np.flatnonzero(self._open)
        self.looks.append(AskingRound(number, len(before), len(still)))
        self._number = number + 1
        self.todo[still[:, None], self._order[still, number : self._number]] = True
        self.asked |= self.todo
        if self._number == self.asked.shape[1]:
            self._open[:] = False

    def predictor(self, seen: Ints, last: Predictor | None, rng: np.random.Generator) -> Predictor:
        """Return what predicts the answers that are missing from ``seen``."""
        design = self.design
        return Predictor.fit(seen, design.n_levels, design.factors, design.places, rng, last)


class _Rehearsals:
    """The pilot's flows, each in several orders, as if they were asked like the others.

    A flow is rehearsed by a predictor that knows no more of its half of the pilot than a rehearsal asks: what predicts
    the other flows has not seen their missing answers either.
    """

    def __init__(self, rounds: Rounds) -> None:
        self._rounds = rounds
        pilot = np.flatnonzero(rounds.pilot)
        purposes = ["asking", *(f"asking.rehearsal.{number}" for number in range(1, REHEARSED))]
        self._flow = np.tile(pilot, REHEARSED)
        self._half = np.tile(np.arange(len(pilot)) % 2, REHEARSED)
        self._order = np.concatenate([rounds.design.order(purpose)[pilot] for purpose in purposes])
        self._going = np.ones(len(self._flow), dtype=bool)
        self._predicted: list[Floats] = []
        self._wrong: list[Flags] = []

    def look(self, seen: Ints, number: int, last: Predictor, rng: np.random.Generator) -> Calibration:
        """Rehearse the look after ``number`` variants and return the calibration that all looks so far give."""
        rule, design = self._rounds.rule, self._rounds.design
        for half in (0, 1):
            at = np.flatnonzero(self._going & (self._half == half))
            part = self._part(seen, at, number)
            # Of this half of the pilot it knows no more than the first rehearsal does.
            n_pilot = len(self._flow) // REHEARSED
            held = np.flatnonzero(self._half[:n_pilot] == half)
            known = seen.copy()
            known[self._flow[held]] = self._part(seen, held, number)
            predictor = self._rounds.predictor(known, last, rng)
            predicted = predictor.change(self._flow[at], part, rule.thresholds, design.rank, rng)
            self._predicted.append(predicted)
            now, full = (design.verdict(x, rule.thresholds) for x in (part, seen[self._flow[at]]))
            self._wrong.append(now != full)
        looked_at = np.concatenate(self._predicted), np.concatenate(self._wrong)
        calibration = Calibration.fit(*looked_at, 1 / REHEARSED)
        for half, predicted in enumerate(self._predicted[-2:]):
            at = np.flatnonzero(self._going & (self._half == half))
            self._going[at[calibration.risk(predicted) <= rule.risk]] = False
        return calibration

    def _part(self, seen: Ints, at: Ints, number: int) -> Ints:
        """Return the answers that the rehearsals ``at`` know after ``number`` variants."""
        part = np.full((len(at), seen.shape[1]), NOT_ASKED)
        known = self._order[at, :number]
        np.put_along_axis(part, known, np.take_along_axis(seen[self._flow[at]], known, axis=1), axis=1)
        return part


def replay(design: AskedDesign, rule: DecidingRule, codes: Ints) -> Flags:
    """Return what would have been asked of a respondent whose answers to everything are known."""
    rounds = Rounds(design, rule)
    while rounds.todo.any():
        rounds.take(np.where(rounds.asked, codes, NOT_ASKED))
    return rounds.asked
