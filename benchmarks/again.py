"""Whether the expected number of norms that recur in other wordings holds: planted, published and made-up answers.

Run: ``python benchmarks/again.py planted|published|processes [STUDIES] [--write]``, on one core each about 10, 5 and 35
minutes. Another number of STUDIES gives a rougher table; --write puts it into docs/method/stats/again.md. ``published``
needs the published answers (CINORMS_MIRROR, or fetched once). The draws depend on nothing but the seeds below.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "workflow" / "lib"))

from tests.published_files import mirror_in
from tests.scales import ACCEPTABILITY

from cinorms.core.arrays import Floats, Ints
from cinorms.core.draws import draw_logistic, draw_uniform, text_number
from cinorms.core.root import Root
from cinorms.core.yaml_files import load_yaml
from cinorms.norms.assessment import level_matrix
from cinorms.planted import respondents
from cinorms.planted.settings import Respondent, load_planted
from cinorms.prompts.orders import order_codes, orders_of
from cinorms.prompts.prompt_sets import load_prompt_set
from cinorms.published.frames import models, read_frame, to_answers
from cinorms.stats.wordings import level_counts
from cinorms.vignettes.designs import expand, load_dataset
from rewordings import Majority, Recurrence, Rule, levels_held, recurrence

ROOT = Path(__file__).resolve().parents[1]

#: The default thresholds (config/config.yaml), templates, orders and seed.
DEFAULT, TEMPLATES, ORDERS, SEED = Rule(10, 0.5, "strict"), 11, 3, 2026
FACTORS = ["sender", "information_type", "recipient", "transmission_principle"]
LEVELS = len(ACCEPTABILITY.levels)
#: Sets of fresh wordings that the truth is a mean over.
FRESH = 40


def part(rule: Rule, share: float) -> Rule:
    return rule._replace(fewest=rule.fewest * share)


def same(level: Ints, others: list[Ints]) -> Floats:
    """Return how often each norm is the same in others."""
    return np.mean([other[level >= 0] == level[level >= 0] for other in others], axis=0)


class Bins:
    """Probabilities of norms, and how often these are the same in truth."""

    def __init__(self) -> None:
        self.sums = np.zeros((3, 10))

    def add(self, found: Recurrence, truth: Floats) -> None:
        """Add the norms of a study; ``truth``: how often each is the same."""
        p = found.probability[~np.isnan(found.probability)]
        at = np.minimum(p * 10, 9).astype(int)
        self.sums += [np.bincount(at, weights, minlength=10) for weights in (np.ones(len(p)), p, truth)]

    def rows(self) -> Iterator[str]:
        """Yield the rows of a table."""
        for n, predicted, true in self.sums.T:
            if n:
                yield f"| {predicted / n:.3f} | {true / n:.3f} | {n:,.0f} |"


def line(name: str, found: list[Recurrence], truth: list[float]) -> str:
    """Return the row of a table: shares of the norms, over studies."""
    again, low, high, norms = (
        np.array([getattr(x, key) for x in found]) for key in ("again", "low", "high", "norms")
    )
    share, true = again / norms, np.array(truth)
    bias, held = share - true, (low / norms <= true) & (true <= high / norms)
    wide = np.mean([x.status == "wide" for x in found])
    return (
        f"| {name} | {share.mean():.3f} | {true.mean():.3f} | {bias.mean():+.3f} | {bias.std():.3f} | "
        f"{held.mean():.0%} | {((high - low) / norms).mean():.2f} | {wide:.0%} |"
    )


HEAD = "| {} | predicted | true | bias | deviation | held | width | wide |\n|---|---|---|---|---|---|---|---|"


# --- The eight planted models of the demo


@cache
def flows() -> Any:
    return expand(load_dataset(ROOT / "resources/vignettes/iot.yaml"))


def respondent(name: str) -> Respondent:
    planted = dict(load_yaml(ROOT / "config/models.yaml")[name]["planted"])
    norms = load_planted(Root(ROOT), planted.pop("norms"))
    held = {key: norms[key] for key in ("thresholds", "coefficients", "other_levels_sd") if key in norms}
    return Respondent(name=name, **held, **planted)


def asked(who: Respondent, texts: list[str]) -> Floats:
    """Return what a planted model answers to templates: levels x flows x templates; as `respondents.answer`."""
    planted, number = latent(who.name), text_number(who.name)
    flow, template, order = np.ix_(*(np.arange(n) for n in (len(planted), len(texts), ORDERS)))
    words = np.array([text_number(text) for text in texts], dtype=np.int64)[template]
    at = (number, *(x.ravel() for x in np.broadcast_arrays(flow, words, order)))
    codes = order_codes("balanced", SEED, flow, template, order, LEVELS).ravel()
    effect = respondents.draw_normal("template", SEED, number, words)
    x = planted[flow] + who.template_sd * effect + np.zeros(order.shape)
    x = x.ravel() + who.noise * draw_logistic("answer", SEED, *at)
    shown = orders_of(LEVELS).shown[codes]
    option = respondents._chosen_option(who, x, shown, ACCEPTABILITY, at, SEED, who.position_share)
    ok = draw_uniform("status", SEED, *at) >= sum(who.invalid_shares.values())
    cell = np.repeat(np.arange(len(x) // ORDERS), ORDERS)
    counts = np.bincount((cell * LEVELS + option)[ok], minlength=len(cell) // ORDERS * LEVELS)
    return np.moveaxis(counts.reshape(len(planted), len(texts), LEVELS), 2, 0).astype(np.float64)


@cache
def latent(name: str) -> Floats:
    table = respondents.plant(respondent(name), flows(), FACTORS, ACCEPTABILITY, SEED)
    return (table["linear"] + table["residual"]).to_numpy()


def planted(studies: int = 12) -> Iterator[tuple[str, str]]:
    """Yield the tables of the demo, of fresh draws of wordings, and of bins of probabilities."""
    names = load_yaml(ROOT / "config/config.yaml")["models"]
    sets = {
        name: load_prompt_set(ROOT / f"resources/prompts/{name}.yaml").templates
        for name in ("chatgpt", "gemini")
    }
    demo, drawn, bins = [], [], Bins()
    for name in names:
        who = respondent(name)
        fresh = [asked(who, [f"fresh {k} {j}" for j in range(TEMPLATES)]) for k in range(studies)]
        others = [levels_held(counts, DEFAULT) for counts in fresh]
        others += [
            levels_held(asked(who, [f"fresh {k} {j}" for j in range(TEMPLATES)]), DEFAULT)
            for k in range(studies, FRESH)
        ]
        counts = asked(who, list(sets["chatgpt"]))
        level = levels_held(counts, DEFAULT)
        found, gemini = (
            recurrence(counts, level, DEFAULT),
            levels_held(asked(who, list(sets["gemini"])), DEFAULT),
        )
        n, seen = found.norms, same(level, [gemini]).mean()
        held, share = "yes" if found.low <= seen * n <= found.high else "no", found.again / n
        demo.append(
            f"| {name.removeprefix('planted-')} | {share:.3f} [{found.low / n:.3f}, {found.high / n:.3f}] | "
            f"{same(level, others).mean():.3f} | {seen:.3f} | {held} | {found.half_predicted:.3f} | "
            f"{found.half_seen:.3f} |"
        )
        print(demo[-1], flush=True)
        rows, truths = [], []
        for k, counts in enumerate(fresh):
            level = levels_held(counts, DEFAULT)
            rows.append(recurrence(counts, level, DEFAULT))
            truth = same(level, others[:k] + others[k + 1 :])
            truths.append(float(truth.mean()))
            bins.add(rows[-1], truth)
        drawn.append(line(name.removeprefix("planted-"), rows, truths))
        print(drawn[-1], flush=True)
    head = "| model | predicted [95%] | fresh wordings | gemini's | held | halves: predicted | seen |"
    yield "demo", "\n".join([head, "|---" * 7 + "|", *demo])
    yield "planted", "\n".join([HEAD.format("model"), *drawn])
    yield "bins", "\n".join(["| predicted | true | norms |", "|---|---|---|", *bins.rows()])


# --- Published answers: some templates predict the others


def published(studies: int = 22) -> Iterator[tuple[str, str]]:
    """Yield a table of splits of the published templates; in every 11 splits each template is on a side as often."""
    folder = mirror_in(Path(tempfile.mkdtemp()))
    frame = read_frame(folder / "responses/pivot_prompt_df_without_NA_regular_run.pkl.lzma")
    table = []
    for model in models(frame):
        counts = published_counts(frame, model)
        if counts.shape[2] < TEMPLATES:
            continue
        for size in (6, 8):
            rng, rows, truths = np.random.default_rng(SEED), [], []
            for split in range(studies):
                if split % TEMPLATES == 0:
                    order = rng.permutation(TEMPLATES)
                order = np.roll(order, 1)
                one, other = order[:size], order[size:]
                of_one, of_other = (part(DEFAULT, len(half) / TEMPLATES) for half in (one, other))
                level = levels_held(counts[:, :, one], of_one)
                rows.append(recurrence(counts[:, :, one], level, of_one, len(other)))
                truths.append(float(same(level, [levels_held(counts[:, :, other], of_other)]).mean()))
            table.append(line(f"{model}, {size} against {TEMPLATES - size}", rows, truths))
            print(table[-1], flush=True)
    yield "published", "\n".join([HEAD.format("answers"), *table])


def published_counts(frame: Any, model: str) -> Floats:
    import pandas as pd

    levels = level_matrix(to_answers(frame, model, flows()))
    templates = pd.Series([int(str(name).split("_")[0]) for name in levels], index=levels.columns)
    return level_counts(levels, templates, ACCEPTABILITY)


# --- Processes that nobody chose for the method


class Process:
    """How answers come about: a latent scale cut into five levels, whose flows, wordings and answers are normal."""

    def __init__(
        self,
        flows: int = 400,
        templates: int = TEMPLATES,
        orders: int = ORDERS,
        t_maj: Majority = 0.5,
        shared: float = 0.3,
        own: float = 0.3,
        answer: float = 1.0,
        kind: str = "",
    ) -> None:
        self.shape, self.kind = (flows, templates, orders), kind
        self.rule = Rule(round(10 * templates * orders / 33), t_maj, "strict")
        self.shared, self.own, self.answer = shared, own, answer

    def drawn(self, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Return the flows of a study, and what a second camp of wordings thinks of them."""
        n = self.shape[0]
        flow = rng.normal(0, 1.2, n)
        if self.kind == "near":  # half of the answers at one level, on average
            flow = rng.choice([-1.0, 0.0, 1.0], n) + rng.normal(0, 0.1, n)
        if self.kind == "bimodal":
            flow = rng.choice([-1.6, 1.4], n) + rng.normal(0, 0.3, n)
        return flow, rng.normal(0, 1, n)

    def ask(self, rng: np.random.Generator, drawn: tuple[Floats, Floats]) -> Floats:
        """Return the answers of these flows to fresh wordings: levels x flows x templates."""
        (flow, camp), (n, templates, orders) = drawn, self.shape
        effect, own = self.shared * rng.normal(size=templates), self.own * rng.normal(size=(n, templates))
        if self.kind == "rare":  # a tenth of the wordings moves all answers
            effect = 1.5 * (rng.random(templates) < 0.1)
        if self.kind == "alike":  # a third of the wordings are nearly the same
            group = templates // 3
            effect[:group], own[:, :group] = effect[0], own[:, :1]
        if self.kind == "camps, all flows":
            effect += rng.choice([-0.8, 0.8], templates)
        if self.kind == "camps, each flow":
            own += rng.choice([-1, 1], templates) * camp[:, None]
        x = (flow[:, None] + effect + own)[:, :, None] + rng.normal(0, self.answer, self.shape)
        level = np.clip(np.round(x), -2, 2).astype(int) + 2
        if self.kind == "position":  # 40% take the first option
            first = (
                np.add.outer(np.add.outer(np.arange(n), np.arange(templates)), 2 * np.arange(orders)) % LEVELS
            )
            level = np.where(rng.random(level.shape) < 0.4, first, level)
        missing = np.zeros(level.shape)
        if self.kind == "missing by level":
            missing = np.where(level < 2, 0.5, 0.02)
        if self.kind == "missing by wording":
            missing = rng.beta(0.5, 2, templates)[None, :, None] + missing
        there = rng.random(level.shape) >= missing
        return np.stack([((level == one) & there).sum(axis=2) for one in range(LEVELS)]).astype(np.float64)


