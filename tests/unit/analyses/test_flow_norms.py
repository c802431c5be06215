"""The table of all norms: factors in words, the norm or why there is none, and the interval of the mean."""

import pandas as pd

from cinorms.analyses.flow_norms import flow_norms
from cinorms.core.labels import NORM_LABELS
from cinorms.entries.entry import Selected
from cinorms.norms.assessment import held, level_matrix
from cinorms.stats.wordings import flow_intervals, template_numbers
from cinorms.vignettes.factors import DatasetFactors

from ...entries import make_entry
from ...scales import ACCEPTABILITY, LEVELS
from .made import ANSWERS, PROMPTS, SMALL, USUAL, VIGNETTES, again_of, norms_of, run
from .made import LEVELS as FACTORS


def test_the_norm_is_that_of_the_assessment_in_words_and_as_a_level():
    words = dict(zip(LEVELS, ACCEPTABILITY.options, strict=True))
    table = run("flow_norms").set_index("model")
    for model, answers in ANSWERS.items():
        norms = norms_of(answers)
        expected = held(norms, USUAL).rename(columns={"value": "level"})
        expected["norm"] = expected["level"].map(words, na_action="ignore")
        expected["reason"] = expected["status"].map(lambda status: NORM_LABELS.get(status))
        expected[["mean", "share"]] = norms[["mean", "share"]]
        assert set(expected["status"]) > {"kept"}
        mine = table.loc[model, expected.columns].reset_index(drop=True)
        pd.testing.assert_frame_equal(mine.astype("object"), expected.astype("object"), check_dtype=False)


def test_the_interval_is_that_of_the_flow_s_mean():
    table = run("flow_norms", SMALL)
    intervals = flow_intervals(level_matrix(ANSWERS["small"]), template_numbers(PROMPTS), ACCEPTABILITY)
    pd.testing.assert_frame_equal(table[intervals.columns], intervals, check_dtype=False)


def make(vignettes: dict[str, pd.DataFrame]) -> pd.DataFrame:
    columns = {
        arm: tuple(table.columns.drop(["flow", "vignette", "expected"])) for arm, table in vignettes.items()
    }
    pairs = [(arm, "small") for arm in vignettes]
    datasets = {arm: DatasetFactors(f"of {arm}", names) for arm, names in columns.items()}
    facts = {"factors_of": datasets, "respondents": pairs[:1]}
    entry = make_entry("analyses", "flow_norms", {}, pairs, t_val=3, **facts)
    norms, answers, again = (
        [Selected(*pair, frame) for pair in pairs]
        for frame in (norms_of(ANSWERS["small"]), ANSWERS["small"], again_of(ANSWERS["small"]))
    )
    prompts = dict.fromkeys(vignettes, PROMPTS)
    return flow_norms(norms, entry, answers=answers, again=again, vignettes=vignettes, prompts=prompts)


def test_arms_of_several_datasets_have_the_columns_of_all():
    table = make({"main": VIGNETTES, "list": VIGNETTES.drop(columns=list(FACTORS))})
    listed, designed = table[table["arm"] == "list"], table[table["arm"] == "main"]
    assert listed["vignette"].eq("text").all()
    assert listed[list(FACTORS)].isna().all(axis=None)
    assert designed["vignette"].isna().all()
    assert designed[list(FACTORS)].notna().all(axis=None)
    assert designed["planted"].all()
    assert not listed["planted"].any()
    assert table["dataset"].unique().tolist() == ["of main", "of list"]


def test_a_factor_that_is_called_like_a_column_keeps_both():
    table = make({"main": VIGNETTES.rename(columns={"sender": "status"})})
    assert table["factor_status"].tolist() == VIGNETTES["sender"].tolist()
    assert set(table["status"]) <= {"kept", *NORM_LABELS}
