"""The sides of a gate: the answers of one model (or of people) in one arm, as arrays of flows, units and orders.

Two sides are put next to each other on the same flows, and where they share wordings on the same templates.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
import pandas as pd

from cinorms.core import tables
from cinorms.core.arrays import Bools, Floats, Ints
from cinorms.core.errors import REMEDY, ConfigError, DataError, listing
from cinorms.core.logs import MOST_SHOWN
from cinorms.core.tables import ANSWER_STATUSES, KNOWN_ACTS
from cinorms.norms.thresholds import Thresholds
from cinorms.prompts.variants import select_flows
from cinorms.stats import equivalence
from cinorms.stats.equivalence import Estimate
from cinorms.stats.flips import Change, NormRule
from cinorms.study.metadata import StudyMetadata
from cinorms.vignettes.factors import DatasetFactors, has_levels, other_flows
from rewordings.arrays import mean_over

#: Where studies put their results.
RESULTS = Path("results")
#: The sources of arms that ask every selected flow in every prompt; of the others only what was taken is known.
ASKS_EVERYTHING = ("model", "responses")
#: The status of a question without an answer: a technical error, or a row that is not there.
ERROR = ANSWER_STATUSES.index("error")


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
    asked, `ERROR` where there is no answer; ``order`` tells apart in which order options were shown, -1 where that is
    not known. ``units`` names the units: the text of a template, or a rater.
    """

    level: Floats
    status: Ints
    order: Ints
    units: tuple[str, ...]

    @property
    def missing(self) -> Bools:
        """The questions without an answer. A refusal is an answer."""
        return np.asarray(self.status == ERROR)

    @property
    def given(self) -> Bools:
        """The questions with an answer."""
        return (self.status >= 0) & ~self.missing

    def part(self, rows: Any = slice(None), units: Any = slice(None)) -> "Answers":
        """Return the answers to some of the flows, in some of the units."""
        names = np.array(self.units, dtype=object)[units]
        level, status, order = (x[rows][:, units] for x in (self.level, self.status, self.order))
        return Answers(level, status, order, tuple(names))


@dataclass(frozen=True)
class Side:
    """What a gate reads of one side. ``planted``: no model and no person gave its answers."""

    address: Address
    factors: DatasetFactors
    vignettes: pd.DataFrame
    answers: Answers
    levels: tuple[int, ...]
    options: tuple[str, ...]
    midpoint: float
    thresholds: Thresholds
    are_people: bool
    planted: bool

    @property
    def dataset(self) -> str:
        """The dataset of its flows."""
        return self.factors.dataset

    @property
    def unit(self) -> str:
        """What the units are called."""
        return "raters" if self.are_people else "wordings"

    @property
    def counts(self) -> Floats:
        """How often each level was answered: levels x flows x units."""
        each = [(self.answers.level == level).sum(axis=2) for level in self.levels]
        return np.stack(each).astype(np.float64)

    def rule(self, change: Change) -> NormRule:
        """When it holds a norm (the thresholds of its study, ties never), and when norms differ."""
        signs = tuple(int(np.sign(level - self.midpoint)) for level in self.levels)
        t_val, t_maj, _ = self.thresholds
        return NormRule(signs, change, t_maj, t_val / max(len(self.answers.units), 1))


def find(given: str, key: str, results: Path = RESULTS) -> Address:
    """Return the address that ``STUDY[/ARM[/MODEL]]`` names; STUDY is a name or the folder of its results.

    ARM and MODEL can be left out where there is only one. ``key`` is what messages call the address.
    """
    parts = Path(given).parts
    with suppress(OSError):  # a name that no folder can have
        for n in range(len(parts), 0, -1):
            for folder in (Path(*parts[:n]), results / Path(*parts[:n])):
                if (folder / "study.json").is_file():
                    arms = {name: arm.models for name, arm in StudyMetadata.read(folder).arms.items()}
                    return address_in(folder, parts[n:], arms, given, key)
    shown = given if len(given) <= MOST_SHOWN else f"{given[:MOST_SHOWN]}..."
    raise ConfigError(
        f"{key}: {shown!r}: there are no results of a study here (no study.json, looked in {shown} and "
        f"{results / shown}); run the study first, or give STUDY/ARM/MODEL"
    )


