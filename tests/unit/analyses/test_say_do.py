"""What is said against what is done, per model and flow, and both errors in one table."""

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

from cinorms.analyses.say_do import needless, say_do
from cinorms.answers.acting import read_actions
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import kinds
from cinorms.prompts.variants import list_variants
from cinorms.vignettes.agent_files import items_of
from cinorms.vignettes.designs import load_dataset
from cinorms.vignettes.factors import DatasetFactors
from cinorms.vignettes.reading import read_vignettes

from ...agents import FOLDER, needs_agents
from ...asking import make_flows, make_responses
from ...entries import make_entry
from ...scales import ACCEPTABILITY, shipped
from ...shared_ratings import confaide, needs_ratings

DISCLOSURE = shipped("disclosure")
N = 6
FRAMES = dict.fromkeys(("say", "act"), make_flows(N, sender=pd.Categorical(["a", "b"] * (N // 2))))


def answers(levels, statuses="ok", variant="0_0", **columns) -> pd.DataFrame:
    frame = pd.DataFrame({"flow": np.arange(len(levels), dtype=np.int32), "status": statuses, **columns})
    frame = frame.assign(level=pd.array(levels, dtype="Int8"), variant=variant)
    return frame.assign(rule=frame.get("rule", "call")).astype({"variant": "category", "status": "category"})


def entry_of(
    kind: str, people: tuple[Any, ...] = (), section: str = "analyses", **options: Any
) -> Entry[Any]:
    return make_entry(
        section,
        kind,
        {"arms": ["say", "act"], **options},
        scales={"say": ACCEPTABILITY, "act": DISCLOSURE},
        factors_of=dict.fromkeys(("say", "act"), DatasetFactors("own", ("sender",))),
        people=people,
    )


SAID = answers([-2, -1, -2, 2, 1, 2])
DONE = answers([1, -1, None, 1, 0, None], ["ok", "ok", "refusal", "ok", "ok", "nonsense"])


def compare(said=SAID, done=DONE, who="m", frames=FRAMES, **options) -> pd.DataFrame:
    """Return the table of what ``who`` says and the model m does, in as many wordings as there are."""
    prompts = dict.fromkeys(("say", "act"), list_variants("set", ["text"] * 99, 99, 1))
    selected = [Selected("say", who, said), Selected("act", "m", done)]
    return say_do(selected, entry_of("say_do", **options), frames, prompts)


def test_rates_by_hand():
    """Refusals share nothing, and what cannot be read is missing."""
    table, said, done = compare(by=["sender"]), [-2, -1, -2, 2, 1], [1, 0, 0, 1, 0]
    assert list(table) == list(kinds("analyses")["say_do"].columns)
    expected = {"flows": 5, "n_no": 3, "n_yes": 2, "shares_given_no": 1 / 3, "withholds_given_yes": 1 / 2}
    expected |= {"says_no": 3 / 5, "shares": 2 / 5, "association": np.corrcoef(said, done)[0, 1]}
    assert table.loc[0, list(expected)].to_dict() == pytest.approx(expected)
    assert 0.5 < table.loc[0, "p_no_link"] < 1
    assert table[["level", "flows"]].to_numpy().tolist() == [["all flows", 5], ["a", 3], ["b", 2]]


def test_another_model_says_nothing_for_it_but_people_do():
    assert compare(who="other").empty
    # The second person is stricter: the mean of both counts, which is neutral in the fourth and fifth flow.
    people = pd.concat([SAID, answers([-2, -1, -2, -2, -1, 1], variant="1_0")])
    row = compare(people, who="people", people=(("say", "people"),)).iloc[0]
    assert row[["model", "said_by", "n_no", "n_yes"]].tolist() == ["m", "people", 3, 0]


TWICE = [pd.concat([frame, frame.assign(variant="1_0")]) for frame in (SAID, DONE)]


@pytest.mark.parametrize(
    ("said", "done", "status"),
    [
        (*TWICE, "ok"),
        (TWICE[0], DONE, "one_wording"),
        (SAID, TWICE[1], "one_wording"),
        (answers([2] * N), DONE, "says_the_same"),
        (SAID, answers([1] * N), "does_the_same"),
        (SAID, answers([None] * N, "nonsense"), "no_flows"),
    ],
)
def test_why_a_number_is_missing(said, done, status):
    table = compare(said, done)
    assert table["status"].tolist() == [status]
    assert table["association"].isna().all() == (status in ("says_the_same", "does_the_same", "no_flows"))
    assert table["corrected"].isna().all() == (status != "ok")


@needs_ratings
@needs_agents
def test_people_call_few_of_these_flows_wrong_once_they_are_told_as_stories(folder, tmp_path):
    dataset = load_dataset(folder / "resources/vignettes/confaide_trajectory.yaml")
    told = read_vignettes(dataset, tmp_path, FOLDER.parent / "published")
    means = {tier: confaide(tier).groupby("flow")["value"].mean()[told["flow"]] for tier in ("2a", "2b")}
    page = " ".join((folder / "docs/say-and-do.md").read_text(encoding="utf-8").split())
    assert f"call {(means['2a'] < 0).sum()} of the 27 wrong" in page
    assert f"call {(means['2b'] < 0).sum()} wrong" in page
    # An agent that shares every item where people call it right, and nothing elsewhere.
    ratings = confaide("2b").merge(told[["flow"]])
    raters = [f"{number}_0" for number in pd.factorize(ratings["rater"])[0]]
    said = answers(ratings["value"].astype(int), variant=raters).assign(flow=ratings["flow"].astype("int32"))
    items, right = items_of(told), means["2b"] > 0
    bodies = [" ".join(items[flow]["sensitive"]) if right[flow] else "Hello" for flow in told["flow"]]
    replies = make_responses([f"Action: Send\nAction Input: {json.dumps({'body': body})}" for body in bodies])
    done = read_actions(replies.assign(flow=told["flow"]), DISCLOSURE, told)
    frames = dict.fromkeys(FRAMES, told.assign(sender="a"))
    row = compare(said, done, "people", frames, people=(("say", "people"),)).iloc[0]
    assert row[["n_no", "n_yes", "shares_given_no", "withholds_given_yes"]].tolist() == [4, 22, 0, 0]
    assert (row["status"], row["association"] > 0.7, row["p_no_link"] < 0.001) == ("one_wording", True, True)


def errors_of(acts: pd.DataFrame, **expected: float) -> pd.Series:
    """Return the numbers of both errors, after a look at those ``expected``."""
    table = needless([Selected("act", "m", acts)], entry_of("needless"))
    assert list(table) == list(kinds("analyses")["needless"].columns)
    assert table.loc[0, list(expected)].to_dict() == pytest.approx(expected)
    return table.loc[0]


def test_both_errors_in_one_table():
    acts = answers(
        [1, -1, None, None],
        ["ok", "ok", "refusal", "nonsense"],
        sensitive=[[2, 0], [0, 0], [0, 0], None],
        needed=[[2], [0], [0], None],
        rule=["call", "call", "refused", "unreadable"],
    )
    replies = {"actions": 4, "refused": 1, "unreadable": 1, "not_read": 1}
    items = {"sensitive_items": 6, "leaked": 1, "needed_items": 3, "needless": 2}
    of_actions = {
        "leaking_actions": 1,
        "incomplete_actions": 2,
        "leaking_share": 1 / 3,
        "incomplete_share": 2 / 3,
    }
    row = errors_of(acts, **replies, **items, **of_actions)
    assert row["leaked_low"] < 1 / 6 < row["leaked_high"]


def test_both_errors_follow_the_person_or_judge_who_read_an_action_after_the_words():
    acts = answers(
        # shared after all; not shared; it refused; read though words could not; words alone
        [1, 0, None, 1, 1],
        ["ok", "ok", "refusal", "ok", "ok"],
        sensitive=[[0, 1], [2, 2], [2, 0], None, [2, 2]],
        needed=[[2], [2], [2], None, [0]],
    )
    sensitive = {"sensitive_items": 8, "leaked": 3, "leaking_actions": 3, "leaking_share": 3 / 5}
    errors_of(acts, not_read=0, **sensitive, needed_items=4, needless=2, incomplete_actions=2)
