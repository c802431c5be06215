"""How well a study reads its own replies: precision and recall of each model, and its numbers without that error.

A person codes a random sample of the distinct replies in each stratum (``sample.strata_of``). The errors found in it
are taken to be those of the stratum: a difference estimator of survey sampling, with ratios linearised. Replies that
an exact rule read are taken as right.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from cinorms.coding.codes import is_good
from cinorms.coding.sample import INCOMPLETE, strata_of
from cinorms.core.csv_tables import OWN_ERROR
from cinorms.core.scales import Scale
from cinorms.stats.proportions import wilson

Floats = npt.NDArray[np.float64]
#: What is corrected: the share of answers with a level; of those, the share above the middle; their mean level.
MEASURES = ("valid_share", "accepted_share", "mean_level")
#: Half the width of a 95% interval, in standard errors.
_WIDTH = 1.96


@dataclass(frozen=True)
class _Stratum:
    """Distinct replies of a model that are read alike: the number of them, and what is known of those coded by hand.

    ``read`` and ``truth`` have the columns valid, accepted and level, 0 without a level; ``shares`` is how much of the
    sample's replies each item is.
    """

    n_items: int
    n_replies: int
    shares: Floats
    read: Floats
    truth: Floats

    @property
    def has_level(self) -> bool:
        """Whether the study uses a level for these replies."""
        return bool(self.read[:1, 0].any())

    def right(self) -> npt.NDArray[np.bool_]:
        """Return which of the coded replies are read as the person reads them: the same level, or none."""
        return np.asarray((self.read == self.truth).all(axis=1))

    def variance(self, off: Floats, step: float) -> float:
        """Return the variance of the mean of ``off``, errors of the sample, as an estimate for the whole stratum.

        Few errors say little about their variance, and none nothing: one of a ``step`` is added.
        """
        m = len(off)
        if m == self.n_items:
            return 0.0
        spread = float((self.shares**2 * (off - self.shares @ off) ** 2).sum()) + (step / (m + 1)) ** 2
        return (1 - m / self.n_items) * spread * m / max(m - 1, 1)


@dataclass(frozen=True)
class _Replies:
    """All replies of a model on a scale: their number, those an exact rule read, and what is read over all of them.

    ``strata`` are empty until every reply of the sample is coded by hand.
    """

    n: int
    n_exact: int
    n_coded: int
    read: Floats
    strata: tuple[_Stratum, ...]
    complete: bool
    steps: tuple[float, float, float]

    def estimate(self, measure: str) -> tuple[float, float, float]:
        """Return a measure as read, without the errors of reading, and the standard error of that."""
        at = MEASURES.index(measure)
        wrong = [s.n_replies * (s.shares @ (s.truth - s.read)) for s in self.strata]
        true = self.read + sum(wrong, np.zeros(3))
        whole, whole_read = (true[0], self.read[0]) if at else (self.n, self.n)
        if not (whole > 0 and whole_read > 0):
            return (np.nan,) * 3
        value, variance = true[at] / whole, 0.0
        for stratum in self.strata:
            off = stratum.truth - stratum.read
            error = off[:, at] - (value * off[:, 0] if at else 0)
            variance += (stratum.n_replies / whole) ** 2 * stratum.variance(error, self.steps[at])
        return float(self.read[at] / whole_read), float(value), float(np.sqrt(variance))

    def precision(self) -> tuple[float, float, float]:
        """Return the share of levels out of running text that a person confirms, with Wilson's interval."""
        loose = [s for s in self.strata if s.has_level]
        return _wilson((s.n_items, len(s.shares), float(s.right().mean())) for s in loose)

    def recall(self) -> tuple[float, float, float]:
        """Return the share of replies with a level that are read rightly; its limits are Wilson's of what is lost."""
        lost = [float(s.shares @ (s.truth[:, 0] * ~s.right())) for s in self.strata]
        stated = self.n_exact + sum(s.n_replies * (s.shares @ s.truth[:, 0]) for s in self.strata)
        if not stated > 0:
            return (np.nan,) * 3
        looked_at = [(s.n_replies, len(s.shares), share) for s, share in zip(self.strata, lost, strict=True)]
        size = sum(s.n_replies for s in self.strata)
        share, low, high = np.nan_to_num(np.array(_wilson(looked_at))) * size / stated
        return 1 - share, max(1 - high, 0.0), 1 - low


def _wilson(groups: Iterable[tuple[int, int, float]]) -> tuple[float, float, float]:
    """Return a share over groups of ``(size, sampled, share)`` with Wilson's 95% interval; missing without any."""
    rows = np.array(list(groups), dtype=float)
    if not len(rows):
        return (np.nan,) * 3
    size, sampled, shares = rows.T
    part = size / size.sum()
    share = float(part @ shares)
    # As many as a simple random sample needs for the same variance; of one group its own number.
    n = 1 / float((part**2 / sampled).sum())
    return share, *wilson(share, n)


