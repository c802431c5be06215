"""Whether the expected number of norms that recur in other wordings holds: planted, published and made-up answers.

Run: ``python benchmarks/again.py planted|published|compass|processes [STUDIES] [--write]``, on one core each about 10,
10, 5 and 60 minutes. Another number of STUDIES gives a rougher table; --write puts it into docs/method/stats/again.md.
``published`` needs the published answers (CINORMS_MIRROR, or fetched once), ``compass`` the replies in ../shared/pct.
The draws depend on nothing but the seeds below.
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
from optionreader import Scale, read
from rewordings import Consensus, Majority, Recurrence, Rule, levels_held, recurrence

ROOT = Path(__file__).resolve().parents[1]

#: The default thresholds (config/config.yaml), templates, orders and seed.
DEFAULT, TEMPLATES, ORDERS, SEED = Rule(10, 0.5, "strict"), 11, 3, 2026
#: What the Political Compass offers, lowest first.
COMPASS = ["Strongly disagree", "Disagree", "Agree", "Strongly agree"]
#: The papers' thresholds.
PAPERS = Rule(30, 0.25, "papers")
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


def modal_share(counts: Floats, rule: Rule, fresh: int) -> Floats:
    """Return the share of each flow's most frequent level."""
    total = counts.sum(axis=2)
    return np.asarray(total.max(axis=0) / np.maximum(total.sum(axis=0), 1))


def bootstrap(counts: Floats, rule: Rule, fresh: int) -> Floats:
    """Return how often each norm is the same in wordings drawn from these, with replacement."""
    rng, level, n = np.random.default_rng(SEED), levels_held(counts, rule), counts.shape[2]
    of_fresh = part(rule, fresh / n)
    drawn = (counts[:, :, rng.integers(0, n, fresh)] for _ in range(100))
    return np.mean([levels_held(one, of_fresh) == level for one in drawn], axis=0)


class Scores:
    """Mean squared distances of probabilities from what fresh wordings show: of p_again, and of what is simpler."""

    def __init__(self) -> None:
        self.found: list[list[float]] = []

    def add(self, found: Recurrence, counts: Floats, rule: Rule, fresh: int, truth: Floats) -> None:
        """Add the norms of a study; ``truth``: how often each is the same."""
        there = ~np.isnan(found.probability)
        p = [found.probability, *(simpler(counts, rule, fresh) for simpler in (modal_share, bootstrap))]
        self.found.append([float(((x[there] - truth) ** 2 + truth * (1 - truth)).mean()) for x in p])

    def __str__(self) -> str:
        return "".join(f" {score:.3f} |" for score in np.mean(self.found, axis=0))


def line(name: str, found: list[Recurrence], truth: list[float], scores: Scores | str = "") -> str:
    """Return the row of a table: shares of the norms, over studies."""
    again, low, high, verdicts = (
        np.array([getattr(x, key) for x in found]) for key in ("again", "low", "high", "verdicts")
    )
    share, true = again / verdicts, np.array(truth)
    bias, held = share - true, (low / verdicts <= true) & (true <= high / verdicts)
    wide = np.mean([x.status == "wide" for x in found])
    return (
        f"| {name} | {share.mean():.3f} | {true.mean():.3f} | {bias.mean():+.3f} | {bias.std():.3f} | "
        f"{held.mean():.0%} | {((high - low) / verdicts).mean():.2f} | {wide:.0%} |{scores}"
    )


HEAD = "| {} | predicted | true | bias | deviation | held | width | wide |\n|---|---|---|---|---|---|---|---|"
#: With the scores of p_again, of the modal share and of the bootstrap.
SCORED = "{} | score | modal share | bootstrap |\n{}---|---|---|".format(*HEAD.rsplit(" |\n", 1))


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
        n, seen = found.verdicts, same(level, [gemini]).mean()
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
    for mark, rule in (("published", DEFAULT), ("published, 30 of 33", PAPERS)):
        table = []
        for model in models(frame):
            counts = published_counts(frame, model)
            if counts.shape[2] == TEMPLATES:
                table += split(counts, model, rule, (6, 8), studies)
        yield mark, "\n".join([SCORED.format("answers"), *table])


def compass(studies: int = 20) -> Iterator[tuple[str, str]]:
    """Yield a table of splits of ten wordings of the Political Compass, which models decline by item."""
    import pandas as pd

    folder = next(path for path in (ROOT / "../shared/pct", ROOT / "../../shared/pct") if path.exists())
    scale, table = Scale.from_mapping("agree", {"options": COMPASS}), []
    replies = pd.read_csv(folder / "replies.csv.gz")
    for model, rows in replies.groupby("model"):
        level = [read(str(text), scale).level for text in rows["completion"]]
        rows = rows.assign(level=level).dropna(subset="level")
        at = [pd.factorize(replies[name], sort=True)[1] for name in ("pct_id", "templ_id")]
        place = np.searchsorted(scale.levels, rows["level"])
        counts = np.zeros((len(scale.levels), *map(len, at)))
        where = (np.searchsorted(*pair) for pair in zip(at, (rows["pct_id"], rows["templ_id"]), strict=True))
        np.add.at(counts, (place, *where), 1)
        table += split(counts, str(model), Rule(3, 0.5), (6, 7), studies)
    yield "compass", "\n".join([SCORED.format("answers"), *table])


