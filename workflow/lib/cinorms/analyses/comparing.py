"""What is compared with what, what the engine alone changes (kind ``repeatability``), and whose norms agree.

A contrast compares two sides: models in an arm, or what differs in one attribute of model or arm. Each side may have
been asked again (``repeat`` of its arm). Where the two sides differ in no larger share of what they gave than two
askings of one of them, the engine alone may be the reason: that is the floor of the contrast.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from pydantic import Field

from cinorms.analyses.columns import PAIR, PAIR_NAMES, WHO, usual
from cinorms.analyses.options import Compares, ComparesNorms, Generalises
from cinorms.analyses.shared import (
    EntryPlace,
    Frames,
    check_same_flows,
    check_same_scale,
    for_each_model,
    held,
    named,
    on_flows_of,
    stack,
)
from cinorms.core.labels import model_labels
from cinorms.core.schema import LeftOut
from cinorms.core.tables import ANSWER_STATUSES
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Kind
from cinorms.entries.options import ARM_ATTRIBUTES, DESCRIBED, Names, OfNorms
from cinorms.norms.assessment import assess, grid, level_matrix
from cinorms.stats import agreement, hypotheses
from cinorms.stats.repeats import Share, answers_differ, differing, highest, norms_differ, status_above
from cinorms.stats.wordings import level_counts, template_numbers

#: What the further askings of each model and arm gave (`tables.REPEATS`); none for those that were asked once.
Repeats: TypeAlias = Mapping[tuple[str, str], pd.DataFrame]

FLOOR = {
    "differ": "Share of what is compared that differs between the two sides: norms of flows in which both "
    "hold one, or answers to prompts that both answered validly.",
    "engine_differ": "The same share between two askings of one side, from the engine alone (and from sampling "
    "where the temperature is above 0): the larger of both sides; missing where neither was asked again.",
    "engine_high": "Upper end of the 95% interval of engine_differ; missing where there is none.",
    "engine_status": "above: differ is above engine_high; not_above: it is not, so the engine alone may be the "
    "reason; one_side_repeated: it is above that of the side that was asked again, the other's is not known; "
    "not_repeated: neither arm was asked again (repeat: 1); nothing_compared: the sides have nothing in common.",
}
#: The columns that a page shows.
FLOOR_SHOWN = ("differ", "engine_differ", "engine_status")
_COUNTS = ("askings", "prompts", "replies", "failed", "answers", "flows", "norms")


class Contrast(NamedTuple):
    """Two tables to compare; where the entry names a ``factor``, the levels in which they differ."""

    a: Selected
    b: Selected
    levels: Mapping[str, str] = MappingProxyType({})

    @property
    def names(self) -> dict[str, str]:
        """The columns that name what is compared."""
        a, b = self.a, self.b
        return {"arm_a": a.arm, "model_a": a.model, "arm_b": b.arm, "model_b": b.model, **self.levels}


def contrasts(selected: Sequence[Selected], entry: Entry[Compares], vignettes: Frames) -> list[Contrast]:
    """Return what an entry compares: every two models of each arm, or those that differ in its ``factor``."""
    factor = entry.options.factor
    if factor is None:
        return [Contrast(a, b) for a, b in itertools.combinations(selected, 2) if a.arm == b.arm]
    varied = factor.split("+")
    of_arms = [name in ARM_ATTRIBUTES for name in varied]
    same = [*ARM_ATTRIBUTES, *(["model"] if all(of_arms) else DESCRIBED), *([] if any(of_arms) else ["arm"])]
    rows = [
        {"scale": entry.scales[one.arm].name, **entry.conditions[one.arm], **entry.attributes[one.model]}
        | {"arm": one.arm, "model": one.model}
        for one in selected
    ]
    attributes = pd.DataFrame(rows).reindex(columns=list(dict.fromkeys([*same, *varied])))
    made = []
    for row in hypotheses.factor_pairs(attributes, factor).to_dict("records"):
        a, b = selected[row["model_a"]], selected[row["model_b"]]
        check_same_scale(entry, (a.arm, b.arm))
        check_same_flows(entry, vignettes, a.arm, b.arm)
        levels = {"factor": factor, "level_a": str(row["level_a"]), "level_b": str(row["level_b"])}
        made.append(Contrast(a, b, levels))
    return made


def contrasts_of_norms(
    selected: Sequence[Selected], entry: Entry[Any], vignettes: Frames, repeats: Repeats
) -> Iterator[tuple[Contrast, pd.DataFrame, dict[str, Any]]]:
    """Yield each contrast, its norms side by side, and the columns of `FLOOR`."""
    for contrast in contrasts(selected, entry, vignettes):
        paired = side_by_side([contrast.a, contrast.b], entry)
        engine = (of_norms(one, repeats, entry) for one in (contrast.a, contrast.b))
        yield contrast, paired, floor(between_norms(paired), *engine)


def groups_of(
    selected: Sequence[Selected], entry: Entry[Compares], vignettes: Frames
) -> list[list[Selected]]:
    """Return the groups that a test over several models is made for.

    Without a ``factor`` the models of each arm; with one, what its contrasts link: under ``temperature`` a model
    at every temperature, under ``capacity`` the sizes of a model that is otherwise the same.
    """
    if entry.options.factor is None:
        return [list(group) for _, group in itertools.groupby(selected, key=lambda one: one.arm)]
    group = {one.pair: i for i, one in enumerate(selected)}
    linked = set()
    for contrast in contrasts(selected, entry, vignettes):
        pairs = {contrast.a.pair, contrast.b.pair}
        old, new = sorted((group[pair] for pair in pairs), reverse=True)
        group = {pair: new if number == old else number for pair, number in group.items()}
        linked |= pairs
    numbers = sorted({group[pair] for pair in linked})
    return [[one for one in selected if group[one.pair] == number] for number in numbers]


def labels_of(group: Sequence[Selected]) -> list[str]:
    """Return a name for each of the group: the model, with its arm where there are several."""
    return model_labels([one.pair for one in group], "{model} ({arm})")


def side_by_side(group: Sequence[Selected], entry: Entry[Any]) -> pd.DataFrame:
    """Return the kept norms of the group, one column each, flows as rows."""
    who = dict(zip(labels_of(group), group, strict=True))
    needed = {name: entry.thresholds[one.model] for name, one in who.items()}
    return hypotheses.pair_norms({name: one.frame for name, one in who.items()}, needed)


def or_one_model(table: pd.DataFrame, entry: Entry[Any]) -> pd.DataFrame:
    """Return the table; if there is nothing to compare, one row that says so."""
    if len(table):
        return table
    none = "no two of the selected models differ only in the compared attribute"
    row = dict.fromkeys(entry.declared.columns, np.nan) | {"status": "one_model", "reason": none}
    return pd.DataFrame([row])


# --- The floor of a contrast


def of_answers(one: Selected, repeats: Repeats, templates: pd.Series, fixed_flows: bool) -> Share | None:
    """Return the share of a model's answers that differ when it is asked again; None if it was not."""
    own = repeats.get(one.pair)
    if own is None:
        return None
    again = [level_matrix(answers) for answers in answers_again(one, own)]
    cells = differing(level_matrix(one.frame), again)
    return answers_differ(cells, templates, fixed_flows)


