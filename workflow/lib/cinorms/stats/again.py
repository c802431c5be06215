"""Would as many other wordings give the same norm? The probability of each norm, and the number expected for a model.

A flow has unknown shares of the levels. Each template draws shares of its own around them, and each answer to it draws
a level from those (a Dirichlet-multinomial draw). What the flows have in common is a mixture of such shares, each with
its own spread between templates: so the answers say how much repeated answers to one wording are worth. Fresh templates
are drawn from each component of the mixture, and the rule for norms decides what they give. More in
docs/method/stats/again.md.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from numpy.random import Generator, default_rng

from cinorms.core.arrays import Floats, Ints, divide
from cinorms.core.scales import Scale
from cinorms.core.tables import AGAIN
from cinorms.norms.assessment import held, level_matrix, reasons
from cinorms.norms.thresholds import Thresholds
from cinorms.stats.wordings import (
    MOST_GROUPS,
    groups,
    interval,
    level_counts,
    norms_of,
    template_numbers,
    worth_of,
)
from cumulink import group_rows

#: With fewer templates or flows there is no number; with a wider interval (a share of the norms) nobody can tell.
FEWEST_TEMPLATES, FEWEST_FLOWS, WIDEST = 6, 40, 0.3
#: How alike the answers to one template are: nearly always the same level, or hardly more than by chance.
CONCENTRATIONS = (1.5, 6.0, 30.0, 300.0)
#: What is added to the answers of a flow at each level for its shares: none is 0.
ADDED = 0.05
#: Steps of the EM algorithm between which rare components are left out: those with less than this part of the weight
#: that equally frequent components have.
STEPS, RARE = (4, 6, 10), 0.05
#: The smallest logarithm of a likelihood: smaller ones count the same, and numbers near 0 are slow to multiply.
LEAST = -40.0
#: Cuts of the templates in two halves, each predicted from the other.
CUTS = 4
#: How much of what halves miss is corrected, on the logit scale, where so much of the templates is not alike; and the
#: smallest share on that scale.
TRUSTED, DIFFERENT, LEAST_SHARE = 0.5, 0.8, 1e-3

Numbers = npt.NDArray[np.floating[Any]]


class _Effort(NamedTuple):
    """Flows are predicted in ``folds``, from at most so many ``fitted`` flows of the other folds.

    A mixture starts with ``support`` shares of the levels; each component gives so many fresh ``templates``, in sets.
    """

    folds: int
    fitted: int
    support: int
    templates: int


WHOLE, HALF = _Effort(4, 1000, 400, 660), _Effort(2, 250, 200, 330)


class Again(NamedTuple):
    """What as many fresh wordings would give: ``probability`` per flow (NaN: no norm, or no number), and in all.

    ``again`` of the ``norms`` are expected to be the same, with a 95% interval. Of the norms of one half of the
    templates, the share ``half_predicted`` was predicted to be the same in the other half, and ``half_seen`` was.
    ``status``: ``ok``, ``few_templates``, ``few_flows``, ``no_norms``, ``people``, ``wide`` (the interval).
    """

    probability: Floats
    norms: int
    status: str
    again: float = np.nan
    low: float = np.nan
    high: float = np.nan
    effective_templates: float = np.nan
    half_predicted: float = np.nan
    half_seen: float = np.nan


class _Study(NamedTuple):
    """The answers of flows to templates, the place of each norm (-1: none), and what predicts it: fresh templates.

    ``exceeds`` (flows x templates x features) is 1 where a level was answered more than j times, for each level and
    j, and after those where the template has more than j valid answers: the logarithm of a Dirichlet-multinomial
    probability is a sum of such terms. ``sizes``: valid answers, flows x templates. ``most``: the most in a cell.
    """

    exceeds: Numbers
    sizes: Ints
    most: int
    level: Ints
    fresh: int
    thresholds: Thresholds

    @classmethod
    def of(cls, counts: Floats, worth: Floats, level: Ints, fresh: int, thresholds: Thresholds) -> "_Study":
        """Return the study of ``counts``, as of `level_counts`; ``worth`` is what each template counts."""
        cells = np.moveaxis(counts, 0, 2)
        sizes = cells.sum(axis=2)
        j = np.arange(most := max(int(sizes.max(initial=0)), 1))
        by_level = (cells[..., None] > j).reshape(*sizes.shape, -1)
        exceeds = np.concatenate([by_level, sizes[..., None] > j], axis=2) * worth[:, None]
        return cls(exceeds.astype(np.float32), sizes.astype(np.int64), most, level, fresh, thresholds)

    def rows(self, flows: Ints) -> Numbers:
        """Return the rows of flows, over all templates."""
        return np.asarray(self.exceeds[flows].sum(axis=1))


class _Mixture(NamedTuple):
    """Components: shares of the levels, and ``concentration`` of templates around them, with a ``weight``.

    The shares are those of flow ``one`` and, where flows are few, of flow ``other`` in the ``proportion``.
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
        """Return the mixture with the shares that its flows have in ``rows`` (`_Study.rows`)."""
        levels = self.shares.shape[1]
        most = rows.shape[1] // (levels + 1)
        answered = rows[:, :-most].reshape(len(rows), levels, most).sum(axis=2) + ADDED
        shares = answered / answered.sum(axis=1, keepdims=True)
        part = self.proportion[:, None]
        return self._replace(shares=part * shares[self.one] + (1 - part) * shares[self.other])

    def kept(self) -> "_Mixture":
        """Return the mixture without the components that hardly any flow belongs to."""
        kept = self.weight > RARE / len(self.weight)
        flows = self.one[kept], self.other[kept], self.proportion[kept]
        return _Mixture(*flows, self.concentration[kept], self.weight[kept], self.shares[kept])

    def likelihood(self, rows: Numbers) -> Numbers:
        """Return the likelihood of each component for each flow, up to a factor of the flow."""
        j = np.arange(rows.shape[1] // (self.shares.shape[1] + 1))
        alpha = self.concentration[:, None] * self.shares
        by_level = np.log(alpha[:, :, None] + j).reshape(len(alpha), -1)
        terms = np.hstack([by_level, -np.log(self.concentration[:, None] + j)])
        log = rows @ terms.T.astype(np.float32)
        log -= log.max(axis=1, keepdims=True)
        np.maximum(log, LEAST, out=log)
        return np.exp(log, out=log)

    def posterior(self, rows: Numbers) -> Numbers:
        """Return the probability of each component for each flow."""
        joint = self.likelihood(rows) * self.weight
        return np.asarray(joint / joint.sum(axis=1, keepdims=True))

    def fitted(self, rows: Numbers, steps: int) -> "_Mixture":
        """Return the mixture with weights fitted to flows (EM algorithm)."""
        likelihood, weight = self.likelihood(rows), self.weight
        for _ in range(steps):
            weight = weight * ((1 / (likelihood @ weight)) @ likelihood) / np.float32(len(rows))
        return self._replace(weight=weight)


class _Fresh(NamedTuple):
    """The random numbers of fresh templates: the same for two mixtures that differ by one template."""

    sizes: Ints
    uniform: Numbers
    copied: Numbers

    @classmethod
    def draw(cls, study: _Study, fold: "_Fold", effort: _Effort, rng: Generator) -> "_Fresh":
        """Draw sets of templates for each component, with the valid answers of one of its flows."""
        sizes, held, templates = study.sizes[fold.fitted], fold.held, study.fresh
        draws = max(effort.templates // templates, 1)
        below = held.cumsum(axis=0)
        at = [np.searchsorted(column, rng.random(draws) * column[-1]) for column in below.T]
        flow = np.clip(at, 0, len(sizes) - 1)[:, :, None]
        shape = (len(below.T), draws, templates)
        found = sizes[flow, rng.integers(0, sizes.shape[1], shape)]
        most = int(found.max(initial=0))
        uniform, copied = (rng.random((most, *shape), dtype=np.float32) for _ in range(2))
        return cls(found, uniform, copied)

    def norms(self, mixture: _Mixture, thresholds: Thresholds) -> Numbers:
        """Return how often each level is the norm: components x levels."""
        levels, (n, draws) = mixture.shares.shape[1], self.sizes.shape[:2]
        upper = mixture.shares.cumsum(axis=1).astype(np.float32)[:, :-1, None, None]
        concentration = mixture.concentration.astype(np.float32)[:, None, None]
        answers = np.empty(self.uniform.shape, dtype=np.int8)
        for number, (uniform, copied) in enumerate(zip(self.uniform, self.copied, strict=True)):
            answers[number] = sum((uniform > upper[:, level]).astype(np.int8) for level in range(levels - 1))
            if number:  # an answer copies one before it, each with probability 1 / (concentration + number)
                before = copied * (concentration + number)
                for earlier in reversed(range(number)):
                    np.copyto(answers[number], answers[earlier], where=before < earlier + 1)
        answers[self.sizes <= np.arange(len(answers))[:, None, None, None]] = levels  # there is none
        place = np.arange(n * draws).reshape(n, draws, 1) * (levels + 1) + answers
        found = np.bincount(place.ravel(), minlength=n * draws * (levels + 1)).reshape(n * draws, -1)
        found = found[:, :levels]
        top = found.max(axis=1)
        most = found == top[:, None]
        tied = most.sum(axis=1)
        held = reasons(found.sum(axis=1), top, tied > 1, thresholds.t_val, thresholds) == 0
        # Under the papers' rule a tie gives one of its levels.
        return np.asarray((most * (held / tied)[:, None]).reshape(n, draws, levels).mean(axis=1))


def levels_held(counts: Floats, thresholds: Thresholds) -> Ints:
    """Return the place of each flow's norm among the levels, -1 where it holds none (``counts``: `level_counts`)."""
    norms = norms_of(counts.sum(axis=2), thresholds)
    return np.where(norms.held, norms.level, -1)


class _Fold(NamedTuple):
    """Flows whose norms a mixture predicts that was fitted to other flows; ``held``: the components of those."""

    norms: Ints
    fitted: Ints
    mixture: _Mixture
    held: Numbers


def _folds(study: _Study, effort: _Effort, rng: Generator) -> list[_Fold]:
    """Return the folds: no flow explains itself."""
    order, found = rng.permutation(len(study.level)), []
    for part in np.array_split(order, effort.folds):
        others = rng.permutation(np.setdiff1d(order, part))[: effort.fitted]
        rows = study.rows(others)
        mixture = _Mixture.start(rows, rows.shape[1] // study.most - 1, effort.support, rng)
        for steps in STEPS:
            mixture = mixture.fitted(rows, steps).kept()
        norms = part[study.level[part] >= 0]
        found.append(_Fold(norms, others, mixture, mixture.posterior(rows)))
    return found


def _predict(study: _Study, folds: list[_Fold], effort: _Effort, rng: Generator) -> Floats:
    """Return the probability of the norm of each flow, NaN where it holds none."""
    found = np.full(len(study.level), np.nan)
    for fold in folds:
        fresh = _Fresh.draw(study, fold, effort, rng)
        drawn = fresh.norms(fold.mixture, study.thresholds)
        found[fold.norms] = _same(fold.mixture, drawn, study.rows(fold.norms), study.level[fold.norms])
    return found


def _same(mixture: _Mixture, drawn: Numbers, rows: Numbers, level: Ints) -> Floats:
    """Return how probable each ``level`` is in what was ``drawn`` from the components; equal rows are computed once."""
    first, group = group_rows(np.rint(rows * 64).astype(np.int64).T)
    return np.asarray(mixture.posterior(rows[first]) @ drawn, dtype=np.float64)[group, level]


def _without_each(study: _Study, folds: list[_Fold], rng: Generator) -> Floats:
    """Return the mean probability of the same norms from all templates but one (or a group), for each of them."""
    exceeds = study.exceeds
    left_out = np.eye(MOST_GROUPS, dtype=np.float32)[groups(exceeds.shape[1], rng)]
    left_out = left_out[:, left_out.any(axis=0)]
    total, norms, flows = np.zeros(left_out.shape[1]), 0, 0
    for fold in folds:
        fresh = _Fresh.draw(study, fold, HALF, rng)
        rows, whole, level = study.rows(fold.fitted), study.rows(fold.norms), study.level[fold.norms]
        sums = []
        for group in left_out.T:
            fewer = rows - group @ exceeds[fold.fitted]
            mixture = fold.mixture.moved(fewer).fitted(fewer, STEPS[-1])
            drawn = fresh.norms(mixture, study.thresholds)
            sums.append(_same(mixture, drawn, whole - group @ exceeds[fold.norms], level).sum())
        total, norms, flows = total + np.array(sums), norms + len(level), flows + len(fold.fitted)
        if flows >= WHOLE.fitted and norms:
            break
    return np.asarray(total / norms)


def _halves(counts: Floats, thresholds: Thresholds, rng: Generator) -> tuple[float, float]:
    """Return which share of the norms of halves of the templates was predicted, and seen, in the other half."""
    templates, found = counts.shape[2], np.zeros(3)
    for _ in range(CUTS):
        cut = np.array_split(rng.permutation(templates), 2)
        for one, other in (cut, cut[::-1]):
            of_one, of_other = (_part(thresholds, len(half) / templates) for half in (one, other))
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


def _part(thresholds: Thresholds, part: float) -> Thresholds:
    """Return the thresholds for a part of the templates."""
    return thresholds._replace(t_val=math.ceil(thresholds.t_val * part))


def predict(
    answers: pd.DataFrame,
    norms: pd.DataFrame,
    prompts: pd.DataFrame,
    scale: Scale,
    thresholds: Thresholds,
    *,
    people: bool,
) -> pd.DataFrame:
    """Return how probable each norm is in as many fresh wordings, and how many are expected (`tables.AGAIN`).

    People are asked in one wording: status ``people``.
    """
    levels, template = level_matrix(answers), template_numbers(prompts)
    norm = held(norms, thresholds).set_index("flow")["value"].reindex(levels.index)
    if people:
        found = Again(np.full(len(levels), np.nan), int(norm.notna().sum()), "people")
    else:
        place = scale.binned.places(norm.to_numpy(dtype=np.float64, na_value=np.nan))
        found = recurrence(level_counts(levels, template, scale), place, thresholds)
    return pd.DataFrame(
        {
            "flow": levels.index.astype(np.int32),
            "p_again": found.probability,
            "flows": len(levels),
            "templates": template.reindex(levels.columns).nunique(),
            **{name: getattr(found, name) for name in Again._fields[1:]},
        }
    )[list(AGAIN.columns)].astype({"status": "category"})


def recurrence(counts: Floats, level: Ints, thresholds: Thresholds, templates: int | None = None) -> Again:
    """Return what as many fresh wordings would give (or so many ``templates``).

    ``counts`` are as of `level_counts`: levels x flows x templates. ``level`` has the place of each flow's norm among
    the levels, -1 where it holds none. The draws depend on nothing but the number of templates.
    """
    flows, asked = counts.shape[1:]
    norms = int((level >= 0).sum())
    for status, holds in (
        ("few_templates", asked < FEWEST_TEMPLATES),
        ("few_flows", flows < FEWEST_FLOWS),
        ("no_norms", not norms),
    ):
        if holds:
            return Again(np.full(flows, np.nan), norms, status)
    rng, (effective, worth, _) = default_rng(asked), worth_of(counts)
    # Fresh templates are as much alike as these: fewer that are not alike.
    fresh = max(round(effective * (templates or asked) / asked), 1)
    study = _Study.of(counts, worth, level, fresh, _part(thresholds, fresh / asked))
    folds = _folds(study, WHOLE, rng)
    predicted, seen = _halves(counts, thresholds, rng)
    # What is wrong between halves is wrong for all templates too, but less. Copies of a template can be in both halves.
    tells = effective > DIFFERENT * asked and not np.isnan(predicted)
    shift = TRUSTED * (_logit(seen) - _logit(predicted)) if tells else 0.0
    found = _share(_logit(_predict(study, folds, WHOLE, rng)) + shift)
    share = float(np.nanmean(found))
    without = _logit(_without_each(study, folds, rng))
    # The jackknife, with the variance that alike templates take from it; and as much as is corrected stays open.
    n = len(without)
    spread = float(((without - without.mean()) ** 2).sum()) * (n - 1) / n * asked / effective
    _, *limits = interval(_logit(share), spread + shift**2, max(min(effective, n) - 1, 1.0))
    low, high = (float(_share(limit)) for limit in limits)
    status = "wide" if high - low > WIDEST else "ok"
    return Again(found, norms, status, norms * share, norms * low, norms * high, effective, predicted, seen)


def _logit(share: Any) -> Any:
    """Return the logit of shares, those of 0 and 1 moved inwards."""
    inside = np.clip(share, LEAST_SHARE, 1 - LEAST_SHARE)
    return np.log(inside / (1 - inside))


def _share(logit: Any) -> Any:
    """Return the shares of which these are the logits."""
    return 1 / (1 + np.exp(-logit))
