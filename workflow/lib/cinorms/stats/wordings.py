"""Intervals that hold in other wordings: templates are the sample, answer orders are not.

Within a flow, a template is one observation, whatever its number of orders. Flows are a sample of more flows, or the
only ones. An estimate's variance is the sum of the squared influences of the templates and, if flows are a sample, of
the flows, minus the part of single answers that both include; each sum is corrected for its mean. The interval uses
Student's t with the degrees of freedom of that sum (Welch and Satterthwaite). More in docs/method/stats/trust.md.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy

from cinorms.core.arrays import Bools, Floats, Ints, divide, mean_over
from cinorms.core.errors import DataError
from cinorms.core.scales import Scale
from cinorms.norms.assessment import reasons
from cinorms.norms.thresholds import Thresholds
from cumulink import two_way_variance

#: An interval needs at least this many templates (and, if flows are a sample, flows).
FEWEST = 2
CONFIDENCE = 0.95
#: Two templates are copies whose answers, less the noise of single answers, correlate by more, and what they differ by
#: is less than this part of the variance of all answers: two camps of templates correlate, but differ by more.
ALIKE, APART = 0.65, 0.02
#: No templates are copies unless the correlations of all pairs together are so many standard deviations above chance.
CHANCE = 3.0
#: The least part of what a template's answers vary that is not noise: less cannot be told from none.
LEAST_OWN = 0.2
#: Newton steps to the shift of a template.
STEPS = 3
#: Templates that are worth less than this part of their number are too alike for intervals over wordings.
ENOUGH = 0.6
#: The status of numbers over such templates.
ALIKE_TEMPLATES = "alike_templates"
#: More templates or raters than this are left out in so many groups.
MOST_GROUPS = 15


def template_numbers(prompts: pd.DataFrame) -> pd.Series:
    """Return the template of each variant of an arm (index: variant)."""
    return pd.Series(prompts["template_no"].to_numpy(), index=prompts["variant"].astype(str))


def look_up(variants: pd.Index, numbers: pd.Series) -> Ints:
    """Return the number of each variant in ``numbers`` (index: variant): its template, or its order.

    Raises ``DataError`` for a variant without one.
    """
    found = numbers.reindex(variants)
    if found.isna().any():
        raise DataError(
            f"variant {found.index[found.isna()][0]} is not in the arm's prompts; delete both tables and rerun"
        )
    return found.to_numpy(dtype=np.intp)


def level_counts(levels: pd.DataFrame, templates: pd.Series, scale: Scale) -> Floats:
    """Return how often each level (each bin of a number line) was answered: levels x flows x templates.

    ``levels`` is `norms.level_matrix(answers)`: flows x variants, NaN where there is no valid answer.
    """
    x, member = levels.to_numpy(), membership(levels, templates)
    place = scale.places(x)
    return np.stack([(place == i) @ member for i in range(len(scale.binned.levels))])


def template_sums(levels: pd.DataFrame, templates: pd.Series) -> tuple[Floats, Floats]:
    """Return the sum and the number of the valid answers of each flow (row) in each template (column)."""
    x, member = levels.to_numpy(), membership(levels, templates)
    return np.nan_to_num(x) @ member, (~np.isnan(x)) @ member


def template_means(levels: pd.DataFrame, templates: pd.Series) -> Floats:
    """Return flows x templates: the mean of a template's valid answers, NaN where there is none."""
    return divide(*template_sums(levels, templates))


class Units(NamedTuple):
    """The contributions of the templates, or of the flows, to an estimate.

    ``influence`` is the contribution of each minus that of an average one; the sum is 0. ``weight``
    is how much each counts; the sum is 1.
    """

    influence: Floats
    weight: Floats


class Influences(NamedTuple):
    """An estimate, and what the templates, the flows and each flow in each template (NaN: nothing) add to it."""

    value: float
    templates: Units
    flows: Units
    cells: Floats

    def spread(self, fixed_flows: bool) -> tuple[float, float]:
        """Return the variance of the estimate and its degrees of freedom."""
        if fixed_flows:
            return spread(self.templates)
        return two_way_variance(spread(self.templates), spread(self.flows), rest_variance(self.cells))

    def interval(self, fixed_flows: bool) -> tuple[float, float, float]:
        """Return the standard error and the limits of the 95% interval."""
        return interval(self.value, *self.spread(fixed_flows))


