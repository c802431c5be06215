"""What `rules/inside.py` asks of Snakemake beyond what it documents: a test for each thing that it is for.

`make test-snakemake` runs them with the lowest and the newest Snakemake that `requirements/run.in` allows. What is true
only on a cluster is in `tests/slurm`.
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from ..snakemake_runs import ROOT, snakemake

LIBRARY = ROOT / "workflow/lib"
HEAD = "from cinorms.rules.inside import Inside, fork_scripts, is_main_program\nINSIDE = Inside(workflow)\n"
#: What a rule file sees; it is written when the file is read.
SEEN = """
import json
from pathlib import Path

names = ["is_module", "module", "given_config", "given_files", "config_files", "all_config_files", "snakefile",
    "is_on_cluster", "is_on_slurm", "is_in_job_without_gpu", "uses_conda", "lanes"]
seen = {name: getattr(INSIDE, name) for name in names} | {"placed": INSIDE.placed("file")}
Path("seen.json").write_text(json.dumps(seen, default=str))

rule all:
    output: touch("done.txt")
"""


def run(folder: Path, text: str, *arguments: str) -> str:
    """Run a Snakefile of ``text``."""
    (folder / "Snakefile").write_text(HEAD + text, encoding="utf-8")
    return snakemake(folder, *arguments, environment={**os.environ, "PYTHONPATH": python_path()})


def python_path() -> str:
    """Return where Python finds this project's library, and another Snakemake where one is tested."""
    return os.pathsep.join(filter(None, [str(LIBRARY), os.environ.get("PYTHONPATH")]))


def seen(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / "seen.json").read_text(encoding="utf-8")))


def test_how_the_study_is_given(tmp_path):
    (tmp_path / "own.yaml").write_text("study: own", encoding="utf-8")
    (tmp_path / "given.yaml").write_text("study: given", encoding="utf-8")
    run(tmp_path, 'configfile: "own.yaml"\n' + SEEN, "--configfile", "given.yaml", "--config", "size=3")
    stated = seen(tmp_path)
    assert stated["given_config"] == {"size": 3}
    assert [Path(path).name for path in stated["given_files"]] == ["given.yaml"]
    assert [Path(path).name for path in stated["config_files"]] == ["own.yaml", "given.yaml"]
    assert Path(stated["snakefile"]) == tmp_path / "Snakefile"
    assert (stated["is_module"], stated["module"], stated["placed"]) == (False, "None", "file")
    assert not stated["is_on_cluster"]
    assert not stated["is_on_slurm"]
    assert not stated["is_in_job_without_gpu"]
    assert not stated["uses_conda"]
    assert stated["lanes"] == 1


def test_gpus_and_conda_are_what_the_command_line_says(tmp_path):
    run(tmp_path, SEEN, "--resources", "gpu=4", "--sdm", "conda", "--dry-run")
    assert seen(tmp_path)["lanes"] == 4
    assert seen(tmp_path)["uses_conda"]


def test_a_module_knows_its_name_its_prefix_and_the_callers_config(tmp_path):
    (tmp_path / "module.smk").write_text(HEAD + SEEN, encoding="utf-8")
    (tmp_path / "caller.yaml").write_text("study: caller", encoding="utf-8")
    caller = """
configfile: "caller.yaml"
module norms:
    snakefile: "module.smk"
    prefix: "audit"
    config: config
use rule * from norms as norms_*
"""
    run(tmp_path, caller, "--", "audit/done.txt")
    stated = seen(tmp_path)
    assert (stated["is_module"], stated["module"], stated["placed"]) == (True, "norms", "audit/file")
    assert [Path(path).name for path in stated["all_config_files"]] == ["caller.yaml"]
    assert Path(stated["snakefile"]) == tmp_path / "Snakefile"


#: Each job writes its name; without more, b runs before a. The file that both read is made in the same run.
ORDER = """
rule all:
    input: "a.txt", "b.txt"

rule read:
    output: "read.txt"
    shell: "echo read >>order.txt; touch {output}"

rule a:
    input: "read.txt"
    output: "a.txt"
    shell: "sleep 0.5; echo a >>order.txt; touch {output}"

rule b:
    input: "read.txt"
    output: "b.txt"
    priority: 50
    shell: "echo b >>order.txt; touch {output}"

onstart:
    jobs = {job.rule.name: job for job in INSIDE.jobs}
    assert sorted(jobs) == ["a", "all", "b", "read"], jobs
    assert INSIDE.remade_inputs(jobs["a"]) == {"read.txt"}
    assert INSIDE.remade_inputs(jobs["read"]) == set()
    assert INSIDE.makers(jobs["b"], without=["a"]) == [jobs["read"]]
    assert INSIDE.makers(jobs["b"], without=["read"]) == []
    assert not WAIT or INSIDE.put_after(jobs["a"], jobs["b"])

onsuccess:
    assert INSIDE.files == {"a.txt", "b.txt", "read.txt"}, INSIDE.files
    print("all files are known")
"""


@pytest.mark.parametrize(("wait", "order"), [(False, ["read", "b", "a"]), (True, ["read", "a", "b"])])
def test_jobs_of_a_crew_wait_for_another_and_nothing_of_it_is_recorded(tmp_path, wait, order):
    assert "all files are known" in run(tmp_path, f"WAIT = {wait}" + ORDER, "--cores", "1")
    assert (tmp_path / "order.txt").read_text(encoding="utf-8").split() == order
    assert "Nothing to be done" in run(tmp_path, "WAIT = False" + ORDER)


SCRIPT = """
from pathlib import Path
import os

Path(snakemake.output[0]).write_text(Path(f"/proc/{os.getppid()}/cmdline").read_text().replace(chr(0), " "))
"""
FORKS = """
from pathlib import Path
from snakemake.script import PythonScript

rule all:
    input: "parent.txt", "threads.txt"

rule parent:
    output: "parent.txt"
    script: "scripts/parent.py"

rule threads:
    output: "threads.txt"
    threads: 2
    script: "scripts/parent.py"

onstart:
    assert is_main_program()
    assert fork_scripts(PythonScript, Path("scripts"), ["json", "snakemake.cli"])
"""


def test_a_script_runs_as_a_fork(tmp_path):
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts/parent.py").write_text(SCRIPT, encoding="utf-8")
    run(tmp_path, FORKS)
    assert "forkserver" in (tmp_path / "parent.txt").read_text(encoding="utf-8")
    assert "forkserver" not in (tmp_path / "threads.txt").read_text(encoding="utf-8")