def of_norms(one: Selected, repeats: Repeats, entry: Entry[Any]) -> Share | None:
    """Return the share of a model's norms that differ when it is asked again; ``one`` has its norms."""
    own = repeats.get(one.pair)
    if own is None:
        return None
    return norms_differ(differing(held_norms(one.frame, entry, one), norms_again(one, own, entry)))


def held_norms(norms: pd.DataFrame, entry: Entry[Any], one: Selected) -> pd.DataFrame:
    """Return the value of each flow's norm under the entry's thresholds, NaN without one, as a column."""
    value = held(norms, entry, one.model).set_index("flow")["value"]
    return value.to_frame().astype("Float64").astype("float64")


def norms_again(one: Selected, repeats: pd.DataFrame, entry: Entry[Any]) -> list[pd.DataFrame]:
    """Return `held_norms` of each further asking, in the flows of ``one``."""
    consensus, scale = entry.thresholds[one.model].consensus, entry.scales[one.arm]
    again = answers_again(one, repeats)
    return [held_norms(assess(answers, consensus, scale), entry, one) for answers in again]


def between_answers(a: pd.DataFrame, b: pd.DataFrame) -> Share:
    """Return the share of the values that differ between two matrices, flows x variants, where both have one."""
    flows, variants = a.index.intersection(b.index), a.columns.intersection(b.columns)
    x, y = (each.loc[flows, variants].to_numpy(dtype=np.float64) for each in (a, b))
    both = ~np.isnan(x) & ~np.isnan(y)
    n = int(both.sum())
    return Share(float((x != y)[both].mean()) if n else np.nan, np.nan, np.nan, n)


