"""What a check looks at: a study, which requests are left, and where its jobs will run."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from cinorms.core import tables
from cinorms.inference.checkpoints import known
from cinorms.inference.collected_replies import count_current, count_left
from cinorms.inference.engine_kind import EntryProblem, Surroundings
from cinorms.inference.journal import Journal
from cinorms.inference.model_entry import ModelEntry
from cinorms.inference.questions import Questions
from cinorms.inference.spec import Spec
from cinorms.prompts.prompt_sets import load_prompt_set
from cinorms.prompts.variants import list_variants
from cinorms.study.data import CACHE
from cinorms.study.spec import all_shards_of, journal_of, make_spec
from cinorms.study.study import Study
from cinorms.vignettes.reading import read_vignettes
from cinorms.vignettes.source_files import local_copy

#: An arm and a model.
Pair = tuple[str, str]


@dataclass(frozen=True)
class Case:
    """A study before it is run. ``partitions``: the SLURM partition of each rule that asks for one, by rule."""

    study: Study
    #: The requests that are left, and how many prompts each has, where that is known.
    asked: Mapping[Pair, int | None]
    surroundings: Surroundings
    partitions: Mapping[str, str | None] = field(default_factory=dict)

    def entries(self) -> list[ModelEntry]:
        """Return the settings of every model, coder and paraphraser that has requests left, by name."""
        study = self.study
        named = dict.fromkeys([*(model for _, model in self.asked), *filter(None, [study.coder])])
        found = [study.registry_entry(model) for model in named]
        words = {study.arms[arm].prompts for arm, _ in self.asked}
        for name, request in study.awaited().items():
            who = request["paraphraser"]["name"]
            if name in words and who in study.registry and who not in named:
                found.append(study.registry[who])
        return found


@dataclass(frozen=True)
class StudyCheck:
    """One check: ``about`` is true where ``look`` finds nothing.

    ``look`` returns None where there is nothing to look at.
    """

    name: str
    about: str
    look: Callable[[Case], Iterable[EntryProblem] | None]


class Left(NamedTuple):
    """How far one shard is."""

    questions: int
    #: Of them, how many have a reply in the file of responses, or in the journal.
    answered: int
    #: How many a run would ask.
    left: int
    #: Whether the file of responses is what a run would make now.
    is_current: bool


def left_to_ask(study: Study) -> dict[Pair, int | None]:
    """Return the arms and models with responses to make, and how many prompts a run would ask; None: not known yet."""
    return {
        pair: None if shards is None else sum(shard.left for shard in shards.values())
        for pair, shards in shards_left(study)
        if shards is None or not all(shard.is_current for shard in shards.values())
    }


def summary(study: Study, asked: Mapping[Pair, int | None]) -> str:
    """Return in words how much of a study is left to ask, by ``left_to_ask``."""
    if not asked:
        return "nothing is left to ask"
    arms, models = ({pair[at] for pair in asked} for at in (0, 1))
    who = f"{_count(len(models), 'model')} in {_count(len(arms), 'arm')}"
    left = [number for number in asked.values() if number is not None]
    if len(left) < len(asked):
        return f"{who} left to ask"
    if not sum(left):
        return f"nothing is left to ask; the next run takes the replies of {who} from the journal"
    return f"{who} left to ask, {_count(sum(left), 'prompt')}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def shards_left(study: Study) -> Iterator[tuple[Pair, dict[str, Left] | None]]:
    """Yield how far each shard of a model in an arm is, with the study's files as they are now; None: not known yet."""
    asked = study.arms_from("model")
    datasets = {study.arms[arm].dataset for arm in asked}
    flows = {dataset: flows_of(study, dataset) for dataset in datasets}
    for arm in asked:
        known, (variants, are_made) = flows[study.arms[arm].dataset], variants_of(study, arm)
        for model in study.models(arm):
            yield (
                (arm, model),
                None if known is None else _shards_of(study, arm, model, known, variants, are_made),
            )


def _shards_of(
    study: Study, arm: str, model: str, flows: pd.DataFrame, variants: pd.DataFrame, are_made: bool
) -> dict[str, Left]:
    kind = study.registry_entry(model).kind
    found = {}
    for shard in all_shards_of(study, arm, model):
        spec = asked_spec(study, arm, model, shard)
        questions = Questions.of(spec, flows, variants)
        path, total = response_file(study, arm, model, shard), len(questions.grid)
        if are_made and (n := count_current(path, questions)) is not None:
            found[shard] = Left(total, n, 0, True)
            continue
        answered, left = 0, total
        if are_made and kind.journalled:
            journal = Journal.of(journal_of(study, arm, model, str(responses_folder(study))), spec)
            answered, left = count_left(questions, journal)
        found[shard] = Left(total, answered, left, False)
    return found


def flows_of(study: Study, dataset: str) -> pd.DataFrame | None:
    """Return the flows of a dataset as its files are now; None where one would have to be downloaded first."""
    declared = study.dataset(dataset)
    mirror = os.environ.get("CINORMS_MIRROR") or study.settings.mirror
    if all(local_copy(file, CACHE, mirror) for file in (declared.files or {}).values()):
        return read_vignettes(declared, CACHE, mirror, study.null_principle(dataset))
    path = Path("results", study.name, "vignettes", f"{dataset}.parquet")
    return tables.read(path, tables.VIGNETTES) if path.is_file() else None


def variants_of(study: Study, arm: str) -> tuple[pd.DataFrame, bool]:
    """Return the variants of an arm, and whether its templates are made; until then the original replaces each."""
    name = study.arms[arm].prompts
    prompt_set = study.prompt_set(name)
    if prompt_set.generate and (made := Path(study.prompts_file(name))).is_file():
        prompt_set = load_prompt_set(made)
    templates = [*prompt_set.templates, *prompt_set.templates[:1] * prompt_set.n_templates]
    variants = list_variants(name, templates, study.templates(arm), study.arms[arm].orders.count)
    return variants, not prompt_set.generate


def asked_spec(study: Study, arm: str, model: str, shard: str) -> Spec:
    """Return the settings with which a shard is asked, with the fetched checkpoint, if any."""
    spec = make_spec(study, arm, model, shard)
    record = Path("results", study.name, "checkpoints", f"{model}.json")
    if study.registry_entry(model).kind.checkpoint and record.is_file():
        spec = spec.with_identity(**known(record))
    return spec


def response_file(study: Study, arm: str, model: str, shard: str) -> Path:
    """Return the file of the responses of a shard."""
    return responses_folder(study) / arm / model / f"{shard}.parquet"


def responses_folder(study: Study) -> Path:
    """Return the folder of a study's responses."""
    return Path("results", study.name, "responses")
