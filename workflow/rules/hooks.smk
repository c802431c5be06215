# Before the first job, and at the end: checks, progress in the terminal, and the stop for reading paraphrases. Snakemake
# calls these hooks in the process that was started by hand and in no job, for `make` and for plain snakemake alike;
# --no-hooks leaves them out.
from functools import partial

from cinorms.inference.engine_kind import Surroundings
from cinorms.prompts.paraphrase.frozen_file import confirm
from cinorms.prompts.prompt_sets import accepted_unread, load_prompt_set, notice
from cinorms.report.words import closing_words
from cinorms.run.check import make_checks
from cinorms.run.case import Case, left_to_ask
from cinorms.run.inside_snakemake import LEAST_SCRIPTS, fork_scripts, submit_refused_jobs_once
from cinorms.run.progress import Follower, waiting_jobs
from cinorms.run.slurm import in_words

# Frozen files that this run makes and that somebody must read before models are asked in their words. A fixed list of
# planted rewordings needs no reading.
TO_READ = [
    local(STUDY.prompts_file(name))
    for name, request in AWAITED.items()
    if request["paraphraser"]["engine"] != "planted" and not accepted_unread()
]
FOLLOWERS = []


def unless_to_read(*files):
    """Return the inputs of a target, or only the paraphrases that somebody must read first."""
    return TO_READ or files


def start_run():
    """Check what is about to be asked, or end with the messages; then follow the jobs that ask."""
    jobs = RUN.jobs()
    scripts = [j.rule.script for j in jobs if j.rule.script]
    if sum((SCRIPTS / Path(file).name).is_file() for file in scripts) >= LEAST_SCRIPTS:
        fork_scripts(SCRIPTS)
    names = {f"ask_{kind.name}" for kind in engine_kinds() if kind.make}
    asking = [j for j in jobs if j.rule.name in names]
    others = ("ask_coder", *(f"generate_paraphrases_{name}" for name in AWAITED))
    planted = [j for j in jobs if j.rule.name == "ask_planted"]
    checked = asking + planted + [j for j in jobs if j.rule.name in others]
    if not checked:
        return
    if accepted_unread():
        for prompt_set in map(STUDY.prompt_set, STUDY.worded()):
            # The frozen file then records that nobody has read it.
            if prompt_set.waits:
                confirm(Path(prompt_set.file), read=False)
    asked = [pair for j in asking for pair in arms_of(STUDY, j.wildcards.model)]
    asked += [(j.wildcards.arm, j.wildcards.model) for j in planted]
    surroundings = Surroundings(
        PROJECT,
        os.environ,
        RUN.is_on_cluster,
        RUN.uses_conda,
        STUDY.settings.max_cost_usd,
    )
    calls = {}
    if RUN.is_on_slurm:
        submit_refused_jobs_once(in_words)
        for j in checked:
            if not j.is_local:
                named = (each for name, each in j.wildcards.items() if name != "study")
                calls.setdefault(RUN.sbatch(j), []).append(" ".join([j.rule.name, *named]))
    case = Case(STUDY, dict.fromkeys(asked) or left_to_ask(STUDY), surroundings, calls)
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
    FOLLOWERS.append(Follower(Path(RESULTS), shards, queue=queue if RUN.is_on_slurm else None))
    FOLLOWERS[-1].start()


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


def get_unmatched():
    """Return the files that list responses without a prompt or prompts without a response, where there are any."""
    arms = STUDY.arms_from("responses")
    files = map(Path, in_arms("responses", arms, ending="unmatched.csv"))
    # More than a header.
    return [str(f) for f in files if f.exists() and len(f.read_bytes().splitlines()) > 1]


def get_closing_words():
    """Return what the report says first, and where the results are that this run made or found up to date."""
    made = RUN.files()
    places = {
        "Comparison": [f"{RESULTS}/index.html"],
        "People": [f"{RESULTS}/people/index.html"],
        "Report": [f"{RESULTS}/report/index.html"],
        "Norms": [f"{RESULTS}/norms.csv"],
        "Tables": TABLES,
        "As printed": PRINTED,
        "Figures": FIGURES,
        "Not matched": get_unmatched(),
    }
    left_out = (
        f"{len(STUDY.left_out)} default tables and figures do not fit this study: left out (`make check` says why)"
    )
    mark = STUDY.mark(STUDY.all_models())
    failed = [follower.failures() for follower in FOLLOWERS]
    words = closing_words(places, made, *failed, mark, left_out if STUDY.left_out else "")
    if f"{RESULTS}/report/index.html" not in made:
        return words
    # Not above: a study is loaded without SciPy.
    from cinorms.report.screen import closing_lines

    cards = [
        json.loads(Path(f"{RESULTS}/cards/{model}.json").read_text(encoding="utf-8")) for model in STUDY.all_models()
    ]
    return "\n".join(["", *closing_lines(cards)]) + words
