"""Whether a study asks enough for norms: a flow needs ``t_val`` valid answers, and gets at most one per variant."""

from collections.abc import Iterator
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

from cinorms.core.errors import first_few
from cinorms.entries.kind import SECTIONS
from cinorms.study.entries import make_entry
from cinorms.study.requests import cap_notes
from cinorms.study.study import Study


class Short(NamedTuple):
    """A model in an arm whose flows cannot have as many valid answers as ``entry``, or the study, asks for."""

    arm: str
    model: str
    variants: int
    t_val: int
    #: The analysis or figure that asks for so many; norms.csv, and the report, ask for the study's own.
    entry: str


class Room(NamedTuple):
    """What is too short, and whether nothing of the study can hold a norm although something reads norms."""

    texts: list[str]
    none_at_all: bool


def norm_room(study: Study) -> Room:
    """Return one text for each group of models that are asked too few variants to hold a norm."""
    pairs = study.pairs("model")
    variants = {pair: study.templates(*pair) * study.arms[pair[0]].orders.count for pair in pairs}
    read = list(_read(study, variants))
    every = [Short(*pair, variants[pair], study.t_val(pair[1]), "norms.csv") for pair in pairs]
    short = [need for need in (*every, *read) if need.variants < need.t_val]
    # Tables that try thresholds have something to show where the lowest can be met.
    lowest = min([*(need.t_val for need in read), *study.thresholds()[0]])
    hopeless = (
        bool(read) and all(need in short for need in read) and max(need.variants for need in read) < lowest
    )
    texts = []
    numbers = attrgetter("arm", "variants", "t_val")
    for (arm, n_variants, t_val), group in groupby(sorted(short, key=numbers), key=numbers):
        needs = list(group)
        models = list(dict.fromkeys(need.model for need in needs))
        who = "every model" if set(models) == set(study.models(arm)) else ", ".join(models)
        entries = list(dict.fromkeys(need.entry for need in needs))
        orders = study.arms[arm].orders.count
        asked = f"{n_variants // orders} wordings x {orders} order{'s'[: orders > 1]}"
        texts.append(
            f"arms.{arm}: {n_variants} variants per flow ({asked}) for {who} are fewer than t_val ({t_val}), so no "
            f"flow can hold a norm (in {first_few(entries)}); raise templates or orders.count, or lower t_val"
        )
    return Room(texts, hopeless)


def plan_warnings(study: Study) -> list[str]:
    """Return warnings: too little is asked for norms, a model ends soon, a price is old, a cap has no bound."""
    room = norm_room(study)
    entries = [study.registry_entry(model) for model in study.all_models()]
    endings = [text for entry in entries for text in (entry.ending(), entry.old_price())]
    return [
        *["No norm can be held."] * room.none_at_all,
        *room.texts,
        *filter(None, endings),
        *cap_notes(study),
    ]


def _read(study: Study, variants: dict[tuple[str, str], int]) -> Iterator[Short]:
    """Yield what each analysis and figure needs of each model that it reads norms of."""
    for section in SECTIONS:
        for name in study.entries[section]:
            entry = make_entry(study, section, name)
            # A study has the kinds that are always there without asking for norms, unless it states thresholds for one.
            asks = entry.thresholds and (
                not entry.declared.always or getattr(entry.options, "t_val", None) is not None
            )
            for arm, model in entry.selected if asks else ():
                if (arm, model) in variants:
                    yield Short(arm, model, variants[arm, model], entry.thresholds[model].t_val, name)
