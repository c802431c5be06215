"""Would as many other wordings give the same verdict? The probability of each verdict, and the number expected.

An item has unknown shares of the levels. Each wording draws shares of its own around them, and each answer to it draws
a level from those (a Dirichlet-multinomial draw). What the items have in common is a mixture of such shares, each with
its own spread between wordings: so the answers say how much repeated answers to one wording are worth. Fresh wordings
are drawn from each component of the mixture, and the rule for verdicts decides what they give. More in
README.md.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.random import Generator, default_rng

from rewordings.arrays import Floats, Ints, divide
from rewordings.rule import Rule, levels_held, reasons
from rewordings.wordings import MOST_GROUPS, groups, interval, jackknife_variance, worth_of

#: With fewer wordings or items there is no number; with a wider interval, or where what one half of the wordings
#: predicts of the other is wrong by more (both are shares of the verdicts), nobody can tell; nor where the wordings are
#: too alike (`Worth.too_alike`).
FEWEST_WORDINGS, FEWEST_ITEMS, WIDEST, WRONG = 6, 40, 0.3, 0.05
#: How alike the answers to one wording are: nearly always the same level, or hardly more than by chance.
CONCENTRATIONS = (0.1, 0.4, 1.5, 6.0, 30.0, 300.0)
#: What is added to the answers of an item at each level for its shares: none is 0.
ADDED = 0.05
#: Steps of the EM algorithm between which rare components are left out: those with less than this part of the weight
#: that equally frequent components have.
STEPS, RARE = (4, 6, 10), 0.05
#: The smallest logarithm of a likelihood: smaller ones count the same, and numbers near 0 are slow to multiply.
LEAST = -40.0
#: Cuts of the wordings in two halves, each predicted from the other.
CUTS = 4
#: How much of what halves miss is corrected, on the logit scale, where so much of the wordings is not alike; and the
#: smallest share on that scale.
TRUSTED, DIFFERENT, LEAST_SHARE = 0.5, 0.8, 1e-3

Numbers = npt.NDArray[np.floating[Any]]


class _Effort(NamedTuple):
    """Items are predicted in ``folds``, from at most so many ``fitted`` items of the other folds.

    A mixture starts with ``support`` shares of the levels; each component gives so many fresh ``wordings``, in sets.
    """

    folds: int
    fitted: int
    support: int
    wordings: int


WHOLE, HALF = _Effort(4, 1000, 400, 660), _Effort(2, 250, 200, 330)


class Recurrence(NamedTuple):
    """What as many fresh wordings would give: ``probability`` per item (NaN: no verdict, or no number), and in all.

    ``again`` of the ``verdicts`` are expected to be the same, with a 95% interval. Of the verdicts of one half of the
    wordings, the share ``half_predicted`` was predicted to be the same in the other half, and ``half_seen`` was.
    ``status``: ``ok``, ``few_wordings``, ``few_items``, ``no_verdicts``, ``wide`` (these wordings cannot show it).
    """

    probability: Floats
    verdicts: int
    status: str
    again: float = np.nan
    low: float = np.nan
    high: float = np.nan
    effective_wordings: float = np.nan
    half_predicted: float = np.nan
    half_seen: float = np.nan


class _Study(NamedTuple):
    """The answers of items to wordings, the place of each verdict (-1: none), and what predicts it: fresh wordings.

    ``exceeds`` (items x wordings x features) is 1 where a level was answered more than j times, for each level and
    j, and after those where the wording has more than j answers: the logarithm of a Dirichlet-multinomial probability
    is a sum of such terms. A missing answer is a level of its own, the last, so it belongs to items and levels as
    other answers do. ``most``: the answers to a wording.
    """

    exceeds: Numbers
    most: int
    level: Ints
    fresh: int
    rule: Rule

    @classmethod
    def of(cls, counts: Floats, worth: Floats, level: Ints, fresh: int, rule: Rule) -> "_Study":
        """Return the study of ``counts``, levels x items x wordings; ``worth`` is what each wording counts."""
        cells = np.moveaxis(counts, 0, 2)
        sizes = cells.sum(axis=2, keepdims=True)
        most = max(int(sizes.max(initial=0)), 1)
        cells = np.concatenate([cells, most - sizes, np.full(sizes.shape, most)], axis=2)
        exceeds = (cells[..., None] > np.arange(most)).reshape(*sizes.shape[:2], -1) * worth[:, None]
        return cls(exceeds.astype(np.float32), most, level, fresh, rule)

    def rows(self, items: Ints) -> Numbers:
        """Return the rows of items, over all wordings."""
        return np.asarray(self.exceeds[items].sum(axis=1))


class _Mixture(NamedTuple):
    """Components: shares of the levels, and ``concentration`` of wordings around them, with a ``weight``.

    The shares are those of item ``one`` and, where items are few, of item ``other`` in the ``proportion``.
    """

    one: Ints
    other: Ints
    proportion: Numbers
    concentration: Numbers
    weight: Numbers
    shares: Numbers

    @classmethod
    def start(cls, rows: Numbers, levels: int, support: int, rng: Generator) -> "_Mixture":
        """Return a mixture in which all components are equally frequent."""
        single, pairs = min(len(rows), support), max(support - len(rows), 0)
        drawn = rng.integers(0, len(rows), (2, pairs))
        one = np.concatenate([np.arange(single), drawn[0]])
        other = np.concatenate([np.arange(single), drawn[1]])
        proportion = np.concatenate([np.ones(single), rng.random(pairs)])
        n = len(CONCENTRATIONS)
        one, other, proportion = (np.repeat(column, n) for column in (one, other, proportion))
        concentration = np.tile(CONCENTRATIONS, single + pairs)
        weight = np.full(len(one), 1 / len(one), dtype=np.float32)
        return cls(one, other, proportion, concentration, weight, np.empty((len(one), levels))).moved(rows)

    def moved(self, rows: Numbers) -> "_Mixture":
        """Return the mixture with the shares that its items have in ``rows`` (`_Study.rows`)."""
        levels = self.shares.shape[1]
        most = rows.shape[1] // (levels + 1)
        answered = rows[:, :-most].reshape(len(rows), levels, most).sum(axis=2) + ADDED
        shares = answered / answered.sum(axis=1, keepdims=True)
        part = self.proportion[:, None]
        return self._replace(shares=part * shares[self.one] + (1 - part) * shares[self.other])

    def kept(self) -> "_Mixture":
        """Return the mixture without the components that hardly any item belongs to."""
        kept = self.weight > RARE / len(self.weight)
        items = self.one[kept], self.other[kept], self.proportion[kept]
        return _Mixture(*items, self.concentration[kept], self.weight[kept], self.shares[kept])

    def likelihood(self, rows: Numbers) -> Numbers:
        """Return the likelihood of each component for each item, up to a factor of the item."""
        j = np.arange(rows.shape[1] // (self.shares.shape[1] + 1))
        alpha = self.concentration[:, None] * self.shares
        by_level = np.log(alpha[:, :, None] + j).reshape(len(alpha), -1)
        terms = np.hstack([by_level, -np.log(self.concentration[:, None] + j)])
        log = rows @ terms.T.astype(np.float32)
        log -= log.max(axis=1, keepdims=True)
        np.maximum(log, LEAST, out=log)
        return np.exp(log, out=log)

    def posterior(self, rows: Numbers) -> Numbers:
        """Return the probability of each component for each item."""
        joint = self.likelihood(rows) * self.weight
        return np.asarray(joint / joint.sum(axis=1, keepdims=True))

    def fitted(self, rows: Numbers, steps: int) -> "_Mixture":
        """Return the mixture with weights fitted to items (EM algorithm)."""
        likelihood, weight = self.likelihood(rows), self.weight
        for _ in range(steps):
            weight = weight * ((1 / (likelihood @ weight)) @ likelihood) / np.float32(len(rows))
        return self._replace(weight=weight)


class _Fresh(NamedTuple):
    """The random numbers of fresh wordings: the same for two mixtures that differ by one wording."""

    uniform: Numbers
    copied: Numbers

    @classmethod
    def draw(cls, study: _Study, mixture: _Mixture, effort: _Effort, rng: Generator) -> "_Fresh":
        """Draw sets of wordings for each component."""
        shape = (study.most, len(mixture.weight), max(effort.wordings // study.fresh, 1), study.fresh)
        return cls(*(rng.random(shape, dtype=np.float32) for _ in range(2)))

    def verdicts(self, mixture: _Mixture, rule: Rule) -> Numbers:
        """Return how often each level is the verdict: components x levels."""
        levels, (n, draws) = mixture.shares.shape[1], self.uniform.shape[1:3]
        upper = mixture.shares.cumsum(axis=1).astype(np.float32)[:, :-1, None, None]
        concentration = mixture.concentration.astype(np.float32)[:, None, None]
        answers = np.empty(self.uniform.shape, dtype=np.int8)
        for number, (uniform, copied) in enumerate(zip(self.uniform, self.copied, strict=True)):
            answers[number] = sum((uniform > upper[:, level]).astype(np.int8) for level in range(levels - 1))
            if number:  # an answer copies one before it, each with probability 1 / (concentration + number)
                before = copied * (concentration + number)
                for earlier in reversed(range(number)):
                    np.copyto(answers[number], answers[earlier], where=before < earlier + 1)
        place = np.arange(n * draws).reshape(n, draws, 1) * levels + answers
        found = np.bincount(place.ravel(), minlength=n * draws * levels).reshape(n * draws, -1)[:, :-1]
        top = found.max(axis=1)
        most = found == top[:, None]
        tied = most.sum(axis=1)
        held = reasons(found.sum(axis=1), top, tied > 1, rule) == 0
        # Under the papers' rule a tie gives one of its levels.
        return np.asarray((most * (held / tied)[:, None]).reshape(n, draws, levels - 1).mean(axis=1))


class _Fold(NamedTuple):
    """Items whose verdicts a mixture predicts that was fitted to other items."""

    verdicts: Ints
    fitted: Ints
    mixture: _Mixture


def _folds(study: _Study, effort: _Effort, rng: Generator) -> list[_Fold]:
    """Return the folds: no item explains itself."""
    order, found = rng.permutation(len(study.level)), []
    for part in np.array_split(order, effort.folds):
        others = rng.permutation(np.setdiff1d(order, part))[: effort.fitted]
        rows = study.rows(others)
        mixture = _Mixture.start(rows, rows.shape[1] // study.most - 1, effort.support, rng)
        for steps in STEPS:
            mixture = mixture.fitted(rows, steps).kept()
        verdicts = part[study.level[part] >= 0]
        found.append(_Fold(verdicts, others, mixture))
    return found


def _predict(study: _Study, folds: list[_Fold], effort: _Effort, rng: Generator) -> Floats:
    """Return the probability of the verdict of each item, NaN where it holds none."""
    found = np.full(len(study.level), np.nan)
    for fold in folds:
        fresh = _Fresh.draw(study, fold.mixture, effort, rng)
        drawn = fresh.verdicts(fold.mixture, study.rule)
        found[fold.verdicts] = _same(
            fold.mixture, drawn, study.rows(fold.verdicts), study.level[fold.verdicts]
        )
    return found


def _same(mixture: _Mixture, drawn: Numbers, rows: Numbers, level: Ints) -> Floats:
    """Return how probable each ``level`` is in what was ``drawn`` from the components; equal rows are computed once."""
    keys = [row.tobytes() for row in np.rint(rows * 64).astype(np.int32)]
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    return np.asarray(mixture.posterior(rows[first]) @ drawn, dtype=np.float64)[group, level]


def _without_each(study: _Study, folds: list[_Fold], rng: Generator) -> Floats:
    """Return the mean probability of the same verdicts from all wordings but one (or a group), for each of them."""
    exceeds = study.exceeds
    left_out = np.eye(MOST_GROUPS, dtype=np.float32)[groups(exceeds.shape[1], rng)]
    left_out = left_out[:, left_out.any(axis=0)]
    total, verdicts, items = np.zeros(left_out.shape[1]), 0, 0
    for fold in folds:
        fresh = _Fresh.draw(study, fold.mixture, HALF, rng)
        rows, whole, level = study.rows(fold.fitted), study.rows(fold.verdicts), study.level[fold.verdicts]
        sums = []
        for group in left_out.T:
            fewer = rows - group @ exceeds[fold.fitted]
            mixture = fold.mixture.moved(fewer).fitted(fewer, STEPS[-1])
            drawn = fresh.verdicts(mixture, study.rule)
            sums.append(_same(mixture, drawn, whole - group @ exceeds[fold.verdicts], level).sum())
        total, verdicts, items = total + np.array(sums), verdicts + len(level), items + len(fold.fitted)
        if items >= WHOLE.fitted and verdicts:
            break
    return np.asarray(total / verdicts)


def _halves(counts: Floats, rule: Rule, rng: Generator) -> tuple[float, float]:
    """Return which share of the verdicts of halves of the wordings was predicted, and seen, in the other half."""
    wordings, found = counts.shape[2], np.zeros(3)
    for _ in range(CUTS):
        cut = np.array_split(rng.permutation(wordings), 2)
        for one, other in (cut, cut[::-1]):
            of_one, of_other = (_part(rule, len(half) / wordings) for half in (one, other))
            level = levels_held(counts[:, :, one], of_one)
            held = level >= 0
            if not held.any():
                continue
            study = _Study.of(counts[:, :, one], np.ones(len(one)), level, len(other), of_other)
            folds = _folds(study, HALF, rng)
            seen = (levels_held(counts[:, :, other], of_other) == level)[held]
            found += _predict(study, folds, HALF, rng)[held].sum(), seen.sum(), held.sum()
    shares = divide(found[:2], found[2])
    return float(shares[0]), float(shares[1])


def _part(rule: Rule, part: float) -> Rule:
    """Return the rule for a part of the wordings."""
    return rule._replace(fewest=math.ceil(rule.fewest * part))


def recurrence(counts: Floats, level: Ints, rule: Rule, wordings: int | None = None) -> Recurrence:
    """Return what as many fresh wordings would give (or so many ``wordings``).

    ``counts`` are levels x items x wordings. ``level`` has the place of each item's verdict among the levels, -1
    where it has none. The draws depend on nothing but the number of wordings.
    """
    items, asked = counts.shape[1:]
    verdicts = int((level >= 0).sum())
    for status, holds in (
        ("few_wordings", asked < FEWEST_WORDINGS),
        ("few_items", items < FEWEST_ITEMS),
        ("no_verdicts", not verdicts),
    ):
        if holds:
            return Recurrence(np.full(items, np.nan), verdicts, status)
    rng, worth = default_rng(asked), worth_of(counts)
    effective = worth.effective
    # Fresh wordings are as much alike as these: fewer that are not alike.
    fresh = max(round(effective * (wordings or asked) / asked), 1)
    study = _Study.of(counts, worth.each, level, fresh, _part(rule, fresh / asked))
    folds = _folds(study, WHOLE, rng)
    predicted, seen = _halves(counts, rule, rng)
    # What is wrong between halves is wrong for all wordings too, but less. Copies of a wording can be in both halves.
    tells = effective > DIFFERENT * asked and not np.isnan(predicted)
    shift = TRUSTED * (_logit(seen) - _logit(predicted)) if tells else 0.0
    found = _share(_logit(_predict(study, folds, WHOLE, rng)) + shift)
    share = float(np.nanmean(found))
    without = _logit(_without_each(study, folds, rng))
    # The jackknife, with the variance that alike wordings take from it; and as much as is corrected stays open.
    n = len(without)
    spread = float(jackknife_variance(without)) * asked / effective
    _, *limits = interval(_logit(share), spread + shift**2, max(min(effective, n) - 1, 1.0))
    low, high = (float(_share(limit)) for limit in limits)
    missed = abs(predicted - seen) > WRONG
    status = "wide" if high - low > WIDEST or missed or worth.too_alike else "ok"
    return Recurrence(
        found, verdicts, status, verdicts * share, verdicts * low, verdicts * high, effective, predicted, seen
    )


def _logit(share: Any) -> Any:
    """Return the logit of shares, those of 0 and 1 moved inwards."""
    inside = np.clip(share, LEAST_SHARE, 1 - LEAST_SHARE)
    return np.log(inside / (1 - inside))


def _share(logit: Any) -> Any:
    """Return the shares of which these are the logits."""
    return 1 / (1 + np.exp(-logit))
