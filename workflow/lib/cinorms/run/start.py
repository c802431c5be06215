"""Before the first job of a run: what is about to be asked is checked, and then the jobs that ask are followed."""

import json
import os
import sys
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

from cinorms.core.errors import CinormsError
from cinorms.core.files import replacing
from cinorms.inference.engine_kind import Surroundings, engine_kinds
from cinorms.prompts.paraphrase.frozen_file import confirm
from cinorms.prompts.prompt_sets import accepted_unread
from cinorms.run.check import PlannedRun, make_checks
from cinorms.run.expected_cost import expected_usd
from cinorms.run.inside_snakemake import LEAST_SCRIPTS, Run, fork_scripts
from cinorms.run.left import left_to_ask
from cinorms.run.progress import Follower
from cinorms.run.slurm import options_of, waiting_jobs
from cinorms.study.requests import EXPECTED_USD, arms_of, shards_of
from cinorms.study.study import Study


def start(run: Run, study: Study, scripts: Path) -> Follower | None:
    """Check what ``run`` is about to ask, or end it with the messages; return who follows the jobs that ask."""
    jobs = run.jobs()
    if sum((scripts / Path(job.rule.script or "").name).is_file() for job in jobs) >= LEAST_SCRIPTS:
        fork_scripts(scripts)
    engines = {f"ask_{kind.name}" for kind in engine_kinds()}
    others = ("ask_planted", "ask_coder", *(f"generate_paraphrases_{name}" for name in study.awaited()))
    asking = [job for job in jobs if job.rule.name in engines]
    further = [job for job in jobs if job.rule.name in others]
    if not asking and not further:
        return None
    if accepted_unread():
        for prompt_set in map(study.prompt_set, study.worded()):
            # The frozen file then records that nobody has read it.
            if prompt_set.waits:
                confirm(Path(prompt_set.file), read=False)
    insist_on_checks(planned_run_of(run, study, asking, further))
    if study.settings.max_cost_usd is not None:
        try:
            with replacing(study.results / EXPECTED_USD) as part:
                part.write_text(json.dumps(expected_usd(study)), encoding="utf-8")
        except CinormsError as error:
            print(f"\n{error}\n", file=sys.stderr)
            raise SystemExit(1) from None
    shards = {job.wildcards.model: shards_of(study, job.wildcards.model) for job in asking}
    queue = partial(waiting_jobs, study.name, os.environ, Path.cwd()) if run.is_on_slurm else dict
    follower = Follower(study.results, shards, queue)
    follower.start()
    return follower


def planned_run_of(run: Run, study: Study, asking: Iterable[Any], others: Iterable[Any]) -> PlannedRun:
    """Return what the checks need to know of the jobs that ask all arms of a model, and of others that ask."""
    asked = [pair for job in asking for pair in arms_of(study, job.wildcards.model)]
    asked += [(job.wildcards.arm, job.wildcards.model) for job in others if job.rule.name == "ask_planted"]
    project, cap = study.root.folder, study.settings.max_cost_usd
    surroundings = Surroundings(project, os.environ, run.is_on_cluster, run.uses_conda, cap)
    calls: dict[str, list[str]] = {}
    if run.is_on_slurm:
        for job in (*asking, *others):
            if not job.is_local:
                named = (each for name, each in job.wildcards.items() if name != "study")
                everywhere = map(run.slurm_setting, ("qos", "reservation"))
                call = options_of(job.resources, job.threads, *everywhere)
                calls.setdefault(call, []).append(" ".join([job.rule.name, *named]))
    return PlannedRun(study, dict.fromkeys(asked) or left_to_ask(study), surroundings, calls)


def insist_on_checks(planned: PlannedRun) -> None:
    """Print what the checks find, and end the run where one finds an error."""
    wrong = [line for line in make_checks(planned) if line.severity in ("warning", "error")]
    for line in wrong:
        print(line, file=sys.stderr)
    if any(line.severity == "error" for line in wrong):
        print(
            "\nNothing was asked. Fix this and run again; `make check CONFIG=...` runs all checks.\n",
            file=sys.stderr,
        )
        raise SystemExit(1)
