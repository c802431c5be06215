"""Simulated people and models: ratings with effects of the flow, the rater and both; some raters rate a flow."""

import numpy as np

from cinorms.stats.samples import Sample

POINTS = np.array([-100.0, -50.0, 0.0, 50.0, 100.0])


def to_options(x):
    """Return the option of five, 50 points apart, that is nearest."""
    return POINTS[np.clip(np.rint(x / 50), -2, 2).astype(int) + 2]


def who_rates(rng, flows, raters, per_flow, uneven=0.6):
    """Return flows x raters: which raters rate a flow. Some rate more flows than others."""
    busy = rng.lognormal(0, uneven, raters)
    chosen = [rng.choice(raters, per_flow, replace=False, p=busy / busy.sum()) for _ in range(flows)]
    there = np.zeros((flows, raters), dtype=bool)
    np.put_along_axis(there, np.array(chosen), True, axis=1)
    return there


def rated(rng, flow, raters, per_flow, rater=25.0, slope=0.2, rest=45.0, options=False):
    """Return ratings of flows with the given means: raters differ in strictness and in their use of the scale."""
    x = flow[:, None] * (1 + rng.normal(0, slope, raters)) + rng.normal(0, rater, raters)
    x = x + rng.normal(0, rest, (len(flow), raters))
    x = to_options(x) if options else x
    return Sample(np.where(who_rates(rng, len(flow), raters, per_flow), x, np.nan))


def answered(rng, flow, templates, template=10.0, both=15.0, missing=0.1):
    """Return a model's answers: templates shift all flows, and single ones; some are missing."""
    x = flow[:, None] + rng.normal(0, template, templates) + rng.normal(0, both, (len(flow), templates))
    return Sample(np.where(rng.random(x.shape) < missing, np.nan, x))
