"""The terminal: a line per job, every failure once at the end, and where the results are."""

import os
import re
import signal
import subprocess
import sys

from .conftest import Project


def start(project: Project, *arguments: str) -> subprocess.Popen[str]:
    """Start a run as `make run` does."""
    command = [sys.executable, "-m", "snakemake", "--logger", "cinorms", "--cores", "2"]
    return subprocess.Popen(
        [*command, "--configfile", "tiny.yaml", *arguments],
        cwd=project.folder,
        env={**os.environ, "PYTHONPATH": str(project.folder / "workflow/lib")},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def short(project: Project, *arguments: str) -> tuple[int, str]:
    """Run, and return the exit code and all that is printed."""
    running = start(project, *arguments)
    printed, _ = running.communicate()
    return running.returncode, printed


def test_a_line_per_job_and_no_long_one(finished):
    printed = finished.printed
    jobs = re.findall(r"^\[ *\d+/\d+\] (\w+)", printed, flags=re.MULTILINE)
    total = int(re.findall(r"^(\d+) jobs to run$", printed, flags=re.MULTILINE)[0])
    assert len(jobs) == total
    assert {"read_answers", "list_norms", "write_report"} <= set(jobs)
    assert max(map(len, printed.splitlines())) < 120
    assert str(finished.folder) not in printed
    assert "reason" not in printed


def test_the_closing_words_name_the_files(finished):
    closing = finished.printed[finished.printed.rindex("Report") :]
    for file in ("report/index.html", "norms.csv", "figures/distribution.png"):
        assert f"results/tiny/{file}" in closing
        assert (finished.folder / "results/tiny" / file).is_file()
    assert "Tables      results/tiny/tables/\n" in closing  # several
    assert "Comparison" not in closing
    assert "To cite: results/tiny/report/appendix.html#cite" in closing
    assert 'id="cite"' in (finished.folder / "results/tiny/report/appendix.html").read_text(encoding="utf-8")


def test_a_partial_run_names_what_it_made_and_no_old_report(finished):
    (finished.folder / "results/tiny/figures/distribution.png").unlink()
    code, printed = short(finished, "--", "figures")
    assert code == 0
    assert "results/tiny/figures/distribution.png" in printed
    assert "report/index.html" not in printed
    assert "tables/" not in printed
    _, again = short(finished, "--", "figures")
    assert "Nothing to be done" in again


def test_every_failure_is_shown_once_at_the_end(project):
    message = "nobody can read these"  # the same in every job that reads answers
    script = project.folder / "workflow/scripts/read_answers.py"
    text = script.read_text(encoding="utf-8").replace(
        "    answers, review", f'    raise DataError("{message}")\n    answers, review'
    )
    imported = "from cinorms.core.errors import DataError\nfrom cinorms.core import tables\n"
    script.write_text(text.replace("from cinorms.core import tables\n", imported), encoding="utf-8")
    code, printed = short(project)
    assert code != 0
    assert printed.count(message) == 1
    at = printed.index("jobs failed")
    assert printed.index(message) > at > printed.rindex("] ")
    assert "read_answers main planted-gpt-4o-mini" in printed[at:]
    assert not re.search("Traceback|CalledProcessError|WorkflowError", printed)


def test_what_is_wrong_before_any_job_is_shown_and_so_are_the_jobs_of_a_dry_run(project):
    for target, words in (
        ("results/tiny/figures/distributions.png", "did you mean 'results/tiny/figures/distribution.png'?"),
        ("figuresx", "did you mean 'figures'?"),
        ("/nowhere", "rules: all, figures, "),
    ):
        code, printed = short(project, "--", target)
        assert code != 0
        assert f"{target}: no rule and no file of this study has this name; {words}" in printed
        assert not re.search("Exception|Traceback", printed)
    code, printed = short(project, "-n", "--", "figures")
    assert code == 0
    assert re.search(r"^draw_figure +1$", printed, flags=re.MULTILINE)


def test_after_ctrl_c_the_next_run_goes_on(project):
    running = start(project)
    assert running.stdout is not None
    assert any("[ 1/" in line for line in running.stdout)
    os.killpg(running.pid, signal.SIGINT)  # as a terminal does: to all of them
    printed = running.stdout.read()
    assert running.wait() != 0
    assert printed.count("Terminating processes on user request") == 1
    assert (
        "Every reply that has come and every finished file is kept. To go on:\n  snakemake --logger"
        in printed
    )
    assert "jobs failed" not in printed
    assert short(project)[0] == 0
