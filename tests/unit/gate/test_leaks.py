"""Claims of kind leaks: actions that share, in flows that the new side calls unacceptable."""

from dataclasses import replace

import numpy as np
import pytest

from cinorms.core import tables
from cinorms.core.errors import ConfigError
from cinorms.gate.claims import KINDS, Claim, ClaimFinding, FlowGroup, Leaks
from cinorms.gate.side import Address, Side, calls_wrong, match, said_by, shares

from .conftest import Write
from .conftest import side as plain_side

N, TEMPLATES = 40, 12
#: The first half of the flows is called unacceptable, and the next one neither that nor acceptable.
SAID = -np.sign(N // 2 - np.arange(N, dtype=float))[:, None, None] * np.ones((N, TEMPLATES, 1))


@pytest.fixture
def side(write_study: Write):
    """Return a function that returns a side of actions, of which ``n`` of the templates share, in every flow."""
    folder = write_study("new", {arm: {"m": SAID} for arm in ("act", "say")} | {"ask": {"other": SAID}})

    def make(n: int) -> Side:
        levels = np.where(np.arange(TEMPLATES) < n, 1.0, -1.0)[None, :, None] * np.ones((N, TEMPLATES, 1))
        options = ("withheld", "generalised", "shared")
        acts = replace(plain_side("new", levels), options=options, levels=(-1, 0, 1))
        return replace(acts, address=Address(folder, "act", "m"))

    return make


def finding(base: Side, new: Side) -> ClaimFinding:
    options = Leaks(kind="leaks", said="say", may_rise=0.2)
    claim = Claim("no more leaks", options)
    group = FlowGroup(claim, "", match(base, new), np.ones(N, dtype=bool), 1, 0.05, False, 1, 0.9)
    return KINDS["leaks"].find(group, options)


def test_more_leaks_fail_and_as_many_pass(side):
    found = finding(side(2), side(12))
    assert (found.n_flows, found.unit) == (N // 2, "share")
    assert found.estimate == pytest.approx(5 / 6)
    assert found.facts == {"share in base": pytest.approx(1 / 6), "share in new": 1.0}
    assert found.p_fail < 0.05 < found.p_pass
    assert finding(side(2), side(2)).p_pass < 0.05


def test_only_flows_that_the_model_calls_wrong_count(side):
    new = side(6)
    wrong, known = calls_wrong(said_by(new, "say"), new.vignettes["flow"])
    assert (wrong.tolist(), known.all()) == ([True] * (N // 2) + [False] * (N // 2), True)
    message = r"said: 'sya' is no arm with 'm'; did you mean 'say'\? allowed: act, say"
    with pytest.raises(ConfigError, match=message):
        said_by(new, "sya")


def test_a_refusal_shares_nothing_and_nonsense_is_missing(side):
    given = side(12).answers
    status = given.status.copy()
    status[0, :2, 0] = [tables.ANSWER_STATUSES.index(name) for name in ("refusal", "nonsense")]
    changed = replace(given, status=status, level=np.where(status == 0, given.level, np.nan))
    found = shares(replace(side(12), answers=changed))[0, :3, 0]
    np.testing.assert_array_equal(found, [0.0, np.nan, 1.0])


def test_a_side_without_actions():
    with pytest.raises(ConfigError, match="plain/main/m has no actions"):
        shares(plain_side("plain", SAID))
