# Before the first job, and at the end: checks, progress in the terminal, and the stop for reading paraphrases. Snakemake
# calls these hooks in the process that was started by hand and in no job, for `make` and for plain snakemake alike;
# --no-hooks leaves them out.
from cinorms.inference.preflight import Surroundings
from cinorms.prompts.paraphrase.frozen_file import confirm
from cinorms.prompts.prompt_sets import accepted_unread, load_prompt_set, notice
from cinorms.run.checks.case import Case, left_to_ask, summary
from cinorms.run.checks.registry import make_checks
from cinorms.run.follow import Follower
from cinorms.run.one_timer import wait_with_one_timer

# Frozen files that this run makes and that somebody must read before models are asked in their words. A fixed list of
# planted rewordings needs no reading.
TO_READ = [
    local(STUDY.prompts_file(name))
    for name, request in AWAITED.items()
    if request["paraphraser"]["engine"] != "planted" and not accepted_unread()
]
ASKING = tuple(f"ask_{kind.name}" for kind in engine_kinds() if not kind.people)
OTHERS_ASKING = ("ask_coder", *(f"generate_paraphrases_{name}" for name in AWAITED))
FOLLOWERS = []


def unless_to_read(*files):
    """Return the inputs of a target, or only the paraphrases that somebody must read first."""
    return TO_READ or files


def start_run():
    """Check what is about to be asked, or end with the messages; then follow the jobs that ask."""
    wait_with_one_timer(workflow.scheduler)
    start_forks(workflow.dag.needrun_jobs())
    jobs = [
        j
        for j in workflow.dag.needrun_jobs()
        if j.rule.name in (*ASKING, *OTHERS_ASKING)
    ]
    if not jobs:
        return
    if accepted_unread():
        confirm_unread()
    asked = [
        (j.wildcards.arm, j.wildcards.model) for j in jobs if j.rule.name in ASKING
    ]
    case = Case(
        STUDY,
        dict.fromkeys(asked) or left_to_ask(STUDY),
        get_surroundings(),
        get_partitions(jobs),
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
    join_crews([j for j in jobs if j.rule.name in ASKING])
    FOLLOWERS.append(
        Follower(
            Path(RESPONSES), {pair: all_shards_of(STUDY, *pair) for pair in case.asked}
        )
    )
    FOLLOWERS[-1].start()


def confirm_unread():
    """Record in the frozen files of this study that nobody has read them."""
    for name in STUDY.worded():
        if STUDY.prompt_set(name).waits:
            confirm(Path(STUDY.prompt_set(name).file), read=False)


def get_surroundings():
    """Return where the jobs of this run will run."""
    ways = workflow.deployment_settings.deployment_method
    return Surroundings(
        ROOT.folder,
        os.environ,
        is_on_cluster(),
        DeploymentMethod.CONDA in ways,
        STUDY.settings.max_cost_usd,
    )


def is_on_cluster():
    """Tell whether jobs run on other machines than this one."""
    return not workflow.local_exec


def get_partitions(jobs):
    """Return the SLURM partition that the jobs of each rule name, where they go to SLURM."""
    if not is_on_cluster() or workflow.executor_plugin.name != "slurm":
        return {}
    return {j.rule.name: j.resources.get("slurm_partition") for j in jobs}


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
