"""The first screen: on how many flows each model holds a norm that other wordings would give again."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cinorms.core.labels import NOT_COMPARABLE, listed
from cinorms.report.results import NOTHING, StudyResults
from cinorms.report.words import counted, in_words, share, thresholds
from cinorms.stats.again import FEWEST_FLOWS, FEWEST_TEMPLATES, WIDEST
from cinorms.stats.flow_dependence import DEPENDS, VERDICTS

#: A model holds norms that would survive other wordings if it does so on more than this share of all flows.
MOST = 0.5
#: With fewer flows there is no headline.
FEWEST_SAID = 10

# --- How a model stands


@dataclass(frozen=True)
class Standing:
    """How a model stands in the main arm, as numbers of flows; ``again``, ``low`` and ``high`` are of `norms_again`.

    ``status`` is that of `norms_again`, or ``not_computed``. ``ignores`` is the verdict in words where nothing shows
    that the answers depend on the flow. ``by_chance`` is of `flow_dependence`.
    """

    arm: str
    model: str
    people: bool
    planted: bool
    flows: int
    templates: int
    norms: int
    status: str
    again: float | None
    low: float | None
    high: float | None
    levels: dict[str, int]
    answers: int
    valid: int
    refused: int
    asks: int = 0
    ignores: str = ""
    by_chance: float | None = None

    @property
    def survives(self) -> bool | None:
        """Tell whether it holds, on most flows, a norm that would survive other wordings; None: nobody can tell."""
        if not self.norms:
            return False
        if not self.told or self.low is None or self.high is None:
            return None
        most = MOST * self.flows
        return True if self.low > most else False if self.high < most else None

    @property
    def only_chance(self) -> bool:
        """Tell whether the same answers in random order would give as many norms again."""
        if not self.norms or not self.told or self.low is None or self.by_chance is None:
            return False
        return self.by_chance >= self.low

    @property
    def reads_flow(self) -> bool:
        """Tell whether its answers can say anything about flows."""
        return not self.ignores and self.valid > 0

    @property
    def told(self) -> bool:
        """Tell whether the wordings show how many of its norms others would give again."""
        return self.status == "ok"

    @property
    def parts(self) -> tuple[float, float, float]:
        """Flows with a norm that is expected again, with one that may change, and without a norm."""
        again = self.again or 0.0 if self.told else 0.0
        return again, self.norms - again, self.flows - self.norms

    @property
    def number(self) -> str:
        """The share of flows with a norm expected again; in a study that does not ask for that, with a norm."""
        if not self.norms:
            return "none"
        if self.status == "not_computed":
            return self.with_norm
        return share(self.parts[0], self.flows) if self.told else "?"

    @property
    def with_norm(self) -> str:
        """The share of flows with a norm."""
        return share(self.norms, self.flows)

    @property
    def between(self) -> str:
        """The interval of the norms expected again, as a share of the flows; empty where there is none."""
        if self.low is None or self.high is None:
            return ""
        return f"{share(self.low, self.flows)} to {share(self.high, self.flows)}"

    @property
    def needs(self) -> str:
        """What it takes to tell how many norms are expected again; empty where that is known or not asked for."""
        if self.ignores or not self.norms:
            return ""
        if self.status == "few_templates":
            needed = f"{FEWEST_TEMPLATES} wordings, not {self.templates}"
        elif self.status == "few_flows":
            needed = f"{FEWEST_FLOWS} flows"
        elif self.status == "wide" and self.low is not None and self.high is not None:
            # The width falls with the root of the number of wordings.
            times = ((self.high - self.low) / self.norms / WIDEST) ** 2
            more = max(math.ceil(self.templates * times), self.templates + 1)
            needed = f"about {more} wordings, not {self.templates} (now: {self.between} of the flows)"
        else:
            return ""
        return f"to tell how many of these norms other wordings would give again, the study needs {needed}"

    @property
    def note(self) -> str:
        """Why the number is not what it seems, and what it takes; empty where it is."""
        if self.ignores or not self.norms:
            return self.ignores
        if self.needs:
            return f"a norm on {self.with_norm} of the flows; {self.needs}"
        if self.only_chance:
            return f"not more than by chance ({self.chance}): the same answers, shuffled between flows, agree as much"
        return f"its interval includes {MOST:.0%}: undecided" if self.told and self.survives is None else ""

    @property
    def chance(self) -> str:
        """The share of flows with a norm again that the same answers in random order have; empty where not known."""
        return "" if self.by_chance is None else share(self.by_chance, self.flows)

    @property
    def sentence(self) -> str:
        """All of it in words, as a card states it."""
        flows = counted(self.flows, "flow")
        it_holds, its = ("They hold", "their ratings") if self.people else ("It holds", "its replies")
        if not self.norms:
            text = f"{it_holds} no norm on any of {flows}."
        elif not self.told:
            text = f"{it_holds} a norm on {self.with_norm} of {flows}."
        else:
            _, may_change, none = (share(part, self.flows) for part in self.parts)
            text = (
                f"On {self.number} of {flows} (95% interval: {self.between}) it holds a norm that as many other "
                f"wordings are expected to give again, on {may_change} a norm that may change, and on {none} none."
            )
        note = self.needs or self.note
        text += f" {note[:1].upper()}{note[1:]}." if note else ""
        text += f" Of {its}, {self.read} could be read as an answer"
        return f"{text}." if self.people else f"{text}, and {self.declined} refuse to give one."

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
    rows = [_standing(results, arm, model) for _, model in results.pairs(arm)]
    return ranked(rows)


def ranked(rows: Iterable[Standing]) -> list[Standing]:
    """Return the rows, those with most norms that are expected again first."""
    return sorted(rows, key=lambda row: (-row.parts[0], -row.norms))


def _standing(results: StudyResults, arm: str, model: str) -> Standing:
    codes, held = results.codes[arm, model], results.held(arm, model)
    people = results.is_people(arm)
    again = {} if people else results.row_of("norms_again", arm, model)
    dependence = results.row_of("flow_dependence", arm, model)
    verdict = dependence.get("verdict")
    templates = results.prompts[arm]["template_no"].to_numpy()[(codes.answers != NOTHING).any(axis=0)]
    scale = results.scale(arm)
    return Standing(
        arm,
        model,
        people,
        results.study.models[model].planted,
        len(results.norms[arm, model]),
        len(np.unique(templates)),
        len(held),
        again.get("status", "not_computed"),
        again=again.get("again"),
        low=again.get("low"),
        high=again.get("high"),
        levels={
            option: int((held == level).sum())
            for level, option in zip(scale.levels, scale.options, strict=True)
        },
        answers=codes.n_asked,
        valid=codes.n_valid,
        refused=codes.invalid().get("refusal", 0),
        asks=codes.invalid().get("needs_context", 0),
        ignores="" if verdict is None or verdict in DEPENDS else VERDICTS[verdict],
        by_chance=dependence.get("by_chance"),
    )


# --- The headline

#: How the headline begins with models that hold such norms on most flows, hold them on fewer, on no more than chance
#: gives, ignore the flow, or nobody can tell; how it goes on with them. In braces: which models, how many of them, the
#: ending of the verb, and on which flows they hold some.
_SAID = {
    "yes": ("{Who} hold{s} norms that would survive other wordings on most flows", ""),
    "no": (
        "On most flows, {who} hold{s} no norm that would survive other wordings",
        "{n} on {flows}",
    ),
    "chance": (
        "{Who} hold{s} norms that would survive other wordings on no more flows than chance gives",
        "{n} on no more flows than chance gives",
    ),
    "ignores": (
        "Nothing shows that the answers of {who} depend on the flow",
        "nothing shows that the answers of {n} depend on the flow",
    ),
    "open": (
        "This study cannot tell whether norms of {who} would survive other wordings",
        "for {n}, this study cannot tell",
    ),
}


def headline(rows: Sequence[Standing]) -> str:
    """Return which of the models hold norms that would survive other wordings; empty where that is not to be said.

    It is about the models, not about the design: those of which the wordings cannot tell count neither way.
    """
    if min(row.flows for row in rows) < FEWEST_SAID or all(row.status == "not_computed" for row in rows):
        return ""
    groups: dict[str, list[Standing]] = {group: [] for group in _SAID}
    for row in rows:
        judged = {True: "yes", False: "no", None: "open"}[row.survives]
        doubt = "ignores" if row.ignores and row.norms else "chance" if row.only_chance else ""
        groups[doubt or judged].append(row)
    parts: list[str] = []
    for group, part in groups.items():
        if part:
            n, one = in_words(len(part)), len(part) == 1
            who = who_of(rows) if len(rows) == 1 else f"{n} of {who_of(rows)}"
            if len(part) == len(rows) > 1:
                who = f"both {nouns_of(rows)}" if len(rows) == 2 else f"all {who_of(rows)}"
            capital = who[0].upper() + who[1:] if len(rows) > 1 else who
            text = _SAID[group][bool(parts)]
            parts.append(
                text.format(who=who, Who=capital, n=n, s="s" if one else "", flows=_fewer_flows(part))
            )
    return "; ".join(parts)


def _fewer_flows(rows: Sequence[Standing]) -> str:
    """Return on which flows models hold norms that would survive, where these are not most flows."""
    none = sum(row.norms == 0 for row in rows)
    return "no flow" if none == len(rows) else "fewer flows or none" if none else "fewer flows"


def nouns_of(rows: Sequence[Standing]) -> str:
    """Return what the rows are, in the plural."""
    return "respondents" if all(row.planted for row in rows) else "models"


def who_of(rows: Sequence[Standing]) -> str:
    """Return who answered: the only one by name, of more their number."""
    return rows[0].model if len(rows) == 1 else f"{in_words(len(rows))} {nouns_of(rows)}"


def standing_of(card: Mapping[str, Any]) -> Standing:
    """Return how the model of a card stands, called by its label where it has one."""
    return Standing(**card["standing"] | {"model": card["identity"].get("label", card["model"])})


def closing_lines(cards: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the headline and a line for each model, for the end of a run; ``cards`` are the study's (`cards`)."""
    every = [standing_of(card) for card in cards if card["standing"]]
    if not every:
        return []
    # A card knows its model's arms only; the page is about one arm, that with most norms.
    flows = Counter[str]()
    for row in every:
        flows[row.arm] += row.flows
    rows = ranked(row for row in every if row.arm == flows.most_common(1)[0][0])
    width = max(len(row.model) for row in rows)
    said = headline(rows)
    lines = [
        f"{row.model:<{width}}  {row.number:>8}  {row.between if row.told else '':<14}  "
        f"{row.read:>8} could be read  {row.note}".rstrip()
        for row in rows
    ]
    computed = any(row.status != "not_computed" for row in rows)
    about = "Share of flows with a norm" + (" expected again in other wordings" if computed else "")
    return [line for line in (said, f"{about}:", *lines, unequal(rows)) if line]


