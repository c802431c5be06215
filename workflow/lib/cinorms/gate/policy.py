"""A policy: the claims of a gate, each with its limits. A claim's keys depend on its kind, as an entry's in a study."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import AfterValidator, Field, WithJsonSchema

from cinorms.core.errors import ConfigError, listing
from cinorms.core.schema import Distinct, LeftOut, Name, Number, Value
from cinorms.core.tables import ANSWER_STATUSES
from cinorms.core.validation import check, load_as, unknown
from cinorms.entries.options import Options, Select

#: What a claim can name as a status in addition to those of answers: any of them but ok.
NO_LEVEL = "no_level"
#: The statuses that a claim can name.
STATUSES = (*(status for status in ANSWER_STATUSES if status != "ok"), NO_LEVEL)


def _status(name: str) -> str:
    if name not in STATUSES:
        raise ValueError(f"{name!r} is not allowed; {listing(name, STATUSES)}")
    return name


StatusName = Annotated[
    str,
    AfterValidator(_status),
    WithJsonSchema({"enum": list(STATUSES), "description": "A status of answers without a level."}),
]
#: A claim as it is stated. The class of its kind checks the other keys.
Stated = Annotated[
    Mapping[str, Any], Field(description="One claim: its kind, and the keys of that kind (docs/gate.md).")
]


class OfFlows(Options):
    """Keys of every claim."""

    about: LeftOut[str] = Field(
        None, description="Why the claim is made, in a sentence; shown with the verdict."
    )
    select: LeftOut[Select] = Field(
        None, description="Factor -> list of its levels; flows with other levels are left out."
    )


class ByFactor(OfFlows):
    """Keys of claims that can be made for each level of a factor."""

    by: LeftOut[str] = Field(None, description="A factor; the claim is made for the flows of each level.")


class Shift(ByFactor):
    """The mean level moves less than a margin."""

    margin: Number = Field(
        gt=0, le=100, description="The mean level may move by less than this, up or down, in levels."
    )
    margin_for: LeftOut[
        Mapping[str, Annotated[Number, Field(gt=0, le=100, description="Margin in levels.")]]
    ] = Field(None, description="Level of the factor `by` -> its own margin.")


class Side(OfFlows):
    """Flows stay on one side of the scale."""

    stays: Literal["unacceptable", "acceptable"] = Field(
        description="unacceptable: the flow's mean level is below the middle of the scale; acceptable: above it."
    )
    allowed: Number = Field(
        0, ge=0, lt=1, description="Share of the flows that may be on the other side; 0: none."
    )
    held_by_base: bool = Field(
        False, description="true: only flows that the base has on this side; false: all of them."
    )


class Flips(ByFactor):
    """Norms stay what they are."""

    at_most: Number = Field(
        gt=0, lt=1, description="Share of the norms that may change more than other wordings change them."
    )
    change: Literal["side", "level"] = Field(
        "side", description="side: from acceptable to unacceptable or back; level: to any other level."
    )


class Status(ByFactor):
    """Answers without a level do not become more frequent."""

    statuses: Annotated[Distinct[StatusName], Field(min_length=1)] = Field(
        ("refusal",),
        description="Statuses of answers that are counted; no_level: every status except ok.",
    )
    may_rise: Number = Field(ge=0, lt=1, description="The share of these answers may rise by at most this.")


#: The class of each kind of claim, and what a claim of this kind states.
KINDS: dict[str, tuple[type[OfFlows], str]] = {
    "shift": (Shift, "The mean level of the flows moves by less than a margin."),
    "side": (Side, "The flows stay on one side of the scale."),
    "flips": (Flips, "At most a share of the norms changes more than other wordings change norms."),
    "status": (
        Status,
        "The share of answers with a status, such as refusal, does not rise by more than a limit.",
    ),
}


class PolicyFile(Value):
    """A policy."""

    about: str = Field("", description="What the policy is for; shown on the page.")
    confidence: Number = Field(
        0.95, gt=0.5, lt=1, description="1 less the chance of an error; docs/gate.md says of which error."
    )
    flows: Literal["fixed", "sample"] = Field(
        "fixed",
        description="fixed: the claims are about exactly these flows; sample: about flows like these.",
    )
    undecided: Literal["report", "fail", "pass"] = Field(
        "report",
        description="What a gate with undecided claims and no failed one ends with. report: exit code 3; fail: 1; "
        "pass: 0.",
    )
    claims: Mapping[Name, Stated] = Field(min_length=1, description="The claims, by name.")


class Claim(NamedTuple):
    """A claim with its name in the policy."""

    name: str
    kind: str
    options: OfFlows


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


def claim_schema(kind: str) -> dict[str, Any]:
    """Return the JSON schema of a claim of ``kind``."""
    cls, about = KINDS[kind]
    return cls.schema_for(kind, about)


def _claim(file: str, name: str, stated: Any) -> Claim:
    key = f"claims.{name}"
    kind = stated.get("kind")
    if kind is None:
        raise ConfigError(f"{file}: {key}: key 'kind' is missing; allowed: {', '.join(KINDS)}")
    if not isinstance(kind, str) or kind not in KINDS:
        raise unknown(file, f"{key}.kind", kind, KINDS, "kind of claim")
    others = {name: value for name, value in stated.items() if name != "kind"}
    check(others, KINDS[kind][0], file, key)
    options = KINDS[kind][0].model_validate(others)
    if isinstance(options, Shift) and options.margin_for and not options.by:
        raise ConfigError(
            f"{file}: {key}.margin_for: it needs the key 'by', the factor whose levels it names"
        )
    return Claim(name, kind, options)
