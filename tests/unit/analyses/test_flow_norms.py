"""The table of all norms: factors in words, the norm or why there is none, and the interval of the mean."""

import numpy as np
import pandas as pd

from cinorms.analyses.flow_norms import flow_norms
from cinorms.core.labels import NORM_LABELS
from cinorms.entries.entry import Selected
from cinorms.norms import assessment
from cinorms.norms.assessment import level_matrix
from cinorms.stats.wordings import flow_intervals, template_numbers
from cinorms.vignettes.factors import DatasetFactors

from ...entries import make_entry
from ...scales import ACCEPTABILITY, LEVELS
from .made import ANSWERS, PROMPTS, SMALL, USUAL, VIGNETTES, again_of, norms_of, run
from .made import LEVELS as FACTORS


def test_the_norm_is_that_of_the_assessment_in_words_and_as_a_level():
    table = run("flow_norms").set_index(["model", "flow"])
    words = dict(zip(LEVELS, ACCEPTABILITY.options, strict=True))
    for model, answers in ANSWERS.items():
        norms = norms_of(answers).set_index("flow")
        mine = table.loc[model]
        status = assessment.status(norms.reset_index(), USUAL).astype(str).to_numpy()
        assert mine["status"].tolist() == status.tolist()
        kept = status == "kept"
        assert kept.any()
        assert not kept.all()
        assert mine["level"][kept].tolist() == norms["value"][kept].tolist()
        assert mine["norm"][kept].tolist() == [words[level] for level in norms["value"][kept]]
        assert mine.loc[~kept, ["level", "norm"]].isna().all(axis=None)
        assert mine["reason"][~kept].tolist() == [NORM_LABELS[each] for each in status[~kept]]
        assert mine["reason"][kept].isna().all()
        np.testing.assert_allclose(mine["mean"], norms["mean"])
        np.testing.assert_allclose(mine["share"], norms["share"])


def test_the_interval_is_that_of_the_flow_s_mean():
    table = run("flow_norms", SMALL)
    intervals = flow_intervals(level_matrix(ANSWERS["small"]), template_numbers(PROMPTS), ACCEPTABILITY)
    pd.testing.assert_frame_equal(table[intervals.columns], intervals, check_dtype=False)


def make(vignettes: dict[str, pd.DataFrame], factors: dict[str, tuple[str, ...]]) -> pd.DataFrame:
    pairs = [(arm, "small") for arm in vignettes]
    datasets = {arm: DatasetFactors(f"of {arm}", names) for arm, names in factors.items()}
    entry = make_entry(
        "analyses", "flow_norms", {}, pairs, t_val=3, factors_of=datasets, respondents=pairs[:1]
    )
    answers = [Selected(arm, "small", ANSWERS["small"]) for arm in vignettes]
    norms = [one._replace(frame=norms_of(one.frame)) for one in answers]
    prompts = dict.fromkeys(vignettes, PROMPTS)
    again = [one._replace(frame=again_of(one.frame)) for one in answers]
    return flow_norms(norms, entry, answers=answers, again=again, vignettes=vignettes, prompts=prompts)


def test_arms_of_several_datasets_have_the_columns_of_all():
    plain = VIGNETTES[["flow", "vignette", "expected"]]
    table = make({"main": VIGNETTES, "list": plain}, {"main": tuple(FACTORS), "list": ()})
    listed, designed = table[table["arm"] == "list"], table[table["arm"] == "main"]
    assert listed["vignette"].eq("text").all()
    assert listed[list(FACTORS)].isna().all(axis=None)
    assert designed["vignette"].isna().all()
    assert designed[list(FACTORS)].notna().all(axis=None)
    assert designed["planted"].all()
    assert not listed["planted"].any()
    assert table["dataset"].unique().tolist() == ["of main", "of list"]


def test_a_factor_that_is_called_like_a_column_keeps_both():
    clash = VIGNETTES.rename(columns={"sender": "status"})
    names = ("status", *list(FACTORS)[1:])
    table = make({"main": clash}, {"main": names})
    assert table["factor_status"].tolist() == clash["status"].astype(str).tolist()
    assert set(table["status"]) <= {"kept", *NORM_LABELS}