def of_mean(cells: Floats) -> Influences:
    """Return the mean of all cells (flows x templates, NaN where there is none) with its influences."""
    there = ~np.isnan(cells)
    weight = there / there.sum()
    mean = float(np.nanmean(cells))
    influence = (cells - mean) * weight
    templates, flows = (Units(np.nansum(influence, axis=axis), weight.sum(axis=axis)) for axis in (0, 1))
    return Influences(mean, templates, flows, influence)


def pooled(parts: Sequence[tuple[float, float]], otherwise: float = 1.0) -> tuple[float, float]:
    """Return the variance of a sum of independent parts, each a variance with its degrees of freedom, and its own.

    ``otherwise`` are the degrees of freedom where no part varies.
    """
    variance = sum(part for part, _ in parts)
    squares = sum(part**2 / freedom for part, freedom in parts)
    return variance, max(variance**2 / squares, 1.0) if squares > 0 else otherwise


def interval(
    estimate: Any, variance: Any, freedom: Any, confidence: float = CONFIDENCE
) -> tuple[Any, Any, Any]:
    """Return the standard error and the limits of the interval, of one estimate or of each."""
    std_err = np.sqrt(variance)
    reach = quantile(freedom, confidence) * std_err
    return std_err, estimate - reach, estimate + reach


def mean_interval(cells: Floats, fixed_flows: bool) -> tuple[float, float, float, float]:
    """Return mean, standard error and limits of the mean of all cells (flows x templates) that are there."""
    mean = of_mean(cells)
    return mean.value, *mean.interval(fixed_flows)


def flow_intervals(levels: pd.DataFrame, templates: pd.Series, scale: Scale) -> pd.DataFrame:
    """Return, per flow, an interval for its mean.

    The mean is that of all valid answers; the interval is over templates like these, within the ``scale``.
    Columns: flow, conf_low, conf_high, interval_status (``ok``, ``no_answers``, ``one_template``).
    """
    levels = levels.sort_index()
    values, size = template_sums(levels, templates)
    n, asked = size.sum(axis=1), (size > 0).sum(axis=1)
    estimate = divide(values.sum(axis=1), n)
    judged = asked >= FEWEST
    influence = np.nan_to_num(divide(values - estimate[:, None] * size, n[:, None]))
    variance, freedom = spread(Units(influence, np.nan_to_num(divide(size, n[:, None]))))
    _, low, high = interval(estimate, np.where(judged, variance, np.nan), freedom)
    lowest, highest = scale.levels[0], scale.levels[-1]
    return pd.DataFrame(
        {
            "flow": levels.index.to_numpy(),
            "conf_low": np.maximum(low, lowest),
            "conf_high": np.minimum(high, highest),
            "interval_status": np.select([n == 0, ~judged], ["no_answers", "one_template"], "ok"),
        }
    )


class Worth(NamedTuple):
    """What templates are worth: together, in templates that are not alike, and each; and how they correlate."""

    effective: float
    each: Floats
    related: Floats

    @property
    def too_alike(self) -> bool:
        """Whether they are worth so much less than their number that intervals over them do not hold."""
        return self.effective < ENOUGH * len(self.each)

    @property
    def pair(self) -> tuple[int, int, float]:
        """The places of the two templates that are most alike, and their correlation."""
        others = self.related - 2 * np.eye(len(self.related))
        first, second = divmod(int(others.argmax()), len(others))
        return first, second, float(others[first, second])


