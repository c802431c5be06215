"""The command that rebuilds a file of a study: pages show it beside what they show."""

import os
import shlex
import sys
from pathlib import Path

from cinorms.run.inside_snakemake import Run


def rebuild_command(run: Run, project: Path) -> str:
    """Return the command that makes a file, whose path follows it, as ``run`` would: with its files and settings."""
    default = project / "config" / "config.yaml"
    files = [os.path.relpath(file) for file in run.given_files if Path(file).resolve() != default.resolve()]
    snakefile = os.path.relpath(run.snakefile)
    # `make` installs Snakemake into a folder of the project, which is on nobody's PATH.
    program = Path(sys.executable).with_name("snakemake")
    here = program.is_relative_to(Path.cwd())
    parts = [f"{os.path.relpath(program) if here else 'snakemake'} --cores all"]
    if snakefile not in ("Snakefile", "workflow/Snakefile"):
        parts.append(f"--snakefile {shlex.quote(snakefile)}")
    parts += [f"--configfile {shlex.join(files)}"] if files else []
    given = [f"{name}={value}" for name, value in run.given_config.items()]
    parts += [f"--config {shlex.join(given)}"] if given else []
    return " ".join([*parts, "--force --"])