def between_norms(paired: pd.DataFrame) -> Share:
    """Return the share of the norms that differ between the two columns of ``paired``, in flows with both."""
    values = paired.astype("Float64").astype("float64")
    return between_answers(*(values.iloc[:, [i]].set_axis(["value"], axis=1) for i in (0, 1)))


def floor(between: Share, a: Share | None, b: Share | None) -> dict[str, Any]:
    """Return the columns of `FLOOR`."""
    known = [each for each in (a, b) if each is not None and each.n]
    most = highest(known) if known else Share(np.nan, np.nan, np.nan, 0)
    engine = {"engine_differ": most.share, "engine_high": most.high}
    return {"differ": between.share, **engine, "engine_status": status_above(between, (a, b))}


def answers_again(one: Selected, repeats: pd.DataFrame) -> list[pd.DataFrame]:
    """Return the answers of each further asking, in the flows of ``one``."""
    own = on_flows_of(one, repeats)
    return [own[own["repeat"] == repeat] for repeat in repeats["repeat"].unique()]


# --- Kind ``repeatability``: what differs when the same prompts are asked again, in other batches


class RepeatabilityOptions(Generalises, OfNorms):
    """Options of kind ``repeatability``."""


def repeatability(
    selected: Sequence[Selected],
    entry: Entry[RepeatabilityOptions],
    norms: Sequence[Selected],
    prompts: Frames,
    repeats: Repeats,
) -> pd.DataFrame:
    """Return what differs between the first asking of each model in each arm and the further ones."""
    table = for_each_model(_asked_again)(selected, entry, norms=norms, prompts=prompts, repeats=repeats)
    counts = dict.fromkeys(_COUNTS, "Int64")  # whole numbers, also where an arm is asked once and has none
    return table.reindex(columns=list(entry.declared.columns)).astype(counts)


