"""Cumulative link models (ordinal regression) on dummy-coded factors: a library that can be used alone.

``fit_clm`` fits answers on ordered levels to factors; ``fit_clmm`` adds a random intercept for groups of answers.
The page ``docs/method/stats/clm.md`` has an example, the mathematics and the comparison with R's ``ordinal``.
Other packages import from here, not from the modules inside. Importing it loads NumPy, pandas and SciPy only.
"""

from cinorms.stats.clm.coding import code_factors
from cinorms.stats.clm.fit import (
    COEFFICIENT_COLUMNS,
    ESTIMATORS,
    FIT_STATUSES,
    TERM_STATUSES,
    ClmFit,
    ClmmFit,
    fit_clm,
)
from cinorms.stats.clm.likelihood import LINKS
from cinorms.stats.clm.mixed import fit_clmm

__all__ = [
    "COEFFICIENT_COLUMNS",
    "ESTIMATORS",
    "FIT_STATUSES",
    "LINKS",
    "TERM_STATUSES",
    "ClmFit",
    "ClmmFit",
    "code_factors",
    "fit_clm",
    "fit_clmm",
]
