"""How a model stands: how often it takes the same side in other words, in numbers and in sentences; and its norms."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from cinorms.core.labels import share
from cinorms.report.results import NOTHING, StudyResults
from cinorms.report.words import counted
from cinorms.stats.flow_dependence import FEW_MISSING, SIGNIFICANT
from cinorms.stats.wordings import ALIKE_TEMPLATES

#: What the numbers say: how a sentence goes on after how often it takes the same side, and a note beside the number.
#: A model whose answers depend on the flow with p at or above `SIGNIFICANT` is ``unread``, whatever its numbers are.
_SAID = {
    "unread": (
        ": nothing shows that it reads the flow ({blind} if it did not)",
        "nothing shows that it reads the flow",
    ),
    "whatever": (", whatever the flow", "whatever the flow"),
    "hardly": (
        ": hardly more often than if it did not read the flow ({blind})",
        "hardly more often than if it did not read the flow",
    ),
    "exceptions": (
        " ({blind} if it did not read the flow): most flows get one side, and the same flows get the other",
        "most flows get one side, and the same flows get the other",
    ),
    "reads": (" ({blind} if it did not read the flow)", ""),
}
#: Why there is no number.
_WITHOUT = {
    "one_wording": "asked in one wording; a second one would show whether it takes the same side in other words",
    "no_pairs": "no flow has a readable answer in two wordings",
}
#: From here on, two answers to any flows are on the same side: the flow decides nothing about it.
WHATEVER = 0.99
#: From here on, most flows get one side; those that get another are exceptions.
MOSTLY = 0.75
#: Of what is possible above the value without reading the flow: hardly more, and nearly all.
HARDLY, NEARLY = 0.2, 0.8


@dataclass(frozen=True)
class Standing:
    """How a model stands in the main arm: a row of `consistency`, the p of `flow_dependence`, and numbers of flows.

    ``templates`` are the wordings in which it was asked. ``status`` is that of `consistency`, or ``not_computed``.
    """

    arm: str
    model: str
    people: bool
    planted: bool
    flows: int
    templates: int
    norms: int
    levels: dict[str, int]
    answers: int
    valid: int
    refused: int
    status: str = "not_computed"
    same_side: float | None = None
    low: float | None = None
    high: float | None = None
    blind_side: float | None = None
    effective_templates: float | None = None
    p: float | None = None

    @property
    def excess(self) -> float:
        """How far the same side is above its value without reading the flow, of what is possible; -1: not known."""
        if self.same_side is None or self.blind_side is None:
            return -1.0
        room = 1 - self.blind_side
        return (self.same_side - self.blind_side) / room if room > 1e-9 else 0.0

    @property
    def number(self) -> str:
        """How often it takes the same side in other words."""
        return "?" if self.same_side is None else share(self.same_side, 1)

    @property
    def blind(self) -> str:
        """The same without reading the flow."""
        return "" if self.blind_side is None else share(self.blind_side, 1)

    @property
    def between(self) -> str:
        """The interval of `number`; empty where there is none."""
        return (
            "" if self.low is None or self.high is None else f"{share(self.low, 1)} to {share(self.high, 1)}"
        )

    @property
    def kind(self) -> str:
        """What its numbers say, a key of `_SAID`; empty without numbers."""
        if self.same_side is None or self.blind_side is None:
            return ""
        if self.p is not None and self.p >= SIGNIFICANT:
            return "unread"
        if self.blind_side >= WHATEVER:
            return "whatever"
        if self.excess < HARDLY:
            return "hardly"
        return "exceptions" if self.blind_side >= MOSTLY and self.excess >= NEARLY else "reads"

    @property
    def note(self) -> str:
        """What its numbers say beside them, or why there are none."""
        said = _SAID[self.kind][1] if self.kind else _WITHOUT.get(self.status, "")
        return "; ".join(filter(None, (said, self.alike)))

    @property
    def alike(self) -> str:
        """What its wordings are worth where they are too alike; else nothing."""
        if self.status != ALIKE_TEMPLATES or not self.effective_templates:
            return ""
        worth = f"{self.effective_templates:.1f}".removesuffix(".0")
        return f"its {self.templates} wordings are nearly the same, worth {worth}: other words differ more"

    def takes(self, text: str = "takes the same side {} of the time") -> str:
        """Return how often it takes the same side, in a sentence that has its name, or "it", before it."""
        some = self.valid < FEW_MISSING * self.answers
        where = f" in the {self.read} of its replies that could be read" if some else ""
        return text.format(self.number) + where + _SAID[self.kind][0].format(blind=self.blind)

    @property
    def sentence(self) -> str:
        """All of it in words, as a card states it."""
        said = [f"Asked in other words, it {self.takes()}" if self.kind else _capital(self.note)]
        if self.kind:
            said += [f"95% interval: {self.between}" if self.between else "", _capital(self.alike)]
        it_holds, its = ("They hold", "their ratings") if self.people else ("It holds", "its replies")
        said.append(f"{it_holds} a norm on {self.with_norm} of {counted(self.flows, 'flow')}")
        refuse = "" if self.people else f", and {self.declined} refuse to give one"
        said.append(f"Of {its}, {self.read} could be read as an answer{refuse}")
        return " ".join(f"{part}." for part in said if part)

    @property
    def with_norm(self) -> str:
        """The share of flows with a norm."""
        return share(self.norms, self.flows)

    @property
    def read(self) -> str:
        """The share of its replies that could be read."""
        return share(self.valid, self.answers)

    @property
    def declined(self) -> str:
        """The share of its replies that refuse."""
        return share(self.refused, self.answers)


def standings(results: StudyResults) -> list[Standing]:
    """Return how each model (or, where people alone answered, how people) of the main arm stands, the best first."""
    arm = results.main_arm()
    return ranked(_standing(results, arm, model) for _, model in results.pairs(arm))


def ranked(rows: Iterable[Standing]) -> list[Standing]:
    """Return the rows, first those that are farthest above the value without reading the flow, last those unread."""
    return sorted(rows, key=lambda row: (row.kind == "unread", -row.excess, -row.norms))


def standing_of(card: Mapping[str, Any]) -> Standing:
    """Return how the model of a card stands, called by its label where it has one."""
    return Standing(**card["standing"] | {"model": card["identity"].get("label", card["model"])})


def _standing(results: StudyResults, arm: str, model: str) -> Standing:
    codes, held = results.codes[arm, model], results.held(arm, model)
    templates = results.prompts[arm]["template_no"].to_numpy()[(codes.answers != NOTHING).any(axis=0)]
    scale, row = results.scale(arm), results.row_of("consistency", arm, model)
    return Standing(
        arm,
        model,
        results.is_people(arm),
        results.study.models[model].planted,
        len(results.norms[arm, model]),
        len(np.unique(templates)),
        len(held),
        levels={
            option: int((held == level).sum())
            for level, option in zip(scale.levels, scale.options, strict=True)
        },
        answers=codes.n_asked,
        valid=codes.n_valid,
        refused=codes.invalid().get("refusal", 0),
        **{name: row[name] for name in _FROM_TABLE if name in row},
        p=results.row_of("flow_dependence", arm, model).get("p"),
    )


#: The columns of `consistency` that a standing has.
_FROM_TABLE = ("status", "same_side", "low", "high", "blind_side", "effective_templates")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
