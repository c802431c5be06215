"""Responses that are not exactly those that the job asked are refused before they are read."""

from pathlib import Path

import pandas as pd
import pytest

from cinorms.core.errors import DataError
from cinorms.inference.collected_replies import check_complete
from cinorms.inference.questions import Questions
from cinorms.prompts.variants import list_variants

from ...specs import make_flows, make_spec

VIGNETTES = make_flows(6, sender=pd.Categorical(["a", "b"] * 3))
VARIANTS = list_variants("t", [f"{i} {{scenario}} {{options}}" for i in range(3)], 3, 2)


def asked(shard: str, **settings: object) -> pd.DataFrame:
    spec = make_spec(shard=shard, **{"n_templates": 3, **settings})
    return Questions.of(spec, VIGNETTES, VARIANTS).named()


def check(responses: pd.DataFrame, path: Path, **settings: object) -> None:
    spec = make_spec(**{"n_templates": 3, **settings})
    check_complete(path, responses, spec.as_plain(), VIGNETTES, VARIANTS)


@pytest.mark.parametrize("settings", [{}, {"select": {"sender": ["a"]}}, {"n_templates": 1}])
@pytest.mark.parametrize("shard", ["1-of-1", "1-of-2", "2-of-2"])
def test_whole_responses_pass(shard, settings, tmp_path):
    check(asked(shard, **settings), tmp_path / f"{shard}.parquet", **settings)


def with_row(frame: pd.DataFrame, **values: object) -> pd.DataFrame:
    changed = frame.astype({"variant": object, "order": object})
    for name, value in values.items():
        changed.loc[1, name] = value
    return changed


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda frame: frame.iloc[: len(frame) // 2], "18 of 36 questions are missing"),
        (lambda frame: frame.iloc[:0], "36 of 36 questions are missing, e.g. flow 0 with variant 0_0"),
        (lambda frame: frame.drop(index=7), "1 of 36 questions are missing, e.g. flow 1 with variant 0_1"),
        (lambda frame: pd.concat([frame, frame.iloc[:1]]), "doubled"),
        (lambda frame: frame.iloc[::-1], "another order"),
        (lambda frame: with_row(frame, flow=5), "1 of 36"),
        (lambda frame: with_row(frame, flow=99), "1 of 36"),
        (lambda frame: with_row(frame, variant="9_9"), "1 of 36"),
        (lambda frame: with_row(frame, order="99999"), "1 of 36"),
        (lambda _: asked("1-of-2"), "18 of 36"),
        (lambda _: asked("1-of-1", n_templates=1), "24 of 36"),
    ],
)
def test_responses_that_were_not_asked_so_are_refused(change, told, tmp_path):
    path = tmp_path / "1-of-1.parquet"
    with pytest.raises(DataError, match=told) as caught:
        check(change(asked("1-of-1")), path)
    assert str(caught.value).startswith(f"{path}: has ")
    assert "delete it and rerun: it is rebuilt from the journal, nothing is asked again" in str(caught.value)


def test_a_shard_under_the_name_of_another_is_refused(tmp_path):
    with pytest.raises(DataError, match="18 of 18 questions are missing"):
        check(asked("1-of-2"), tmp_path / "2-of-2.parquet")
