"""The forest plot shows every term of the table, those without a finite value in words."""

import numpy as np
import pandas as pd

from cinorms.entries.entry import Selected
from cinorms.figures.coefficients import draw, terms


def table(models=("a", "b"), **changes):
    rows = [
        (model, term, level, "base", 1.0, 0.5, 1.5, 24, "ok")
        for model in models
        for term, levels in (("sender", ["x", "y"]), ("transmission_principle", ["z"]))
        for level in levels
    ]
    columns = ["model", "term", "level", "baseline", "estimate", "conf_low", "conf_high", "n", "status"]
    frame = pd.DataFrame(rows, columns=columns).assign(arm="main", **changes)
    threshold = frame.iloc[[0]].assign(term="threshold", level="-2|-1")
    return Selected("", "regression", pd.concat([frame, threshold], ignore_index=True))


def test_thresholds_and_what_is_not_chosen_are_left_out(figure_entry):
    entry = figure_entry("coefficients", ["a"], table="regression", factors=["sender"])
    assert terms(table().frame, entry)[["fit", "level"]].to_numpy().tolist() == [["a", "x"], ["a", "y"]]
    pooled = table(models=("pooled",)).frame
    assert len(terms(pooled, figure_entry("coefficients", ["a"], table="regression"))) == 3


def test_a_point_and_an_interval_per_term_and_model(figure_entry, built):
    drawn = draw([table()], figure_entry("coefficients", ["a", "b"], table="regression"))
    layers = built(drawn.plot)
    assert len(next(layer for layer in layers if "xend" in layer)) == 6
    points = next(layer for layer in layers if "shape" in layer)
    assert points["color"].nunique() == points["shape"].nunique() == 2
    assert points["y"].is_unique, "models do not cover each other"
    labels = next(s for s in drawn.plot.scales if "y" in s.aesthetics).labels
    assert list(labels) == ["x", "y", "z"]
    assert "a 24, b 24" in drawn.caption
    assert drawn.plot.labels.title == "‘z’ raises the answers of b most (log-odds +1.0)"
    assert "log-odds" in drawn.plot.labels.x
    assert "log-odds" in drawn.caption


def test_a_separated_term_is_marked_in_words(figure_entry, built):
    one = table()
    one.frame.loc[1, ["estimate", "conf_low", "conf_high", "status"]] = [np.nan] * 3 + ["separated"]
    drawn = draw([one], figure_entry("coefficients", ["a", "b"], table="regression"))
    texts = [set(layer["label"].str.replace("\n", " ")) for layer in built(drawn.plot) if "label" in layer]
    assert {"× separated: no finite value"} in texts
    assert "Terms with a problem: 1 separated" in drawn.caption
