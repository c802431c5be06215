"""The parameters and resources of the rules that are looked up in a study.

The arguments of a method are wildcards, by their names. A value that decides whether a job runs again is one parameter:
Snakemake compares parameters as a set.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import cached_property
from typing import Any

from cinorms.gate.of_study import StatedGate, gates_of
from cinorms.human.ratings import split_name
from cinorms.inference.engine_kind import EngineKind
from cinorms.planted.respondents import load_planted
from cinorms.rules.files import StudyFiles
from cinorms.study.entries import norms_entry
from cinorms.study.norm_room import norm_room
from cinorms.study.spec import (
    coder_journal,
    journal_of,
    make_coder_spec,
    make_coder_tuning,
    make_spec,
    make_tuning,
    spending_folder,
)

#: Seed of the control model's planted norms and of its training; it also decides which flows are held out.
CONTROL_SEED = 2026


def pattern(names: Iterable[str]) -> str:
    """Return the pattern of ``names``, for a wildcard (one that nothing matches where there are none)."""
    return "|".join(map(re.escape, names)) or "(?!)"


class StudyValues(StudyFiles):
    """The parameters that the rules take from a study, next to its files."""

    @cached_property
    def placed_responses(self) -> str:
        """The folder of the study's responses, for a parameter."""
        return self.placed(self.responses)

    def _placed(self, paths: Iterable[str]) -> list[str]:
        return list(map(self.placed, paths))

    # --- Vignettes, prompts and answers

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
        return sorted({level for arm in self.study.arms for level in self.study.scale(arm).levels})

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

    # --- Asking

    def engine_models(self, kind: EngineKind) -> list[str]:
        """Return the models of the study that an engine asks."""
        return [m for m in self.study.all_models() if self.study.registry_entry(m).kind is kind]

    def spec(self, arm: str, model: str, shard: str) -> str:
        """Return everything that can change a response, as one value."""
        return json.dumps(make_spec(self.study, arm, model, shard).as_plain(), sort_keys=True)

    def whole_spec(self, arm: str, model: str) -> dict[str, Any]:
        """Return the spec of a model in an arm as if it were asked in one shard."""
        return make_spec(self.study, arm, model, "1-of-1").as_plain()

    def asked_spec(self, arm: str, model: str) -> dict[str, Any] | None:
        """Return the spec of a model in an arm that asks it; None where its responses come from a file."""
        return self.whole_spec(arm, model) if self.study.arms[arm].source == "model" else None

    def specs(self, arm: str) -> list[dict[str, Any]]:
        """Return the spec of each model of an arm, as if it were asked in one shard."""
        return [self.whole_spec(arm, model) for model in self.study.models(arm)]

    def tuning(self, arm: str, model: str, shard: str) -> str:
        """Return how a model is reached and paid."""
        tuning = make_tuning(self.study, arm, model, shard, self.placed_responses)
        return json.dumps(tuning, sort_keys=True)

    def checkpoint_source(self, model: str) -> dict[str, str]:
        """Return which checkpoint a model is, as one value: its source, and its revision (empty: the newest)."""
        settings: Any = self.study.registry_entry(model).settings
        return {"source": settings.source, "revision": settings.revision or ""}

    def loads(self, arm: str, model: str, shard: str) -> str | None:
        """Return what a job loads before it asks: jobs for which it is equal can share it; None for nothing."""
        loads = self.study.registry_entry(model).kind.loads
        if not loads:
            return None
        spec = make_spec(self.study, arm, model, shard)
        tuning = make_tuning(self.study, arm, model, shard, self.placed_responses)
        return json.dumps(loads(spec, tuning), sort_keys=True)

    def provenance(self) -> list[dict[str, Any]]:
        """Return which models were asked in which arms, with their files of responses and their journals."""
        return [self._provenance_of(arm, model) for arm, model in self.asked_pairs()]

    def _provenance_of(self, arm: str, model: str) -> dict[str, Any]:
        kind = self.study.registry_entry(model).kind
        journal = journal_of(self.study, arm, model, self.placed_responses)
        repeats = self._placed(self.repeats(arm, model))
        return {
            "arm": arm,
            "model": model,
            "planted": kind.planted,
            "responses": self._placed(self.shards(arm, model)),
            **({"repeats": repeats} if repeats else {}),
            "journal": journal if kind.journalled else None,
        }

    def arms_in(self, format_name: str) -> list[str]:
        """Return the arms whose responses come in a format."""
        arms = self.study.arms_from("responses")
        return [arm for arm in arms if self.study.arms[arm].response_format == format_name]

    def received_from(self) -> list[dict[str, str]]:
        """Return which responses another tool collected: arm, model and file."""
        return [
            {"arm": arm, "model": model, "responses": self.placed(path)}
            for arm, model, path in self.responses_of(self.study.arms_from("responses"))
        ]

    @cached_property
    def spending(self) -> str:
        """The folder in which the jobs of the study count what they spend."""
        return spending_folder(self.placed_responses)

    # --- The coder

    @cached_property
    def coder_kind(self) -> EngineKind | None:
        """The engine that reaches the coder; None without one."""
        return self.study.registry_entry(self.study.coder).kind if self.study.coder else None

    def coded_places(self, scale: str) -> list[list[str]]:
        """Return `coded_files`, for a parameter."""
        return list(map(self._placed, self.coded_files(scale)))

    def coded_scale(self, scale: str) -> Any:
        """Return what a job is told of a scale."""
        return make_coder_spec(self.study, scale).as_plain()["scale"]

    def coder_spec(self, scale: str) -> str:
        """Return everything that can change a reply of the coder, as one value."""
        return json.dumps(make_coder_spec(self.study, scale).as_plain(), sort_keys=True)

    def coder_specs(self) -> dict[str, dict[str, Any]]:
        """Return the coder's spec for each scale, as plain data."""
        return {scale: make_coder_spec(self.study, scale).as_plain() for scale in self.coded_scales}

    def coder_tuning(self, scale: str) -> str:
        """Return how the coder is reached and paid."""
        tuning = make_coder_tuning(self.study, scale, self.placed_responses)
        return json.dumps(tuning, sort_keys=True)

    def coder_provenance(self) -> list[dict[str, Any]]:
        """Return what the provenance needs to know about the coder, for each scale."""
        journalled = self.coder_kind is not None and self.coder_kind.journalled
        return [
            {
                "scale": scale,
                "model": self.study.coder,
                "planted": False,
                "responses": [self.placed(path)],
                "journal": coder_journal(self.study, scale, self.placed_responses) if journalled else None,
            }
            for scale, path in zip(self.coded_scales, self.coder_replies(), strict=True)
        ]

    # --- The control model

    def control_arms(self) -> dict[str, list[str]]:
        """Return the arms in which the control model is asked, with its files of responses."""
        return {
            arm: self.shards(arm, "control")
            for arm in self.study.arms_from("model")
            if "control" in self.study.models(arm)
        }

    def control_norms(self) -> dict[str, Any]:
        """Return what was planted in the control model, and where to look for what was recovered, as one value."""
        dataset = self.study.dataset("iot")
        return {
            "arms": {arm: self._placed(paths) for arm, paths in self.control_arms().items()},
            "norms": load_planted(self.study.root, "control"),
            "factors": list(dataset.factors),
            "scale": dataset.scale,
            "thresholds": self.study.thresholds_of("control")._asdict(),
            "seed": CONTROL_SEED,
        }

    # --- Entries, pages, the plan

    def entry_value(self, analysis: str = "", figure: str = "", printed: str = "") -> dict[str, Any]:
        """Return everything of the study that an analysis, figure or printed table depends on, as one value."""
        return self.entry(analysis, figure, printed).plain()

    def norms_value(self) -> dict[str, Any]:
        """Return everything of the study that the table of all norms depends on, as one value."""
        return norms_entry(self.study).plain()

    def norm_warnings(self) -> list[str]:
        """Return the plan's warnings where too little is asked to hold norms."""
        room = norm_room(self.study)
        return ["No norm can be held.", *room.texts] if room.none_at_all else list(room.texts)

    def placed_pilot(self) -> list[tuple[tuple[str, str], list[str]]] | None:
        """Return `pilot`, for a parameter."""
        pilot = self.pilot()
        return pilot and [(pair, self._placed(paths)) for pair, paths in pilot]

    def placed_published(self, table: str) -> list[tuple[str, str, str]]:
        """Return `published`, for a parameter."""
        return [(arm, model, self.placed(path)) for arm, model, path in self.published(table)]

    def key_variables(self) -> list[str]:
        """Return the variables with keys, whose values must appear in nothing that is kept or published."""
        models = [*self.study.all_models(), *filter(None, [self.study.coder])]
        entries = map(self.study.registry_entry, models)
        return sorted({name for entry in entries if (name := entry.settings.needed_key_variable)})

    # --- Gates

    @cached_property
    def gates(self) -> dict[str, StatedGate]:
        """The gates of the study by name."""
        return gates_of(self.study)

    def gate_made(self, gate: str) -> tuple[str, ...]:
        """Return what a gate reads of this study."""
        return self.gates[gate].made

    def gate_found(self, gate: str) -> list[str]:
        """Return what a gate reads of other studies, and its policy."""
        return list(map(self.local, self.gates[gate].found))

    def gate_sides(self, gate: str) -> dict[str, Any]:
        """Return base, new and the policy of a gate as plain values."""
        stated = self.gates[gate]
        sides = {name: [str(part) for part in getattr(stated, name)] for name in ("base", "new")}
        return {**sides, "policy": stated.policy}
