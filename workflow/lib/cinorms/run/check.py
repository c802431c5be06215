"""``python -m cinorms.run.check --configfile FILE``: can this study be run here? One line per check; spends nothing."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pandas as pd

from cinorms.answers.overrides import load_overrides, settled
from cinorms.core import tables
from cinorms.core.errors import CinormsError, EngineError, first_few, listing
from cinorms.core.logs import command
from cinorms.inference import checkpoints, wheels
from cinorms.inference.engine_kind import (
    EngineKind,
    EntryProblem,
    ModelCheck,
    Surroundings,
    engine_kinds,
    error,
    warning,
)
from cinorms.inference.model_entry import ModelEntry
from cinorms.inference.settings import ServedSettings
from cinorms.prompts.paraphrase.frozen_file import run_on_fault
from cinorms.prompts.prompt_sets import YES, accepted_unread, notice
from cinorms.report.words import FEWEST_SAID
from cinorms.run.left import Pair, flows_of, left_to_ask, response_file, summary
from cinorms.run.profile import needs_of, read_profiles
from cinorms.run.resources import PLANTED_NEEDS, resources_of
from cinorms.run.slurm import advice, options_of, refusal
from cinorms.study.load import ROOT, parser, read_study
from cinorms.study.norm_room import norm_room
from cinorms.study.requests import job_of, shards_of
from cinorms.study.study import READ_HERE, Study
from cinorms.vignettes.expectations import read_expected
from cinorms.vignettes.factors import has_levels
from rewordings import FEWEST_CONSISTENT, FEWEST_ITEMS, FEWEST_WORDINGS


@dataclass(frozen=True)
class PlannedRun:
    """A run before it begins. ``calls``: options of sbatch for the jobs that SLURM gets, with their names."""

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
    look: Callable[[PlannedRun], Iterable[EntryProblem] | None]


@command("The study cannot run.")
def main(arguments: Sequence[str] | None = None) -> int:
    """Run every check of the study that the arguments name; return 1 if one finds an error."""
    options = parser("check", "Check a study before anything is spent.")
    options.add_argument(
        "--profile", action="append", default=[], help="a profile of Snakemake that jobs will run with"
    )
    options.add_argument("--sdm", nargs="*", default=[], help="as Snakemake's: conda")
    given, _ = options.parse_known_args(arguments)  # other options are for Snakemake
    planned = plan_run(read_study(given), given.profile, "conda" in given.sdm)
    print(f"Study {planned.study.name}: {summary(planned.asked)}")
    wrong = 0
    for line in make_checks(planned):
        print(line, flush=True)
        wrong += line.severity == "error"
    return 1 if wrong else 0


def plan_run(study: Study, profiles: Sequence[str], conda: bool) -> PlannedRun:
    """Return what the checks need to know about a study and the ``profiles`` that it will run with."""
    asked = left_to_ask(study)
    profile = read_profiles(profiles or os.environ.get("SNAKEMAKE_PROFILE", "").split())
    where = str(profile.get("executor", "local"))
    cluster = where not in ("local", "dryrun", "touch")
    calls = calls_of(study, asked, profile) if where == "slurm" else {}
    surroundings = Surroundings(ROOT.folder, os.environ, cluster, conda, study.settings.max_cost_usd)
    return PlannedRun(study, asked, surroundings, calls)


class CheckLine(NamedTuple):
    """One line for a terminal: ``ok``, ``skipped``, ``warning`` or ``error``, the check's name, and a text."""

    severity: str
    name: str
    text: str

    def __str__(self) -> str:
        # A message may have a second line.
        return f"{self.severity:<8} {self.name:<12} " + self.text.replace("\n", "\n" + " " * 22)


def make_checks(planned: PlannedRun) -> Iterator[CheckLine]:
    """Yield one line for each check that finds nothing, else one for each finding."""
    for check in checks():
        found = check.look(planned)
        lines = [CheckLine(finding.severity, check.name, finding.text) for finding in found or ()]
        nothing = CheckLine("ok", check.name, check.about)
        yield from lines or [
            nothing if found is not None else CheckLine("skipped", check.name, "nothing to check")
        ]


