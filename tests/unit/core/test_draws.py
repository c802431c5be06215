"""Draws are a pure function of what they are for, and behave like the distributions they are named after."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from cinorms.core import draws
from cinorms.core.draws import draw_bits, draw_logistic, draw_uniform, text_number
from cinorms.planted.respondents import draw_normal

MANY = np.arange(40_000)
whole_numbers = st.integers(min_value=-(2**80), max_value=2**80)


@settings(max_examples=40)
@given(purpose=st.text(max_size=8), seed=whole_numbers, at=st.lists(whole_numbers, max_size=4))
def test_any_whole_numbers_name_a_draw(purpose, seed, at):
    first = draw_bits(purpose, seed, *at)
    assert first.dtype == np.uint64
    assert first == draw_bits(purpose, seed, *at)
    assert 0 < draw_uniform(purpose, seed, *at) < 1
    assert np.isfinite(draw_normal(purpose, seed, *at))


def test_a_draw_is_the_same_alone_in_an_array_and_broadcast():
    table = draw_bits("order", 1, np.arange(4)[:, None], np.arange(3)[None, :])
    assert table.shape == (4, 3)
    assert table[2, 1] == draw_bits("order", 1, 2, 1)
    assert np.array_equal(table[1], draw_bits("order", 1, 1, [0, 1, 2]))
    short = draw_bits("order", 1, np.arange(5, dtype=np.int16))
    assert np.array_equal(short, draw_bits("order", 1, range(5)))


def test_draws_are_these_for_ever():
    """What was drawn decides in which order a model was asked: a change here is a change of every study."""
    assert [int(x) for x in draw_bits("order", 2026, [0, 1, -1])] == [
        13016064184113330972,
        15813790548212802443,
        4899349873479604998,
    ]
    assert text_number("planted-tulu-2-7b") == 20992576521834086


def test_purpose_seed_coordinates_and_their_order_all_matter():
    reference = draw_bits("order", 1, MANY, 3)
    named = [("level", 1, MANY, 3), ("order", 2, MANY, 3), ("order", 1, MANY, 4), ("order", 1, 3, MANY)]
    named += [("order", 1, MANY), ("order", 1, MANY, 3, 0), ("order", 11, MANY, 3), ("order:1", 1, MANY, 3)]
    for other in named:
        assert (reference == draw_bits(*other)).mean() < 0.001
    values = [draw_bits("a", 0), *(draw_bits("a", 0, n) for n in (0, -1, 1)), draw_bits("a", 0, 0, 0)]
    assert len({int(value) for value in values}) == 5
    table = draw_bits("order", 1, np.arange(1_000)[:, None], np.arange(200)[None, :])
    assert len(np.unique(table)) == 200_000
    with pytest.raises(TypeError, match="whole numbers"):
        draw_bits("order", 1, 1.5)


@pytest.mark.parametrize("bits", [0, 2**64 - 1])
def test_uniform_is_strictly_between_0_and_1_even_for_the_extreme_bits(monkeypatch, bits):
    monkeypatch.setattr(draws, "draw_bits", lambda *_: np.array([bits], dtype=np.uint64))
    assert 0 < draw_uniform("x", 1)[0] < 1
    assert np.isfinite(draw_logistic("x", 1)[0])
    assert np.isfinite(draw_normal("x", 1)[0])


@pytest.mark.parametrize("seed", [0, 2026])
@pytest.mark.parametrize(
    ("draw", "distribution"),
    [(draw_uniform, stats.uniform), (draw_logistic, stats.logistic), (draw_normal, stats.norm)],
)
def test_distribution(draw, distribution, seed):
    sample = draw("check", seed, MANY)
    assert sample.mean() == pytest.approx(
        distribution.mean(), abs=5 * distribution.std() / np.sqrt(len(MANY))
    )
    assert sample.var() == pytest.approx(distribution.var(), rel=0.05)
    assert stats.kstest(sample, distribution.cdf).pvalue > 1e-4
