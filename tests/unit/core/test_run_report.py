"""What the terminal shows of a run: a line per finished job, every failure once, and why."""

from pathlib import Path

import pytest

from cinorms.core.logs import failure_in
from cinorms.core.run_report import ReportedJob, RunReport

MARK = "-- why this job failed --"


def log(folder: Path, name: str, text: str) -> str:
    path = folder / f"{name}.log"
    path.write_text(text, encoding="utf-8")
    return str(path)


def start(report: RunReport, jobid: int, rule: str, logs: list[str], **wildcards: str) -> None:
    report.started(jobid, ReportedJob(rule, {"study": "s", **wildcards}, logs))


def test_a_line_per_finished_job_with_what_it_is_of():
    report = RunReport()
    assert report.planned({"total": 1200}) == "1,200 jobs to run"
    assert report.planned({"total": 1}) == "1 job to run"
    start(report, 1, "read_answers", [], arm="main", model="m")
    start(report, 2, "list_variants", [], arm="main", planned="")
    report.finished(1)
    assert report.progress(1, 12) == "[ 1/12] read_answers main m"
    assert report.progress(1, 12) == ""
    report.started(3, ReportedJob("all", {}, []))
    report.finished(2)
    report.finished(3)
    assert report.progress(2, 12) == "[ 2/12] list_variants main\n[ 2/12] all"


def test_every_reason_is_said_once_with_the_jobs_that_failed_for_it(tmp_path):
    report = RunReport()
    for jobid in range(5):
        text = f"asked {jobid}\n{MARK}\nOPENAI_API_KEY is not set: set it\n"
        start(
            report, jobid, "ask_openai", [log(tmp_path, f"ask{jobid}", text)], arm="main", model=f"m{jobid}"
        )
    start(
        report,
        9,
        "make_table",
        [log(tmp_path, "table", f"{MARK}\nTraceback (most recent call last):\n  x\nKeyError: 'y'\n")],
        analysis="t",
    )
    for jobid in (0, 1, 2, 3, 4, 9):
        report.failed(jobid, ReportedJob("?", {}, []))
        report.failed(jobid, ReportedJob("?", {}, []))
    text = report.failures()
    assert "6 jobs failed" in text
    assert text.count("OPENAI_API_KEY is not set: set it") == 1
    assert "ask_openai main m0, ask_openai main m1, ask_openai main m2 and 2 more" in text
    assert "KeyError: 'y'" in text
    assert "Traceback (" not in text
    assert text.count("(log: ") == 2


def test_a_job_that_is_tried_again_and_ends_well_did_not_fail():
    report = RunReport()
    start(report, 1, "ask_vllm", [])
    report.failed(1, ReportedJob("ask_vllm", {}, []))
    report.finished(1)
    assert report.failures() == ""


def test_a_job_without_a_log_says_how_it_may_have_ended():
    report = RunReport()
    report.failed(1, ReportedJob("ask_vllm", {"study": "s", "model": "m"}, ["nowhere.log"]))
    assert "ask_vllm m" in report.failures()
    assert "it was killed, or ran out of memory, time or disk" in report.failures()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (f"before\n{MARK}\nfile.yaml: key: wrong\n", "file.yaml: key: wrong"),
        (f"{MARK}\nfirst\n{MARK}\nsecond\nline\n", "second\nline"),
        ("a\nb\nc\nd\ne\nf\n\nKilled\n", "c\nd\ne\nf\nKilled"),
        ("", ""),
        (
            f"{MARK}\nTraceback (most recent call last):\n  File x\nValueError: no\n",
            "ValueError: no\nThis is unexpected; the log has the traceback.",
        ),
    ],
)
def test_the_reason_is_read_out_of_the_log(tmp_path, text, reason):
    assert failure_in(log(tmp_path, "job", text)) == reason
