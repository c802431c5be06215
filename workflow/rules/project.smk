# Finds the project's files, puts its library on Python's path, and loads the study: everything else needs these.
import io
import os
import sys
import tarfile
import tempfile
from pathlib import Path

from snakemake.sourcecache import HostingProviderFile, LocalGitFile, LocalSourceFile


def refuse(message):
    """End with one message, before anything runs."""
    print(f"\nThe study cannot run.\n{message}\n", file=sys.stderr)
    raise SystemExit(1)


def get_project_folder():
    """Return the folder of the project: a clone, or what Snakemake has fetched, unpacked."""
    rules = workflow.current_basedir
    if isinstance(rules, LocalSourceFile):
        return Path(rules.path).parents[1]
    if isinstance(rules, LocalGitFile):
        from git import Repo

        return get_unpacked(Repo(rules.repo_path), rules)
    if isinstance(rules, HostingProviderFile):
        return get_unpacked(rules.hosted_repo.repo, rules)
    refuse(
        f"snakefile: {rules} is a single file, but cinorms needs its whole repository. Use snakefile: "
        'github(...) with a tag,\n"git+file:///CLONE/workflow/Snakefile@TAG" or the path of a clone (docs/module.md)'
    )


def get_unpacked(repository, rules):
    """Return a folder with all files of the commit that `rules` is from.

    Snakemake fetches single files from git, and only those that a rule names; the library, datasets and templates are
    more than that. They go into Snakemake's own cache, by commit, and never change there.
    """
    commit = repository.commit(rules.ref).hexsha
    inside = str(Path(rules.path).parents[1])
    cache = Path(workflow.sourcecache.cache_path, "cinorms")
    folder = cache / commit / ("" if inside == "." else inside)
    if not (cache / commit).is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache, prefix=f"{commit}.", ignore_cleanup_errors=True) as fresh:
            packed = io.BytesIO(repository.git.archive(commit, stdout_as_string=False, strip_newline_in_stdout=False))
            with tarfile.open(fileobj=packed) as files:
                files.extraction_filter = getattr(tarfile, "data_filter", None)
                files.extractall(Path(fresh, "files"))
            try:
                # Whole or not at all: several jobs may do this at once.
                Path(fresh, "files").rename(cache / commit)
            except OSError:
                if not (cache / commit).is_dir():
                    raise
    return folder


def get_rules(stage):
    """Return a file of rules in the project's folder: scripts and environments are found from where that is."""
    return str(PROJECT / "workflow" / "rules" / f"{stage}.smk")


def get_page_templates(package, *patterns):
    """Return the templates of a page: those of its package with names like these, and those of all pages."""
    library = LIBRARY / "cinorms"
    own = [path for pattern in patterns for path in (library / package / "templates").glob(pattern)]
    return sorted(map(str, [*own, *(library / "core" / "templates").glob("page.*")]))


PROJECT = get_project_folder()
IS_FETCHED = not isinstance(workflow.current_basedir, LocalSourceFile)
LIBRARY = PROJECT / "workflow" / "lib"
if str(LIBRARY) not in sys.path:
    sys.path.insert(0, str(LIBRARY))
# For scripts and commands. The environment, and not `shell.prefix`: that would also change the rules of a caller.
others = [path for path in os.getenv("PYTHONPATH", "").split(os.pathsep) if path]
os.environ.update(PYTHONPATH=os.pathsep.join(dict.fromkeys([str(LIBRARY), *others])))

try:
    import cinorms.study.load
except ModuleNotFoundError as error:
    if error.name.startswith("cinorms"):
        raise
    refuse(
        f"The package {error.name!r} is not installed for the Python that runs Snakemake ({sys.executable}).\n"
        f"Install what cinorms needs: {sys.executable} -m pip install -r {PROJECT / 'requirements' / 'run.in'}"
    )
if Path(cinorms.__file__).parents[1] != LIBRARY:
    refuse(
        f"cinorms is already loaded from {Path(cinorms.__file__).parents[1]}, but these rules need {LIBRARY}.\n"
        "Two versions cannot run in one workflow: give all modules the same tag, or run them one after the other"
    )
from cinorms.core.errors import CinormsError
from cinorms.core.root import Root
from cinorms.core.run_process import name_run
from cinorms.run.given import given_study
from cinorms.run.inside_snakemake import Run

RUN = Run(workflow)
# Jobs that ask end with this process.
name_run()
try:
    STUDY = given_study(RUN, config, Root(PROJECT, results=RUN.results(), is_fetched=IS_FETCHED))
except CinormsError as error:
    refuse(error)
