"""Generalisability: R's variances of published answers, the classical formula on balanced data, other designs."""

import numpy as np
import pandas as pd
import pytest

from cinorms.norms.assessment import level_matrix
from cinorms.prompts.variants import list_variants
from cinorms.stats.components import Cells, variances
from cinorms.stats.generalizability import DesignSize, phi
from cinorms.stats.wordings import template_numbers

from .made import crossed, matrix

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


def test_phi_of_a_balanced_study_is_the_classical_one_and_follows_the_design():
    levels, templates = made()
    flow, template, left = by_hand(levels, templates)
    own = (template - left) / 40 / 6
    found = phi(levels, templates, DesignSize(6, 2))
    assert found == pytest.approx((flow - left) / 6 / ((flow - left) / 6 + left / 6 + own))
    of_flow, of_template, both, answer = (v for v, _ in variances(Cells.of(levels, templates)).values())
    for design in (DesignSize(3, 1), DesignSize(6, 1), DesignSize(12, 4)):
        error = (both + answer / design.orders + of_template) / design.templates
        assert phi(levels, templates, design) == pytest.approx(of_flow / (of_flow + error))


def test_phi_of_a_study_with_missing_answers_stays_as_it_is():
    rng = np.random.default_rng(4)
    small, large = ((x.mask(rng.random(x.shape) < 0.2), t) for x, t in (made(), made(2, 18, 17)))
    found = [phi(*small, DesignSize(6, 2)), phi(*small, DesignSize(3, 1)), phi(*large, DesignSize(6, 2))]
    assert found == pytest.approx([0.928924, 0.819723, 0.906249], abs=1e-6)


@pytest.mark.parametrize(
    ("shown", "design"),
    [
        (lambda x: x[[f"{t}_0" for t in range(6)]], (6, 2)),  # one order
        (lambda x: x.iloc[:1], (6, 2)),  # one flow
        (lambda x: x.iloc[:, :2], (6, 2)),  # one template
        (lambda x: x * 0, (6, 2)),  # no variance
        (lambda x: x - x.mean(axis=1).to_numpy()[:, None], (6, 2)),  # flows alike
    ],
)
def test_what_a_study_cannot_show_is_missing(shown, design):
    levels, templates = made()
    assert np.isnan(phi(shown(levels), templates, DesignSize(*design)))
    assert phi(levels[[f"{t}_0" for t in range(6)]], templates, DesignSize(6, 1)) > 0