def worth_of(counts: Floats) -> Worth:
    """Return what templates are worth; ``counts`` are as of `level_counts`.

    Copies count once. They are templates in which what flow and template leave of the shares of the answers up to each
    level correlates and hardly differs, less the noise of single answers, which the orders of a template show (with
    one order nobody knows it, and the correlation decides). n templates in groups of g copies are worth n / g.
    """
    size = counts.sum(axis=0)
    there, share = size > 0, divide(np.cumsum(counts, axis=0)[:-1], size)
    noise = np.where(size > 1, divide(np.nansum(share * (1 - share), axis=0), size - 1), np.nan)
    left = _without_moves(counts, share, there)
    n = left.shape[2]
    together = np.einsum("lft,lfu->tu", left, left, optimize=True)
    squares = np.diag(together)
    of_noise = np.nan_to_num(mean_over(noise, axis=0) * there.sum(axis=0))
    # The noise of every template is in the mean of the flow, and so, with the opposite sign, in every other template.
    signal = together - np.diag(of_noise) + (of_noise[:, None] + of_noise) / n - of_noise.sum() / n**2
    own = np.maximum(np.diag(signal), LEAST_OWN * squares)
    # Without the mean of the flow, templates that are not alike are related by -1 / (templates - 1).
    seen, cleaned = (
        np.clip(np.nan_to_num(divide(shared, np.sqrt(np.outer(x, x)))) * (1 - 1 / n) + 1 / n, 0.0, 1.0)
        for shared, x in ((together, squares), (signal, own))
    )
    apart = (np.diag(signal)[:, None] + np.diag(signal)) / 2 - signal
    below = counts.sum(axis=(1, 2)).cumsum()[:-1] / max(counts.sum(), 1)
    copies = (apart < APART * (below * (1 - below)).sum() * there.shape[0]) | np.isnan(noise).all()
    alike = np.where(copies & (cleaned > ALIKE) & _beyond_chance(seen, left), cleaned, 0.0)
    np.fill_diagonal(alike, 1.0)
    sums = alike.sum(axis=1)
    return Worth(float(n**2 / sums.sum()), 1 / sums, cleaned)


def _without_moves(counts: Floats, share: Floats, there: Bools) -> Floats:
    """Return the shares less what flow and template explain, 0 where there is none.

    A template that moves all flows moves the more of a flow's answers, the nearer their share is to a half, so its
    effect is a shift of logits: two templates that move flows in the same direction are not alike for that.
    """
    of_flow = np.cumsum(counts.sum(axis=2), axis=0)[:-1] + 0.5
    logit = np.log(of_flow / (counts.sum(axis=(0, 2)) + 1 - of_flow))[:, :, None]
    expected = scipy.special.expit(logit) * there
    for _ in range(STEPS):
        room = (expected * (1 - expected)).sum(axis=1, keepdims=True)
        too_few = (np.nan_to_num(share) - expected).sum(axis=1, keepdims=True)
        logit = logit + np.nan_to_num(divide(too_few, room))
        expected = scipy.special.expit(logit) * there
    left = np.where(there, share - expected, np.nan)
    return np.nan_to_num(left - divide(np.nansum(left, 2, keepdims=True), there.sum(axis=1)[:, None]))


def _beyond_chance(seen: Floats, left: Floats) -> bool:
    """Tell whether templates correlate by more than chance; ``left`` (levels x flows x templates) is what they are of.

    All pairs are judged at once: of few flows no single pair would be told from chance, and of many pairs some would.
    """
    n = len(seen)
    if n < FEWEST or not left.any():
        return False
    # The variance of a sum of products over flows, which two templates that are not alike have.
    of_flows = np.einsum("lft,mft->flm", left, left, optimize=True)
    products = ((of_flows**2).sum() - ((left**2).sum(axis=0) ** 2).sum()) / (n * (n - 1))
    chance = max(products, 0.0) / (left**2).sum(axis=(0, 1)).mean() ** 2
    # Of a normal number, the square of its positive part has mean 1/2 and variance 5/4.
    pairs = seen[np.triu_indices(n, 1)]
    return bool((pairs**2).sum() > chance * (len(pairs) / 2 + CHANCE * np.sqrt(1.25 * len(pairs))))