def read_side(address: Address) -> Side:
    """Read the answers at ``address``, and what they need: vignettes, prompts, and the study's settings.

    Raises ``DataError`` where they are not the answers of this model to what the arm asks.
    """
    folder, arm, model = address
    study = StudyMetadata.read(folder)
    stated = study.arms[arm]
    people = stated.source == "human"
    path = _file(folder, f"answers/{arm}/{model}.parquet")
    answers = tables.read(path, tables.ANSWERS)
    _check_origin(path, answers, study.name, arm, model)
    factors, flows = dataset_in(address)
    prompts = None if people else tables.read(_file(folder, f"prompts/{arm}.parquet"), tables.PROMPTS)
    every = stated.source in ASKS_EVERYTHING
    if every and prompts is not None:
        flows = select_flows(flows, stated.select)
        prompts = prompts[prompts["template_no"] < stated.templates.get(model, np.inf)]
    else:
        flows = flows[flows["flow"].isin(answers["flow"])]
    flows = flows.sort_values("flow", ignore_index=True)
    scale = stated.scale
    found = as_arrays(answers, flows["flow"], prompts, str(path), scale.levels, every)
    if stated.source == "model" and len(answers) < (asked := int((found.status >= 0).sum())):
        raise DataError(
            f"{path}: has {len(answers):,} answers to the {asked:,} questions that arm {arm!r} of study.json asks; "
            f"{REMEDY}"
        )
    return Side(
        address,
        factors,
        flows,
        found,
        scale.levels,
        scale.options,
        scale.middle,
        Thresholds(study.t_val.get(model, 0), study.t_maj, "strict"),
        people,
        model in study.planted or stated.simulated,
    )


def _check_origin(path: Path, answers: pd.DataFrame, study: str, arm: str, model: str) -> None:
    """Raise ``DataError`` unless a file of answers states that it is of this model, and has as many as were taken."""
    found, expected = tables.metadata(path, tables.ANSWERS), tables.origin(study, arm, model)
    stated = {name: found.get(name, "none") for name in expected}
    if stated != expected:
        shown = ["/".join(each.values()) for each in (stated, expected)]
        raise DataError(f"{path}: has the answers of {shown[0]}, expected {shown[1]}; {REMEDY}")
    if (taken := int(found.get("answers", len(answers)))) != len(answers):
        raise DataError(
            f"{path}: has {len(answers):,} answers, {taken:,} were taken from their source; {REMEDY}"
        )


def as_arrays(
    answers: pd.DataFrame,
    flows: Iterable[int],
    prompts: pd.DataFrame | None,
    name: str = "answers",
    levels: Sequence[int] = (),
    every: bool = False,
) -> Answers:
    """Return an answers table as arrays; without prompts, each variant is a unit of its own (a rater).

    ``every``: all flows were asked in all prompts, so that a row that is not there is a missing answer. Raises
    ``DataError`` that begins with ``name`` for answers to other questions, and for levels that are not of ``levels``.
    """
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
    numbers_of_flows = pd.Index(flows)
    for what, there, asked in (
        ("variant", variant, of_variant.index),
        ("flow", pd.Index(answers["flow"]), numbers_of_flows),
    ):
        if len(unknown := there[~there.isin(asked)]):
            raise DataError(f"{name}: {what} {min(unknown)} is not among those that the arm asks; {REMEDY}")
    place = of_variant.reindex(variant)
    columns = place["unit"].to_numpy(), place["order_no"].to_numpy()
    at = numbers_of_flows.get_indexer(pd.Index(answers["flow"])), *columns
    shape = (len(numbers_of_flows), len(units), int(of_variant["order_no"].max()) + 1)
    level, status, order = np.full(shape, np.nan), np.full(shape, -1), np.full(shape, -1)
    if answers.duplicated(["flow", "variant"]).any():
        raise DataError(f"{name}: has two answers to one question; {REMEDY}")
    ok = (answers["status"] == "ok").to_numpy()
    value = answers["level"].to_numpy(dtype=np.float64, na_value=np.nan)
    if (ok & ~np.isin(value, levels or value[~np.isnan(value)])).any():
        raise DataError(f"{name}: an answer with status ok has no level of the arm's scale; {REMEDY}")
    if every:
        status[:, of_variant["unit"], of_variant["order_no"]] = ERROR
    level[at] = np.where(ok, value, np.nan)
    status[at] = pd.Index(tables.ANSWER_STATUSES).get_indexer(pd.Index(answers["status"].astype(str)))
    order[at] = _order_numbers(answers["order"])
    used = np.asarray((status >= 0).any(axis=(0, 2)))
    return Answers(level, status, order, tuple(units)).part(units=used)


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


