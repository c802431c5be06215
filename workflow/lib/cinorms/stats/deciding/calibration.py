"""What a predicted risk is worth: predictions are too sure of themselves, and the pilot tells by how much.

The pilot is asked in full, and rehearses: it is looked at as if it had been asked like the other flows. Each rehearsed
look has a predicted risk, and whether the verdict on what was asked differs from the one on all variants. A logistic
curve through these is the risk that counts, its upper end rather than its middle.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

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

    curve: Floats = field(default_factory=PRIOR.copy)
    covariance: Floats = field(default_factory=lambda: np.diag(SPREAD**2))

    @classmethod
    def fit(cls, predicted: Floats, wrong: Flags, weight: float) -> Calibration:
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
