"""What wordings are worth, and intervals over them: wordings are the sample, repeated answers to one are not."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rewordings.arrays import Bools, Floats, Ints, divide, mean_over

#: An interval needs at least this many wordings (and, if items are a sample, items).
FEWEST = 2
CONFIDENCE = 0.95
#: Two wordings are copies whose answers, less the noise of single answers, correlate by more, and what they differ by
#: is less than this part of the variance of all answers: two camps of wordings correlate, but differ by more.
ALIKE, APART = 0.65, 0.02
#: No wordings are copies unless the correlations of all pairs together are so many standard deviations above chance.
CHANCE = 3.0
#: The least part of what a wording's answers vary that is not noise: less cannot be told from none.
LEAST_OWN = 0.2
#: Where items and wordings leave less, it is what rounding leaves of numbers that are equal.
RESIDUE = 1e-9
#: Newton steps to the shift of a wording.
STEPS = 3
#: Wordings that are worth less than this part of their number are too alike for intervals over wordings.
ENOUGH = 0.6
#: More wordings or raters than this are left out in so many groups.
MOST_GROUPS = 15


def interval(
    estimate: Any, variance: Any, freedom: Any, confidence: float = CONFIDENCE
) -> tuple[Any, Any, Any]:
    """Return the standard error and the limits of the interval, of one estimate or of each."""
    std_err = np.sqrt(variance)
    reach = quantile(freedom, confidence) * std_err
    return std_err, estimate - reach, estimate + reach


class Worth(NamedTuple):
    """What wordings are worth: together, in wordings that are not alike, and each; and how they correlate."""

    effective: float
    each: Floats
    related: Floats

    @property
    def too_alike(self) -> bool:
        """Whether they are worth so much less than their number that intervals over them do not hold."""
        return self.effective < ENOUGH * len(self.each)

    @property
    def pair(self) -> tuple[int, int, float]:
        """The places of the two wordings that are most alike, and their correlation."""
        others = self.related - 2 * np.eye(len(self.related))
        first, second = divmod(int(others.argmax()), len(others))
        return first, second, float(others[first, second])


def worth_of(counts: Floats) -> Worth:
    """Return what wordings are worth; ``counts`` are levels x items x wordings.

    Copies count once. They are wordings in which what item and wording leave of the shares of the answers up to each
    level correlates and hardly differs, less the noise of single answers, which the orders of a wording show (with
    one order nobody knows it, and the correlation decides). n wordings in groups of g copies are worth n / g.
    """
    size = counts.sum(axis=0)
    there, share = size > 0, divide(np.cumsum(counts, axis=0)[:-1], size)
    noise = np.where(size > 1, divide(np.nansum(share * (1 - share), axis=0), size - 1), np.nan)
    left = _without_moves(counts, share, there)
    n = left.shape[2]
    together = np.einsum("lft,lfu->tu", left, left, optimize=True)
    squares = np.diag(together)
    of_noise = np.nan_to_num(mean_over(noise, axis=0) * there.sum(axis=0))
    # The noise of every wording is in the mean of the item, and so, with the opposite sign, in every other wording.
    signal = together - np.diag(of_noise) + (of_noise[:, None] + of_noise) / n - of_noise.sum() / n**2
    own = np.maximum(np.diag(signal), LEAST_OWN * squares)
    # Without the mean of the item, wordings that are not alike are related by -1 / (wordings - 1).
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
    """Return the shares less what item and wording explain, 0 where there is none.

    A wording that moves all items moves the more of a item's answers, the nearer their share is to a half, so its
    effect is a shift of logits: two wordings that move items in the same direction are not alike for that.
    """
    from scipy.special import expit

    of_item = np.cumsum(counts.sum(axis=2), axis=0)[:-1] + 0.5
    logit = np.log(of_item / (counts.sum(axis=(0, 2)) + 1 - of_item))[:, :, None]
    expected = expit(logit) * there
    for _ in range(STEPS):
        room = (expected * (1 - expected)).sum(axis=1, keepdims=True)
        too_few = (np.nan_to_num(share) - expected).sum(axis=1, keepdims=True)
        logit = logit + np.nan_to_num(divide(too_few, room))
        expected = expit(logit) * there
    left = np.where(there, share - expected, np.nan)
    left = np.nan_to_num(left - divide(np.nansum(left, 2, keepdims=True), there.sum(axis=1)[:, None]))
    return np.where(np.abs(left) < RESIDUE, 0.0, left)


def _beyond_chance(seen: Floats, left: Floats) -> bool:
    """Tell whether wordings correlate by more than chance; ``left`` (levels x items x wordings) is what they are of.

    All pairs are judged at once: of few items no single pair would be told from chance, and of many pairs some would.
    """
    n = len(seen)
    if n < FEWEST or not left.any():
        return False
    # The variance of a sum of products over items, which two wordings that are not alike have.
    of_items = np.einsum("lft,mft->flm", left, left, optimize=True)
    products = ((of_items**2).sum() - ((left**2).sum(axis=0) ** 2).sum()) / (n * (n - 1))
    chance = max(products, 0.0) / (left**2).sum(axis=(0, 1)).mean() ** 2
    # Of a normal number, the square of its positive part has mean 1/2 and variance 5/4.
    pairs = seen[np.triu_indices(n, 1)]
    return bool((pairs**2).sum() > chance * (len(pairs) / 2 + CHANCE * np.sqrt(1.25 * len(pairs))))


def groups(n: int, rng: np.random.Generator | None = None) -> Ints:
    """Return the group of each of ``n`` wordings or raters: its own, or one of `MOST_GROUPS` drawn at random."""
    if n <= MOST_GROUPS:
        return np.arange(n)
    return (rng or np.random.default_rng(n)).permutation(np.arange(n) % MOST_GROUPS)


def jackknife_variance(without: Floats, others: Floats | None = None) -> Any:
    """Return the variance of an estimate from those ``without`` each unit (axis 0); with ``others``, the covariance."""
    n = len(without)
    one, other = (x - x.mean(axis=0) for x in (without, without if others is None else others))
    return (n - 1) / n * (one * other).sum(axis=0)


def jackknife(whole: float, without: Floats) -> tuple[float, float, float]:
    """Return standard error and limits of an estimate from those ``without`` each unit; missing for fewer than two."""
    n = len(without)
    return (np.nan,) * 3 if n < FEWEST else interval(whole, jackknife_variance(without), n - 1.0)


def quantile(freedom: float | npt.NDArray[Any], confidence: float = CONFIDENCE) -> Any:
    """Return the two-sided quantile of Student's t."""
    # Not above: who reads results loads this module, and computes nothing.
    from scipy.special import stdtrit

    return stdtrit(freedom, (1 + confidence) / 2)
