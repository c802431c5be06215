"""Generalisability: R's variances of published answers, the classical formulas on balanced data, other designs."""

import numpy as np
import pandas as pd
import pytest

from cinorms.norms.assessment import level_matrix
from cinorms.norms.thresholds import Thresholds
from cinorms.prompts.variants import list_variants
from cinorms.stats.generalizability import DesignSize, coefficients, of_norms
from cinorms.stats.reliability import Cells, variances
from cinorms.stats.wordings import level_counts, template_numbers

from ...scales import ACCEPTABILITY
from .made import assert_same, crossed, matrix

#: Of flow, template, both, answer by R's lme4 (tests/reference/generalizability_reference.R), which stops within 1e-6.
LME4 = {
    "gpt-4o-mini-8B": (1.630817236, 0.001905660, 0.035563489, 0.158888878),
    "tulu-2-dpo-13b": (1.869789847, 0.012491784, 0.050607101, 0.246677280),
    "tulu-2-7b": (0.407761886, 0.085958284, 0.086792906, 1.123888942),
}


@pytest.mark.parametrize("model", LME4)
def test_variances_of_published_answers_are_those_of_lme4(published, model):
    templates = template_numbers(list_variants("gpt", [""] * 11, 11, 3))
    levels = level_matrix(published(model)).dropna().sort_index().iloc[:600]
    found = [variance for variance, _ in variances(Cells.of(levels, templates)).values()]
    assert found == pytest.approx(LME4[model], abs=1e-6)


def made(seed: int = 1, flows: int = 40, templates: int = 6) -> tuple[pd.DataFrame, pd.Series]:
    return matrix(crossed(np.random.default_rng(seed), flows, templates, 2, 1.0, 0.5, 0.4, 0.6))


def by_hand(levels: pd.DataFrame, templates: pd.Series) -> tuple[float, float, float]:
    """Return the mean squares of flows, templates and what is left, on the means of the cells."""
    x = levels.T.groupby(templates.reindex(levels.columns).to_numpy()).mean().T.to_numpy()
    f, t = x.mean(axis=1), x.mean(axis=0)
    left = x - f[:, None] - t + x.mean()
    return (
        x.shape[1] * f.var(ddof=1),
        x.shape[0] * t.var(ddof=1),
        float((left**2).sum()) / ((len(f) - 1) * (len(t) - 1)),
    )


def test_g_and_phi_of_a_balanced_study_are_the_classical_ones():
    levels, templates = made()
    flow, template, left = by_hand(levels, templates)
    (found,) = coefficients(levels, templates, [DesignSize(6, 2)])
    assert found.status == "ok"
    assert found.g == pytest.approx(1 - left / flow)
    own = (template - left) / 40 / 6
    assert found.phi == pytest.approx((flow - left) / 6 / ((flow - left) / 6 + left / 6 + own))
    assert found.g_low < found.g < found.g_high <= 1
    assert found.phi_low < found.phi < found.phi_high <= found.g_high
    of_flow, of_template, both, answer = (v for v, _ in variances(Cells.of(levels, templates)).values())
    for design in (DesignSize(3, 1), DesignSize(6, 1), DesignSize(12, 4)):
        error = (both + answer / design.orders) / design.templates
        (found,) = coefficients(levels, templates, [design])
        assert found.g == pytest.approx(of_flow / (of_flow + error))
        assert found.phi == pytest.approx(of_flow / (of_flow + error + of_template / design.templates))


def test_a_study_with_missing_answers():
    rng = np.random.default_rng(4)
    small, large, levels = made(), made(2, 18, 17), matrix(crossed(rng, 20, 9, 3, 1.2, 1.0, 0.4, 0.8))
    small, large, levels = ((x.mask(rng.random(x.shape) < 0.2), t) for x, t in (small, large, levels))
    counts = level_counts(levels[0].round().clip(-2, 2), levels[1], ACCEPTABILITY)
    norms = [of_norms(counts, Thresholds(18, 0.5, "strict"), n) for n in (1, 2, 4)]
    designs = [DesignSize(6, 2), DesignSize(3, 1)]
    assert_same(
        [*coefficients(*small, designs), *coefficients(*large, designs[:1]), *(found for found, _ in norms)],
        """
        status       g          g_low     g_high    phi        phi_low   phi_high
        ok           0.942044   0.891618  0.969803  0.927403   0.686635  0.956747
        ok           0.842158   0.734304  0.911507  0.81904    0.503108  0.887388
        ok           0.93986    0.804287  0.983452  0.899711   0.747451  0.946479
        negative     -          -         -         -          -         -
        no_interval  0.0275457  -         -         0.0272259  -         -
        no_interval  0.4327     -         -         0.427799   -         -
        """,
    )
    assert [share for _, share in norms] == pytest.approx([0.655556, 0.681875, 0.51125])


def test_what_the_study_cannot_show_has_a_status():
    levels, templates = made()
    first = [f"{t}_0" for t in range(6)]
    orders = coefficients(levels[first], templates, [DesignSize(6, 1), DesignSize(6, 2)])
    assert [one.status for one in orders] == ["ok", "one_order"]
    assert coefficients(levels.iloc[:1], templates, [DesignSize(6, 2)])[0].status == "no_flows"
    assert coefficients(levels * 0, templates, [DesignSize(6, 2)])[0].status == "no_variance"
    assert coefficients(levels.iloc[:, :2], templates, [DesignSize(6, 2)])[0].status == "one_template"
    found = [coefficients(*made(templates=n), [DesignSize(n, 2)])[0] for n in (4, 5)]
    assert [one.status for one in found] == ["no_interval", "ok"]
    assert np.isnan(found[0].g_low)
    alike = levels - levels.mean(axis=1).to_numpy()[:, None]
    assert coefficients(alike, templates, [DesignSize(6, 2)])[0].status == "negative"


def test_whether_flows_hold_norms_is_compared_between_parts_of_the_templates():
    """Half of the flows have one answer in every template, and half of them a different one in each."""
    counts = np.zeros((4, 20, 4))
    counts[0, :10] = 1
    for template in range(4):
        counts[template, 10:, template] = 1
    rule = Thresholds(4, 0.67, "strict")
    found, share = of_norms(counts, rule, 2)
    assert (found.g, found.phi, found.status, share) == (1, 1, "no_interval", 0.5)
    assert of_norms(counts, rule, 3)[0].status == "few_templates"
    assert of_norms(counts, rule, 1)[1] == 1.0  # one answer always agrees with itself
