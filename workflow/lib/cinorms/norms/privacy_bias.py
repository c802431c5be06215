"""Privacy bias: what a model holds, as a tensor over the CI factors, sliced by name (PETS section 3.1)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from cinorms.core import errors, tables, validation
from cinorms.core.errors import ConfigError, DataError
from cinorms.core.scales import Scale
from cinorms.norms import assessment
from cinorms.norms.thresholds import Thresholds

Floats = npt.NDArray[np.float64]
Texts = npt.NDArray[np.object_]
Levels = str | Sequence[str] | None

#: What a cell of the tensor can be: held (``kept``), asked without a norm, a flow that was not asked, or
#: levels that no flow of the dataset combines (linked factors, datasets that are no full product).
STATUSES = (*tables.NORM_STATUSES, "not_asked", "no_flow")

#: Most cells of an array; the largest dataset here has 11,520.
MAX_CELLS = 10**7


@dataclass(frozen=True)
class Norm:
    """What a model holds for one flow: a value, or a status with the reason for having none."""

    value: float | None
    status: str
    flow: int | None


@dataclass(frozen=True, eq=False)
class PrivacyBias:
    """One axis per factor, one cell per combination of their levels.

    ``factors`` holds the levels of each axis, ``fixed`` the levels at which other factors were fixed, and
    ``flows`` one row per flow: flow, the factors, value (missing where there is none) and status.
    """

    factors: dict[str, tuple[str, ...]]
    fixed: dict[str, str]
    flows: pd.DataFrame

    @classmethod
    def from_norms(
        cls, norms: pd.DataFrame, vignettes: pd.DataFrame, factors: Sequence[str], thresholds: Thresholds
    ) -> PrivacyBias:
        """Return the norms (`tables.NORMS`) that hold under ``thresholds``, as levels.

        Raises as `norm_values` and `from_values`.
        """
        return cls.from_values(norm_values(norms, thresholds), vignettes, factors)

    @classmethod
    def from_values(
        cls, values: pd.DataFrame, vignettes: pd.DataFrame, factors: Sequence[str]
    ) -> PrivacyBias:
        """Return ``values`` (flow, value, status) over ``factors``.

        ``vignettes`` (`tables.VIGNETTES`) lists the flows and gives the order of the levels; a flow
        without a row in ``values`` is ``not_asked``.

        Raises `ConfigError` for no or an unknown factor, `DataError` for a flow that is not in ``vignettes``.
        """
        known = [str(name) for name in vignettes if name not in tables.VIGNETTES.columns]
        for name in factors:
            if name not in known:
                raise validation.unknown("privacy bias", "factors", name, known, "factor")
        if not factors:
            raise ConfigError(f"privacy bias: factors: none were given; {errors.listing('', known)}")
        unknown = ~values["flow"].isin(vignettes["flow"])
        if unknown.any():
            raise DataError(
                f"flow {values.loc[unknown, 'flow'].iloc[0]} is not in the vignettes; delete both tables and rerun"
            )
        columns = {
            name: vignettes[name].astype("category").cat.remove_unused_categories()
            for name in dict.fromkeys(factors)
        }
        flows = pd.DataFrame({"flow": vignettes["flow"], **columns}).reset_index(drop=True)
        found = values.set_index("flow").reindex(flows["flow"])
        flows["value"] = found["value"].astype("Float64").array
        status = found["status"].astype(object).fillna("not_asked")
        flows["status"] = pd.Categorical(status, categories=pd.Index(STATUSES))
        levels = {name: tuple(map(str, column.cat.categories)) for name, column in columns.items()}
        return cls(levels, {}, flows)

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of levels of each factor that is not fixed."""
        return tuple(len(levels) for levels in self.factors.values())

    def __getitem__(self, levels: Mapping[str, Levels]) -> PrivacyBias | Norm:
        """Return a slice: ``bias[{"sender": "a door lock", "recipient": None}]``.

        A level fixes its factor, which drops; a list of levels restricts it to these, in the order given;
        ``None``, or not naming the factor, leaves it. With every factor fixed it is the `Norm` of one flow.

        Raises `ConfigError` for a factor or level that is not there, `DataError` where all factors are fixed
        and several flows have these levels.
        """
        part = self
        for factor, wanted in levels.items():
            if factor not in self.factors:
                fixed = "; fixed: " + ", ".join(self.fixed) if self.fixed else ""
                raise validation.unknown("privacy bias", "slice", factor, self.factors, "factor", fixed)
            if wanted is not None:
                part = part._at(factor, wanted)
        return part if part.factors else part._norm()

    def slice(self, /, **levels: Levels) -> PrivacyBias | Norm:
        """Return a slice as ``bias[{...}]`` does: ``bias.slice(sender="a door lock", recipient=None)``."""
        return self[levels]

    def to_array(self) -> tuple[Floats, Texts]:
        """Return the values and, in an array of the same shape, their statuses (`STATUSES`).

        The axes are ``factors`` in their order. A value is NaN wherever its status is not ``kept``.

        Raises `DataError` where two flows have the same levels, or with more than `MAX_CELLS` cells.
        """
        if math.prod(self.shape) > MAX_CELLS:
            raise DataError(
                f"privacy bias: {' x '.join(map(str, self.shape))} cells are too many for an array (at most "
                f"{MAX_CELLS}); take a slice, or the flows with to_frame()"
            )
        self._refuse_twins()
        cell = tuple(self.flows[name].cat.codes.to_numpy(dtype=np.intp) for name in self.factors)
        values, statuses = np.full(self.shape, np.nan), np.full(self.shape, "no_flow", dtype=object)
        values[cell] = self.flows["value"].to_numpy(dtype=np.float64, na_value=np.nan)
        statuses[cell] = self.flows["status"].astype(object).to_numpy()
        return values, statuses

    def to_frame(self) -> pd.DataFrame:
        """Return one row per flow that exists: flow, the factors not fixed, value (Float64), status."""
        return self.flows.copy()

    def _at(self, factor: str, wanted: str | Sequence[str]) -> PrivacyBias:
        levels = (wanted,) if isinstance(wanted, str) else tuple(dict.fromkeys(wanted))
        for level in levels:
            if level not in self.factors[factor]:
                raise validation.unknown("privacy bias", factor, level, self.factors[factor], "level")
        if not levels:
            raise ConfigError(f"privacy bias: {factor}: the list is empty; name a level, or None for all")
        flows = self.flows[self.flows[factor].isin(levels)].reset_index(drop=True)
        factors, fixed = dict(self.factors), dict(self.fixed)
        if isinstance(wanted, str):
            del factors[factor]
            fixed[factor] = wanted
            flows = flows.drop(columns=factor)
        else:
            factors[factor] = levels
            flows[factor] = flows[factor].cat.set_categories(list(levels))
        return PrivacyBias(factors, fixed, flows)

    def _norm(self) -> Norm:
        if self.flows.empty:
            return Norm(None, "no_flow", None)
        self._refuse_twins()
        row = self.flows.iloc[0]
        return Norm(None if pd.isna(row["value"]) else float(row["value"]), row["status"], int(row["flow"]))

    def _refuse_twins(self) -> None:
        names = list(self.factors)
        twin = self.flows.duplicated(names) if names else pd.Series(np.arange(len(self.flows)) > 0)
        if not twin.any():
            return
        second = self.flows[twin].iloc[0]
        same = (self.flows[names] == second[names]).all(axis=1)
        first = self.flows.loc[same, "flow"].iloc[0]
        levels = {**self.fixed, **{name: second[name] for name in names}}
        raise DataError(
            f"privacy bias: flows {first} and {second['flow']} have the same levels {levels}; "
            "name all factors of the dataset"
        )


