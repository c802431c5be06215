"""Cumulative link models (ordinal regression) and cumulative link mixed models for pandas.

`clm` fits an ordered outcome to factors, `clmm` adds random intercepts; both return a `ClmResult`. What is needed
beside models: `tails` (p-values below the float range), `group_rows` and `two_way_variance`. README.md has the
mathematics, and a comparison with R's ``ordinal``. Nothing else of this package is public.
"""

from typing import TYPE_CHECKING, Any

from cumulink import tails
from cumulink.arrays import group_rows, two_way_variance
from cumulink.errors import CumulinkError, DataError, ModelError

if TYPE_CHECKING:
    from cumulink.mixed import clmm
    from cumulink.model import clm
    from cumulink.results import ClmResult

__all__ = [
    "ClmResult",
    "CumulinkError",
    "DataError",
    "ModelError",
    "clm",
    "clmm",
    "group_rows",
    "tails",
    "two_way_variance",
]


def __getattr__(name: str) -> Any:
    """Import the models when one is first used: they load SciPy and pandas, and programs may not need them."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from cumulink.mixed import clmm
    from cumulink.model import clm
    from cumulink.results import ClmResult

    return {"ClmResult": ClmResult, "clm": clm, "clmm": clmm}[name]