def membership(levels: pd.DataFrame, templates: pd.Series) -> Floats:
    """Return variants x templates: 1 where a variant belongs to a template; ``templates`` as of `look_up`."""
    codes = np.unique(look_up(levels.columns, templates), return_inverse=True)[1]
    return np.eye(codes.max(initial=-1) + 1)[codes]


def spread(units: Units) -> tuple[Any, Any]:
    """Return the variance that units drawn independently give an estimate, and its degrees of freedom.

    The influences are taken about the estimate, which follows the units: their squares are too small, the more so the
    fewer units there are and the less equally they count. Factor and degrees of freedom are those of this quadratic
    form (Satterthwaite); where n units count equally they are n / (n - 1) and n - 1. One estimate, or one per row.
    """
    two, three, four, five = ((units.weight**power).sum(axis=-1) for power in (2, 3, 4, 5))
    trace = two - 2 * three + two**2
    trace_of_square = (
        four * (1 + 2 * two) - 4 * five + two**4 + 2 * four * two - 4 * two**2 * three + 2 * three**2
    )
    squares = (units.influence**2).sum(axis=-1)
    return squares * divide(two, trace), np.maximum(divide(trace**2, trace_of_square), 1.0)


def groups(n: int, rng: np.random.Generator | None = None) -> Ints:
    """Return the group of each of ``n`` templates or raters: its own, or one of `MOST_GROUPS` drawn at random."""
    if n <= MOST_GROUPS:
        return np.arange(n)
    return (rng or np.random.default_rng(n)).permutation(np.arange(n) % MOST_GROUPS)


def jackknife(whole: float, without: Floats) -> tuple[float, float, float]:
    """Return standard error and limits of an estimate from those ``without`` each unit; missing for fewer than two."""
    n = len(without)
    if n < FEWEST:
        return (np.nan,) * 3
    return interval(whole, (n - 1) / n * ((without - without.mean()) ** 2).sum(), n - 1.0)


class Norms(NamedTuple):
    """The place of the most frequent level among the levels, and whether it is a norm."""

    level: Ints
    held: Bools


def norms_of_parts(counts: Floats, thresholds: Thresholds, size: int, draws: int, parts: int) -> Norms:
    """Return the norms of random parts of ``size`` templates: flows x (draws x parts); parts of a draw share none.

    ``counts`` are as of `level_counts`. A norm needs the part's share of ``t_val``. The draws depend on nothing but the
    number of templates.
    """
    n = counts.shape[2]
    rng, chosen = np.random.default_rng(n), np.zeros((n, draws * parts))
    for draw in range(draws):
        for part, members in enumerate(rng.permutation(n)[: parts * size].reshape(parts, size)):
            chosen[members, draw * parts + part] = 1
    return norms_of(counts @ chosen, thresholds, size / n)


def norms_of(counts: Floats, thresholds: Thresholds, part: float = 1.0) -> Norms:
    """Return the norms of counts of the levels (first axis); a ``part`` of the templates needs as much of ``t_val``."""
    size, top = counts.sum(axis=0), counts.max(axis=0)
    tie = (counts == top).sum(axis=0) > 1
    held = reasons(size.astype(np.int64), top, tie, thresholds.t_val * part, thresholds) == 0
    return Norms(counts.argmax(axis=0), held)


def rest_variance(cells: Floats) -> float:
    """Return the variance that is left when flows and templates are taken out of the influence of the cells."""
    there = ~np.isnan(cells)
    n = there.sum()
    freedom = n - there.any(axis=1).sum() - there.any(axis=0).sum() + 1
    if freedom < 1:
        return 0.0
    x = np.where(there, cells, 0.0)
    of_flows, of_templates = (divide(x.sum(axis=axis), there.sum(axis=axis)) for axis in (1, 0))
    left = np.where(there, x - of_flows[:, None] - of_templates[None, :], 0.0)
    return float((left**2).sum() * n / freedom)


def quantile(freedom: float | npt.NDArray[Any], confidence: float = CONFIDENCE) -> Any:
    """Return the two-sided quantile of Student's t."""
    return scipy.special.stdtrit(freedom, (1 + confidence) / 2)
