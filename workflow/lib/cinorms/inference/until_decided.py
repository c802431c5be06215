"""Asking until decided: which rows of a shard's questions are asked, round by round, while the engine is loaded.

Rounds are a pure function of the replies: a job that was killed finds the same rounds in its journal, and replies that
the journal has to other questions change nothing. Replies are read by the rules alone: what a person or a coder reads
later changes answers, but not what was asked.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from cinorms.core import tables
from cinorms.core.scales import Scale
from cinorms.inference.questions import Questions
from cinorms.inference.spec import Spec
from cinorms.prompts.orders import places_of
from cinorms.stats.deciding.rounds import AskedDesign, DecidingRule, Rounds
from cinorms.stats.deciding.schedule import BLOCK, NOT_ASKED

Rows = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

#: Why a question was asked: as all flows' first block, as the pilot's rest, because its flow was not decided, or not.
PARTS = ("block", "pilot", "undecided", "not_asked")


def rule_of(spec: Spec) -> DecidingRule | None:
    """Return when a flow is decided; None for a spec that asks everything."""
    plain = spec.identity.get("asking")
    return None if plain is None else DecidingRule.from_plain(plain)


def design_of(questions: Questions) -> AskedDesign:
    """Return the flows and variants of ``questions``, which must be those of one shard that has them all."""
    spec = questions.spec
    orders = questions.grid["order_code"].to_numpy().reshape(len(questions.flows), -1)
    return make_design(
        questions.flows, spec.factors, questions.variants, spec.answer_scale, spec.seed, orders
    )


def make_design(
    flows: pd.DataFrame,
    factors: Sequence[str],
    variants: pd.DataFrame,
    scale: Scale,
    seed: int,
    orders: npt.NDArray[np.int64] | None = None,
) -> AskedDesign:
    """Return the design of ``flows`` (rows of a vignettes table) by ``variants`` (rows of a prompts table).

    ``orders`` are the codes of the orders in which the prompts show the options (flow by variant), if they are known.
    """
    every = [pd.factorize(flows[name].astype(str), sort=True)[0] for name in factors]
    codes = [factor_codes for factor_codes in every if factor_codes.max(initial=0) > 0]
    return AskedDesign(
        flows=flows["flow"].to_numpy(dtype=np.intp),
        factors=np.stack(codes, axis=1) if codes else np.empty((len(flows), 0), dtype=np.intp),
        variants=variants["variant"].tolist(),
        template_no=variants["template_no"].to_numpy(dtype=np.intp),
        order_no=variants["order_no"].to_numpy(dtype=np.intp),
        n_levels=len(scale.binned.levels),
        seed=seed,
        # The options of a number line are not shown one by one.
        places=None if orders is None or scale.line else places_of(orders, scale.n_shown),
    )


def rounds_of(
    questions: Questions, rule: DecidingRule, replies: Callable[[Rows], pd.DataFrame]
) -> Iterator[Rows]:
    """Yield the rows of the grid that each round asks.

    Before it asks for the next round, the caller must have the replies to the rows that were yielded: ``replies``
    returns them.
    """
    # Here, as the reader is large and most jobs ask everything.
    from cinorms.answers.read import read_responses

    rounds, scale = Rounds(design_of(questions), rule), questions.spec.answer_scale
    n_levels = len(scale.binned.levels)
    codes = np.full(rounds.asked.shape, NOT_ASKED, dtype=np.intp)
    while rounds.todo.any():
        rows, todo = np.flatnonzero(rounds.todo.ravel()), rounds.todo
        yield rows
        answers = read_responses(questions.named(rows).join(replies(rows)), scale, prompts=questions.variants)
        valid = (answers["status"] == "ok").to_numpy()
        # The position on the scale that a reply chooses; the number of levels for one that is not valid.
        chosen = np.full(len(rows), n_levels, dtype=np.intp)
        chosen[valid] = scale.places(answers["level"].to_numpy(dtype=np.int64, na_value=0)[valid])
        codes[todo] = chosen
        before = len(rounds.looks)
        rounds.take(codes)
        if len(rounds.looks) > before:
            look = rounds.looks[-1]
            print(f"After {look.variants} variants: {look.after:,} of {look.before:,} flows are not decided.")
    n_asked, n_all = int(rounds.asked.sum()), rounds.asked.size
    print(f"{n_asked:,} of {n_all:,} prompts were asked; {1 - n_asked / max(n_all, 1):.0%} were saved.")


def parts(questions: Questions, rule: DecidingRule, asked: Flags) -> npt.NDArray[np.intp]:
    """Return for each row of the grid its place in ``PARTS``; ``asked`` says which rows were asked."""
    design = design_of(questions)
    block = design.first_block().ravel()
    pilot = np.repeat(design.pilot(rule.pilot), len(design.variants))
    return np.select([~asked, block, pilot], [3, 0, 1], 2)


def rows_of(questions: Questions, responses: pd.DataFrame) -> npt.NDArray[np.bool_]:
    """Return which rows of the grid have a row in ``responses`` (or answers)."""
    variant = questions.variants["variant"].to_numpy(dtype=object)[questions.grid["row"]]
    grid = pd.MultiIndex.from_arrays([questions.grid["flow"].to_numpy(), variant])
    answered = [responses["flow"].to_numpy(), responses["variant"].astype(str).to_numpy(dtype=object)]
    return np.asarray(grid.isin(pd.MultiIndex.from_arrays(answered)))


def is_possible(questions: Questions, rule: DecidingRule, asked: Flags) -> bool:
    """Tell whether rounds can have ``asked`` this: each flow's first variants in its order, all of the pilot."""
    design = design_of(questions)
    order = design.order()
    in_order = np.take_along_axis(asked.reshape(order.shape), order, axis=1)
    number = in_order.sum(axis=1)
    first = np.arange(order.shape[1]) < number[:, None]
    least = np.where(design.pilot(rule.pilot), order.shape[1], min(BLOCK, order.shape[1]))
    return bool((in_order == first).all() and (number >= least).all())


def add_not_asked(
    answers: pd.DataFrame, spec: Mapping[str, Any], vignettes: pd.DataFrame, variants: pd.DataFrame
) -> pd.DataFrame:
    """Return the answers of a model with the column ``part`` and a row for what was not asked.

    ``spec`` is the model's in the arm, as plain data. Answers of an arm that asks everything are returned as they are.
    """
    rule = rule_of(Spec.from_plain(spec))
    if rule is None:
        return answers
    questions = Questions.of(Spec.from_plain(spec), vignettes, variants)
    asked = rows_of(questions, answers)
    named = questions.named()
    whole = answers.set_axis(np.flatnonzero(asked)).reindex(named.index).assign(**named)
    for name, word in (("status", tables.NOT_ASKED), ("rule", "decided")):
        column = whole[name].astype("category")
        column = column.cat.add_categories([word]) if word not in column.cat.categories else column
        whole[name] = column.fillna(word)
    return whole.assign(
        part=pd.Categorical.from_codes(parts(questions, rule, asked), categories=pd.Index(PARTS))
    )
