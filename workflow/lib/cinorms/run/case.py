"""What a check looks at: a study, which requests are left, and where its jobs will run."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from cinorms.core import tables
from cinorms.inference.checkpoints import fetched_revisions
from cinorms.inference.engine_kind import EntryProblem, Surroundings, Work
from cinorms.inference.model_entry import ModelEntry
from cinorms.inference.questions import CODER, PARAPHRASES, Questions
from cinorms.inference.request import Request
from cinorms.inference.respondents import cost_of
from cinorms.inference.responses import count_left, is_current, n_failed_in
from cinorms.inference.store import Store, stores_of
from cinorms.prompts.paraphrase.frozen_file import LENGTHS
from cinorms.prompts.paraphrase.paraphrasers import INSTRUCTION, TAKEN
from cinorms.prompts.prompt_sets import load_prompt_set
from cinorms.prompts.variants import list_variants
from cinorms.study.data import CACHE, mirror
from cinorms.study.plan import estimate
from cinorms.study.requests import arms_of, request_of
from cinorms.study.study import Study
from cinorms.vignettes.reading import read_vignettes
from cinorms.vignettes.source_files import local_copy

#: An arm and a model.
Pair = tuple[str, str]


@dataclass(frozen=True)
class Case:
    """A study before it is run. ``calls``: options of sbatch for the jobs that SLURM gets, with their names."""

    study: Study
    #: The requests that are left, and how many prompts each has, where that is known.
    asked: Mapping[Pair, int | None]
    surroundings: Surroundings
    calls: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def entries(self) -> list[ModelEntry]:
        """Return the settings of every model, coder and paraphraser that has requests left, by name."""
        study = self.study
        named = dict.fromkeys([*(model for _, model in self.asked), *filter(None, [study.coder])])
        entries = [study.registry_entry(model) for model in named]
        words = {study.arms[arm].prompts for arm, _ in self.asked}
        for name, request in study.awaited().items():
            who = request["paraphraser"]["name"]
            if name in words and who in study.registry and who not in named:
                entries.append(study.registry[who])
        return entries


@dataclass(frozen=True)
class StudyCheck:
    """One check: ``about`` is true where ``look`` finds nothing.

    ``look`` returns None where there is nothing to look at.
    """

    name: str
    about: str
    look: Callable[[Case], Iterable[EntryProblem] | None]


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
        return _read_flows(study, dataset)
    path = study.results / "vignettes" / f"{dataset}.parquet"
    return tables.read(path, tables.VIGNETTES) if path.is_file() else None


def _read_flows(study: Study, dataset: str) -> pd.DataFrame:
    return read_vignettes(study.dataset(dataset), CACHE, mirror())


def expected_usd(study: Study) -> dict[str, float]:
    """Return the dollars that each model, coder and paraphraser is expected to cost in all: jobs share a cap by them.

    Every wording is taken to be as long as the original. So all jobs of a run get the same numbers, whether paraphrases
    exist yet or not, and their shares add up to the cap. Fetches the files of flows that are missing.
    """
    asked = study.asked()
    flows, variants = dict[str, pd.DataFrame](), dict[str, pd.DataFrame]()
    for arm, dataset in {ask["arm"]: ask["dataset"] for ask in asked}.items():
        if dataset not in flows:
            found = flows_of(study, dataset)
            flows[dataset] = _read_flows(study, dataset) if found is None else found
        name, n_templates = study.arms[arm].prompts, study.templates(arm)
        templates = study.prompt_set(name).templates[:1] * n_templates
        variants[arm] = list_variants(name, templates, n_templates, study.arms[arm].orders.count)
    plan = estimate(asked, flows, variants, study.judge())
    who = plan["model"].where(~plan["arm"].str.startswith(f"{CODER}."), CODER)
    usd = {str(name): float(usd) for name, usd in plan["usd"].fillna(0.0).groupby(who).sum().items()}
    return usd | {
        f"{PARAPHRASES}{name}": most_usd(study, request) for name, request in study.awaited().items()
    }


def most_usd(study: Study, request: Mapping[str, Any]) -> float:
    """Return the dollars that all rounds of asking for paraphrases can cost; 0 where no model is asked."""
    asked, wanted = request["asked"], request["request"]
    if not asked:
        return 0.0
    entry = study.registry[asked["model"]]
    # A token has a byte or more.
    tokens_in = len(INSTRUCTION + TAKEN) + LENGTHS[1] * len(wanted["original"].encode()) * (
        wanted["count"] + 1
    )
    traces = (entry.get("reasoning") or {}).get("extra_tokens", 0)
    rates = entry.settings.rates.model_dump(exclude_none=True)
    work = Work(round(tokens_in), asked["max_tokens"], entry.gpus, rates, traces)
    return int(wanted["tries"]) * (cost_of(entry.engine, work).usd or 0.0)


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
    engine = study.registry_entry(model).asks
    if engine and engine.checkpoint and record.is_file():
        request = request.with_settings(**fetched_revisions(record))
    return request


def response_file(study: Study, arm: str, model: str) -> Path:
    """Return the file of the responses of a model in an arm."""
    return study.results / "responses" / arm / f"{model}.parquet"
