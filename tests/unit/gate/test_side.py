"""Sides and how they are matched: addresses, units, what is paired with what, refusals."""

import json
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cinorms.core.errors import ConfigError, DataError
from cinorms.gate.of_study import gates_of
from cinorms.gate.side import Address, Matched, as_arrays, find, match, read_side
from cinorms.report.description import metadata_of
from cinorms.stats.equivalence import Estimate

from .conftest import TEMPLATES, answers, planted, prompts, side, write_answers


def test_an_address_may_leave_out_what_can_only_be_one(write_study, monkeypatch):
    few = planted(n_flows=2, n_templates=1)
    folder = write_study("one", {"main": {"a": few}})
    write_study("two", {"main": {"a": few, "b": few}, "hot": {"a": few}})
    assert find(str(folder), "BASE") == Address(folder, "main", "a")
    monkeypatch.chdir(folder.parents[1])
    for given in ("one", "results/one", "one/main", "one/main/a"):
        assert find(given, "BASE")[1:] == ("main", "a")
    assert find("two/hot", "BASE").name == "two/hot/a"
    for given, message in (
        ("two", "NEW: 'two' has 2 arms; name one: two/main, two/hot"),
        ("two/main", "NEW: 'two/main' has 2 models; name one: two/main/a, two/main/b"),
        ("two/hott", "has no arm 'hott'; did you mean 'hot'.* allowed: hot, main"),
        ("two/main/c", "arm 'main' has no model 'c'; allowed: a, b"),
        ("none/x", "NEW: 'none/x': there are no results of a study here"),
        ("two/main/a/b", "names more than a study"),
    ):
        with pytest.raises(ConfigError, match=message):
            find(given, "NEW")


def test_answers_become_arrays_of_flows_templates_and_orders():
    levels = np.full((2, 3, 2), np.nan)
    levels[0, 0] = [1, -2]
    levels[1, 2, 1] = 2
    frame = answers(levels).sample(frac=1, random_state=1)
    frame.loc[frame["variant"] == "2_1", "order"] = None
    found = as_arrays(frame[frame["variant"] != "1_0"], range(2), prompts(3, 2))
    np.testing.assert_array_equal(found.level, levels)
    assert found.units == TEMPLATES[:3]
    assert (found.status[:, 1, 0] == -1).all()  # not asked
    assert (found.status[0, 0] == 0).all()
    first, second = found.order[0, 0]
    np.testing.assert_array_equal(found.order, [[[first, second], [-1, second], [first, -1]]] * 2)
    with pytest.raises(DataError, match="variant 2_0 is not among those that the arm asks"):
        as_arrays(frame, range(2), prompts(2, 2))


def test_a_side_knows_who_gave_its_answers(write_study):
    folder = write_study("b", {"main": {"m": planted(n_flows=2, n_templates=2)}})
    study = json.loads((folder / "study.json").read_text())
    for source, simulated, respondent, found in (
        ("model", False, False, (False, "wordings")),
        ("model", False, True, (True, "wordings")),
        ("human", False, False, (False, "raters")),
        ("human", True, False, (True, "raters")),
    ):
        study["arms"]["main"] |= {"source": source, "simulated": simulated}
        study["models"] = {"m": {"planted": respondent, "arms": ["main"]}}
        (folder / "study.json").write_text(json.dumps(study))
        read = read_side(Address(folder, "main", "m"))
        assert (read.planted, read.unit) == found
        assert len(read.answers.units) == (2 if source == "model" else 6)


def shift(matched: Matched) -> Estimate:
    return matched.difference(matched.base.answers.level, matched.new.answers.level, True)


def test_the_same_templates_are_paired_by_their_text_wherever_they_are():
    x = planted(n_templates=4)
    mixed = (TEMPLATES[3], TEMPLATES[9], TEMPLATES[0], TEMPLATES[1])
    found = match(side("b", x), side("n", x[:, [3, 2, 0, 1]], mixed))
    assert (found.same_units, found.same_orders) == (True, True)
    assert found.left_out == {"wordings only in base": 1, "wordings only in new": 1}
    assert set(found.new.answers.units) == {TEMPLATES[0], TEMPLATES[1], TEMPLATES[3]}
    assert shift(found)[::4] == (0, 3)


def test_other_orders_leave_templates_paired_and_other_templates_nothing():
    x = planted(n_templates=4)
    base = side("b", x)
    fewer = match(base, side("n", x[:, :, :1]))
    assert (fewer.same_units, fewer.same_orders) == (True, False)
    rise = x[:, :, 0].mean() - x.mean()
    assert shift(fewer).value == pytest.approx(rise) != 0
    changed = base.answers.order.copy()
    changed[0, 0, 0] = 1
    mixed = match(base, replace(base, answers=replace(base.answers, order=changed)))
    assert (mixed.same_units, mixed.same_orders) == (True, False)
    others = match(base, side("n", x, TEMPLATES[4:]))
    assert (others.same_units, others.left_out) == (False, {})


def test_two_shared_templates_are_too_few_for_a_verdict_so_all_of_both_count():
    x = planted(n_templates=5)
    found = match(side("b", x), side("n", x, TEMPLATES[3:8]))
    assert not found.same_units
    assert shift(found).n_templates == 5


