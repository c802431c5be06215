"""An engine's checks before a job starts: whether its models can be asked from here, at no cost.

An engine declares them (``EngineKind.checks``); the package ``run`` runs them, with the checks of every study.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol


class AskedModel(Protocol):
    """A model to ask; ``model_entry.ModelEntry`` is one."""

    @property
    def name(self) -> str:
        """Its name in the registry."""

    @property
    def settings(self) -> Any:
        """Its settings, of the class that its engine declares."""

    @property
    def gpus(self) -> int:
        """GPUs that one copy of the model takes."""

    @property
    def key_variable(self) -> str | None:
        """The environment variable with the key of the model's endpoint, if it needs one."""


@dataclass(frozen=True)
class Finding:
    """One problem: an ``error`` makes jobs fail or their answers useless, a ``warning`` may."""

    severity: Literal["warning", "error"]
    text: str


def error(text: str) -> Finding:
    """Return a finding that stops a run."""
    return Finding("error", text)


def warning(text: str) -> Finding:
    """Return a finding that does not stop a run."""
    return Finding("warning", text)


@dataclass(frozen=True)
class Surroundings:
    """Where jobs will run. ``cluster``: on other machines than this one; ``conda``: in conda environments."""

    #: The project's folder, in which its virtual environments are.
    folder: Path
    environment: Mapping[str, str]
    cluster: bool = False
    conda: bool = False
    #: Dollars that the study may spend at paid endpoints.
    cap: float | None = None


@dataclass(frozen=True)
class ModelCheck:
    """A check of the models of one engine.

    ``about`` states what is true if nothing is found; ``look`` returns None if there is nothing to check.
    """

    name: str
    about: str
    look: Callable[[Sequence[AskedModel], Surroundings], Iterable[Finding] | None]
