"""Checks of a study by itself: are there enough variants for norms, are paraphrases confirmed, are keys set."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from cinorms.core.errors import CinormsError
from cinorms.inference.preflight import Finding, error, warning
from cinorms.prompts.paraphrase.frozen_file import run_on_fault
from cinorms.prompts.prompt_sets import YES, accepted_unread, notice
from cinorms.run.checks.case import Case, Check, flows_of
from cinorms.study.entries import make_entry
from cinorms.study.norm_room import norm_room
from cinorms.vignettes.expectations import read_expected


def look_at_norms(case: Case) -> list[Finding] | None:
    """Refuse a study whose flows cannot have enough valid answers; warn if only some cannot."""
    if not case.study.arms_from("model"):
        return None
    room = norm_room(case.study)
    return [error(text) if room.none_at_all else warning(text) for text in room.texts]


def look_at_paraphrases(case: Case) -> Iterator[Finding]:
    """Look for unconfirmed paraphrases, and report where a run will stop for them."""
    study = case.study
    for name in {study.arms[arm].prompts: None for arm, _ in case.asked}:
        prompt_set = study.prompt_set(name)
        if prompt_set.waits and not accepted_unread():
            yield error(notice(prompt_set))
    for name, request in study.awaited().items():
        if request["paraphraser"]["engine"] != "planted" and not accepted_unread():
            yield warning(
                f"{name}: the run first makes its paraphrases, then stops so that you can read "
                f"{study.prompts_file(name)} ({YES}=1: continue unread)"
            )


def look_at_sentences(case: Case) -> Iterator[Finding]:
    """Look for templates in which a vignette without a full stop runs into the next sentence."""
    study = case.study
    sets = {(study.arms[arm].prompts, study.arms[arm].dataset): arm for arm, _ in case.asked}
    for (prompts, dataset), arm in sets.items():
        flows = flows_of(study, dataset)
        if flows is None or not _lacks_full_stop(flows["vignette"]):
            continue
        templates = study.prompt_set(prompts).templates[: study.templates(arm)]
        for number, template in enumerate(templates):
            fault = run_on_fault(template)
            if fault:
                yield warning(
                    f"{study.prompt_set(prompts).file}: templates[{number}]: {fault} (vignettes of {dataset} have none)"
                )


def look_at_expectations(case: Case) -> list[Finding] | None:
    """Read the files with expected values that tables and figures name, as far as their vignettes are known."""
    study, found = case.study, 0
    faults: dict[str, str] = {}
    for section in ("analyses", "figures"):
        for name in study.settings.entries(section):
            options = make_entry(study, section, name).options
            file = getattr(options, "expected", None)
            if not file:
                continue
            for dataset, arm in {study.arms[arm].dataset: arm for arm in options.arms}.items():
                flows = flows_of(study, dataset)
                if flows is None:
                    continue
                found += 1
                declared, levels = study.dataset(dataset), study.scale(arm).levels
                ends = (float(levels[0]), float(levels[-1]))
                try:
                    read_expected(file, flows, list(declared.factors), ends, declared.expected_range)
                except CinormsError as fault:
                    faults[str(fault)] = f"{section}.{name}.expected: {fault}"
    return [error(text) for text in faults.values()] if found else None


def look_at_defaults(case: Case) -> list[Finding]:
    """Name the default tables and figures that do not fit the study: they are left out."""
    return [warning(f"left out: {text}") for text in case.study.left_out]


def look_at_keys(case: Case) -> list[Finding] | None:
    """Check that the variables with the endpoints' keys are set, without reading their values."""
    needed: dict[str, list[str]] = {}
    for entry in case.entries():
        if entry.key_variable:
            needed.setdefault(entry.key_variable, []).append(entry.name)
    if not needed:
        return None
    return [
        error(f"{variable} is not set; {', '.join(models)} needs it: export the endpoint's key in this shell")
        for variable, models in needed.items()
        if not case.surroundings.environment.get(variable)
    ]


def _lacks_full_stop(vignettes: pd.Series) -> bool:
    """Tell whether most vignettes end without a mark that ends a sentence."""
    ended = vignettes.str.rstrip("\"'”’)] \n").str.endswith((".", "!", "?", "…"))
    return bool(ended.mean() < 0.5)


CHECKS = (
    Check("norms", "there are enough variants for norms", look_at_norms),
    Check("paraphrases", "every wording has been confirmed", look_at_paraphrases),
    Check("sentences", "every vignette ends before the next sentence begins", look_at_sentences),
    Check("expected", "the files with expected values fit the flows", look_at_expectations),
    Check("defaults", "every default table and figure that is used fits the study", look_at_defaults),
    Check("keys", "the keys of all endpoints are set", look_at_keys),
)