# --- What was asked


def unequal(rows: Sequence[Standing]) -> str:
    """Return a sentence that says who was asked in how many wordings, where that differs; else nothing."""
    most, others = _fewer(rows)
    return f"Not all were asked in {most} ({others}): {NOT_COMPARABLE}." if others else ""


def _fewer(rows: Sequence[Standing]) -> tuple[str, str]:
    """Return in how many wordings most were asked, and who in how many others; the latter empty where nobody was."""
    (most, _), *rest = Counter(row.templates for row in rows).most_common()
    names = [
        f"{listed([row.model for row in rows if row.templates == n])} in {counted(n, 'wording')}"
        for n, _ in rest
    ]
    return counted(most, "wording"), "; ".join(names)


def asked(results: StudyResults, rows: Sequence[Standing], acted: bool = False) -> str:
    """Return who was asked what and in which words, what a norm needs, and what it does not show.

    ``acted``: the page also has what models do as agents.
    """
    study, arm = results.study, rows[0].arm
    prompts, title, words = results.prompts[arm], study.dataset_of(arm).title, study.arms[arm].prompts
    flows = counted(max(row.flows for row in rows), "flow")
    most, others = _fewer(rows)
    if results.is_people(arm):
        text, limit = f"People rated {flows} ({title}).", "what people say"
    else:
        who = who_of(rows) if len(rows) == 1 else f"Each of the {who_of(rows)}"
        orders = counted(prompts["order_no"].nunique(), "order")
        text = (
            f"{who} was asked about {flows} ({title}), each in {most} ({words}) and {orders} of the options"
        )
        text += f"; {others}: {NOT_COMPARABLE}." if others else f": {counted(len(prompts), 'answer')}."
        wordings = "these wordings" if max(row.templates for row in rows) > 1 else "this wording"
        limit = f"what {nouns_of(rows)} say in {wordings}"
    needed = {row.model: study.t_val[row.model] for row in rows}
    text += f" A norm on a flow needs {thresholds(needed, study.t_maj)}."
    beyond = " and do as agents in these tasks, not" if acted else ", not what they do, nor"
    return f"{text} The numbers show {limit}{beyond} what is right."
