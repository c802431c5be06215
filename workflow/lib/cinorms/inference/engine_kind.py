"""Engines: what asks a model, and how each kind of engine is declared.

An engine receives the questions of an arm, and which of them to ask. It hands over the replies one by one, in any
order, as they arrive: what was handed over is in the store and is never asked again.

Each module or folder of ``cinorms.inference.engines`` declares one kind as ``ENGINE``, a folder in its module
``engine``. Nothing else knows anything about an engine: rules, plan, requests and tables are derived from its
declaration. A declaration does not import the engine's packages before they are needed: checks and plan read it where
these are not installed. Who answers without an engine is declared in ``respondent_kinds``.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

from cinorms.core.declared import declared, modules_in
from cinorms.core.root import Root
from cinorms.inference.questions import Questions, Rows
from cinorms.inference.request import ReasoningLevel, Request
from cinorms.inference.settings import EntrySettings

#: The package whose modules and folders are engines.
ENGINES = "cinorms.inference.engines"
#: Mean length of a trace as a share of the budget, where the rates of the registry state none.
# ASSUME: half; see results of a pilot (n_trace_tokens) for a model's own.
TRACE_SHARE = 0.5


class Keep(Protocol):
    """What an engine hands its replies to. Raises ``StoreError`` where one cannot be kept."""

    def __call__(self, row: int, reply: Mapping[str, Any]) -> None:
        """Keep the reply to the question in a row of the grid.

        It has any columns of ``responses.REPLY``; ``trace``, its text; ``usd``, its price; ``failed``: it is an error
        that another try may not have.
        """

    def charge(self, usd: float) -> None:
        """Note what may have to be paid for a request that brought no reply."""


class Engine(Protocol):
    """What reaches one model, or several that it loads together. What takes long to load is loaded once."""

    def ask(self, questions: Questions, rows: Rows, keep: Keep) -> None:
        """Ask the ``rows`` of ``questions.grid`` in their order; ``keep`` each reply.

        May be called again for another arm. Raises ``EngineError`` where it cannot go on; everything that was answered
        by then has been kept.
        """

    def metadata(self) -> dict[str, Any]:
        """Return what the run record states about this engine: versions, device, what was sent, what it cost."""


class RegistryLocation(NamedTuple):
    """Where an entry is: the file that messages name, the model's name, and the project's files."""

    file: str
    model: str
    files: Root


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
    #: Prompts that a job gets answered in a minute, without traces; None where ``minutes`` has time for an arm.
    prompts_per_minute: Callable[[Any], float] | None = None
    #: Tokens that a job writes in a minute; None where it has time for every trace without it.
    tokens_per_minute: Callable[[Any], float] | None = None


def stated(*names: str) -> Callable[[Mapping[str, Any], RegistryLocation], dict[str, Any]]:
    """Return a ``request`` with those of the settings ``names`` that an entry has."""
    return lambda entry, place: {name: entry[name] for name in names if entry.get(name)}


class Work(NamedTuple):
    """What one model is asked in one arm: tokens in, out and of traces, the GPUs of one copy, and its rates."""

    input_tokens: int
    output_tokens: int
    gpus: int
    rates: Mapping[str, float]
    trace_tokens: int = 0


class Cost(NamedTuple):
    """The cost of that work; None where there is no rate, which is not the same as costing nothing."""

    gpu_minutes: float | None
    usd: float | None


def cost_by_rates(work: Work) -> Cost:
    """Return the cost of ``work`` at the rates of the model's entry."""
    rates, minutes, usd = work.rates, None, None
    if "tokens_per_second" in rates:
        minutes = work.gpus * work.input_tokens / rates["tokens_per_second"] / 60
        if work.trace_tokens:  # answers are short, and in the rate of their prompts; traces are not
            written = rates.get("output_tokens_per_second")
            minutes = minutes + work.gpus * work.trace_tokens / written / 60 if written else None
    if {"usd_per_million_input", "usd_per_million_output"} <= rates.keys():
        paid_in = work.input_tokens * rates["usd_per_million_input"]
        usd = (paid_in + (work.output_tokens + work.trace_tokens) * rates["usd_per_million_output"]) / 1e6
    return Cost(minutes, usd)


