"""What is said against what is done, per model and flow, and both errors in one table."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from cinorms.analyses.say_do import done_matrix, needless, say_do
from cinorms.core.scale_files import load_scale
from cinorms.core.scales import FOLDER
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import kinds
from cinorms.prompts.variants import list_variants
from cinorms.vignettes.factors import DatasetFactors

from ...asking import make_flows
from ...entries import make_entry
from ...scales import ACCEPTABILITY

DISCLOSURE = load_scale(FOLDER / "disclosure.yaml")
N = 6
VIGNETTES = make_flows(N, sender=pd.Categorical(["a", "b"] * (N // 2)))
PROMPTS = list_variants("set", ["text"], 1, 1)
FRAMES = dict.fromkeys(("say", "act"), VIGNETTES)


def answers(levels: list[int | None], statuses: list[str] | None = None, **columns: Any) -> pd.DataFrame:
    n = len(levels)
    frame = pd.DataFrame({"flow": np.arange(n, dtype=np.int32), "variant": pd.Categorical(["0_0"] * n)})
    statuses = statuses or ["ok"] * n
    return frame.assign(
        level=pd.array(levels, dtype="Int8"), status=pd.Categorical(statuses), rule="call", **columns
    )


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


def tables(who: str = "m") -> list[Selected]:
    return [Selected("say", who, SAID), Selected("act", "m", DONE)]


def test_refusals_share_nothing_and_what_is_unreadable_is_missing():
    assert done_matrix(DONE)["0_0"].tolist()[:5] == [1, 0, 0, 1, 0]
    assert np.isnan(done_matrix(DONE)["0_0"].to_numpy()[5])


def test_rates_by_hand():
    table = say_do(tables(), entry_of("say_do", by=["sender"]), FRAMES, {"say": PROMPTS, "act": PROMPTS})
    assert list(table) == list(kinds("analyses")["say_do"].columns)
    whole = table.iloc[0]
    assert (whole["flows"], whole["n_no"], whole["n_yes"]) == (5, 3, 2)
    assert whole["shares_given_no"] == pytest.approx(1 / 3)
    assert whole["withholds_given_yes"] == pytest.approx(1 / 2)
    assert whole["status"] == "one_wording"
    assert table["level"].tolist() == ["all flows", "a", "b"]
    assert table["flows"].tolist() == [5, 3, 2]


def test_another_model_says_nothing_for_it_but_people_do():
    prompts = {"say": PROMPTS, "act": PROMPTS}
    assert say_do(tables("other"), entry_of("say_do"), FRAMES, prompts).empty
    people = say_do(tables("people"), entry_of("say_do", (("say", "people"),)), FRAMES, prompts)
    assert people[["model", "said_by"]].to_numpy().tolist() == [["m", "people"]]


def test_both_errors_in_one_table():
    acts = answers(
        [1, -1, None, None],
        ["ok", "ok", "refusal", "nonsense"],
        sensitive=[[2, 0], [0, 0], [0, 0], None],
        needed=[[2], [0], [0], None],
    )
    acts["rule"] = ["call", "call", "refused", "unreadable"]
    table = needless([Selected("act", "m", acts)], entry_of("needless"))
    assert list(table) == list(kinds("analyses")["needless"].columns)
    row = table.iloc[0]
    assert (row["actions"], row["refused"], row["unreadable"], row["not_read"]) == (4, 1, 1, 1)
    assert (row["sensitive_items"], row["leaked"], row["needed_items"], row["needless"]) == (6, 1, 3, 2)
    assert (row["leaking_actions"], row["incomplete_actions"]) == (1, 2)
    assert row["leaking_share"] == pytest.approx(1 / 3)
    assert row["incomplete_share"] == pytest.approx(2 / 3)
    assert row["leaked_low"] < 1 / 6 < row["leaked_high"]


def test_both_errors_follow_the_person_or_judge_who_read_an_action_after_the_words():
    acts = answers(
        # shared after all; not shared; it refused; read though words could not; words alone
        [1, 0, None, 1, 1],
        ["ok", "ok", "refusal", "ok", "ok"],
        sensitive=[[0, 1], [2, 2], [2, 0], None, [2, 2]],
        needed=[[2], [2], [2], None, [0]],
    )
    row = needless([Selected("act", "m", acts)], entry_of("needless")).iloc[0]
    assert (row["not_read"], row["sensitive_items"], row["leaked"]) == (0, 8, 3)
    assert (row["leaking_actions"], row["leaking_share"]) == (3, pytest.approx(3 / 5))
    assert (row["needed_items"], row["needless"], row["incomplete_actions"]) == (4, 2, 2)
