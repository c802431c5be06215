# Before the first job, and at the end: checks, progress in the terminal, and the stop for reading paraphrases. Snakemake
# calls these hooks in the process that was started by hand and in no job, for `make` and for plain snakemake alike;
# --no-hooks leaves them out.
from functools import partial
from snakemake.script import PythonScript

from cinorms.core.digest import modules_of
from cinorms.inference.engine_kind import Surroundings
from cinorms.prompts.paraphrase.frozen_file import confirm
from cinorms.prompts.prompt_sets import accepted_unread, load_prompt_set, notice
from cinorms.rules.values import SECTIONS
from cinorms.rules.inside import fork_scripts, is_main_program
from cinorms.run.check import make_checks
from cinorms.run.case import Case, left_to_ask, summary
from cinorms.run.forks import LEAST_SCRIPTS, LIBRARIES
from cinorms.run.progress import Follower, waiting_jobs
from cinorms.run.signals import hand_on_signals

# Frozen files that this run makes and that somebody must read before models are asked in their words. A fixed list of
# planted rewordings needs no reading.
TO_READ = [
    local(STUDY.prompts_file(name))
    for name, request in AWAITED.items()
    if request["paraphraser"]["engine"] != "planted" and not accepted_unread()
]
ASKING = tuple(f"ask_{kind.name}" for kind in engine_kinds() if kind.make)
OTHERS_ASKING = ("ask_coder", *(f"generate_paraphrases_{name}" for name in AWAITED))
FOLLOWERS = []


def unless_to_read(*files):
    """Return the inputs of a target, or only the paraphrases that somebody must read first."""
    return TO_READ or files


def start_run():
    """Check what is about to be asked, or end with the messages; then follow the jobs that ask."""
    start_forks(INSIDE.jobs)
    asking = [j for j in INSIDE.jobs if j.rule.name in ASKING]
    jobs = asking + [j for j in INSIDE.jobs if j.rule.name in OTHERS_ASKING]
    if not jobs:
        return
    hand_on_signals()
    if accepted_unread():
        for prompt_set in map(STUDY.prompt_set, STUDY.worded()):
            # The frozen file then records that nobody has read it.
            if prompt_set.waits:
                confirm(Path(prompt_set.file), read=False)
    asked = [pair for j in asking for pair in arms_of(STUDY, j.wildcards.model)]
    case = Case(
        STUDY,
        dict.fromkeys(asked) or left_to_ask(STUDY),
        Surroundings(
            ROOT.folder,
            os.environ,
            INSIDE.is_on_cluster,
            INSIDE.uses_conda,
            STUDY.settings.max_cost_usd,
        ),
        (
            {j.rule.name: j.resources.get("slurm_partition") for j in jobs}
            if INSIDE.is_on_slurm
            else {}
        ),
    )
    wrong = [line for line in make_checks(case) if line.severity != "ok"]
    for line in wrong:
        print(line, file=sys.stderr)
    if any(line.severity == "error" for line in wrong):
        print(
            "\nNothing was asked. Fix this and run again; `make check CONFIG=...` runs all checks.\n",
            file=sys.stderr,
        )
        raise SystemExit(1)
    shards = {j.wildcards.model: shards_of(STUDY, j.wildcards.model) for j in asking}
    queue = partial(waiting_jobs, STUDY.name, os.environ, Path.cwd())
    FOLLOWERS.append(
        Follower(
            Path(VALUES.results),
            shards,
            queue=queue if INSIDE.is_on_slurm else None,
        )
    )
    FOLLOWERS[-1].start()


def start_forks(jobs):
    """Load the libraries of scripts once, where many of these jobs run one of this project.

    The scripts are then forks of one process (docs/decisions/0010-scripts-are-forks.md). A workflow that uses this one
    has scripts of its own too.
    """
    files = [
        SCRIPTS / Path(j.rule.script).name if j.rule.script else None for j in jobs
    ]
    jobs = [(j, file) for j, file in zip(jobs, files) if file and file.is_file()]
    if len(jobs) < LEAST_SCRIPTS or not is_main_program():
        return
    entries = [
        j.wildcards for j, _ in jobs if any(hasattr(j.wildcards, w) for w in SECTIONS)
    ]
    kinds = {of(VALUES.entry)(wildcards).declared.module for wildcards in entries}
    named = modules_of(*{file for _, file in jobs}, *kinds)
    needed = [name for name in named if name.split(".")[0] in LIBRARIES]
    # What a script is given is made of Snakemake's own classes.
    fork_scripts(PythonScript, SCRIPTS, [*needed, "snakemake.cli"])


def end_run():
    """Stop showing progress; end with a message if this run made paraphrases that somebody must read."""
    for follower in FOLLOWERS:
        follower.stop()
    made = [load_prompt_set(path) for path in TO_READ if Path(path).exists()]
    for prompt_set in made:
        if prompt_set.waits:
            print(f"\n{notice(prompt_set)}\n", file=sys.stderr)
    if any(prompt_set.waits for prompt_set in made):
        raise SystemExit(1)


def get_left(wildcards):
    """Return in words what a run would still ask; None where a module's `prefix` moves the results."""
    if INSIDE.placed(RESULTS) != RESULTS:
        return None
    return summary(STUDY, left_to_ask(STUDY))
