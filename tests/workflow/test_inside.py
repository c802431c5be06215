"""What `run/inside_snakemake.py` asks of Snakemake beyond what it documents: a test for each thing that it is for.

`make test-workflow` runs them with the lowest Snakemake that `requirements/run.in` allows, `make test-snakemake` with
the newest. What is true only on a cluster is in `tests/slurm`.
"""

import json
import os
from pathlib import Path
from typing import Any

from ..snakemake_runs import ROOT, snakemake

HEAD = "from cinorms.run.inside_snakemake import Run, fork_scripts\nRUN = Run(workflow)\n"
#: What a rule file sees; it is written when the file is read.
SEEN = (
    HEAD
    + """
import json
from pathlib import Path

more = ("is_on_cluster", "is_on_slurm", "uses_conda")
seen = vars(RUN) | {name: getattr(RUN, name) for name in more} | {"results": RUN.results()}
Path("seen.json").write_text(json.dumps(seen, default=str))

rule all:
    output: touch("done.txt")
"""
)


def run(folder: Path, text: str, *arguments: str, code: int = 0) -> str:
    """Run a Snakefile of ``text``."""
    (folder / "Snakefile").write_text(text, encoding="utf-8")
    # PYTHONPATH has another Snakemake where one is tested.
    places = os.pathsep.join(filter(None, [str(ROOT / "workflow/lib"), os.environ.get("PYTHONPATH")]))
    return snakemake(folder, *arguments, code=code, environment={**os.environ, "PYTHONPATH": places})


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
    assert (stated["is_module"], stated["module"], stated["results"]) == (False, "None", "results")
    assert not stated["is_on_cluster"]
    assert not stated["is_on_slurm"]
    assert not stated["uses_conda"]


def test_conda_is_what_the_command_line_says(tmp_path):
    run(tmp_path, SEEN, "--sdm", "conda", "--dry-run")
    assert seen(tmp_path)["uses_conda"]


def test_a_module_knows_its_name_its_prefix_and_the_callers_config(tmp_path):
    (tmp_path / "module.smk").write_text(SEEN, encoding="utf-8")
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
    assert (stated["is_module"], stated["module"], stated["results"]) == (True, "norms", "audit/results")
    assert [Path(path).name for path in stated["all_files"]] == ["caller.yaml"]
    assert Path(stated["snakefile"]) == tmp_path / "Snakefile"


#: Of two jobs one is done; what is there counts as made by the run, too.
JOBS = (
    HEAD
    + """
rule all:
    input: "a.txt", "b.txt"

rule a:
    output: touch("a.txt")

rule b:
    output: touch("b.txt")

onstart:
    assert sorted(job.rule.name for job in RUN.jobs()) == ["all", "b"], RUN.jobs()

onsuccess:
    assert RUN.files() == {"a.txt", "b.txt"}, RUN.files()
    print("all files are known")
"""
)


def test_a_run_knows_its_jobs_and_its_files(tmp_path):
    run(tmp_path, JOBS.partition("onstart")[0], "--", "a.txt")
    assert "all files are known" in run(tmp_path, JOBS)


SCRIPT = """
from pathlib import Path
import os

Path(snakemake.output[0]).write_text(Path(f"/proc/{os.getppid()}/cmdline").read_text().replace(chr(0), " "))
"""
FORKS = (
    HEAD
    + """
from pathlib import Path

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
    assert fork_scripts(Path("scripts"), ["json", "snakemake.cli"])
"""
)


def test_a_script_runs_as_a_fork(tmp_path):
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts/parent.py").write_text(SCRIPT, encoding="utf-8")
    run(tmp_path, FORKS)
    assert "forkserver" in (tmp_path / "parent.txt").read_text(encoding="utf-8")
    assert "forkserver" not in (tmp_path / "threads.txt").read_text(encoding="utf-8")


FAILING = (
    HEAD
    + """
rule all:
    output: "never.txt"
    shell: "echo x >> tries.txt; exit 1"

onstart:
    RUN.stop_retries()
"""
)


def test_a_run_can_stop_to_try_again(tmp_path):
    run(tmp_path, FAILING.replace("RUN.stop_retries()", "pass"), "--retries", "2", code=1)
    run(tmp_path, FAILING, "--retries", "2", code=1)
    assert (tmp_path / "tries.txt").read_text(encoding="utf-8").count("x") == 3 + 1
