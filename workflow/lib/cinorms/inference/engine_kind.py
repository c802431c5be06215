"""Kinds of engines: each module or folder of ``cinorms.inference.engines`` declares one, as ``ENGINE``.

A folder declares it in its module ``engine``. Nothing else knows anything about an engine: rules, plan, specs and
tables are derived from its declaration. A declaration imports neither the engine's packages nor its settings
before they are needed, because every job imports the declaration of its engine in an environment with little else.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cinorms.core.errors import ConfigError
from cinorms.core.project_files import ProjectFiles
from cinorms.inference.cost import Cost, Work, cost_by_rates
from cinorms.inference.engine import Engine
from cinorms.inference.preflight import ModelCheck
from cinorms.inference.spec import Asked, Spec

if TYPE_CHECKING:
    from cinorms.inference.settings import EntrySettings


#: The package whose modules and folders are engines.
ENGINES = "cinorms.inference.engines"


@dataclass(frozen=True)
class RegistryPlace:
    """Where an entry is: the file that messages name, the model's name, and the project's files."""

    file: str
    model: str
    files: ProjectFiles


@dataclass(frozen=True)
class Job:
    """What a job receives besides its spec: the study's settings on how to ask, and where its files are."""

    mode: str | None
    max_cost_usd: float | None
    #: Where the study's jobs count what they spend, and the name under which this one does.
    spending: str
    name: str


@dataclass(frozen=True)
class Needs:
    """The resources that a job requests; ``attempt`` is 1, then 2 and 3 on retries. ``more`` are other resources."""

    memory_mb: Callable[[Any, int], int]
    minutes: Callable[[Any, int], int]
    #: Most cores that a job uses; Snakemake may give it fewer.
    threads: int = 1
    #: Those of the minutes that starting takes, however much is asked.
    start_minutes: int = 0
    #: GPUs of a job; None where it needs none.
    gpus: Callable[[Any], int] | None = None
    more: Mapping[str, int] = field(default_factory=dict)
    #: Tokens that a job writes in a minute; None where it has time for every trace without it.
    tokens_per_minute: Callable[[Any], float] | None = None


def always(amount: int) -> Callable[[Any, int], int]:
    """Return a need that no setting and no retry changes."""
    return lambda settings, attempt: amount


def stated(*names: str) -> Callable[[Mapping[str, Any], RegistryPlace], dict[str, Any]]:
    """Return an ``identity`` with those of the settings ``names`` that an entry has."""
    return lambda entry, place: {name: entry[name] for name in names if entry.get(name)}


def _common_settings() -> type[EntrySettings]:
    from cinorms.inference.settings import EntrySettings

    return EntrySettings


@dataclass(frozen=True)
class EngineKind:
    """One way to reach models. Functions of settings get an instance of the class that ``settings`` returns."""

    name: str
    #: Makes the engine that asks: from the spec, the tuning, the endpoint's key, and the journal's folder for
    #: an engine that has more to remember than replies. Imports heavy packages.
    make: Callable[[Spec, Mapping[str, Any], str | None, Path | None], Engine]
    needs: Needs
    #: Class of the settings that an entry of the registry can have.
    settings: Callable[[], type[EntrySettings]] = _common_settings
    #: The part of an entry that can change a response, as keys of the spec; it may override keys of all specs. Refuses
    #: mistakes that a schema cannot see.
    identity: Callable[[Mapping[str, Any], RegistryPlace], dict[str, Any]] = field(default_factory=stated)
    #: Keys of a spec that say how a model reasons, from its settings and what an arm asks for; None where the entry
    #: does not say how the model is told. No function: its models cannot be told.
    reasoning: Callable[[Any, Asked], dict[str, Any] | None] | None = None
    #: Keys of all specs that its models do not see, and that change no reply of theirs.
    unseen: frozenset[str] = frozenset()
    #: Whether prompts are wrapped for the model, as the arm or its entry (``wrap``) states.
    wraps: bool = False
    #: Whether replies are kept in a journal: not where asking again is cheaper than reading.
    journalled: bool = True
    #: What a job loads before it asks, from its spec and tuning: jobs for which it is equal can share one start. None
    #: where a start takes no time.
    loads: Callable[[Spec, Mapping[str, Any]], Any] | None = None
    #: How a model is reached and paid; changes no response. Only for engines that are journalled.
    tuning: Callable[[Any, Job], dict[str, Any]] = lambda settings, job: {}
    #: Checks before its models are asked.
    checks: Callable[[], tuple[ModelCheck, ...]] = tuple
    #: Name of its file in ``envs/``, and of a virtual environment that is used without conda.
    environment: str = "core"
    virtual_environment: str | None = None
    #: Packages whose versions a run record states, where they are installed.
    packages: tuple[str, ...] = ()
    #: Settings of its own that a reader of the report may know.
    public: tuple[str, ...] = ()
    #: Settings of its own that a model receives as a paraphraser.
    paraphrases_with: tuple[str, ...] = ()
    #: Whether a checkpoint is fetched before a job starts.
    checkpoint: bool = False
    #: Whether respondents with known norms answer, and no model.
    planted: bool = False
    #: Whether people answer, who have done so: nothing is asked.
    people: bool = False
    cost: Callable[[Work], Cost] = cost_by_rates
    #: Where a model comes from, for a printed table; receives the entry as it is stated.
    origin: Callable[[Mapping[str, Any]], str] = lambda entry: str(entry.get("source", entry["engine"]))


@cache
def engine_modules() -> dict[str, str]:
    """Return the module in which each engine is declared: in ``ENGINES``, or in a folder there."""
    found = pkgutil.iter_modules(import_module(ENGINES).__path__)
    return {each.name: f"{ENGINES}.{each.name}" + (".engine" if each.ispkg else "") for each in found}


@cache
def engine_kind(name: str) -> EngineKind:
    """Return the engine ``name``; raise ``KeyError`` where there is none."""
    module = engine_modules()[name]
    found = import_module(module).ENGINE
    if not isinstance(found, EngineKind) or found.name != name:
        raise TypeError(f"{module}: ENGINE must be an EngineKind with the name {name!r}")
    return found


def engine_kinds() -> tuple[EngineKind, ...]:
    """Return all engines."""
    return tuple(map(engine_kind, sorted(engine_modules())))


def make_engine(spec: Spec, tuning: Mapping[str, Any], key: str | None, folder: Path | None) -> Engine:
    """Return what asks the model of ``spec``; see ``EngineKind.make``."""
    if spec.engine not in engine_modules():
        raise ConfigError(
            f"model {spec.model!r}: this version cannot ask the engine '{spec.engine}' yet; "
            "use --config engine=planted to let planted respondents answer in its place"
        )
    return engine_kind(spec.engine).make(spec, tuning, key, folder)