def dataset_in(address: Address) -> tuple[DatasetFactors, pd.DataFrame]:
    """Return the dataset that an arm asks about, and its flows."""
    study = StudyMetadata.read(address.folder)
    name = study.arms[address.arm].dataset
    flows = tables.read(_file(address.folder, f"vignettes/{name}.parquet"), tables.VIGNETTES)
    factors = tuple(str(column) for column in flows if column not in ("flow", "vignette", "expected"))
    return DatasetFactors(name, factors, flows_of=study.datasets[name].flows_of), flows


def _order_numbers(orders: pd.Series) -> Ints:
    """Return a number for each order of the options, the same for the same order; -1 where it is not known."""
    kinds = pd.Categorical(orders)
    numbers = [crc32(str(text).encode()) for text in kinds.categories]
    return np.append(np.array(numbers, dtype=np.intp), -1)[np.asarray(kinds.codes)]


def _file(folder: Path, name: str) -> Path:
    if not (folder / name).is_file():
        raise DataError(f"{folder / name}: there is no such file; run the study first (make run CONFIG=...)")
    return folder / name


# --- The two sides next to each other

#: Two sides that share fewer templates are compared as two samples of wordings of their own.
FEWEST_SHARED = equivalence.FEWEST


class Bounds(NamedTuple):
    """A difference as it is, and the least and the most that it can be whatever the missing answers are."""

    value: Estimate
    low: Estimate
    high: Estimate


@dataclass(frozen=True)
class Matched:
    """Base and new, with their answers to the flows that both were asked.

    ``same_units``: both were asked in the same templates, in the same places of the arrays. ``same_orders``: and each
    flow in the same answer orders. ``left_out`` counts what only one side has.
    """

    base: Side
    new: Side
    flows: pd.DataFrame
    same_units: bool
    same_orders: bool
    left_out: Mapping[str, int]

    def select(self, select: Mapping[str, Sequence[Any]] | None) -> Bools:
        """Tell which flows have one of the levels named."""
        return has_levels(self.flows, select or {})

    def bounds(
        self,
        cells: tuple[Floats, Floats],
        unknown: tuple[Bools, Bools],
        ends: tuple[float, float],
        fixed: bool,
    ) -> Bounds:
        """Return the `difference` of ``cells``, of base and new, and what it can be whatever the unknown cells hold.

        ``ends`` are the least and the most that a cell can hold.
        """
        value = self.difference(*cells, fixed)
        if not any(each.any() for each in unknown):
            return Bounds(value, value, value)
        (base, new), (base_unknown, new_unknown) = cells, unknown
        low, high = (
            self.difference(np.where(base_unknown, most, base), np.where(new_unknown, least, new), fixed)
            for least, most in (ends, ends[::-1])
        )
        return Bounds(value, low, high)

    def with_missing_flipped(self) -> tuple[Side, Side]:
        """Return both sides; what one did not answer is the end of the scale that is farther from the other's mean."""
        means = [mean_over(side.answers.level, axis=(1, 2))[:, None, None] for side in (self.base, self.new)]
        low, high = self.new.levels[0], self.new.levels[-1]
        filled = []
        for side, mean in zip((self.base, self.new), reversed(means), strict=True):
            far = np.where(mean > self.new.midpoint, low, high)
            level = np.where(side.answers.missing, far, side.answers.level)
            filled.append(replace(side, answers=replace(side.answers, level=level)))
        return filled[0], filled[1]

    def difference(self, base: Floats, new: Floats, fixed_flows: bool) -> Estimate:
        """Return the mean over flows of new less base, numbers of answers as arrays (`Answers`)."""
        if self.same_orders:
            return equivalence.paired(mean_over(new - base, axis=2), fixed_flows)
        means = mean_over(base, axis=2), mean_over(new, axis=2)
        if self.same_units:
            return equivalence.paired(means[1] - means[0], fixed_flows)
        return equivalence.independent(*means, fixed_flows)