class EntryProblem(NamedTuple):
    """One problem: an ``error`` makes jobs fail or their answers useless, a ``warning`` may."""

    severity: Literal["warning", "error"]
    text: str


def error(text: str) -> EntryProblem:
    """Return a finding that stops a run."""
    return EntryProblem("error", text)


def warning(text: str) -> EntryProblem:
    """Return a finding that does not stop a run."""
    return EntryProblem("warning", text)


class Surroundings(NamedTuple):
    """Where jobs will run. ``cluster``: on other machines than this one; ``conda``: in conda environments."""

    #: The project's folder, in which its virtual environments are.
    folder: Path
    environment: Mapping[str, str]
    cluster: bool = False
    conda: bool = False
    #: Dollars that the study may spend at paid endpoints.
    cap: float | None = None


class ModelCheck(NamedTuple):
    """A check of the models of one engine before a job starts: whether they can be asked from here, at no cost.

    ``about`` states what is true if nothing is found. ``look`` receives models (``model_entry.ModelEntry``); it returns
    None if there is nothing to check.
    """

    name: str
    about: str
    look: Callable[[Sequence[Any], Surroundings], Iterable[EntryProblem] | None]


@dataclass(frozen=True, kw_only=True)
class RespondentKind:
    """Who answers as an entry of the registry. Functions of settings get an instance of the class ``settings``."""

    name: str
    #: Class of the settings that an entry of the registry can have.
    settings: type[EntrySettings] = EntrySettings
    #: The part of an entry that can change a reply, as keys of the request; it may override keys of all requests.
    #: Refuses mistakes that a schema cannot see.
    request: Callable[[Mapping[str, Any], RegistryLocation], dict[str, Any]] = field(default_factory=stated)
    #: Keys of a request that say how a model reasons, from its settings and the level that an arm states; None where
    #: the entry does not say how to switch it. No function: its models know no levels.
    reasoning: Callable[[Any, ReasoningLevel], dict[str, Any] | None] | None = None
    #: Where a model comes from, for a printed table; receives the entry as it is stated.
    origin: Callable[[Mapping[str, Any]], str] = lambda entry: str(entry.get("source", entry["engine"]))
    #: Settings of its own that a reader of the report may know.
    public: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class EngineKind(RespondentKind):
    """One way to reach models."""

    #: Makes the engine that asks: from the runtime and the endpoint's key.
    make: Callable[[Mapping[str, Any], str | None], Engine]
    needs: Needs
    #: Whether a request leaves the length of its reply to the endpoint, so that nothing bounds its price.
    unlimited: Callable[[Request], bool] = lambda request: False
    #: Keys of all requests that its models do not see, and that change no reply of theirs.
    unseen: frozenset[str] = frozenset()
    #: What a job loads before it asks, from the settings: models for which it is equal share one start. None where
    #: each model is reached by itself.
    loads: Callable[[Any], Any] | None = None
    #: How a model is reached and paid; changes no reply.
    runtime: Callable[[Any], dict[str, Any]] = lambda settings: {}
    #: Checks before its models are asked.
    checks: tuple[ModelCheck, ...] = ()
    #: Name of its file in ``envs/``, and of a virtual environment that is used without conda.
    environment: str = "core"
    virtual_environment: str | None = None
    #: Packages whose versions a run record states, where they are installed.
    packages: tuple[str, ...] = ()
    #: Whether a checkpoint is fetched before a job starts.
    checkpoint: bool = False


@cache
def engine_modules() -> dict[str, str]:
    """Return the module in which each engine is declared: in ``ENGINES``, or in a folder there."""
    return modules_in(ENGINES, "engine")


@cache
def engine_kind(name: str) -> EngineKind:
    """Return the engine ``name``; raise ``KeyError`` where there is none."""
    return declared(EngineKind, name, engine_modules(), "ENGINE")


def engine_kinds() -> tuple[EngineKind, ...]:
    """Return all engines."""
    return tuple(map(engine_kind, sorted(engine_modules())))