def norm_values(norms: pd.DataFrame, thresholds: Thresholds) -> pd.DataFrame:
    """Return flow, value (a level, missing unless ``kept``) and status under ``thresholds``.

    Raises as `assessment.status`.
    """
    status = assessment.status(norms, thresholds)
    value = norms["value"].astype("Float64").where(status == "kept")
    return pd.DataFrame({"flow": norms["flow"], "value": value, "status": status.astype(object)})


def mean_values(norms: pd.DataFrame, t_val: int = 0) -> pd.DataFrame:
    """Return flow, value and status with the mean level over the valid answers of all variants as the value.

    As in PETS section 5.3: no majority is asked for. A flow with fewer valid answers than ``t_val``, or none,
    is ``below_t_val`` and has no value.
    """
    fewest = assessment.fewest_of(norms, t_val)
    enough = (norms["n_valid"] >= fewest) & (norms["n_valid"] > 0)
    value = norms["mean"].astype("Float64").where(enough)
    return pd.DataFrame(
        {"flow": norms["flow"], "value": value, "status": np.where(enough, "kept", "below_t_val")}
    )


def mean_over_variants(answers: pd.DataFrame, scale: Scale, t_val: int = 0) -> pd.DataFrame:
    """Return `mean_values` of the answers (`tables.ANSWERS`) of one model and arm, on its ``scale``."""
    return mean_values(assessment.assess(answers, "strict", scale), t_val)
