"""Answers written down by hand, matrices of answers, and tables that must stay as they are, for tests."""

from io import StringIO

import numpy as np
import pandas as pd

from cinorms.norms import assessment

from ...scales import ACCEPTABILITY


def answers_of(flows, orders=None, variants=None):
    """Return answers from a list of lists of levels: None for an invalid answer, a text for another status."""
    rows = [
        {
            "flow": flow,
            "variant": variants[v] if variants else f"{v}_0",
            "order": None if orders is None else orders[flow][v],
            "level": None if isinstance(x, str) else x,
            "status": "invalid" if x is None else x if isinstance(x, str) else "ok",
        }
        for flow, levels in enumerate(flows)
        for v, x in enumerate(levels)
    ]
    return pd.DataFrame(rows).astype({"level": "Int8"})


def norms_of(flows, consensus="strict", variants=None):
    return assessment.assess(answers_of(flows, variants=variants), consensus, ACCEPTABILITY)


def matrix(x):
    """Return (levels, templates) of an array flows x templates x orders."""
    names = [f"{t}_{o}" for t, o in np.ndindex(x.shape[1:])]
    levels = pd.DataFrame(x.reshape(len(x), len(names)), columns=names, dtype=float)
    return levels, pd.Series([t for t, _ in np.ndindex(x.shape[1:])], index=names)


def level(flow, model):
    """Return the same planted levels as hypotheses_reference.R."""
    u = (flow * 7919 + model * 104729 + flow * model * 31) % 1009 / 1009
    v = (flow * 613) % 257 / 257
    return np.clip(np.floor(5 * (0.6 * v + 0.4 * u) + 0.35 * model) - 3, -2, 2)


def crossed(rng, flows, templates, orders=3, flow=1.0, template=0.3, both=0.3, noise=0.7):
    """Return answers with effects of the flow, the template, the two together and the single answer (sd)."""
    return (
        rng.normal(0, flow, (flows, 1, 1))
        + rng.normal(0, template, (1, templates, 1))
        + rng.normal(0, both, (flows, templates, 1))
        + rng.normal(0, noise, (flows, templates, orders))
    )


def planted(rng, n_flows, n_templates, n_orders, *variances):
    """Return `crossed` with these variances of flow, template, the two together and the single answer."""
    return crossed(rng, n_flows, n_templates, n_orders, *np.sqrt(variances))


def assert_same(table, text):
    """Compare the columns that the text has: numbers to about five digits, `-` where there is none.

    The numbers are the library's own, after the simulations beside them held: a study gives the same in each version.
    """
    lines = StringIO("\n".join(line.strip() for line in text.strip().splitlines()))
    expected = pd.read_csv(lines, sep=" {2,}", engine="python", na_values="-", keep_default_na=False)
    found = pd.DataFrame(table).reset_index(drop=True)[list(expected)]
    pd.testing.assert_frame_equal(found, expected, rtol=5e-5, atol=1e-9, check_dtype=False)
