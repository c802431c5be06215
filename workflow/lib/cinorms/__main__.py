"""``cinorms COMMAND``, or ``python -m cinorms COMMAND``: the commands around a study, as `make` starts them.

A command is a module, whose options it takes, or a part of the workflow, which takes Snakemake's options too.
"""

import os
import shlex
import sys
from collections.abc import Sequence
from importlib import import_module

from cinorms.core.errors import ConfigError, listing
from cinorms.core.logs import command, prepare
from cinorms.core.version import PROJECT, version

#: What an installed package can do too: these read results.
READING = {
    "schema": (
        "cinorms.run.schemas",
        "write JSON schemas, with which an editor checks studies: cinorms schema FOLDER",
    ),
    "gate": (
        "cinorms.gate.__main__",
        "did a model's norms change? ends with the gate's exit code (docs/gate.md)",
    ),
}
AROUND = {
    "new": ("cinorms.run.new", "write a new study to edit: cinorms new NAME"),
    "check": ("cinorms.run.check", "check whether a study can run here: seconds, costs nothing"),
    "status": (
        "cinorms.run.status",
        "show what of a study is done, running and missing, and its cost; --watch again and again",
    ),
    "confirm": ("cinorms.run.confirm", "show the unconfirmed paraphrases of a study, and confirm them"),
}
#: Parts of the workflow: Snakemake's options, and its target.
STAGES = {
    "run": ("", "", "check and run a study"),
    "plan": ("--forcerun plan", "plan", "show what a study will ask and cost; asks nothing"),
    "figures": ("", "figures", "draw the figures of a study"),
    "tables": ("", "tables", "make the tables of a study"),
    "fetch": ("", "fetch", "download the checkpoints of a study and record their commits"),
}
ABOUTS = {name: found[-1] for group in (STAGES, AROUND, READING) for name, found in group.items()}


@command()
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that the arguments name; print all of them where they name none."""
    name, *rest = (sys.argv[1:] if arguments is None else arguments) or ["--help"]
    if name in ("-h", "--help", "help"):
        print(f"usage: cinorms COMMAND [--configfile STUDY.yaml] [options]\n\ncinorms {version()}:", end=" ")
        print("the privacy norms that language models encode, measured.\n")
        print(*(f"  {name:<12} {about}" for name, about in ABOUTS.items()), sep="\n")
        print(
            "\ncinorms COMMAND --help lists a command's options. Without --configfile the default study is meant."
        )
    elif name == "--version":
        print(f"cinorms {version()}")
    elif name not in ABOUTS:
        raise ConfigError(
            f"cinorms has no command {name!r}; {listing(name, ABOUTS)}; cinorms --help describes them"
        )
    elif name in READING:
        return _run(READING[name][0], rest)
    elif not (PROJECT / "workflow" / "Snakefile").is_file():
        raise ConfigError(
            f"cinorms {name} needs the workflow, which is a repository and no part of the installed package: call it "
            "in a clone, after `make setup`, as .venv/bin/cinorms; or use the workflow as a module (docs/module.md)"
        )
    elif name in AROUND:
        return _run(AROUND[name][0], rest)
    else:
        _start(name, rest)
    return 0


def script() -> None:
    """Run `main` as the command that an installed package has."""
    prepare()
    sys.exit(main())


def _run(module: str, arguments: Sequence[str]) -> int:
    code: int = import_module(module).main(arguments)
    return code


def _start(name: str, arguments: Sequence[str]) -> None:
    """Replace this process by Snakemake, once the study's files could be read: it may answer with a traceback."""
    known = import_module("cinorms.study.load").parser(
        name, f"{ABOUTS[name]}. Other options are Snakemake's."
    )
    known.add_argument(
        "--profile",
        default=os.environ.get("SNAKEMAKE_PROFILE"),
        help="where jobs run, e.g. profiles/slurm; default: on all cores here",
    )
    given, _ = known.parse_known_args(arguments)
    if code := _run("cinorms.core.yaml_files", given.configfile):
        sys.exit(code)
    before, target, _ = STAGES[name]
    where = [] if given.profile else ["--cores", "all", "--resources", "gpu=1"]
    options = [
        *before.split(),
        "--logger",
        "cinorms",
        "--snakefile",
        str(PROJECT / "Snakefile"),
        *where,
        *arguments,
    ]
    os.environ["CINORMS_COMMAND"] = shlex.join(["cinorms", name, *arguments])
    library = [str(PROJECT / "workflow/lib"), os.environ.get("PYTHONPATH")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, library))
    program = [sys.executable, "-m", "snakemake", *options, *(["--", target] if target else [])]
    os.execv(sys.executable, program)


if __name__ == "__main__":
    sys.exit(main())