def match(base: Side, new: Side) -> Matched:
    """Return the two sides on the flows that both have.

    Raises ``DataError`` where flows of the same number are not the same, or the scales differ.
    """
    if (base.levels, base.options) != (new.levels, new.options):
        raise DataError(
            f"gate: {base.address.name} and {new.address.name} answer on different scales ({', '.join(base.options)}; "
            f"{', '.join(new.options)});\na gate compares levels of one scale"
        )
    if why := other_flows(base.factors, new.factors, base.vignettes, new.vignettes):
        raise DataError(f"gate: {base.address.name} and {new.address.name}: {why}")
    both = base.vignettes[["flow", "vignette"]].merge(
        new.vignettes[["flow", "vignette"]], on="flow", suffixes=("_base", "_new")
    )
    differ = both[both["vignette_base"] != both["vignette_new"]]
    if base.dataset == new.dataset and len(differ):
        first = differ.iloc[0]
        raise DataError(
            f"gate: flow {first['flow']} is {first['vignette_base']!r} in {base.address.name}\n"
            f"and {first['vignette_new']!r} in {new.address.name}; run both with the same dataset {base.dataset!r}"
        )
    if both.empty:
        raise DataError(f"gate: {base.address.name} and {new.address.name} have no flow in common")
    rows = [side.vignettes["flow"].isin(both["flow"]).to_numpy() for side in (base, new)]
    of_base, of_new = base.answers.part(rows[0]), new.answers.part(rows[1])
    sides = zip(("base", "new"), rows, strict=True)
    left_out = {f"flows only in {name}": int((~each).sum()) for name, each in sides}
    shared = sorted(set(of_base.units) & set(of_new.units))
    distinct = all(len(set(each.units)) == len(each.units) for each in (of_base, of_new))
    same = len(shared) >= FEWEST_SHARED and distinct
    if same:
        for name, each in (("base", of_base), ("new", of_new)):
            left_out[f"wordings only in {name}"] = len(each.units) - len(shared)
        of_base, of_new = (a.part(units=list(map(a.units.index, shared))) for a in (of_base, of_new))
    return Matched(
        replace(base, answers=of_base),
        replace(new, answers=of_new),
        new.vignettes[rows[1]].reset_index(drop=True),
        same,
        same and _same_orders(of_base, of_new),
        {what: n for what, n in left_out.items() if n},
    )


def has_status(answers: Answers, statuses: Sequence[str]) -> Floats:
    """Return 1 where an answer has one of ``statuses``, 0 where not, NaN where there is no answer."""
    named = [at for at, name in enumerate(ANSWER_STATUSES) if name in statuses]
    return np.where(answers.given, np.isin(answers.status, named), np.nan)


def shares(side: Side) -> Floats:
    """Return 1 where an action shares a sensitive item, 0 where it does not, NaN where that is not known.

    Raises ``ConfigError`` where the side has no actions.
    """
    if side.options[-1] != "shared":
        raise ConfigError(
            f"gate: {side.address.name} has no actions (its arm has not 'task: act'); a claim of kind leaks needs them"
        )
    known = has_status(side.answers, KNOWN_ACTS)
    return np.where(known == 1, (side.answers.level == side.levels[-1]) * 1.0, np.nan)


def said_by(side: Side, arm: str) -> Side:
    """Return what the model of ``side`` says in another arm of its study."""
    folder, _, model = side.address
    arms = StudyMetadata.read(folder).arms
    if arm not in arms or model not in arms[arm].models:
        asked = [name for name, each in arms.items() if model in each.models]
        raise ConfigError(f"gate: said: {arm!r} is no arm with {model!r}; {listing(arm, asked)}")
    return read_side(Address(folder, arm, model))


def calls_wrong(said: Side, flows: pd.Series) -> tuple[Bools, Bools]:
    """Tell which flows a side calls unacceptable, and of which it is known whether it does."""
    means = pd.Series(mean_over(said.answers.level, axis=(1, 2)), said.vignettes["flow"]).reindex(flows)
    return np.asarray(means < said.midpoint), np.asarray(means.notna())


def _same_orders(base: Answers, new: Answers) -> bool:
    """Tell whether both were asked in the same answer orders (or in orders that are not known, as often)."""
    if base.order.shape != new.order.shape:
        return False
    both = base.given & new.given
    return bool((base.order[both] == new.order[both]).all())
