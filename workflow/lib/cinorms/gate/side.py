"""One side of a gate: the answers of one model (or of people) in one arm, as arrays of flows, units and orders."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pandas as pd

from cinorms.core import tables
from cinorms.core.errors import ConfigError, DataError, listing
from cinorms.core.logs import MOST_SHOWN
from cinorms.norms.thresholds import Thresholds
from cinorms.study.facts import StudyFacts
from cinorms.vignettes.factors import DatasetFactors

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]

#: Where studies put their results.
RESULTS = Path("results")
#: Columns of the vignettes that are not factors.
_NO_FACTORS = ("flow", "vignette", "expected")


class Address(NamedTuple):
    """The folder of a study's results, one of its arms, and a model (for people: the name of their ratings)."""

    folder: Path
    arm: str
    model: str

    @property
    def name(self) -> str:
        """The address as a gate names it."""
        return f"{self.folder.name}/{self.arm}/{self.model}"


@dataclass(frozen=True)
class Answers:
    """Answers as arrays, flows x units x orders. A unit is a template, or a rater.

    ``level`` is NaN without a level. ``status`` is the position in `tables.ANSWER_STATUSES`, -1 where nothing was
    asked; ``order`` tells apart in which order options were shown, -1 where that is not known. ``units`` names the
    units: the text of a template, or a rater.
    """

    level: Floats
    status: Ints
    order: Ints
    units: tuple[str, ...]


@dataclass(frozen=True)
class Side:
    """What a gate reads of one side."""

    address: Address
    told: DatasetFactors
    vignettes: pd.DataFrame
    answers: Answers
    levels: tuple[int, ...]
    options: tuple[str, ...]
    midpoint: float
    thresholds: Thresholds
    are_people: bool

    @property
    def dataset(self) -> str:
        """The dataset of its flows."""
        return self.told.dataset

    @property
    def unit(self) -> str:
        """What the units are called."""
        return "raters" if self.are_people else "templates"

    @property
    def factors(self) -> list[str]:
        """The factors of the flows."""
        return list(self.told.factors)


def find(given: str, key: str, results: Path = RESULTS) -> Address:
    """Return the address that ``STUDY[/ARM[/MODEL]]`` names; STUDY is a name or the folder of its results.

    ARM and MODEL can be left out where there is only one. ``key`` is what messages call the address.
    """
    parts = Path(given).parts
    with suppress(OSError):  # a name that no folder can have
        for n in range(len(parts), 0, -1):
            for folder in (Path(*parts[:n]), results / Path(*parts[:n])):
                if (folder / "study.json").is_file():
                    arms = {name: arm.models for name, arm in StudyFacts.read(folder).arms.items()}
                    return address_in(folder, parts[n:], arms, given, key)
    shown = given if len(given) <= MOST_SHOWN else f"{given[:MOST_SHOWN]}..."
    raise ConfigError(
        f"{key}: {shown!r}: there are no results of a study here (no study.json, looked in {shown} and "
        f"{results / shown}); run the study first, or give STUDY/ARM/MODEL"
    )


def read_side(address: Address) -> Side:
    """Read the answers at ``address``, and what they need: vignettes, prompts, and the study's settings."""
    folder, arm, model = address
    study = StudyFacts.read(folder)
    stated = study.arms[arm]
    people = stated.source == "human"
    told, flows = told_in(address)
    answers = tables.read(_file(folder, f"answers/{arm}/{model}.parquet"), tables.ANSWERS)
    flows = flows[flows["flow"].isin(answers["flow"])].sort_values("flow", ignore_index=True)
    scale = stated.scale
    prompts = folder / f"prompts/{arm}.parquet"
    return Side(
        address,
        told,
        flows,
        as_arrays(answers, flows["flow"], None if people else tables.read(prompts, tables.PROMPTS)),
        scale.levels,
        scale.options,
        scale.middle,
        Thresholds(study.t_val.get(model, 0), study.t_maj, "strict"),
        people,
    )


