"""A policy: the claims of a gate, each with its limits. A claim's keys depend on its kind, as an entry's in a study."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from cinorms.core.errors import ConfigError
from cinorms.core.schema import Name, Number, Value
from cinorms.core.validation import check_document, load_as, unknown
from cinorms.gate.claims import KINDS, Claim, Shift

#: A claim as it is stated. The class of its kind checks the other keys.
Stated = Annotated[
    Mapping[str, Any], Field(description="One claim: its kind, and the keys of that kind (docs/gate.md).")
]


class PolicyFile(Value):
    """A policy."""

    about: str = Field("", description="What the policy is for; shown on the page.")
    confidence: Number = Field(0.95, gt=0.5, lt=1)
    """1 minus the chance of an error (docs/gate.md describes which)."""
    flows: Literal["fixed", "sample"] = "fixed"
    """fixed: the claims are about exactly these flows; sample: about flows like these."""
    answered: Number = Field(0.9, gt=0, le=1)
    """Share of the questions that needs an answer on each side; below it every claim is undecided. A refusal is an
    answer, a technical error is none."""
    undecided: Literal["report", "fail", "pass"] = "report"
    """What a gate with undecided claims and no failed one ends with. report: exit code 3; fail: 1; pass: 0, or 3 where
    too few questions were answered."""
    claims: Mapping[Name, Stated] = Field(min_length=1, description="The claims, by name.")


@dataclass(frozen=True)
class Policy:
    """A policy whose every key has been checked, apart from factors and their levels."""

    file: str
    settings: PolicyFile
    claims: tuple[Claim, ...]

    @property
    def name(self) -> str:
        """The name of the file, without its ending."""
        return Path(self.file).stem

    @property
    def alpha(self) -> float:
        """The chance of an error that the policy accepts."""
        return 1 - float(self.settings.confidence)

    def unknown(self, claim: Claim, key: str, given: object, allowed: Any, what: str) -> ConfigError:
        """Return the error for a name that the study lacks."""
        return unknown(self.file, f"claims.{claim.name}.{key}", given, allowed, what)


def load_policy(path: str | Path) -> Policy:
    """Read and check the policy at ``path``; raise ``ConfigError`` with the file, the key and what is allowed."""
    file = str(path)
    stated = load_as(PolicyFile, path)
    return Policy(file, stated, tuple(_claim(file, name, claim) for name, claim in stated.claims.items()))


def _claim(file: str, name: str, stated: Any) -> Claim:
    key = f"claims.{name}"
    kind = stated.get("kind")
    if kind is None:
        raise ConfigError(f"{file}: {key}: key 'kind' is missing; allowed: {', '.join(KINDS)}")
    if not isinstance(kind, str) or kind not in KINDS:
        raise unknown(file, f"{key}.kind", kind, KINDS, "kind of claim")
    options = check_document(dict(stated), KINDS[kind].options, file, key)
    if isinstance(options, Shift) and options.margin_for and not options.by:
        raise ConfigError(
            f"{file}: {key}.margin_for: it needs the key 'by', the factor whose levels it names"
        )
    return Claim(name, options)