PROCESSES: dict[str, Process] = {
    "normal": Process(),
    "near the threshold": Process(kind="near", answer=0.7, shared=0.1, own=0.1),
    "two camps of wordings, all flows": Process(kind="camps, all flows"),
    "two camps of wordings, each flow": Process(kind="camps, each flow", answer=0.6),
    "a third of the wordings alike": Process(kind="alike", own=0.8),
    "a tenth of the wordings moves answers": Process(kind="rare"),
    "missing by level": Process(kind="missing by level"),
    "missing by wording": Process(kind="missing by wording"),
    "6 wordings": Process(templates=6),
    "15 wordings": Process(templates=15),
    "33 wordings, one order": Process(templates=33, orders=1),
    "t_maj 0.25": Process(t_maj=0.25),
    "t_maj 0.67": Process(t_maj=0.67, answer=0.6),
    "plurality": Process(t_maj="plurality"),
    "60 flows": Process(flows=60),
    "2,000 flows": Process(flows=2000),
    "40% take the first option": Process(kind="position", answer=0.4),
    "an effect of the wording that flows share": Process(shared=0.8, own=0.0),
    "bimodal flows": Process(kind="bimodal"),
}


def processes(studies: int = 20) -> Iterator[tuple[str, str]]:
    """Yield the table of all processes, and that of the bins of their probabilities."""
    table, bins = [], Bins()
    for number, (name, process) in enumerate(PROCESSES.items()):
        rows, truths = [], []
        for study in range(studies):
            rng = np.random.default_rng([SEED, number, study])
            drawn = process.drawn(rng)
            counts = process.ask(rng, drawn)
            level = levels_held(counts, process.rule)
            others = [levels_held(process.ask(rng, drawn), process.rule) for _ in range(FRESH)]
            rows.append(recurrence(counts, level, process.rule))
            truth = same(level, others)
            truths.append(float(truth.mean()))
            bins.add(rows[-1], truth)
        table.append(line(name, rows, truths))
        print(table[-1], flush=True)
    yield "processes", "\n".join([HEAD.format("process"), *table])
    yield "bins of processes", "\n".join(["| predicted | true | norms |", "|---|---|---|", *bins.rows()])


PAGE = ROOT / "docs/method/stats/again.md"
PARTS: dict[str, Callable[..., Iterator[tuple[str, str]]]] = {
    "planted": planted,
    "published": published,
    "processes": processes,
}


def main() -> None:
    """Print the tables of a part, and write them into the page."""
    given = [word for word in sys.argv[1:] if word != "--write"]
    for name, table in PARTS[given[0]](*map(int, given[1:])):
        print(f"\n{name}\n{table}")
        if "--write" in sys.argv:
            mark = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end -->)", re.DOTALL)
            text = PAGE.read_text(encoding="utf-8")
            PAGE.write_text(mark.sub(lambda m, t=table: f"{m[1]}{t}\n{m[2]}", text), encoding="utf-8")


if __name__ == "__main__":
    main()