def as_arrays(answers: pd.DataFrame, flows: Iterable[int], prompts: pd.DataFrame | None) -> Answers:
    """Return an answers table as arrays; without prompts, each variant is a unit of its own (a rater)."""
    variant = pd.Index(answers["variant"].astype(str))
    if prompts is None:
        units = sorted(set(variant))
        of_variant = pd.DataFrame({"unit": range(len(units)), "order_no": 0}, index=pd.Index(units))
    else:
        numbers = np.sort(prompts["template_no"].unique())
        unit = np.searchsorted(numbers, prompts["template_no"].to_numpy())
        order = prompts["order_no"].to_numpy()
        of_variant = pd.DataFrame({"unit": unit, "order_no": order}, index=prompts["variant"].astype(str))
        texts = prompts.drop_duplicates("template_no").sort_values("template_no")["template"]
        units = [str(template) for template in texts]
    missing = sorted(set(variant) - set(of_variant.index))
    if missing:
        raise DataError(
            f"answers: variant {missing[0]} is not in the arm's prompts; delete both tables and rerun"
        )
    place = of_variant.reindex(variant)
    numbers_of_flows = pd.Index(flows)
    at = (
        numbers_of_flows.get_indexer(pd.Index(answers["flow"])),
        place["unit"].to_numpy(),
        place["order_no"].to_numpy(),
    )
    shape = (len(numbers_of_flows), len(units), int(of_variant["order_no"].max()) + 1)
    level, status, order = np.full(shape, np.nan), np.full(shape, -1), np.full(shape, -1)
    ok = (answers["status"] == "ok").to_numpy()
    value = answers["level"].to_numpy(dtype=np.float64, na_value=np.nan)
    level[at] = np.where(ok, value, np.nan)
    status[at] = pd.Index(tables.ANSWER_STATUSES).get_indexer(pd.Index(answers["status"].astype(str)))
    order[at] = _order_numbers(answers["order"])
    used = np.asarray((status >= 0).any(axis=(0, 2)))
    return Answers(
        level[:, used],
        status[:, used],
        order[:, used],
        tuple(np.array(units, dtype=object)[used]),
    )


def address_in(
    folder: Path, rest: Sequence[str], arms: Mapping[str, Sequence[str]], given: str, key: str
) -> Address:
    """Return the address that ``rest`` names in the study in ``folder``, whose ``arms`` have these models.

    Raises ``ConfigError`` that lists the arms or models where the name is not one of them, or could be several.
    """
    if len(rest) > 2:
        raise ConfigError(
            f"{key}: {given!r} names more than a study, an arm and a model; give STUDY/ARM/MODEL"
        )
    arm = rest[0] if rest else _only(arms, given, key, "arm")
    if arm not in arms:
        raise ConfigError(f"{key}: {given!r}: the study has no arm {arm!r}; {listing(arm, arms)}")
    models = arms[arm]
    model = rest[1] if len(rest) > 1 else _only(models, f"{folder.name}/{arm}", key, "model")
    if model not in models:
        raise ConfigError(f"{key}: {given!r}: arm {arm!r} has no model {model!r}; {listing(model, models)}")
    return Address(folder, arm, model)


def _only(names: Iterable[str], given: str, key: str, what: str) -> str:
    found = list(names)
    if len(found) != 1:
        raise ConfigError(
            f"{key}: {given!r} has {len(found)} {what}s; name one: {', '.join(f'{given}/{name}' for name in found)}"
        )
    return found[0]


def told_in(address: Address) -> tuple[DatasetFactors, pd.DataFrame]:
    """Return the dataset that an arm asks about, and its flows."""
    study = StudyFacts.read(address.folder)
    name = study.arms[address.arm].dataset
    flows = tables.read(_file(address.folder, f"vignettes/{name}.parquet"), tables.VIGNETTES)
    return DatasetFactors(name, factors_in(flows), flows_of=study.datasets[name].flows_of), flows


def factors_in(vignettes: pd.DataFrame) -> tuple[str, ...]:
    """Return the factors of the flows."""
    return tuple(str(name) for name in vignettes if name not in _NO_FACTORS)


def _order_numbers(orders: pd.Series[Any]) -> Ints:
    """Return a number for each order of the options, the same for the same order; -1 where it is not known."""
    kinds = pd.Categorical(orders)
    numbers = [crc32(str(text).encode()) for text in kinds.categories]
    return np.append(np.array(numbers, dtype=np.intp), -1)[np.asarray(kinds.codes)]


def _file(folder: Path, name: str) -> Path:
    if not (folder / name).is_file():
        raise DataError(f"{folder / name}: there is no such file; run the study first (make run CONFIG=...)")
    return folder / name
