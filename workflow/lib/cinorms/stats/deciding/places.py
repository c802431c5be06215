"""What the place of an option in the prompt does: how many times as often answers are given there as one expects."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.intp]

#: Answers as expected that are added to those at each place.
EXPECTED = 30.0


def place_evidence(seen: Floats, tendency: Floats, places: Ints) -> Floats:
    """Return the evidence of the options' places on each answer: an array like ``seen``; 0 for an invalid answer.

    ``places`` has the place of each level (flow, variant, level). One expects what the variant's ``tendency`` brings.
    """
    expected = seen.sum(axis=2, keepdims=True) * tendency
    given, usual = (
        np.bincount(places.ravel(), answers[:, :, :-1].ravel()) + EXPECTED for answers in (seen, expected)
    )
    found = np.zeros_like(seen)
    found[:, :, :-1] = np.log(given / usual)[places]
    return found
