"""Intervals that hold in other wordings: templates are the sample, answer orders are not.

Within a flow, a template is one observation, whatever its number of orders. Flows are a sample of more flows, or the
only ones. An estimate's variance is the sum of the squared influences of the templates and, if flows are a sample, of
the flows, minus the part of single answers that both include; each sum is corrected for its mean. The interval uses
Student's t with the degrees of freedom of that sum (Welch and Satterthwaite). More in docs/method/stats/trust.md.

The variance of a mean comes from `spread` here, or from `samples` where each flow has units of its own. An estimate
that is no sum over units takes `rewordings.jackknife_variance`. `components` divides the variance of the answers and
gives none of an estimate.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from cinorms.core.arrays import Floats, Ints
from cinorms.core.errors import DataError
from cinorms.core.scales import Scale
from cumulink import two_way_variance
from rewordings import FEWEST, interval
from rewordings.arrays import divide

#: The status of numbers over wordings that are too alike for intervals over them (`rewordings.Worth`).
ALIKE_TEMPLATES = "alike_templates"


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


def pooled(parts: Sequence[tuple[Any, float]], otherwise: float = 1.0) -> tuple[Any, Any]:
    """Return the variance of a sum of independent parts, each a variance with its degrees of freedom, and its own.

    ``otherwise`` are the degrees of freedom where no part varies. Of one sum, or of each.
    """
    variance = sum(part for part, _ in parts)
    squares = sum(part**2 / freedom for part, freedom in parts)
    freedom = np.maximum(divide(variance**2, squares), 1.0)
    return variance, np.where(np.isnan(freedom), otherwise, freedom)[()]


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
