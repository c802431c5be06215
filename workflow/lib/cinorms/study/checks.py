"""What the schemas cannot see in a study: every name is looked up, what does not fit together is refused."""

from __future__ import annotations

import os

from cinorms.core.errors import ConfigError
from cinorms.core.validation import check_file, unknown
from cinorms.published.releases import analyses_of
from cinorms.study.arm_checks import check_arm, look_up
from cinorms.study.study import Study
from cinorms.vignettes.designs import Dataset


def check_names(study: Study) -> None:
    """Look up every name that the schemas cannot know."""
    settings = study.settings
    look_up(study, settings.stated_in("models").named, settings.models, "models", "model")
    for name, options in settings.datasets.items():
        file = settings.stated_in("datasets", name).file
        look_up(study, (file, "datasets"), [name], "vignettes", "dataset")
        if options.null_principle and not study.dataset(name).null_level:
            raise ConfigError(
                f"{options.stated_in('null_principle')}: true needs a 'null_level', which the dataset lacks; "
                "set it to false"
            )
    for name in study.arms:
        check_arm(study, name)
    for name in study.datasets():
        _check_flows_of(study, study.dataset(name))
    _check_compared(study)
    if settings.overrides:
        check_file(settings.overrides, *settings.stated_in("overrides").named)
    for gate in settings.gates.values():
        check_file(gate.policy, *gate.stated_in("policy").named)
    _check_coder(study)
    _check_pilot(study)
    # An unknown paraphraser is refused here, and so are paraphrases that nobody finds again.
    for name in study.awaited():
        path = study.root.names("prompts")[name]
        if study.root.is_fetched and settings.engine != "planted" and not study.root.is_own(path):
            raise ConfigError(
                f"{study.root.shown(path)}: its paraphrases do not exist yet. This project was fetched from git, so "
                "they would be lost in a cache: copy the file into prompts/ of a folder of yours, and name that folder "
                "in the study (resources: [FOLDER])"
            )
    for model in study.all_models() if settings.engine == "planted" else ():
        entry, stand_in = study.registry[model], study.stand_in(model)
        if not (entry.kind.planted or entry.kind.people) and stand_in not in study.registry:
            raise ConfigError(
                f"{entry.file}: {model}: key 'stand_in' is missing, and its default {stand_in!r} does not exist; "
                "name a planted model"
            )
    for model in settings.norms.t_val_for:
        if model not in study.all_models():
            place = settings.norms.stated_in("t_val_for")
            raise unknown(*place.named, model, study.all_models(), "model of this study")


def _check_flows_of(study: Study, dataset: Dataset) -> None:
    """Look up the dataset whose flows ``dataset`` tells, if it is another's, and check that it has as many."""
    told = dataset.flows_of
    if told is None:
        return
    file = study.root.shown(dataset.file)
    look_up(study, (file, "flows_of"), [told], "vignettes", "dataset")
    if told == dataset.name:
        raise ConfigError(f"{file}: flows_of: a dataset does not tell its own flows; leave it out")
    other = study.dataset(told)
    if other.flows_of is not None:
        raise ConfigError(
            f"{file}: flows_of: {told!r} tells the flows of {other.flows_of!r}; state {other.flows_of!r} here too"
        )
    # A file that numbers its records may tell some of the flows.
    sizes = dataset.n_flows() if dataset.numbers is None else None, other.n_flows()
    if None not in sizes and sizes[0] != sizes[1]:
        raise ConfigError(
            f"{file}: flows_of: {told!r} has {sizes[1]:,} flows, this dataset has {sizes[0]:,}; both need the same "
            "flows under the same numbers"
        )


def _check_compared(study: Study) -> None:
    """Look up the release whose numbers are compared, and the analyses that its numbers come from."""
    name, place = study.settings.compare, study.settings.stated_in("compare")
    look_up(study, place.named, [name] if name is not None else [], "published", "release")
    for analysis in analyses_of(study.compared()):
        if analysis not in study.settings.analyses:
            raise ConfigError(
                f"{place}: the numbers of {name!r} need an analysis '{analysis}', which the study lacks; "
                "copy it from config/replication.yaml"
            )


def _check_coder(study: Study) -> None:
    """Look up the model that codes replies, and the sheet that a person filled in."""
    answers = study.settings.answers
    if answers.coded:
        check_file(answers.coded, *answers.stated_in("coded").named)
    if answers.coder is None:
        return
    place = answers.stated_in("coder")
    if answers.coder not in study.registry:
        raise unknown(*place.named, answers.coder, study.registry, "model")
    entry = study.registry[answers.coder]
    if entry.kind.planted and entry.identity["planted"].get("judge") is None:
        raise ConfigError(
            f"{place}: '{answers.coder}' is planted: it answers questions about flows and cannot read a reply; "
            "name a real model, or a planted respondent with 'judge', which reads actions of planted agents"
        )


def _check_pilot(study: Study) -> None:
    """Refuse this study as its own pilot (the plan would have to ask for its answers), and one without answers."""
    pilot, place = study.settings.plan.pilot, study.settings.plan.stated_in("pilot")
    if pilot == study.name:
        raise ConfigError(f"{place}: {pilot!r} is this study; name another one")
    answers = study.root.results / pilot / "answers" if pilot else None
    if answers and not os.path.isdir(answers):
        raise ConfigError(
            f"{place}: there is no {answers} in the folder that the study runs in; run the study {pilot!r} first"
        )