def _asked_again(
    one: Selected,
    entry: Entry[RepeatabilityOptions],
    norms: pd.DataFrame,
    prompts: pd.DataFrame,
    repeats: pd.DataFrame | None,
) -> pd.DataFrame:
    if repeats is None:
        return pd.DataFrame([{"askings": 1, "prompts": len(one.frame), "status": "not_repeated"}])
    again = answers_again(one, repeats)
    same_reply = pd.concat(again)["same_reply"]
    compared = same_reply.dropna()
    cells = differing(level_matrix(one.frame), [level_matrix(answers) for answers in again])
    levels = answers_differ(cells, template_numbers(prompts), entry.options.fixed_flows)
    changed = differing(_statuses(one.frame), [_statuses(answers) for answers in again]).to_numpy()
    first, others = held_norms(norms, entry, one), norms_again(one._replace(frame=norms), repeats, entry)
    of_norms = norms_differ(differing(first, others))
    holds = [held.reindex_like(first).notna().astype(np.float64) for held in (first, *others)]
    only_one = differing(holds[0], holds[1:])
    row = {
        "what": "engine_and_sampling" if one.pair in entry.drawn else "engine",
        "askings": 1 + len(again),
        "prompts": len(one.frame),
        "replies": len(compared),
        "replies_differ": 1 - float(compared.mean()) if len(compared) else np.nan,
        "failed": int(same_reply.isna().sum()),
        "answers": levels.n,
        "answers_differ": levels.share,
        "conf_low": levels.low,
        "conf_high": levels.high,
        "statuses_differ": float(np.nanmean(changed)) if (~np.isnan(changed)).any() else np.nan,
        "flows": len(first),
        "norms": of_norms.n,
        "norms_differ": of_norms.share,
        "norms_low": of_norms.low,
        "norms_high": of_norms.high,
        "norms_in_one": float(only_one.to_numpy().mean()) if len(only_one) else np.nan,
        "status": "no_answers" if not levels.n else "one_template" if np.isnan(levels.low) else "ok",
    }
    return pd.DataFrame([row])


def _statuses(answers: pd.DataFrame) -> pd.DataFrame:
    """Return the number of each answer's status, flows x variants; NaN where the engine failed to reply."""
    code = answers["status"].map({name: i for i, name in enumerate(ANSWER_STATUSES)}).astype(np.float64)
    return grid(answers, code.where(answers["status"] != "error"))


# --- How far models, or one model's arms, hold the same norms

Members = Annotated[Names, Field(description="Models of this set.")]


class AgreementSetsOptions(OfNorms):
    """Options of kind ``agreement_sets``."""

    sets: LeftOut[Annotated[dict[str, Members], Field(min_length=1)]] = None
    """Sets of models, by name; default: one set of all models of the arm."""

    def check(self, place: EntryPlace) -> None:
        """Look up the models of every set."""
        super().check(place)
        for label, members in (self.sets or {}).items():
            place.check_names(f"sets.{label}", members, place.models(self), "model of this analysis")


def agreement_pairs(
    selected: Sequence[Selected],
    entry: Entry[ComparesNorms],
    vignettes: Frames,
    repeats: Repeats,
    answers: Sequence[Selected],
    prompts: Frames,
) -> pd.DataFrame:
    """Return how often each pair holds the same norm, next to the same model reworded."""
    own = {}
    for one in answers:
        scale = entry.scales[one.arm]
        counts = level_counts(level_matrix(one.frame), template_numbers(prompts[one.arm]), scale)
        own[one.pair] = agreement.reworded(counts, entry.thresholds[one.model], scale.binned.levels)
    parts = []
    for contrast, paired, above in contrasts_of_norms(selected, entry, vignettes, repeats):
        table = agreement.pairs(paired.astype("float64")).drop(columns=["model_a", "model_b"])
        reworded = np.mean([own[contrast.a.pair], own[contrast.b.pair]], axis=0)
        above |= dict(zip(("agreement_reworded", "kappa_reworded"), reworded, strict=True))
        parts.append(named(table.assign(**above), contrast.names))
    return or_one_model(stack(parts), entry)


def agreement_sets(selected: Sequence[Selected], entry: Entry[AgreementSetsOptions]) -> pd.DataFrame:
    """Return on how many flows each set of models holds the same norm; the set "all" without sets."""
    parts = []
    for arm, group in itertools.groupby(selected, key=lambda one: one.arm):
        values = side_by_side(list(group), entry).astype("float64")
        sets: Mapping[str, Sequence[str]] = entry.options.sets or {"all": list(values.columns)}
        parts.append(named(agreement.common(values, sets, entry.scales[arm].middle), {"arm": arm}))
    return stack(parts)