def calls_of(study: Study, asked: Iterable[Pair], profile: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the options of sbatch for the jobs that ask, with the names of the jobs."""
    jobs: dict[tuple[str, ...], EngineKind | None] = {}
    for arm, model in asked:
        job = job_of(study, model)
        engine = study.registry_entry(job).asks
        jobs |= {(job, shard): engine for shard in shards_of(study, job)} if engine else {(arm, model): None}
    calls: dict[str, list[str]] = {}
    for (one, other), engine in jobs.items():
        if engine:
            rule, named = f"ask_{engine.name}", ("model", "shard")
            of_rule = {"threads": engine.needs.threads, **resources_of(study, engine)}
        else:
            rule, named, of_rule = "ask_planted", ("arm", "model"), {"threads": 1, **PLANTED_NEEDS}
        wildcards = SimpleNamespace(study=study.name, **dict(zip(named, (one, other), strict=True)))
        needs = needs_of(profile, rule, of_rule, wildcards)
        everywhere = map(profile.get, ("slurm-qos", "slurm-reservation"))
        call = options_of(needs, needs["threads"], *everywhere)
        calls.setdefault(call, []).append(f"{rule} {one} {other}")
    return calls


# --- Checks of a study by itself


def look_at_norms(planned: PlannedRun) -> list[EntryProblem] | None:
    """Refuse a study whose flows cannot have enough valid answers; warn if only some cannot."""
    if not planned.study.arms_from("model"):
        return None
    room = norm_room(planned.study)
    return [error(text) if room.none_at_all else warning(text) for text in room.texts]


def look_at_report(planned: PlannedRun) -> Iterator[EntryProblem]:
    """Say what the report cannot say of the arm that it is about, for want of flows or wordings."""
    study, sizes = planned.study, dict[str, int]()
    for arm in study.arms_from("model"):
        known = flows_of(study, study.arms[arm].dataset)
        if known is not None:
            sizes[arm] = int(has_levels(known, study.arms[arm].plain()["select"]).sum())
    if not sizes:
        return
    arm = max(sizes, key=lambda name: sizes[name] * len(study.models(name)))
    flows, wordings = sizes[arm], min(study.templates(arm, model) for model in study.models(arm))
    missing = {
        "same side in other words (2 wordings)": wordings < 2,
        f"its interval ({FEWEST_CONSISTENT})": wordings < FEWEST_CONSISTENT,
        f"headline ({FEWEST_SAID} flows)": flows < FEWEST_SAID,
        f"p_again ({FEWEST_WORDINGS} wordings, {FEWEST_ITEMS} flows)": (
            wordings < FEWEST_WORDINGS or flows < FEWEST_ITEMS
        ),
    }
    if cannot := [what for what, holds in missing.items() if holds]:
        has = f"{flows:,} flows x {wordings} wording{'s'[: wordings > 1]}"
        yield warning(
            f"arms.{arm}: {has} are too few for a part of the report (what it needs):\n{', '.join(cannot)}"
        )


def look_at_paraphrases(planned: PlannedRun) -> Iterator[EntryProblem]:
    """Look for unconfirmed paraphrases, and report where a run will stop for them."""
    study = planned.study
    for name in {study.arms[arm].prompts: None for arm, _ in planned.asked}:
        prompt_set = study.prompt_set(name)
        if prompt_set.waits and not accepted_unread():
            yield error(notice(prompt_set))
    for name, request in study.awaited().items():
        if request["paraphraser"]["engine"] != "planted" and not accepted_unread():
            yield warning(
                f"{name}: the run first makes its paraphrases, then stops so that you can read "
                f"{study.prompts_file(name)} ({YES}=1: continue unread)"
            )


def look_at_sentences(planned: PlannedRun) -> Iterator[EntryProblem]:
    """Look for templates in which a vignette without a full stop runs into the next sentence."""
    study = planned.study
    sets = {(study.arms[arm].prompts, study.arms[arm].dataset): arm for arm, _ in planned.asked}
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


def look_at_expectations(planned: PlannedRun) -> list[EntryProblem] | None:
    """Read the files with expected values that tables and figures name, as far as their vignettes are known."""
    study, found = planned.study, 0
    faults: dict[str, str] = {}
    for section in ("analyses", "figures"):
        for name, options in study.entries[section].items():
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
                    read_expected(file, flows, list(declared.levels), ends, declared.expected_range)
                except CinormsError as fault:
                    faults[str(fault)] = f"{section}.{name}.expected: {fault}"
    return [error(text) for text in faults.values()] if found else None


def look_at_overrides(planned: PlannedRun) -> list[EntryProblem] | None:
    """Read the file of manually coded answers; look for lines about no answer of the study, as far as it has them."""
    study, file = planned.study, planned.study.settings.overrides
    if not file:
        return None
    problems = []
    try:
        overrides = load_overrides(file, study.levels())
        single = overrides[overrides["flow"].notna()]
        for line, arm, model in zip(single["line"], single["arm"], single["model"], strict=True):
            place = f"{file}, line {line}"
            if arm not in study.arms:
                problems.append(error(f"{place}: there is no arm {arm!r}; {listing(arm, study.arms)}"))
            elif model not in (models := study.models(arm)):
                problems.append(
                    error(f"{place}: arm {arm!r} does not ask {model!r}; {listing(model, models)}")
                )
        _settle(planned, file, overrides)
    except CinormsError as fault:
        problems.append(error(str(fault)))
    return problems


def _settle(planned: PlannedRun, file: str, overrides: pd.DataFrame) -> None:
    """Raise ``DataError`` for lines that match no response, of those whose responses exist."""
    study = planned.study
    asked = study.pairs(*READ_HERE)
    files = {pair: response_file(study, *pair) for pair in asked if pair not in planned.asked}
    made = {pair: file for pair, file in files.items() if file.exists()}
    places = pd.Series(list(zip(overrides["arm"], overrides["model"], strict=True)), index=overrides.index)
    # A text can be in any response that is still to come.
    known = places.isin(made) | (overrides["flow"].isna() & (len(made) == len(asked)))
    columns = ["flow", "variant", "text", "finish_reason"]
    frames = ((*pair, tables.read(path, tables.RESPONSES, columns)) for pair, path in made.items())
    if known.any():
        settled(frames, overrides[known], file)


def look_at_defaults(planned: PlannedRun) -> list[EntryProblem]:
    """Name the default tables and figures that do not fit the study: they are left out."""
    return [warning(f"left out: {text}") for text in planned.study.left_out]


def look_at_keys(planned: PlannedRun) -> list[EntryProblem] | None:
    """Check that the variables with the endpoints' keys are set, without reading their values."""
    needed: dict[str, list[str]] = {}
    for entry in planned.entries():
        if entry.key_variable:
            needed.setdefault(entry.key_variable, []).append(entry.name)
    if not needed:
        return None
    return [
        error(f"{variable} is not set; export the endpoint's key in this shell (for {', '.join(models)})")
        for variable, models in needed.items()
        if not planned.surroundings.environment.get(variable)
    ]


def _lacks_full_stop(vignettes: pd.Series) -> bool:
    """Tell whether most vignettes end without a mark that ends a sentence."""
    ended = vignettes.str.rstrip("\"'”’)] \n").str.endswith((".", "!", "?", "…"))
    return bool(ended.mean() < 0.5)


# --- Checks of where jobs run


def look_at_checkpoints(planned: PlannedRun) -> list[EntryProblem] | None:
    """Look for the checkpoints and adapters of the models that have requests left; sends nothing."""
    entries = [entry for entry in planned.entries() if entry.is_fetched]
    if not entries:
        return None
    problems, absent = [], []
    for entry in entries:
        source = _source(entry)
        if lora := entry.get("lora"):
            try:
                checkpoints.adapter(lora, None, entry.name)
            except CinormsError as problem:
                problems.append(error(f"{problem} in {entry.file}"))
        if checkpoints.in_wheels(source) or not checkpoints.is_folder(source):
            absent += [] if _is_here(planned, entry) else [f"{entry.name} ({source})"]
        elif not checkpoints.has_weights(Path(source)):
            what = "has no complete checkpoint" if os.path.isdir(source) else "does not exist"
            problems.append(
                error(f"{entry.name}: the folder {source} {what}; correct `source` in {entry.file}")
            )
    missing = f"{', '.join(absent)}: not on this machine"
    if absent and planned.surroundings.environment.get("HF_HUB_OFFLINE") == "1":
        why = "and HF_HUB_OFFLINE forbids a download"
        problems.append(
            error(f"{missing}, {why}; run `make fetch` where there is internet, with the same HF_HOME")
        )
    elif absent:
        problems.append(warning(f"{missing} yet; a run downloads them first, `make fetch` only downloads"))
    return problems


def _is_here(planned: PlannedRun, entry: ModelEntry) -> bool:
    """Tell whether a checkpoint from wheels or from the hub is on this machine."""
    source = _source(entry)
    if name := checkpoints.in_wheels(source):
        return wheels.is_here(name)
    lock = Path("results", planned.study.name, ".checkpoints", f"{entry.name}.json")
    revision = entry.get("revision") or checkpoints.locked(lock, source)
    return checkpoints.cached(source, revision, planned.surroundings.environment) is not None


def _source(entry: ModelEntry) -> str:
    assert isinstance(entry.settings, ServedSettings), "an engine that loads a checkpoint has these settings"
    return entry.settings.source


def look_at_slurm(planned: PlannedRun) -> list[EntryProblem] | None:
    """Ask SLURM whether it would take the jobs; nothing is queued."""
    if not planned.calls:
        return None
    refused: dict[str, list[str]] = {}
    for call, jobs in planned.calls.items():
        try:
            reason = refusal(call, planned.surroundings.environment)
        except EngineError as failure:
            return [error(str(failure))]
        if reason:
            rule = jobs[0].partition(" ")[0]
            text = f"SLURM would refuse it: {reason}\n{advice(reason, rule)} (asked: {call})"
            refused.setdefault(text, []).extend(jobs)
    return [error(f"{first_few(jobs)}: {text}") for text, jobs in refused.items()]


def _of_engine(kind: EngineKind, check: ModelCheck) -> StudyCheck:
    def look(planned: PlannedRun) -> list[EntryProblem] | None:
        entries = [entry for entry in planned.entries() if entry.kind is kind]
        found = check.look(entries, planned.surroundings) if entries else None
        return None if found is None else list(found)

    return StudyCheck(check.name, check.about, look)


def checks() -> tuple[StudyCheck, ...]:
    """Return every check, those that engines declare among them; a new one is a function and an entry here."""
    return (
        StudyCheck("norms", "there are enough variants for norms", look_at_norms),
        StudyCheck("report", "the report can say all that it says of a study", look_at_report),
        StudyCheck("paraphrases", "every wording has been confirmed", look_at_paraphrases),
        StudyCheck("sentences", "every vignette ends before the next sentence begins", look_at_sentences),
        StudyCheck("expected", "the files with expected values fit the flows", look_at_expectations),
        StudyCheck("overrides", "the manually coded answers can be read", look_at_overrides),
        StudyCheck(
            "defaults", "every default table and figure that is used fits the study", look_at_defaults
        ),
        StudyCheck("keys", "the keys of all endpoints are set", look_at_keys),
        *(_of_engine(kind, check) for kind in engine_kinds() for check in kind.checks),
        StudyCheck("checkpoints", "every checkpoint is on this machine", look_at_checkpoints),
        StudyCheck("slurm", "SLURM would take every job", look_at_slurm),
    )


if __name__ == "__main__":
    sys.exit(main())
