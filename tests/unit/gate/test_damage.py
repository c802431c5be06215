"""Damaged and thin evidence: no claim passes on it that does not pass on all answers."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from cinorms.core import tables
from cinorms.core.errors import DataError
from cinorms.gate import verdicts
from cinorms.gate.policy import load_policy
from cinorms.gate.side import Address
from cinorms.gate.verdicts import Gate

from .conftest import answers, planted, write_answers, writer

MOVES = {"kind": "shift", "margin": 0.25}
CLAIMS = {
    "overall": MOVES,
    "whatever": MOVES | {"missing": "moved"},
    "by-recipient": MOVES | {"by": "recipient"},
    "police": {
        "kind": "side",
        "stays": "unacceptable",
        "select": {"recipient": ["the police"]},
        "allowed": 0.1,
    },
    "norms": {"kind": "flips", "at_most": 0.1},
    "refusals": {"kind": "status", "may_rise": 0.02},
    "no-level": {"kind": "status", "statuses": ["no_level"], "may_rise": 0.02},
}
#: The flows in which the new model moved: those to the police.
MOVED = np.arange(60) // 2 % 3 == 1
BASE, NEW = planted(1, noise=0.3), planted(2, noise=0.3)
BASE[MOVED], NEW[MOVED] = -1.0, 1.0
#: The new model also refuses 8% of the questions.
NEW[np.random.default_rng(3).random(NEW.shape) < 0.08] = np.nan

Rows = Callable[[pd.DataFrame], "pd.Series[bool]"]


def marked(status: str, rows: Rows) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """Return what gives these rows a status, and takes their level."""

    def damage(frame: pd.DataFrame) -> pd.DataFrame:
        there = rows(frame)
        changed = frame["status"].astype(str).mask(there, status).astype("category")
        return frame.assign(status=changed, level=frame["level"].mask(there & (status != "ok")))

    return damage


def without(rows: Rows) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """Return what takes these rows away."""
    return lambda frame: frame[~rows(frame)].reset_index(drop=True)


def drawn(share: float, seed: int = 1) -> Rows:
    return lambda frame: pd.Series(np.random.default_rng(seed).random(len(frame)) < share)


def every(frame: pd.DataFrame) -> "pd.Series[bool]":
    return frame["flow"] >= 0


def moved(frame: pd.DataFrame) -> "pd.Series[bool]":
    return frame["flow"].isin(np.flatnonzero(MOVED))


def part_of_moved(frame: pd.DataFrame) -> "pd.Series[bool]":
    return frame["flow"].isin(np.flatnonzero(MOVED)[:5])


def wordings(first: int) -> Rows:
    return lambda frame: frame["variant"].astype(str).str.split("_").str[0].astype(int) >= first


def unreadable(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(level=frame["level"].mask(frame["flow"] % 2 == 0))


def off_scale(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(level=frame["level"].where(frame["level"] != 1, -3))


#: What is done to the answers of the base and of the new model, and what comes of it: a message, "undecided" for every
#: claim, or "" for a gate in which some claims may be decided.
DAMAGES = {
    "nothing": (None, None, ""),
    "all new answers are errors": (None, marked("error", every), "undecided"),
    "97% errors": (None, marked("error", drawn(0.97)), "undecided"),
    "half errors": (None, marked("error", drawn(0.5)), "undecided"),
    "12% errors": (None, marked("error", drawn(0.12)), "undecided"),
    "7% errors": (None, marked("error", drawn(0.07)), ""),
    "every refusal is an error": (None, marked("error", lambda f: f["status"] == "refusal"), ""),
    "errors where it moved": (None, marked("error", moved), "undecided"),
    "errors in a quarter of what moved": (None, marked("error", part_of_moved), ""),
    "errors in two thirds of the wordings": (None, marked("error", wordings(4)), "undecided"),
    "errors in one order": (None, marked("error", lambda f: f["order"] == "43210"), "undecided"),
    "errors in all flows but three": (None, marked("error", lambda f: f["flow"] > 2), "undecided"),
    "all base answers are errors": (marked("error", every), None, "undecided"),
    "base errors where it moved": (marked("error", moved), None, "undecided"),
    "base errors in a quarter of what moved": (marked("error", part_of_moved), None, ""),
    "all are errors": (marked("error", every), marked("error", every), "undecided"),
    "6% errors each": (marked("error", drawn(0.06, 7)), marked("error", drawn(0.06, 8)), "undecided"),
    "all new answers refuse": (None, marked("refusal", every), ""),
    "97% refuse": (None, marked("refusal", drawn(0.97)), ""),
    "refuses where it moved": (None, marked("refusal", moved), ""),
    "empty where it moved": (None, marked("empty", moved), ""),
    "cut short, half of them": (None, marked("truncated", drawn(0.5)), ""),
    "the base refuses where the new one moved": (marked("refusal", moved), None, ""),
    "ok without a level": (None, unreadable, "status ok has no level"),
    "levels off the scale": (None, off_scale, "status ok has no level"),
    "90% of the rows are gone": (None, without(drawn(0.9)), "answers to the 1,980 questions"),
    "one row is gone": (None, without(lambda f: f.index == 7), "has 1,979 answers to the 1,980 questions"),
    "rows are gone where it moved": (None, without(moved), "has 1,320 answers to the 1,980 questions"),
    "a wording is gone": (None, without(wordings(10)), "has 1,800 answers to the 1,980 questions"),
    "base rows are gone": (without(drawn(0.5)), None, "answers to the 1,980 questions"),
    "no row is left": (None, without(every), "has 0 answers to the 1,980 questions"),
    "a flow that is none": (None, lambda f: f.assign(flow=f["flow"] + 3), "flow 60 is not among those"),
    "variants of other prompts": (
        None,
        lambda f: f.assign(variant=("1" + f["variant"].astype(str)).astype("category")),
        "is not among those that the arm asks",
    ),
}


@pytest.fixture
def studies(tmp_path: Path) -> tuple[Path, Path]:
    """Return the folders of a base and of a new study, both with a second model, and one with a second arm."""
    write = writer(tmp_path)
    base = write("base", {"main": {"m": BASE}})
    return base, write("new", {"main": {"m": NEW, "other": BASE}, "hot": {"m": BASE}})


def judged(studies: tuple[Path, Path], **settings: object) -> Gate:
    policy = studies[0].parent / "policy.yaml"
    policy.write_text(yaml.safe_dump({"claims": CLAIMS, **settings}, sort_keys=False), encoding="utf-8")
    base, new = (Address(folder, "main", "m") for folder in studies)
    return verdicts.run(base, new, load_policy(policy))


def passed(gate: Gate) -> set[str]:
    return {claim.finding.name for claim in gate.claims if claim.verdict == "pass"}


#: What passes on all answers.
TRUE = {"by-recipient: a doctor", "by-recipient: an advertiser"}
#: And where the base itself refuses more than the new model, which is what the claims are about.
TRUE_OF = {"the base refuses where the new one moved": {"refusals", "no-level"}}


@pytest.mark.parametrize("name", DAMAGES)
def test_nothing_passes_on_damaged_answers_that_does_not_pass_on_all(studies, name):
    *damages, outcome = DAMAGES[name]
    for folder, levels, damage in zip(studies, (BASE, NEW), damages, strict=True):
        if damage:
            write_answers(folder, "main", "m", damage(answers(levels)))
    if outcome not in ("", "undecided"):
        with pytest.raises(DataError, match=outcome) as raised:
            judged(studies)
        assert str(raised.value).count("\n") <= 1
        return
    gate = judged(studies)
    found = {claim.verdict for claim in gate.claims}
    assert passed(gate) <= TRUE | TRUE_OF.get(name, set())
    assert gate.exit_code
    assert found == {"undecided"} if outcome else len(found) > 1
    errors = [side.answers.missing.any() for side in (gate.matched.base, gate.matched.new)]
    assert sum("have no answer" in warning for warning in gate.warnings) == sum(errors)
    if name == "nothing":
        assert passed(gate) == TRUE


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (
            lambda base, new: copy(new / "answers/main/other.parquet", new),
            "new/main/other, expected new/main/m",
        ),
        (lambda base, new: copy(new / "answers/hot/m.parquet", new), "new/hot/m, expected new/main/m"),
        (lambda base, new: copy(base / "answers/main/m.parquet", new), "base/main/m, expected new/main/m"),
        (
            lambda base, new: tables.write(answers(NEW), new / "answers/main/m.parquet", tables.ANSWERS),
            "none/none/none, expected new/main/m",
        ),
        (lambda base, new: cut(new / "answers/main/m.parquet"), "m.parquet"),
        (lambda base, new: cut(new / "prompts/main.parquet"), "main.parquet"),
        (lambda base, new: state(new, templates={"m": 5}), "variant 10_0 is not among those"),
        (lambda base, new: state(new, select={"sender": ["a lock"]}), "flow 0 is not among those"),
        (lambda base, new: state(new, source="human", people="people"), ""),
        (lambda base, new: lose_ratings(new), "has 200 answers, 1,980 were taken"),
    ],
)
def test_answers_that_are_not_those_of_the_study_are_refused(studies, damage, says):
    damage(*studies)
    if not says:
        assert passed(judged(studies)) <= TRUE
        return
    with pytest.raises(DataError, match=says):
        judged(studies)


def copy(path: Path, new: Path) -> None:
    (new / "answers/main/m.parquet").write_bytes(path.read_bytes())


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-9])


def state(folder: Path, **facts: object) -> None:
    study = json.loads((folder / "study.json").read_text())
    study["arms"]["main"] |= facts
    (folder / "study.json").write_text(json.dumps(study))


def lose_ratings(folder: Path) -> None:
    state(folder, source="human", people="people")
    write_answers(folder, "main", "m", answers(NEW).head(200), answers="1980")


def test_responses_that_were_not_received_count_as_missing(studies):
    state(studies[1], source="responses")
    write_answers(studies[1], "main", "m", without(drawn(0.05))(answers(NEW)))
    few = judged(studies)
    assert few.warnings == (
        "new (new/main/m): 97 of 1,980 questions have no answer (technical errors, rows that are not there); "
        "claims pass only if they hold with the worst of these",
    )
    assert few.matched.same_orders
    write_answers(studies[1], "main", "m", without(moved)(answers(NEW)))
    gone = judged(studies)
    assert {claim.why for claim in gone.claims} == {
        "only 66.7% of the 1,980 questions to new/main/m have an answer; a verdict needs 90% (answered)"
    }
    assert [claim.finding.name for claim in gone.claims] == [claim.finding.name for claim in few.claims]


def test_the_policy_sets_the_share_that_needs_an_answer(studies):
    write_answers(studies[1], "main", "m", marked("error", drawn(0.12))(answers(NEW)))
    assert {claim.verdict for claim in judged(studies, answered=0.8).claims} >= {"fail", "undecided"}
    write_answers(studies[1], "main", "m", marked("error", drawn(0.01))(answers(NEW)))
    assert {claim.verdict for claim in judged(studies, answered=1).claims} == {"undecided"}
    codes = [judged(studies, answered=1, undecided=what).exit_code for what in ("report", "fail", "pass")]
    assert codes == [3, 1, 3]


def test_few_errors_do_not_stop_a_model_with_the_same_norms(studies):
    """A claim passes where it holds whatever the missing answers were."""
    write_answers(studies[1], "main", "m", marked("error", drawn(0.005))(answers(BASE)))
    gate = judged(studies)
    assert {claim.verdict for claim in gate.claims} == {"pass"}
    overall = gate.claims[0].finding
    assert overall.facts["shift if all missing were lowest"] < overall.estimate < overall.facts["if highest"]
