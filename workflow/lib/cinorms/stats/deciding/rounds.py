"""The rounds: a first block of variants for every flow and all for the pilot, then one by one for what is undecided.

They are a pure function of the answers: whoever has the answers to what was asked so far finds the same next round.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cinorms.norms.thresholds import Thresholds
from cinorms.stats.deciding.calibration import Calibration
from cinorms.stats.deciding.prediction import Predictor
from cinorms.stats.deciding.schedule import BLOCK, asking_order, pilot_flows
from cinorms.stats.deciding.verdicts import NOT_ASKED, count, first_met, verdict

Ints = npt.NDArray[np.intp]
Flags = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

#: Orders in which each flow of the pilot rehearses.
REHEARSED = 4
#: Variants between two fits of what predicts answers: a fit takes as long as three looks, and changes little.
REFITTED = 3


class Rule(NamedTuple):
    """When a flow is decided: asking it everything would change its verdict with a probability of ``risk`` at most.

    The verdict is the one under ``thresholds``. ``pilot`` flows are asked everything.
    """

    thresholds: Thresholds
    risk: float
    pilot: int

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Rule:
        """Return the rule that `plain` returned as plain data."""
        thresholds = Thresholds(plain["t_val"], plain["t_maj"], plain["consensus"])
        return cls(thresholds, plain["risk"], plain["pilot"])

    def plain(self) -> dict[str, Any]:
        """Return the rule as plain data: the key ``asking`` of a spec."""
        return {"risk": self.risk, "pilot": self.pilot, **self.thresholds._asdict()}


@dataclass(frozen=True)
class Design:
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
        """Return the order in which each flow is asked its variants."""
        return asking_order(self.flows, self.template_no, self.order_no, self.seed, purpose)

    def pilot(self, size: int) -> Flags:
        """Return which flows are the pilot."""
        return pilot_flows(self.flows, size, self.seed)

    def first_block(self) -> Flags:
        """Return which variants every flow is asked, whatever it answers."""
        return self._first(self.order(), BLOCK)

    def _first(self, order: Ints, number: int) -> Flags:
        asked = np.zeros(order.shape, dtype=bool)
        np.put_along_axis(asked, order[:, :number], True, axis=1)
        return asked

    def verdict(self, codes: Ints, thresholds: Thresholds) -> Ints:
        """Return the verdict on each row of ``codes``."""
        first = first_met(codes, self.n_levels, self.rank)
        return verdict(count(codes, self.n_levels), codes.shape[1], thresholds, first)

    @property
    def rank(self) -> Ints:
        """The place of each variant among them all, sorted as strings."""
        return np.argsort(np.argsort(np.asarray(self.variants, dtype=str)))


class Round(NamedTuple):
    """What a look found: variants asked of the flows still open, how many were open before it and after it."""

    variants: int
    before: int
    after: int


class Rounds:
    """Tells round by round what to ask: ask ``todo``, hand all answers so far to ``take``, until nothing is left."""

    def __init__(self, design: Design, rule: Rule) -> None:
        self.design, self.rule = design, rule
        self.looks: list[Round] = []
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
        self.looks.append(Round(number, len(before), len(still)))
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
            predictor = self._rounds.predictor(self._held_back(seen, half, number), last, rng)
            predicted = predictor.change(self._flow[at], part, rule.thresholds, design.rank, rng)
            self._predicted.append(predicted)
            now, full = (design.verdict(each, rule.thresholds) for each in (part, seen[self._flow[at]]))
            self._wrong.append(now != full)
        calibration = Calibration.fit(
            np.concatenate(self._predicted), np.concatenate(self._wrong), 1 / REHEARSED
        )
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

    def _held_back(self, seen: Ints, half: int, number: int) -> Ints:
        """Return ``seen`` with no more of one half of the pilot than the first rehearsal knows."""
        n_pilot = len(self._flow) // REHEARSED
        at = np.flatnonzero(self._half[:n_pilot] == half)
        known = seen.copy()
        known[self._flow[at]] = self._part(seen, at, number)
        return known


def replay(design: Design, rule: Rule, codes: Ints, told: Callable[[Round], None] | None = None) -> Flags:
    """Return what would have been asked of a respondent whose answers to everything are known."""
    rounds = Rounds(design, rule)
    while rounds.todo.any():
        rounds.take(np.where(rounds.asked, codes, NOT_ASKED))
        if told and rounds.looks:
            told(rounds.looks[-1])
    return rounds.asked
