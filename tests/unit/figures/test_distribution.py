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
from cinorms.figures import theme
from cinorms.figures.colours import INVALID_COLOUR, STATUS_COLOURS, level_colours
from cinorms.figures.distribution import INVALID, draw, draw_norms, norm_counts, reasons, segments

from ...entries import make_entry
from ...scales import ACCEPTABILITY, AGREEMENT, LEVELS


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


def of(*frames: pd.DataFrame, arm: str = "main") -> list[Selected]:
    """Return the answers of models a, b, ... in an arm."""
    return [Selected(arm, model, frame) for model, frame in zip("ab", frames, strict=False)]


def test_colours_cover_every_level_and_every_status():
    of_levels = level_colours(ACCEPTABILITY)
    assert set(of_levels) == set(LEVELS)
    assert set(STATUS_COLOURS) == set(ANSWER_STATUSES) - {"ok"}
    colours = [*of_levels.values(), *STATUS_COLOURS.values()]
    assert len(set(colours)) == len(colours)


@pytest.mark.parametrize(
    ("shares", "label"),
    [
        ({0: 80, "refusal": 12, "needs_context": 8}, ["refusal 12%, asks for context 8%"]),
        (
            {0: 90, "needs_context": 3, "refusal": 5, "nonsense": 2},
            ["refusal 5%, asks for context 3%, other 2%"],
        ),
        ({0: 9, "refusal": 1}, []),  # the legend names the only kind
    ],
)
def test_reasons_are_words_where_there_are_several(shares, label):
    assert reasons(segments(answer_counts(of(answers(shares)), entry()), entry()))["label"].tolist() == label


def test_a_narrow_figure_has_the_reasons_in_its_caption():
    text = "Why no level: a: refusal 12%, asks for context 8%."
    assert text in draw(of(MIXED, PLAIN), entry(width="column")).caption
    assert text not in draw(of(MIXED, PLAIN), entry(width="text")).caption


def test_words_within_a_panel_are_whole():
    drawn = draw([*of(MIXED), *of(MIXED, arm="zeta")], entry("main", "zeta"))
    figure = theme._figure(drawn.plot)
    places = [
        (text.get_window_extent(), axes.get_window_extent()) for axes in figure.axes for text in axes.texts
    ]
    assert len(places) > 10
    assert all(panel.y0 < text.y0 and text.y1 < panel.y1 for text, panel in places)


def test_bars_are_stacked_from_the_lowest_level_and_all_invalid_answers_are_one_segment(built):
    drawn = draw(of(MIXED, PLAIN), entry())
    bars, labels, words, *_ = built(drawn.plot)
    upper, lower = (bar.sort_values("xmin") for _, bar in sorted(bars.groupby("ymin"), reverse=True))
    assert upper["xmin"].tolist() == pytest.approx([0, 0.1, 0.3, 0.6, 0.75, 0.8])
    assert upper["xmax"].tolist() == pytest.approx([0.1, 0.3, 0.6, 0.75, 0.8, 1])
    assert lower[["xmin", "xmax"]].to_numpy().ravel().tolist() == pytest.approx([0, 0.5, 0.5, 1])
    assert upper["fill"].str.lower().tolist() == [*level_colours(ACCEPTABILITY).values(), INVALID_COLOUR]
    middles = [*(upper["xmin"] + upper["xmax"]) / 2, 0.25, 0.75]
    assert sorted(labels["x"]) == pytest.approx(sorted(middles))
    assert words["label"].tolist() == ["refusal 12%, asks for context 8%"]
    legend = next(s for s in drawn.plot.scales if "fill" in s.aesthetics).limits
    assert list(legend) == [*ACCEPTABILITY.options, INVALID]
    _, labels, *_ = built(draw(of(answers({-2: 99, 2: 1})), entry()).plot)
    assert labels["label"].tolist() == ["99%"], "a label that does not fit is left out"


