"""The distribution figure shows every answer once, in the order of the scale, in the colours of the theme."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

from cinorms.analyses.counts import answer_counts
from cinorms.core.labels import NOT_COMPARABLE, PLANTED_MARK
from cinorms.core.tables import ANSWER_STATUSES
from cinorms.entries.entry import Entry, Selected
from cinorms.figures.colours import STATUS_COLOURS, level_colours
from cinorms.figures.distribution import INVALID, draw, draw_norms, norm_counts, reasons, segments, stacked

from ...entries import make_entry
from ...scales import ACCEPTABILITY, AGREEMENT, LEVELS

OPTIONS = list(ACCEPTABILITY.options)


def answers(shares: dict[int | str, int]) -> pd.DataFrame:
    """Return answers with so many of each level (a number) and of each status (a word)."""
    keys = [key for key, count in shares.items() for _ in range(count)]
    return pd.DataFrame(
        {
            "flow": np.arange(len(keys)),
            "level": pd.array([k if isinstance(k, int) else pd.NA for k in keys], dtype="Int8"),
            "status": pd.Categorical(
                ["ok" if isinstance(k, int) else k for k in keys],
                categories=list(dict.fromkeys([*ANSWER_STATUSES, *(k for k in keys if isinstance(k, str))])),
            ),
            "rule": pd.Categorical(["label" if isinstance(k, int) else "none" for k in keys]),
        }
    )


MIXED = answers({-2: 10, -1: 20, 0: 30, 1: 15, 2: 5, "refusal": 12, "needs_context": 8})
PLAIN = answers({-2: 50, 2: 50})


def entry(*arms: str, mark: str = "", **options: Any) -> Entry[Any]:
    return make_entry(
        "figures",
        "distribution",
        {"arms": arms or ("main",), **options},
        scales={"main": ACCEPTABILITY, "zeta": ACCEPTABILITY, "confaide": AGREEMENT},
        mark=mark,
    )


def test_colours_cover_every_level_and_every_status():
    of_levels = level_colours(ACCEPTABILITY)
    assert set(of_levels) == set(LEVELS)
    assert set(STATUS_COLOURS) == set(ANSWER_STATUSES) - {"ok"}
    colours = [*of_levels.values(), *STATUS_COLOURS.values()]
    assert len(set(colours)) == len(colours)


def test_several_kinds_of_invalid_answers_are_one_segment_and_their_reasons_words(built):
    counts = segments(answer_counts([Selected("main", "a", MIXED)], entry()), entry())
    whole = stacked(counts)
    assert whole["segment"].astype(str).tolist() == [*OPTIONS, INVALID]
    assert whole["end"].tolist() == pytest.approx([0.1, 0.3, 0.6, 0.75, 0.8, 1])
    assert reasons(counts)["label"].tolist() == ["refusal 12%, asks for context 8%"]
    three = answers({0: 90, "refusal": 5, "needs_context": 3, "nonsense": 2})
    counts = segments(answer_counts([Selected("main", "a", three)], entry()), entry())
    assert reasons(counts)["label"].tolist() == ["refusal 5%, asks for context 3%, other 2%"]
    one = segments(answer_counts([Selected("main", "a", answers({0: 9, "refusal": 1}))], entry()), entry())
    assert reasons(one).empty, "the legend names the only kind"
    _, labels, *_ = built(draw([Selected("main", "a", answers({-2: 99, 2: 1}))], entry()).plot)
    assert labels["label"].tolist() == ["99%"], "a label that does not fit is left out"


def test_a_narrow_figure_has_the_reasons_in_its_caption():
    selected = [Selected("main", "a", MIXED), Selected("main", "b", PLAIN)]
    text = "Why no level: a: refusal 12%, asks for context 8%."
    assert text in draw(selected, entry(width="column")).caption
    assert text not in draw(selected, entry(width="text")).caption


def test_bars_are_stacked_from_the_lowest_level_and_fill_the_whole(built):
    drawn = draw([Selected("main", "a", MIXED), Selected("main", "b", PLAIN)], entry())
    stacked, labels, words, *_ = built(drawn.plot)
    assert len(stacked) == 6 + 2
    for _, bar in stacked.groupby("ymin"):
        bar = bar.sort_values("xmin")
        assert bar["xmin"].iloc[0] == pytest.approx(0)
        assert bar["xmax"].iloc[-1] == pytest.approx(1)
        assert np.allclose(bar["xmax"].to_numpy()[:-1], bar["xmin"].to_numpy()[1:])
    first = stacked[stacked["ymin"] == stacked["ymin"].max()].sort_values(["PANEL", "xmin"])  # on top
    assert np.allclose((first["xmax"] - first["xmin"]), [0.1, 0.2, 0.3, 0.15, 0.05, 0.2])
    assert first["fill"].str.lower().tolist()[:5] == list(level_colours(ACCEPTABILITY).values())
    both = labels.merge(stacked.assign(y=(stacked["ymin"] + stacked["ymax"]) / 2), on=["y", "PANEL"])
    assert ((both["x"] > both["xmin"]) & (both["x"] < both["xmax"])).sum() == len(labels)
    assert words["label"].tolist() == ["refusal 12%, asks for context 8%"]


def test_models_and_panels_stand_in_the_entrys_order(built):
    selected = [
        Selected(arm, name, frame) for arm, frame in (("zeta", MIXED), ("main", PLAIN)) for name in "ba"
    ]
    drawn = draw(selected, entry("zeta", "main"))
    assert next(s for s in drawn.plot.scales if "y" in s.aesthetics).labels == ["b", "a"]
    stacked, *_ = built(drawn.plot)
    assert (stacked["PANEL"] == 1).sum() == 2 * 6, "the mixed ones, though main comes first in the alphabet"


def test_arms_of_two_scales_share_colours_by_level():
    selected = [Selected("main", "a", MIXED), Selected("confaide", "a", MIXED)]
    frame = segments(answer_counts(selected, entry("main", "confaide")), entry("main", "confaide"))
    colour = frame.drop_duplicates("segment").set_index("segment")["colour"]
    lowest = level_colours(ACCEPTABILITY)[-2]
    assert colour["strongly disagree"] == colour["strongly unacceptable"] == lowest
    assert (frame.groupby(["arm", "model"], observed=True)["share"].sum().round(9) == 1).all()
    draw(selected, entry("main", "confaide"))


def test_the_caption_says_how_many_answers_and_who_gave_the_most_invalid_ones():
    drawn = draw([Selected("main", "a", MIXED), Selected("main", "b", PLAIN.head(50))], entry())
    assert "n = 50 to 100 answers per model, 150 in total" in drawn.caption
    assert "a gives the most invalid answers (20.0%)" in drawn.caption
    assert PLANTED_MARK not in drawn.caption
    assert PLANTED_MARK in draw([Selected("main", "a", PLAIN)], entry(mark=PLANTED_MARK)).caption
    arms = [Selected("main", "a", MIXED), Selected("zeta", "a", MIXED), Selected("zeta", "b", PLAIN)]
    assert "a gives the most invalid answers (20.0%)" in draw(arms, entry("main", "zeta")).caption
    assert "most invalid" not in draw([Selected("main", "a", PLAIN)], entry()).caption


@pytest.mark.parametrize(
    "frames",
    [
        [PLAIN.head(0), MIXED],
        [answers({"refusal": 7})],
        [answers(dict.fromkeys(ANSWER_STATUSES[1:], 1))],
    ],
    ids=["none of one model", "all invalid", "every status"],
)
def test_unusual_answers_can_be_drawn(frames):
    drawn = draw(
        [Selected("main", model, frame) for model, frame in zip("ab", frames, strict=False)], entry()
    )
    plt.close(drawn.plot.draw())
    assert drawn.data.empty or drawn.data["segment"].notna().all()
    assert "nan" not in drawn.caption


# --- Norms at each level, and flows without one

NORMS = [[1, 1]] * 12 + [[-2, -2]] * 6 + [[1, -1]] * 3 + [[None, 1]] * 3


def test_every_flow_is_counted_once_in_the_order_of_the_scale(norms_of, figure_entry):
    table = norm_counts([norms_of("a", NORMS)], figure_entry("norm_distribution", ["a"]))
    assert table["flows"].sum() == 24
    assert table.set_index("outcome")["flows"][
        ["strongly unacceptable", "a tie", "too few valid answers"]
    ].tolist() == [6, 3, 3]
    assert table["colour"].tolist()[:5] == list(level_colours(ACCEPTABILITY).values())
    drawn = stacked(table)
    assert [drawn["start"].iloc[0], drawn["end"].iloc[-1]] == pytest.approx([0, 1])
    assert drawn["start"].tolist()[1:] == pytest.approx(drawn["end"].tolist()[:-1])


def test_models_from_top_to_bottom_and_a_panel_per_arm(norms_of, figure_entry, built):
    arms = ("x", "w")
    selected = [norms_of(m, NORMS, arm) for arm in arms for m in ("b", "a")]
    drawn = draw_norms(selected, figure_entry("norm_distribution", ["b", "a"], arms))
    shown = built(drawn.plot)[0]
    assert shown["PANEL"].nunique() == 2
    assert next(s for s in drawn.plot.scales if "y" in s.aesthetics).labels == ["b", "a"]
    assert "n = 24 (x), 24 (w) flows per model" in drawn.caption
    assert NOT_COMPARABLE not in drawn.caption
    fewer = [selected[0], selected[1]._replace(frame=selected[1].frame.assign(n_asked=1))]
    drawn = draw_norms(fewer, figure_entry("norm_distribution", ["b", "a"], ("x",)))
    assert f"Asked in 1 to 2 variants: {NOT_COMPARABLE}" in drawn.caption
