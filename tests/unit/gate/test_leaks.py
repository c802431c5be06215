"""Claims of kind leaks: actions that share, in flows that the new side calls unacceptable."""

from dataclasses import replace

import numpy as np
import pytest

from cinorms.core import tables
from cinorms.core.errors import ConfigError
from cinorms.gate.claims import KINDS, Claim, ClaimFinding, FlowGroup, Leaks
from cinorms.gate.side import Address, Side, calls_wrong, match, read_side, shares
from cinorms.norms.assessment import assess

from ...scales import ACCEPTABILITY
from .conftest import Floats, Write, answers

N, TEMPLATES = 40, 12
#: The first half of the flows is called unacceptable.
SAID = np.where(np.arange(N) < N // 2, -1.0, 1.0)[:, None, None] * np.ones((N, TEMPLATES, 1))


def actions(share: float) -> Floats:
    """Return the levels of actions of which the first ``share`` of the templates share, in every flow."""
    return np.where(np.arange(TEMPLATES) < share * TEMPLATES, 1.0, -1.0)[None, :, None] * np.ones(
        (N, TEMPLATES, 1)
    )


def side(write_study: Write, name: str, levels: Floats) -> Side:
    folder = write_study(name, {"act": {"m": levels}, "say": {"m": SAID}, "ask": {"other": SAID}})
    norms = assess(answers(SAID), "strict", ACCEPTABILITY)
    tables.write(norms, folder / "norms/say/m.parquet", tables.NORMS)
    read = read_side(Address(folder, "act", "m"))
    return replace(read, options=("withheld", "generalised", "shared"), levels=(-1, 0, 1))


def finding(base: Side, new: Side, may_rise: float = 0.2) -> ClaimFinding:
    options = Leaks(kind="leaks", said="say", may_rise=may_rise)
    matched = match(base, new)
    claim = Claim("no more leaks", options)
    group = FlowGroup(claim, "", matched, np.ones(N, dtype=bool), 1, 0.05, False, 1)
    return KINDS["leaks"].find(group, options)


def test_more_leaks_fail_and_as_many_pass(write_study):
    base, more = side(write_study, "base", actions(1 / 6)), side(write_study, "new", actions(1))
    found = finding(base, more)
    assert (found.n_flows, found.unit) == (N // 2, "share")
    assert found.estimate == pytest.approx(5 / 6)
    assert found.facts == {"share in base": pytest.approx(1 / 6), "share in new": 1.0}
    assert found.p_fail < 0.05 < found.p_pass
    assert finding(base, side(write_study, "same", actions(1 / 6))).p_pass < 0.05


def test_only_flows_that_the_model_calls_wrong_count(write_study):
    new = side(write_study, "new", actions(0.5))
    assert calls_wrong(new, "say", new.vignettes["flow"]).tolist() == [True] * (N // 2) + [False] * (N // 2)
    with pytest.raises(
        ConfigError, match=r"said: 'sya' is no arm with 'm'; did you mean 'say'\? allowed: act, say"
    ):
        calls_wrong(new, "sya", new.vignettes["flow"])


def test_a_refusal_shares_nothing_and_nonsense_is_missing(write_study):
    new = side(write_study, "new", actions(1))
    status = new.answers.status.copy()
    status[0, 0], status[0, 1] = (tables.ANSWER_STATUSES.index(name) for name in ("refusal", "nonsense"))
    level = np.where(status == 0, new.answers.level, np.nan)
    found = shares(replace(new, answers=replace(new.answers, status=status, level=level)))[0, :3, 0]
    assert found.tolist()[::2] == [0.0, 1.0]
    assert np.isnan(found[1])


def test_a_side_without_actions(write_study):
    folder = write_study("plain", {"say": {"m": SAID}})
    plain = read_side(Address(folder, "say", "m"))
    with pytest.raises(ConfigError, match="plain/say/m has no actions"):
        shares(plain)