KINDS = (
    Kind(
        name="repeatability",
        about="What the engine alone changes: replies, answers and norms that differ when an arm is asked again.",
        function=repeatability,
        reads="answers",
        report_section="reliability",
        key=("arm", "model"),
        columns={
            **WHO,
            "what": "What the numbers show. engine: at temperature 0 nothing is drawn, so what differs is "
            "from the engine alone; engine_and_sampling: above 0 every asking draws anew. Missing where the "
            "arm is asked once.",
            "askings": "How often the arm was asked. Every further asking is compared with the first.",
            "prompts": "Prompts of one asking.",
            "replies": "Replies of the further askings that are compared: the engine failed in neither asking.",
            "replies_differ": "Share of these that are not the first asking's, letter by letter.",
            "failed": "Replies of the further askings that cannot be compared: the engine failed in one asking.",
            "answers": "Prompts that were answered validly in the first and in a further asking.",
            "answers_differ": "Share of the answers to these that are another level, over flows and templates.",
            "conf_low": "Lower end of the 95% interval of answers_differ over other templates.",
            "conf_high": "Upper end of the 95% interval of answers_differ over other templates.",
            "statuses_differ": "Share of the replies that have another status, such as an answer in one "
            "asking and a refusal in the other.",
            "flows": "Flows that were asked about.",
            "norms": "Flows with a norm in the first and in a further asking, under the thresholds.",
            "norms_differ": "Share of these norms that are another level.",
            "norms_low": "Lower end of Wilson's 95% interval of norms_differ, over flows.",
            "norms_high": "Upper end of Wilson's 95% interval of norms_differ, over flows.",
            "norms_in_one": "Share of the flows that hold a norm in one asking only.",
            "status": "ok, or why numbers are missing: not_repeated (the arm is asked once), no_answers "
            "(none is valid in two askings), one_template (no interval).",
        },
        shown=(
            *("arm", "model", "what", "askings", "prompts", "replies_differ", "answers_differ"),
            *("conf_low", "conf_high", "norms", "norms_differ", "norms_in_one", "status"),
        ),
    ),
    Kind(
        name="agreement_pairs",
        about="How often each pair of models holds the same norm.",
        function=agreement_pairs,
        reads="norms",
        report_section="agreement",
        key=PAIR_NAMES,
        columns={
            **PAIR,
            "n_flows": "Flows for which both sides hold a norm.",
            "agreement": "Share of these flows on which both norms are the same.",
            "kappa_linear": "Cohen's kappa with linear weights.",
            "kappa_quadratic": "Cohen's kappa with quadratic weights.",
            "mean_difference": "Mean of the first side minus the second, in levels.",
            "agreement_reworded": "The agreement of one half of a model's wordings (or raters) with the other, mean of "
            "ten cuts and both sides: what other wordings alone change. Missing with fewer than four.",
            "kappa_reworded": "Cohen's kappa with quadratic weights of such halves.",
            "status": "ok, no_flows, no_variance (both hold the same single level on all flows), or one_model.",
            **FLOOR,
            "reason": "Why there is nothing to compare; only in tables without a comparison.",
        },
    ),
    Kind(
        name="agreement_sets",
        about="On how many flows a set of models holds the same norm.",
        function=agreement_sets,
        reads="norms",
        report_section="agreement",
        key=("arm", "set"),
        columns={
            **usual("arm"),
            "set": "Name of the set; all if the analysis names none.",
            "models": "Models in the set.",
            "flows": "Flows that any model of the arm was asked about.",
            "n_all": "Flows for which every model of the set holds a norm.",
            "n_same": "Of n_all, flows with the same norm for all models.",
            "n_same_sign": "Of n_all, flows with all norms above neutral, all below, or all neutral.",
            "share_same": "n_same as a share of n_all.",
            "share_same_sign": "n_same_sign as a share of n_all.",
            "status": "ok, one_model (the set has one) or no_flows (n_all is 0).",
        },
    ),
)