def test_models_and_panels_stand_in_the_entrys_order(built):
    selected = [*of(MIXED, MIXED, arm="zeta")[::-1], *of(PLAIN, PLAIN)[::-1]]
    drawn = draw(selected, entry("zeta", "main"))
    assert next(s for s in drawn.plot.scales if "y" in s.aesthetics).labels == ["b", "a"]
    bars, *_ = built(drawn.plot)
    assert (bars["PANEL"] == 1).sum() == 2 * 6, "the mixed ones, though main comes first in the alphabet"


def test_arms_of_two_scales_share_colours_by_level():
    selected = [*of(MIXED), *of(MIXED, arm="confaide")]
    frame = segments(answer_counts(selected, entry("main", "confaide")), entry("main", "confaide"))
    colour = frame.drop_duplicates("segment").set_index("segment")["colour"]
    lowest = level_colours(ACCEPTABILITY)[-2]
    assert colour["strongly disagree"] == colour["strongly unacceptable"] == lowest
    assert (frame.groupby(["arm", "model"], observed=True)["share"].sum().round(9) == 1).all()
    draw(selected, entry("main", "confaide"))


def test_the_caption_says_how_many_answers_and_the_title_who_accepts_most():
    drawn = draw(of(MIXED.tail(50), PLAIN), entry())
    caption = drawn.caption
    assert "n = 50 to 100 answers per model, 150 in total" in caption
    title = "Rated high most often by a (67% of its valid answers), least often by b (50%)"
    assert drawn.plot.labels.title == title
    assert PLANTED_MARK not in caption
    assert PLANTED_MARK in draw(of(PLAIN), entry(mark=PLANTED_MARK)).caption
    arms = [*of(MIXED), *of(MIXED, PLAIN, arm="zeta")]
    assert draw(arms, entry("main", "zeta")).plot.labels.title.endswith("least often by a in zeta (25%)")


@pytest.mark.parametrize(
    "frames",
    [[PLAIN.head(0), MIXED], [answers({"refusal": 7})], [answers(dict.fromkeys(ANSWER_STATUSES[1:], 1))]],
    ids=["none of one model", "all invalid", "every status"],
)
def test_unusual_answers_can_be_drawn(frames):
    drawn = draw(of(*frames), entry())
    plt.close(drawn.plot.draw())
    assert drawn.data.empty or drawn.data["segment"].notna().all()
    assert "nan" not in drawn.caption


# --- Norms at each level, and flows without one

NORMS = [[1, 1]] * 12 + [[-2, -2]] * 6 + [[1, -1]] * 3 + [[None, 1]] * 3


def test_every_flow_is_counted_once_in_the_order_of_the_scale(norms_of, figure_entry):
    table = norm_counts([norms_of("a", NORMS)], figure_entry("norm_distribution", ["a"]))
    reasons = ["too few valid answers", "no majority", "a tie"]
    assert list(zip(table["outcome"], table["flows"], strict=True)) == list(
        zip([*ACCEPTABILITY.options, *reasons], [6, 0, 0, 12, 0, 3, 0, 3], strict=True)
    )
    assert table["colour"].tolist()[:5] == list(level_colours(ACCEPTABILITY).values())


def test_models_from_top_to_bottom_and_a_panel_per_arm(norms_of, figure_entry, built):
    arms = ("x", "w")
    selected = [norms_of(m, NORMS, arm) for arm in arms for m in ("b", "a")]
    drawn = draw_norms(selected, figure_entry("norm_distribution", ["b", "a"], arms))
    assert built(drawn.plot)[0]["PANEL"].nunique() == 2
    assert next(s for s in drawn.plot.scales if "y" in s.aesthetics).labels == ["b", "a"]
    assert "n = 24 (x), 24 (w) flows per model" in drawn.caption
    assert NOT_COMPARABLE not in drawn.caption
    fewer = [selected[0], selected[1]._replace(frame=selected[1].frame.assign(n_asked=1))]
    drawn = draw_norms(fewer, figure_entry("norm_distribution", ["b", "a"], ("x",)))
    assert f"Asked in 1 to 2 variants: {NOT_COMPARABLE}" in drawn.caption
