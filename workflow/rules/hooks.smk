# Before the first job, and at the end: checks, progress in the terminal, and the stop for reading paraphrases. Snakemake
# calls these hooks in the process that was started by hand and in no job, for `make` and for plain snakemake alike;
# --no-hooks leaves them out.
from cinorms.prompts.prompt_sets import accepted_unread, load_prompt_set, notice
from cinorms.report.closing import closing_words
from cinorms.run.start import start

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
    FOLLOWERS.extend(filter(None, [start(RUN, STUDY, SCRIPTS)]))


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


def get_closing_words():
    """Return what the report says first, and where the results are that this run made or found up to date."""
    return closing_words(STUDY, RESULTS, RUN.files(), [follower.failures() for follower in FOLLOWERS])
