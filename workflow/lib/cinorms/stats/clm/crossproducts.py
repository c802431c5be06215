"""Sums over a coded design, and the terms that repeat others.

A design of F factors has one 1 per factor and row, so it is kept as integer codes and never as a matrix:
sums such as X'WX are counts over pairs of codes, which is what makes the regressions fast.
"""

from __future__ import annotations

import numpy as np

from cinorms.stats.clm.arrays import Bools, Floats, Ints
from cinorms.stats.clm.coding import Coding


class Crossproducts:
    """Sums over the rows of a coded design, taken as counts over slots and pairs of slots.

    One pass over n rows costs F for ``sums``, F for ``by_key`` and F(F+1)/2 for ``gram``, whatever the number
    of levels: about 0.3 ms for 6,912 rows and four factors, 15 ms for 228,096 rows and six.
    """

    def __init__(self, coding: Coding, slots: Ints) -> None:
        self.n_slots = coding.n_slots
        self.slots = slots
        self._spans = [slice(o, o + s) for o, s in zip(coding.offsets, coding.sizes, strict=True)]
        self._codes = [np.ascontiguousarray(slots[:, f] - o) for f, o in enumerate(coding.offsets)]

    def linear(self, beta: Floats) -> Floats:
        """Return x'beta of each row; ``beta`` has one value per slot."""
        total = np.zeros(len(self.slots))
        for span, codes in zip(self._spans, self._codes, strict=True):
            total += beta[span][codes]
        return total

    def sums(self, w: Floats) -> Floats:
        """Return X'w, one value per slot."""
        out = np.zeros(self.n_slots)
        for span, codes in zip(self._spans, self._codes, strict=True):
            out[span] = np.bincount(codes, w, span.stop - span.start)
        return out

    def by_key(self, w: Floats, key: Ints, n_keys: int) -> Floats:
        """Return the slots x keys array of sums of ``w`` over the rows with that slot and that key."""
        out = np.zeros((self.n_slots, n_keys))
        for span, codes in zip(self._spans, self._codes, strict=True):
            size = span.stop - span.start
            out[span] = np.bincount(codes * n_keys + key, w, size * n_keys).reshape(size, n_keys)
        return out

    def gram(self, w: Floats) -> Floats:
        """Return X'diag(w)X over the slots."""
        out = np.zeros((self.n_slots, self.n_slots))
        out[np.diag_indices(self.n_slots)] = self.sums(w)
        for f, (rows, codes) in enumerate(zip(self._spans, self._codes, strict=True)):
            for columns, others in zip(self._spans[:f], self._codes[:f], strict=True):
                a, b = rows.stop - rows.start, columns.stop - columns.start
                block = np.bincount(codes * b + others, w, a * b).reshape(a, b)
                out[rows, columns] = block
                out[columns, rows] = block.T
        return out

    def quadratic(self, v: Floats) -> Floats:
        """Return x'Vx of each row for a symmetric slots x slots matrix ``v``."""
        total = np.zeros(len(self.slots))
        for f, (rows, codes) in enumerate(zip(self._spans, self._codes, strict=True)):
            total += np.diag(v)[rows][codes]
            for columns, others in zip(self._spans[:f], self._codes[:f], strict=True):
                total += 2 * v[rows, columns][codes, others]
        return total


def aliased_terms(cross: Crossproducts, terms: Ints) -> Bools:
    """Say of each slot in ``terms`` whether it is a combination of a constant and the terms before it.

    This is how linked factors show: the levels of the second repeat those of the first. The centred X'X is
    swept in order (a Cholesky decomposition that skips the columns with nothing left).
    """
    one = np.ones(len(cross.slots))
    means = cross.sums(one)[terms] / max(len(one), 1)
    left = cross.gram(one)[np.ix_(terms, terms)] - len(one) * np.outer(means, means)
    scale = np.diag(left).copy()
    aliased = np.zeros(len(terms), dtype=bool)
    for j in range(len(terms)):
        aliased[j] = left[j, j] <= 1e-9 * max(scale[j], 1.0)
        if not aliased[j]:
            left -= np.outer(left[:, j], left[j]) / left[j, j]
    return aliased
