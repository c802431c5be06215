"""What a study has left to ask, by its files and its store as they are now."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from cinorms.core import tables
from cinorms.inference.checkpoints import fetched_revisions
from cinorms.inference.questions import Questions
from cinorms.inference.request import Request
from cinorms.inference.responses import count_left, is_current, n_failed_in
from cinorms.inference.store import Store, stores_of
from cinorms.prompts.prompt_sets import load_prompt_set
from cinorms.prompts.variants import list_variants
from cinorms.study.data import CACHE, mirror
from cinorms.study.requests import arms_of, request_of
from cinorms.study.study import Study
from cinorms.vignettes.reading import read_vignettes
from cinorms.vignettes.source_files import local_copy

#: An arm and a model.
Pair = tuple[str, str]


class Left(NamedTuple):
    """How far one model is in one arm."""

    questions: int
    #: How many a run would ask: those that have no answer in the store.
    left: int
    #: Whether the file of responses is to these questions.
    is_current: bool


def left_to_ask(study: Study) -> dict[Pair, int | None]:
    """Return the arms and models with responses to make, and how many prompts a run would ask; None: not known yet."""
    found = list(pairs_left(study))
    return {pair: left and left.left for pair, left in found if not left or left.left or not left.is_current}


def summary(asked: Mapping[Pair, int | None]) -> str:
    """Return in words how much of a study is left to ask, by ``left_to_ask``."""
    if not asked:
        return "nothing is left to ask"
    arms, models = ({pair[part] for pair in asked} for part in (0, 1))
    who = f"{_count(len(models), 'model')} in {_count(len(arms), 'arm')}"
    left = [number for number in asked.values() if number is not None]
    if len(left) < len(asked):
        return f"{who} left to ask"
    if not sum(left):
        return f"nothing is left to ask; the next run takes the replies of {who} from the store"
    return f"{who} left to ask, {_count(sum(left), 'prompt')}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def pairs_left(study: Study) -> Iterator[tuple[Pair, Left | None]]:
    """Yield how far each model in each arm is, with the study's files as they are now; None: not known yet."""
    for pair, questions, are_made in _questions(study, study.pairs("model")):
        yield pair, None if questions is None else _left(study, pair, questions, are_made)


def is_left(study: Study, job: str, shard: str) -> bool:
    """Tell whether the job of a shard has anything to ask, as far as that is known."""
    for _, questions, are_made in _questions(study, arms_of(study, job)):
        if questions is None or not are_made:
            return True
        if count_left(questions.shard(shard), store_of(study, questions.request)):
            return True
    return False


def _left(study: Study, pair: Pair, questions: Questions, are_made: bool) -> Left:
    total = len(questions.grid)
    file = response_file(study, *pair)
    if are_made and (current := is_current(file, questions)) and not n_failed_in(file):
        return Left(total, 0, True)
    if not are_made or study.registry_entry(pair[1]).planted:
        return Left(total, total, False)
    return Left(total, count_left(questions, store_of(study, questions.request)), current)


def _questions(study: Study, pairs: Iterable[Pair]) -> Iterator[tuple[Pair, Questions | None, bool]]:
    """Yield what each model is asked in each arm, if that is known, and whether its templates are made."""
    flows: dict[str, pd.DataFrame | None] = {}
    for arm, model in pairs:
        dataset = study.arms[arm].dataset
        if dataset not in flows:
            flows[dataset] = flows_of(study, dataset)
        known_flows, (variants, are_made) = flows[dataset], variants_of(study, arm)
        request = asked_request(study, arm, model)
        yield (
            (arm, model),
            None if known_flows is None else Questions.of(request, known_flows, variants),
            are_made,
        )


def store_of(study: Study, request: Request) -> Store:
    """Return the store with the replies to ``request``."""
    return Store(stores_of(study.results), request, study.name)


def flows_of(study: Study, dataset: str) -> pd.DataFrame | None:
    """Return the flows of a dataset as its files are now; None where one would have to be downloaded first."""
    if all(local_copy(file, CACHE, mirror()) for file in study.dataset(dataset).sources.values()):
        return read_flows(study, dataset)
    path = study.results / "vignettes" / f"{dataset}.parquet"
    return tables.read(path, tables.VIGNETTES) if path.is_file() else None


def read_flows(study: Study, dataset: str) -> pd.DataFrame:
    """Return the flows of a dataset; fetches the files that are missing."""
    return read_vignettes(study.dataset(dataset), CACHE, mirror())


def variants_of(study: Study, arm: str) -> tuple[pd.DataFrame, bool]:
    """Return the variants of an arm, and whether its templates are made; until then the original replaces each."""
    name = study.arms[arm].prompts
    prompt_set = study.prompt_set(name)
    if prompt_set.generate and (made := Path(study.prompts_file(name))).is_file():
        prompt_set = load_prompt_set(made)
    templates = prompt_set.worded(study.arms[arm].layout)
    variants = list_variants(name, templates, study.templates(arm), study.arms[arm].orders.count)
    return variants, not prompt_set.generate


def asked_request(study: Study, arm: str, model: str) -> Request:
    """Return what is asked of a model in an arm, with the fetched checkpoint, if any."""
    request = request_of(study, arm, model)
    record = study.results / "checkpoints" / f"{model}.json"
    if study.registry_entry(model).is_fetched and record.is_file():
        request = request.with_settings(**fetched_revisions(record))
    return request


def response_file(study: Study, arm: str, model: str) -> Path:
    """Return the file of the responses of a model in an arm."""
    return study.results / "responses" / arm / f"{model}.parquet"