def own_error(
    readings: pd.DataFrame,
    coded: pd.DataFrame,
    sample: pd.DataFrame,
    by_hand: pd.DataFrame,
    agreement: pd.DataFrame,
    scale: Scale,
) -> pd.DataFrame:
    """Return precision, recall and corrected numbers of each model on ``scale``, and differences of models.

    ``readings`` are what rules read (`codes.merge_readings`), ``coded`` their items with the coder's codes, ``sample``
    the items drawn for a person, ``by_hand`` the person's codes, ``agreement`` says which codes of the coder count.
    """
    items = coded.assign(stratum=strata_of(coded))
    items = items.merge(sample[["model", "item"]].assign(drawn=True), on=["model", "item"], how="left")
    true = by_hand[["item", "level"]].assign(done=True)
    items = items.merge(true, on="item", how="left", suffixes=("", "_true"))
    items["used"] = items["read"].mask(is_good(items, agreement), items["level"])
    items = items.merge(readings.groupby(["model", "item"])["n"].sum().reset_index(), on=["model", "item"])
    models = {
        str(name): _replies_of(part, items[items["model"] == name], scale)
        for name, part in readings.groupby("model", sort=True)
    }
    rows = []
    for name, model in models.items():
        both = {"precision": model.precision(), "recall": model.recall()} if model.complete else {}
        found = {measure: (np.nan, *estimate) for measure, estimate in both.items()}
        for measure in MEASURES:
            read, value, error = model.estimate(measure)
            found[measure] = (read, *_around(value, error))
        rows += [_row(name, "", key, model.n_coded, model.complete, row) for key, row in found.items()]
    for (name, model), (against, other) in combinations(models.items(), 2):
        complete, n_coded = model.complete and other.complete, model.n_coded + other.n_coded
        for measure in MEASURES:
            (read, value, error), (read_b, value_b, error_b) = (x.estimate(measure) for x in (model, other))
            row = (read - read_b, *_around(value - value_b, float(np.hypot(error, error_b))))
            rows.append(_row(name, against, measure, n_coded, complete, row))
    return pd.DataFrame(rows).assign(scale=scale.name)[list(OWN_ERROR.about)]


def _around(value: float, error: float) -> tuple[float, float, float]:
    return value, value - _WIDTH * error, value + _WIDTH * error


def _row(
    model: str, against: str, measure: str, n_coded: int, complete: bool, numbers: tuple[float, ...]
) -> dict[str, Any]:
    read, *found = numbers
    estimate, low, high = found if complete else (np.nan,) * 3
    return {
        "model": model,
        "against": against,
        "measure": measure,
        "as_read": read,
        "estimate": estimate,
        "low": low,
        "high": high,
        "coded_by_hand": n_coded,
        "status": "complete" if complete else INCOMPLETE,
    }


def _replies_of(readings: pd.DataFrame, items: pd.DataFrame, scale: Scale) -> _Replies:
    drawn, done = items["drawn"].notna(), items["drawn"].notna() & items["done"].notna()
    complete = bool((drawn == done).all()) and set(items["stratum"]) == set(items.loc[done, "stratum"])
    strata = []
    for _, part in items.groupby("stratum") if complete else ():
        coded = part[done.reindex(part.index)]
        weights = coded["n"].to_numpy(dtype=np.float64)
        read, truth = _columns(coded["used"], scale), _columns(coded["level_true"], scale)
        strata.append(_Stratum(len(part), int(part["n"].sum()), weights / weights.sum(), read, truth))
    others = readings[readings["item"] == ""]
    n_exact = int(others.loc[others["level"].notna(), "n"].sum())
    level, n = (pd.concat([others[name], items[of]]) for name, of in (("level", "used"), ("n", "n")))
    sums = (_columns(level, scale) * n.to_numpy(dtype=np.float64)[:, None]).sum(axis=0)
    # A wrong level is one more or less valid answer, half a share of those, or as far as the middle is from the ends.
    steps = (1.0, 0.5, (max(scale.levels) - min(scale.levels)) / 4)
    return _Replies(int(n.sum()), n_exact, int(done.sum()), sums, tuple(strata), complete, steps)


def _columns(level: pd.Series, scale: Scale) -> Floats:
    """Return whether there is a level, whether it is above the middle of the scale, and the level; 0 without one."""
    value = level.to_numpy(dtype=np.float64, na_value=np.nan)
    found = np.column_stack([np.ones(len(value)), value > scale.middle, value])
    return np.where(np.isnan(value)[:, None], 0.0, found)