def split(counts: Floats, model: str, rule: Rule, sizes: tuple[int, ...], studies: int) -> list[str]:
    """Return the rows of a table: so many wordings of a model predict the others, in random splits."""
    table, n = [], counts.shape[2]
    for size in sizes:
        rng, rows, truths, scores = np.random.default_rng(SEED), [], [], Scores()
        for study in range(studies):
            if study % n == 0:
                order = rng.permutation(n)
            order = np.roll(order, 1)
            one, other = order[:size], order[size:]
            of_one, of_other = (part(rule, len(half) / n) for half in (one, other))
            level = levels_held(counts[:, :, one], of_one)
            if not (level >= 0).any():
                continue
            rows.append(recurrence(counts[:, :, one], level, of_one, len(other)))
            truth = same(level, [levels_held(counts[:, :, other], of_other)])
            truths.append(float(truth.mean()))
            scores.add(rows[-1], counts[:, :, one], of_one, len(other), truth)
        table.append(line(f"{model}, {size} against {n - size}", rows, truths, scores))
        print(table[-1], flush=True)
    return table


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
        fewest: int = 10,
        consensus: Consensus = "strict",
    ) -> None:
        self.shape, self.kind = (flows, templates, orders), kind
        self.rule = Rule(round(fewest * templates * orders / 33), t_maj, consensus)
        self.shared, self.own, self.answer = shared, own, answer

    def drawn(self, rng: np.random.Generator) -> tuple[Floats, Floats, Floats]:
        """Return the flows of a study, what a second camp of wordings thinks of them, and how often they miss."""
        n = self.shape[0]
        flow = rng.normal(0, 1.2, n)
        if self.kind == "near":  # half of the answers at one level, on average
            flow = rng.choice([-1.0, 0.0, 1.0], n) + rng.normal(0, 0.1, n)
        if self.kind == "bimodal":
            flow = rng.choice([-1.6, 1.4], n) + rng.normal(0, 0.3, n)
        return flow, rng.normal(0, 1, n), rng.beta(0.6, 1.8 if self.kind == "missing by flow" else 8, n)

    def ask(self, rng: np.random.Generator, drawn: tuple[Floats, Floats, Floats]) -> Floats:
        """Return the answers of these flows to fresh wordings: levels x flows x templates."""
        (flow, camp, declined), (n, templates, orders) = drawn, self.shape
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
        if self.kind == "copies":  # four families of near-copies
            own = own[:, np.arange(templates) % 4] + 0.1 * own
        if self.kind == "three camps":
            own += np.stack([-camp, np.zeros(n), camp], axis=1)[:, rng.integers(0, 3, templates)]
        if self.kind == "reacts":  # to four recipients and ten principles
            at = np.arange(n)
            own += 0.6 * (
                rng.normal(size=(4, templates))[at % 4] + rng.normal(size=(10, templates))[at // 4 % 10]
            )
        x = (flow[:, None] + effect + own)[:, :, None] + rng.normal(0, self.answer, self.shape)
        if self.kind in ("random", "half random"):  # alike in all orders of a prompt
            half = slice(None, None, 1 if self.kind == "random" else 2)
            x = x if self.kind == "random" else np.broadcast_to(flow[:, None, None], self.shape).copy()
            x[half] = rng.normal(0, 2, (n, templates, 1))[half]
        level = np.clip(np.round(x), -2, 2).astype(int) + 2
        if self.kind.startswith("position"):  # 40% take the first option, or up to 60% by flow
            first = (
                np.add.outer(np.add.outer(np.arange(n), np.arange(templates)), 2 * np.arange(orders)) % LEVELS
            )
            often = 0.4 if self.kind == "position" else np.linspace(0, 0.6, n)[:, None, None]
            level = np.where(rng.random(level.shape) < often, first, level)
        missing = np.zeros(level.shape)
        if self.kind == "missing by level":
            missing = np.where(level < 2, 0.5, 0.02)
        if self.kind == "missing by wording":
            missing = rng.beta(0.5, 2, templates)[None, :, None] + missing
        if self.kind.startswith("missing by flow"):  # as models decline: by flow, more so at low levels
            missing = declined[:, None, None] * np.where(level < 2, 1.0, 0.7)
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
    "missing by flow": Process(kind="missing by flow"),
    "missing by flow, the same in all wordings": Process(kind="missing by flow", own=0.8, answer=0.3),
    "missing by flow, 30 of 33 needed": Process(
        kind="missing by flow, little", t_maj=0.25, fewest=30, consensus="papers"
    ),
    "random per prompt, alike in all orders": Process(kind="random"),
    "half of the flows fixed, half random": Process(kind="half random"),
    "four families of near-copies": Process(own=0.8, answer=0.3, kind="copies"),
    "three camps of wordings, each flow": Process(answer=0.6, kind="three camps"),
    "takes the first option, by flow": Process(answer=0.4, kind="position by flow"),
    "reacts to recipient and principle": Process(kind="reacts"),
    "all answers given": Process(shared=0.0, own=0.0, answer=0.0),
}


def processes(studies: int = 20) -> Iterator[tuple[str, str]]:
    """Yield the table of all processes."""
    table = []
    for number, (name, process) in enumerate(PROCESSES.items()):
        rows, truths, scores = [], [], Scores()
        for study in range(studies):
            rng = np.random.default_rng([SEED, number, study])
            drawn = process.drawn(rng)
            counts = process.ask(rng, drawn)
            level = levels_held(counts, process.rule)
            others = [levels_held(process.ask(rng, drawn), process.rule) for _ in range(FRESH)]
            rows.append(recurrence(counts, level, process.rule))
            truth = same(level, others)
            truths.append(float(truth.mean()))
            scores.add(rows[-1], counts, process.rule, counts.shape[2], truth)
        table.append(line(name, rows, truths, scores))
        print(table[-1], flush=True)
    yield "processes", "\n".join([SCORED.format("process"), *table])


PAGE = ROOT / "docs/method/stats/again.md"
PARTS: dict[str, Callable[..., Iterator[tuple[str, str]]]] = {
    "planted": planted,
    "published": published,
    "compass": compass,
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
