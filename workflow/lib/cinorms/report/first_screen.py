"""The first screen: what is accepted, by whom, and how often each model takes the same side in other words."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from cinorms.core.labels import listed, share, share_in_cell
from cinorms.report.findings import factor_shares
from cinorms.report.results import NOTHING, StudyResults
from cinorms.report.screen import headline
from cinorms.report.standing import Standing
from cinorms.report.words import counted, in_words, plain
from cinorms.stats.acceptance import ENOUGH, by_model, over_models
from cinorms.stats.say_do import ALL_FLOWS

#: Levels that have a column; of more, the first and the last half of these.
MOST_COLUMNS = 12
#: Models above which only the most and the least consistent have a row.
MOST_ROWS = 12
#: Levels above which a factor is not drawn: those of a list of flows, each in a flow or two.
MOST_LINES = 30
#: Steps of the colour of a share.
STEPS = 20
#: What stands where there are too few answers for a share.
UNKNOWN = "–"
#: Replies that could not be read are named in a row where they are more than this share.
UNREAD = 0.05
#: How a headline puts that a flow has a level of a factor; of other factors, their name and the level.
_WITH = {"transmission_principle": "{}", "recipient": "to {}", "sender": "by {}"}
#: What the name of a column leaves out of a condition.
_CONDITION = re.compile("^if ((the|it|its) )?")
#: How seldom a share of answers is, up to each share.
_RARELY = ((0.0, "never"), (0.1, "hardly ever"), (0.25, "seldom"), (1.0, "less often"))


class Dot(NamedTuple):
    """A mark on a line from 0 to 100: its look, where it and the ends of its interval are, whose it is, in words."""

    look: str
    at: float
    low: float
    high: float
    model: str
    text: str

    @property
    def says(self) -> str:
        """Whose it is, and its number."""
        return f"{self.model}: {self.text}"


class Shade(NamedTuple):
    """A cell of the matrix: the class with its colour, and its text."""

    look: str
    text: str


@dataclass(frozen=True)
class ModelRow:
    """A model: its cells (that of all flows first), a note on replies, and its consistency: text, mark, blind value."""

    model: str
    cells: list[Shade]
    unread: str = ""
    same: str = ""
    dot: Dot | None = None
    blind: float | None = None


@dataclass(frozen=True)
class Line:
    """A level: the share of answers that accept it (mean of the models), where that is, and a mark for each model."""

    level: str
    share: str
    mean: float
    dots: list[Dot]


@dataclass(frozen=True)
class Factor:
    """A factor, its share of the variance in words (empty where there is none), and its levels."""

    name: str
    weight: str
    rows: list[Line]


class Screen:
    """What the first screen shows of the main arm; ``rows`` are those of `standings`, the most consistent first."""

    def __init__(self, results: StudyResults, rows: Sequence[Standing]) -> None:
        self.results, self.standings, self.arm = results, rows, results.main_arm()
        self.models = [row.model for row in rows]
        self.people = results.is_people(self.arm)
        self.finding = results.row_of("finding", self.arm)
        self._shares = _accepting(results, self.arm).reindex(self.models)
        self._means = over_models(self._shares)
        self.example = self._example()
        self._two = [model for model, _ in self.example["said"]] if self.example else self.models[:2]

    @property
    def nouns(self) -> str:
        """What answered, in the plural."""
        planted = all(row.planted for row in self.standings)
        return "people" if self.people else "simulated respondents" if planted else "language models"

    @property
    def who(self) -> str:
        """Who answered: one model by name, of more their number."""
        if self.people:
            return "people"
        return self.models[0] if self._alone else f"{in_words(len(self.models))} {self.nouns}"

    @property
    def _alone(self) -> bool:
        """Whether one model answered, of which words are in the singular."""
        return len(self.models) == 1 and not self.people

    @property
    def _accept(self) -> str:
        """What those who answered do: accept, or accepts."""
        return self.results.scale(self.arm).spoken.accept + "s" * self._alone

    # --- Words

    @property
    def about(self) -> list[tuple[str, bool]]:
        """What the page is about, in pieces, each with whether it is stressed."""
        study, prompts = self.results.study, self.results.prompts[self.arm]
        dataset = study.dataset_of(self.arm)
        who = self.who if self.people or self._alone else f"{len(self.models)} {self.nouns}"
        flows = counted(max(len(self.results.norms[self.arm, model]) for model in self.models), "flow")
        parts = [("Privacy of ", False), (dataset.about, True)] if dataset.about else [(dataset.title, True)]
        parts += [(": what ", False), (who, True), (f" {self._accept} · {flows}", False)]
        if self.people:
            return [*parts, (f", rated by {study.arms[self.arm].people}", False)]
        most, others = self._wordings()
        orders = counted(prompts["order_no"].nunique(), "order")
        parts.append(
            (f", each asked in {most} and {orders} of the options{f' ({others})' if others else ''}", False)
        )
        about = study.settings["about"]
        return [*parts, (f" · {about}", False)] if about else parts

    @property
    def reworded(self) -> bool:
        """Whether any model was asked in several wordings."""
        return any(row.templates > 1 for row in self.standings)

    def _wordings(self) -> tuple[str, str]:
        """Return in how many wordings most were asked, and who in how many others, if anybody was."""
        (most, _), *rest = Counter(row.templates for row in self.standings).most_common()
        others = [
            f"{listed([row.model for row in self.standings if row.templates == n])}: {counted(n, 'wording')}"
            for n, _ in rest
        ]
        return counted(most, "wording"), "; ".join(others)

    @property
    def headline(self) -> str:
        """The finding: what is accepted most and least, or how much."""
        found, what = self.finding, self.results.study.dataset_of(self.arm).about
        who = self.who if self._alone else self.who[0].upper() + self.who[1:]
        if found.get("status") == "ok":
            most, least = (share(found[name], 1) for name in ("most", "least"))
            high, low = (self._at(found["factor"], found[name]) for name in ("most_level", "least_level"))
            rarely = next(word for most, word in _RARELY if found["least"] <= most)
            often = "" if found["most"] >= 0.5 else " most often"
            that = f"that {what} are passed on" if what else "flows"
            return f"{who} {self._accept} {that}{often} {high} ({most} of answers), {rarely} {low} ({least})"
        if found.get("accepts") is None:
            return f"No answer of {self.who} could be read"
        ends = [share(found[name], 1) for name in ("accepts_from", "accepts_to")]
        between = f", from {ends[0]} to {ends[1]}" if len(self.models) > 1 and ends[0] != ends[1] else ""
        flows = f"flows of {what}" if what else "these flows"
        times = "its answers" if self._alone else "their answers"
        return f"{who} {self._accept} {flows} in {share(found['accepts'], 1)} of {times}{between}"

    def _at(self, factor: str, level: str) -> str:
        if factor not in _WITH:
            return f"with {plain(factor)} ‘{level}’"
        return _WITH[factor].format(self._short.get(level, level).replace("\u00ad", ""))

    @property
    def _short(self) -> Mapping[str, str]:
        """Short texts of levels, with soft hyphens."""
        return self.results.study.dataset_of(self.arm).short

    @property
    def trust(self) -> str:
        """How often the most and the least consistent model take the same side in other words."""
        said = headline(self.standings)
        return f"{said}." if said else ""

    def _example(self) -> dict[str, Any] | None:
        """Return the flow on which two models differ most, as it was asked, with what each answered most often."""
        shares, scale = {}, self.results.scale(self.arm)
        for model in self.models:
            codes = self.results.codes[self.arm, model]
            n = (codes.answers < codes.n_levels).sum(axis=1)
            upper = np.isin(codes.answers, np.flatnonzero(np.array(scale.sides) > 0)).sum(axis=1)
            # Half of the replies must be readable, or the flow is an example of something else.
            enough = 2 * n >= (codes.answers != NOTHING).sum(axis=1)
            shares[model] = pd.Series(
                np.where(enough & (n > 0), upper / np.maximum(n, 1), np.nan), codes.flows
            )
        table = pd.DataFrame(shares)
        gap = (
            (table.max(axis=1) - table.min(axis=1)).dropna() if len(shares) > 1 else table.iloc[:, 0].dropna()
        )
        if gap.empty:
            return None
        place = gap.index[int(gap.to_numpy().argmax())]
        flow, at = int(place), table.loc[place]
        models = dict.fromkeys([str(at.idxmax()), str(at.idxmin())])
        frame = self.results.flows(self.arm).set_index("flow")
        return {
            "flow": frame.loc[flow, "vignette"],
            "said": [(model, self._said(model, flow)) for model in models],
        }

    def _said(self, model: str, flow: int) -> str:
        codes = self.results.codes[self.arm, model]
        row = codes.answers[np.searchsorted(codes.flows, flow)]
        counts = np.bincount(row[row < codes.n_levels], minlength=codes.n_levels)
        return f"{codes.scale.options[int(counts.argmax())]} ({counts.max()} of {counted(counts.sum(), 'answer')})"

    # --- The matrix

    @property
    def factor(self) -> str:
        """The factor that has the columns: the one that decides most, named or not; empty where there is none."""
        return str(self.finding.get("factor") or "")

    def _levels(self, factor: str) -> list[str]:
        """Return a factor's levels, the most accepted first."""
        if factor not in self._shares:
            return []
        means = self._means.xs(factor).sort_values(ascending=False, kind="stable")
        return list(means.index)

    @property
    def columns(self) -> list[str]:
        """Names of the columns after that of all flows."""
        return [
            "…" if level is None else _CONDITION.sub("", self._short.get(level, level))
            for level in self._shown()
        ]

    def _shown(self) -> list[str | None]:
        """Return the levels that have a column; None stands for those that are folded."""
        levels: list[str | None] = list(self._levels(self.factor)) if self.factor else []
        half = MOST_COLUMNS // 2
        return levels if len(levels) <= MOST_COLUMNS else [*levels[:half], None, *levels[-half:]]

    @property
    def consistent(self) -> bool:
        """Whether the consistency of any model is known."""
        return any(row.kind for row in self.standings)

    @cached_property
    def rows(self) -> list[ModelRow]:
        """A row per model, of many those that are most and least consistent."""
        half = MOST_ROWS // 2
        shown = self.standings
        return list(map(self._row, shown if len(shown) <= MOST_ROWS else [*shown[:half], *shown[-half:]]))

    def _row(self, of: Standing) -> ModelRow:
        shares = self._shares.T[of.model]
        cells = [Shade("", _in_percent(shares.get((ALL_FLOWS, ALL_FLOWS))))]
        for level in self._shown():
            cells.append(Shade("", "…") if level is None else _cell(shares.get((self.factor, level))))
        missing = of.answers - of.valid
        unread = f"{share(missing, of.answers)} of replies not read" if missing > UNREAD * of.answers else ""
        if of.same_side is None or of.blind_side is None:
            return ModelRow(of.model, cells, unread)
        low, high = (of.same_side if end is None else end for end in (of.low, of.high))
        text = (
            f"same side {of.number}"
            + (f" ({of.between})" if of.between else "")
            + f", {of.blind} without reading"
        )
        look = "hollow" if of.kind == "unread" else "dot"
        dot = Dot(look, 100 * of.same_side, 100 * low, 100 * high, of.model, text)
        return ModelRow(of.model, cells, unread, of.number, dot, 100 * of.blind_side)

    @property
    def of_all(self) -> str:
        """How many models the means are of."""
        return "both" if len(self.models) == 2 else f"all {in_words(len(self.models))}"

    @property
    def mean(self) -> list[str]:
        """The last line of the matrix: means over all models."""
        means = self._means
        levels = ("…" if at is None else _in_percent(means.get((self.factor, at))) for at in self._shown())
        return [_in_percent(means.get((ALL_FLOWS, ALL_FLOWS))), *levels]

    @property
    def turned(self) -> bool:
        """Whether levels have the rows, as there are more of them than of models, and few models."""
        return len(self.models) < 3 and len(self._shown()) > len(self.models)

    @cached_property
    def lines(self) -> list[Line]:
        """The same with a line per level, for a narrow page."""
        return self._lines(self.factor) if self.factor else []

    @property
    def looks(self) -> list[tuple[str, str]]:
        """The looks of the marks, and whose they are."""
        named = [(f"dot-{k}", model) for k, model in enumerate(self._two)]
        return [*named, ("other", "others")] if len(self.models) > len(named) else named

    def _lines(self, factor: str) -> list[Line]:
        lines = []
        # Drawn last is seen: the two that are named.
        order = [*(m for m in self.models if m not in self._two), *self._two]
        for level in self._levels(factor):
            shares, mean = self._shares[(factor, level)], self._means[(factor, level)]
            dots = []
            for model, value in shares[order].dropna().items():
                look = f"dot-{self._two.index(str(model))}" if model in self._two else "other"
                dots.append(Dot(look, 100 * value, 100 * value, 100 * value, str(model), share(value, 1)))
            lines.append(Line(level, share(mean, 1), 100 * mean, dots))
        return lines

    @cached_property
    def factors(self) -> list[Factor]:
        """All factors, those that go with most of the variance first."""
        names = [
            str(name) for name in dict.fromkeys(self._shares.columns.get_level_values(0)) if name != ALL_FLOWS
        ]
        weights = factor_shares(self.results, self.arm, self._shares.dropna(how="all").index).reindex(names)
        ranked = weights.fillna(-1.0).sort_values(ascending=False, kind="stable").index
        drawn = ((str(name), self._lines(str(name))) for name in ranked)
        return [
            Factor(plain(name), "" if pd.isna(weights[name]) else share(weights[name], 1), lines)
            for name, lines in drawn
            if 1 < len(lines) <= MOST_LINES
        ]

    @property
    def notes(self) -> list[str]:
        """What a reader of the matrix must know."""
        return list(self._notes())

    def _notes(self) -> Iterator[str]:
        hidden = len(self.models) - len(self.rows)
        if hidden:
            yield f"The rows are the {MOST_ROWS} of {len(self.models)} {self.nouns} that are most and least consistent."
        folded = len(self._levels(self.factor)) - MOST_COLUMNS if self.factor else 0
        if folded > 0:
            yield (
                f"The matrix leaves out {counted(folded, 'level')} between the most and the least accepted; “What "
                "decides” has all."
            )
        if any(cell.text == UNKNOWN for row in self.rows for cell in row.cells):
            yield f"{UNKNOWN}: fewer than {ENOUGH} readable answers."
        if any(row.unread for row in self.rows):
            yield "Not read: replies that give no level. The shares that accept are of the others."
        alike = [row.model for row in self.standings if row.alike]
        if alike:
            whose = "these wordings" if len(alike) == len(self.models) else f"the wordings of {listed(alike)}"
            yield f"Some of {whose} are nearly the same, so their consistency is too high and its interval too narrow."


def _accepting(results: StudyResults, arm: str) -> pd.DataFrame:
    """Return the share of answers that accept: a row per model, a column per factor and level as the table has them."""
    empty = pd.DataFrame(columns=["factor", "level", "model", "answers", "accepts"])
    return by_model(next(results.tables_of("marginal_means", arm), empty))


def _in_percent(value: Any) -> str:
    """Return a share as a number in per cent; only exactly none or all is 0 or 100."""
    if value is None or pd.isna(value):
        return UNKNOWN
    return share_in_cell(float(value)).rstrip("%")


def _cell(value: Any) -> Shade:
    known = value is not None and not pd.isna(value)
    return Shade(f"s{round(STEPS * float(value))}" if known else "void", _in_percent(value))