def test_a_difference_has_bounds_whatever_the_missing_answers_are():
    x, gone = np.zeros((2, 3, 1)), np.zeros((2, 3, 1))
    gone[0, 0] = np.nan
    found, nothing = match(side("b", x), side("n", gone)), np.zeros((2, 3, 1), dtype=bool)
    for unknown, expected in (
        ((nothing, nothing), [0, 0, 0]),
        ((nothing, np.isnan(gone)), [0, -1 / 3, 1 / 3]),
        ((~nothing, np.isnan(gone)), [0, -7 / 3, 7 / 3]),
    ):
        bounds = found.bounds((x, gone), unknown, (-2, 2), True)
        assert [each.value for each in bounds] == pytest.approx(expected)


def test_only_flows_that_both_were_asked_are_compared():
    found = match(side("b", planted(n_flows=60)), side("n", planted(n_flows=40)))
    assert len(found.flows) == 40
    assert found.left_out == {"flows only in base": 20}


def test_a_studys_gate_compares_the_same_flows(build_study, write_study, monkeypatch):
    monkeypatch.chdir(write_study("other", {"main": {"m": planted()}}).parents[1])
    Path("p.yaml").write_text("claims: {a: {kind: shift, margin: 1}}")
    arms = {
        "toys": {"dataset": "coppa", "prompts": "chatgpt"},
        "told": {"dataset": "confaide_2a", "prompts": "confaide"},
        "home": {"dataset": "iot", "prompts": "chatgpt"},
        "stories": {"dataset": "confaide_2b", "source": "human", "ratings": "confaide_2b"},
    }
    stated = {"study": "s", "models": ["planted-uniform"], "arms": arms}
    stated |= {"analyses": {}, "figures": {}, "printed": {}}
    for base, fits in (("s/stories", True), ("s/told", True), ("s/toys", False), ("other", False)):
        gate = {"base": base, "new": "s/told", "policy": "p.yaml"}
        study = build_study({**stated, "gates": {"g": gate}})
        message = r"study.yaml: gates.g.new: dataset '.*' does not have the flows of"
        with nullcontext() if fits else pytest.raises(ConfigError, match=message):
            assert gates_of(study)["g"].new.arm == "told"
    gate = {"base": "other", "new": "s/home", "policy": "p.yaml"}
    found = gates_of(build_study({**stated, "gates": {"g": gate}}))["g"].found
    names = ["p.yaml", "study.json", "iot.parquet", "m.parquet", "main.parquet"]
    assert [Path(file).name for file in found] == names
    for key, given, message in (
        ("base", "elsewhere/main/m", "'elsewhere/main/m': there are no results of a study here"),
        ("new", "s/hoem", "'s/hoem': the study has no arm 'hoem'; did you mean 'home'? allowed: home, "),
        ("policy", "none.yaml", "there is no file 'none.yaml'"),
    ):
        with pytest.raises(ConfigError) as raised:
            gates_of(build_study({**stated, "gates": {"g": {**gate, key: given}}}))
        assert str(raised.value).startswith(f"study.yaml: gates.g.{key}: {message}")


def test_study_json_states_which_flows_and_how_many_wordings_a_model_is_asked(build_study, write_study):
    select = {"sender": ["a lock"]}
    folder = write_study("s", {"main": {"few": planted(n_flows=6, n_templates=4)}})
    arm = {"dataset": "iot", "prompts": "chatgpt", "select": {"sender": ["a door lock"]}, "templates": 4}
    arm |= {"models": ["planted-uniform", "planted-llama-3.1-8b"], "templates_for": {"planted-uniform": 2}}
    empty: dict[str, object] = {"analyses": {}, "figures": {}, "printed": {}}
    stated = metadata_of(build_study({"study": "s", "arms": {"main": arm}, **empty})).plain()["arms"]["main"]
    assert (stated["select"], stated["templates"]) == ({"sender": ["a door lock"]}, {"planted-uniform": 2})
    study = json.loads((folder / "study.json").read_text())
    study["arms"]["main"] |= {"select": select, "templates": {"few": 2}}
    (folder / "study.json").write_text(json.dumps(study))
    levels = planted(n_flows=6, n_templates=2)
    frame = answers(levels)
    write_answers(folder, "main", "few", frame[frame["flow"] % 2 == 1])
    found = read_side(Address(folder, "main", "few")).answers
    np.testing.assert_array_equal(found.level, levels[1::2])
    assert found.given.all()


def test_other_flows_and_other_scales_are_refused(write_study):
    folder = write_study("b", {"main": {"m": planted()}})
    base = read_side(Address(folder, "main", "m"))
    other = base.vignettes.assign(vignette=base.vignettes["vignette"].str.replace("thing 7", "thing seven"))
    toys = replace(base.factors, dataset="coppa", factors=("sender",))
    for changes, message in (
        ({"vignettes": other}, r"gate: flow 7 is '.*thing 7' in b/main/m\nand '.*thing seven'"),
        ({"levels": (1, 2, 3, 4, 5)}, "answer on different scales"),
        ({"factors": toys}, "dataset 'iot' does not have the flows of 'coppa': its factors are"),
    ):
        with pytest.raises(DataError, match=message):
            match(base, replace(base, **changes))
    for factors in (replace(base.factors, dataset="stories"), replace(toys, flows_of="iot")):
        assert match(base, replace(base, vignettes=other, factors=factors)).same_orders
    (folder / "answers/main/m.parquet").unlink()
    with pytest.raises(DataError, match=r"answers/main/m.parquet: there is no such file; run the study"):
        read_side(base.address)
