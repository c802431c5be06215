# The scripts of a run as forks of one process that has loaded their libraries (docs/decisions/0010-scripts-are-forks.md).
from snakemake.benchmark import benchmarked
from snakemake.script import PythonScript

from cinorms.core.digest import modules_of
from cinorms.run.forks import LEAST_SCRIPTS, LIBRARIES, fork_scripts, is_program


def start_forks(jobs):
    """Load the libraries of scripts once, where many of these jobs run one of this project."""
    jobs = [j for j in jobs if j.rule.script and is_own_script(j.rule.script)]
    if len(jobs) < LEAST_SCRIPTS or not is_program("snakemake"):
        return
    scripts = {SCRIPTS / Path(j.rule.script).name for j in jobs}
    made = [wildcard for _, wildcard, _ in MADE]
    entries = [j.wildcards for j in jobs if any(hasattr(j.wildcards, w) for w in made)]
    kinds = {make_wanted_entry(wildcards).declared.module for wildcards in entries}
    named = modules_of(*scripts, *kinds)
    needed = [name for name in named if name.split(".")[0] in LIBRARIES]
    # What a script is given is made of Snakemake's own classes.
    fork_scripts(PythonScript, SCRIPTS, [*needed, "snakemake.cli"], benchmarked)


def is_own_script(script):
    """Tell whether a script has the name of one of this project; a workflow that uses this one has others too."""
    return (SCRIPTS / Path(script).name).is_file()
