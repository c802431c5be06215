"""The rule for verdicts."""

import numpy as np
import pytest

from rewordings import Rule, levels_held, reasons, verdicts_of, verdicts_of_parts


@pytest.mark.parametrize(
    ("counts", "rule", "reason"),
    [
        ((6, 4), Rule(), 0),
        ((6, 4), Rule(11), 1),
        ((0, 0), Rule(0, "plurality"), 1),
        ((4, 3, 3), Rule(), 2),
        ((4, 3, 3), Rule(1, "plurality"), 0),
        ((5, 5), Rule(), 3),
        ((5, 5), Rule(1, 0.5, "papers"), 0),
        ((2, 2, 1), Rule(1, 0.5, "papers"), 0),  # a half of 5 is 2.5, which rounds to 2
        ((2, 1, 1, 1), Rule(1, 0.7, "papers"), 2),
    ],
)
def test_what_a_verdict_needs(counts, rule, reason):
    n = np.array(counts)
    found = reasons(n.sum(keepdims=True), n.max(keepdims=True), np.array([(n == n.max()).sum() > 1]), rule)
    assert found.tolist() == [reason]
    assert verdicts_of(n[:, None].astype(float), rule).held.tolist() == [reason == 0]
    assert levels_held(n[:, None, None].astype(float), rule).tolist() == [-1 if reason else n.argmax()]


def test_verdicts_of_parts_need_their_share_of_the_fewest_answers():
    counts = np.zeros((2, 3, 6))
    counts[1] = [[3] * 6, [1] * 6, [3] * 3 + [0] * 3]
    found = verdicts_of_parts(counts, Rule(12), 3, draws=4, parts=2)
    assert found.held[:2].tolist() == [[True] * 8, [False] * 8]  # 9 and 3 of the 6 that a half needs
    assert 0 < found.held[2].sum() < 8
    assert (found.level[:2] == 1).all()
