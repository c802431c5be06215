"""What a job prints goes to its log; why it failed goes to the terminal too. Commands that Ctrl+C or a reader stops."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cinorms.core.errors import ConfigError
from cinorms.core.logs import FAILURES_AT_THE_END, command, failure_in, redact, without_traceback

ROOT = Path(__file__).parents[3]


def start(*arguments: str, **streams: int) -> subprocess.Popen[str]:
    """Start Python at the project's folder, with Ctrl+C as at a terminal."""
    return subprocess.Popen(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT / "workflow/lib")},
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        **streams,
    )


def run(log: Path, body: str) -> tuple[int, str, str]:
    """Run ``body`` in a process that logs to a file and has a secret: code, stdout, stderr."""
    code = "import os, sys\nfrom cinorms.core.errors import ConfigError\nfrom cinorms.core.logs import start_logging"
    running = start("-c", f"{code}\nstart_logging({str(log)!r}, ['sk-123'])\n{body}", stdout=subprocess.PIPE)
    out, err = running.communicate()
    return running.returncode, out, err


AT_THE_END = f"os.environ[{FAILURES_AT_THE_END!r}] = '1'\n"
MISTAKE = "print('before')\nraise ConfigError('name a model')"
LOGGED = "before\n-- why this job failed --\nname a model\n"


@pytest.mark.parametrize(
    ("body", "code", "said", "logged"),
    [
        ("print('a ü')\nprint('b', file=sys.stderr)", 0, "", "a ü\nb\n"),
        (MISTAKE, 1, "\nname a model\n(log: {log})\n\n", LOGGED),
        (AT_THE_END + MISTAKE, 1, "", LOGGED),
    ],
)
def test_what_is_printed_goes_to_the_log_and_a_mistake_to_the_terminal_too(
    tmp_path, body, code, said, logged
):
    log = tmp_path / "logs/deep/job.log"
    log.parent.mkdir(parents=True)
    log.write_text("of an earlier run")
    assert run(log, body) == (code, "", said.format(log=log))
    assert log.read_text(encoding="utf-8") == logged


def test_anything_else_shows_its_traceback_in_both_places_and_no_secret(tmp_path):
    log = tmp_path / "deep/job.log"
    code, _, err = run(log, "print('key sk-123 here')\nraise ValueError('sent sk-123')")
    logged = log.read_text(encoding="utf-8")
    assert code == 1
    for text in (err, logged):
        assert "Traceback (most recent call last)" in text
        assert "ValueError: sent [key]\n" in text
        assert "sk-123" not in text
    assert "key [key] here" in logged
    assert f"(log: {log})" in err


@pytest.mark.parametrize(
    ("text", "secrets", "expected"),
    [
        ("a sk-1 b sk-1", ["sk-1"], "a [key] b [key]"),
        ("a sk-12", ["sk-1", "sk-12"], "a [key]"),
        ("sk-1", [], "sk-1"),
        ("sk-1 sk-1\n", ["sk-1\n"], "[key] [key]"),
        (f"{b'Bearer sk-1 ' + 'ä'.encode()!r}", ["sk-1 ä"], "b'Bearer [key]'"),
        (f"{'sk-ä' + chr(10)!r} {'sk-ä' + chr(10)!a}", ["sk-ä\n"], "'[key]' '[key]'"),
        (json.dumps('sk-"1'), ['sk-"1'], '"[key]"'),
    ],
)
def test_secrets_are_redacted_the_longest_first_and_however_they_are_escaped(text, secrets, expected):
    assert redact(text, secrets) == expected


def test_where_the_log_is_on_the_full_disk_the_message_is_on_the_terminal(tmp_path):
    (tmp_path / "job.log").symlink_to("/dev/full")
    code, _, said = run(tmp_path / "job.log", AT_THE_END + "print('a line')")
    assert code
    assert "Traceback" not in said
    assert "The disk is full: free some space and run again." in said


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("before\n-- why this job failed --\nfile.yaml: key: wrong\n", "file.yaml: key: wrong"),
        ("-- why this job failed --\nfirst\n-- why this job failed --\nsecond\nline\n", "second\nline"),
        ("a\nb\nc\nd\ne\nf\n\nKilled\n", "c\nd\ne\nf\nKilled"),
        ("", ""),
    ],
)
def test_the_reason_is_read_out_of_the_log(tmp_path, text, reason):
    (tmp_path / "job.log").write_text(text)
    assert failure_in(tmp_path / "job.log") == reason
    assert failure_in(tmp_path / "none.log") == ""


def caused(error: Exception, cause: Exception) -> Exception:
    error.__context__ = cause
    return error


FULL = OSError(28, "No space left on device", "a.csv")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (FULL, "The disk is full (a.csv): free some space and run again. Earlier results are kept."),
        (caused(RuntimeError("closing"), FULL), "The disk is full (a.csv): "),
        (MemoryError(), "There is not enough memory: free some"),
        (OSError(24, "Too many open files", "a.csv"), "allow more (ulimit -n)"),
        (OSError(11, "Resource temporarily unavailable"), "allow more (ulimit -u)"),
        (RuntimeError("can't start new thread"), "allow more (ulimit -u)"),
        (KeyboardInterrupt(), "Stopped by Ctrl+C; run again to do the rest."),
        (RuntimeError("closing"), ""),
    ],
)
def test_a_limit_of_the_machine_is_one_message(error, message):
    found = without_traceback(error) or ""
    assert message in found
    assert bool(message) == bool(found)


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (ConfigError("name a model"), "\nIt cannot run.\nname a model\n\n"),
        (PermissionError(13, "Permission denied", "out/a"), "out/a: cannot be used (Permission denied)"),
        (OSError(5, "Input/output error"), "\nthe output: cannot be used (Input/output error)"),
        (KeyError("x"), "KeyError: 'x' (test_logs.py, line "),
    ],
)
def test_a_command_that_fails_ends_with_a_code_that_is_no_verdict(error, says, capsys):
    @command("It cannot run.")
    def main() -> int:
        raise error

    assert main() == 2
    message = capsys.readouterr().err
    assert says in message
    assert ("fault of cinorms" in message) == isinstance(error, KeyError)
    assert command()(lambda: 1)() == 1


def test_every_command_has_a_handler_of_its_failures():
    """A job's is set by ``start_logging``, which ``followed_job`` calls."""
    paths = (ROOT / "workflow/lib/cinorms").rglob("*.py")
    texts = {path: path.read_text(encoding="utf-8") for path in paths}
    commands = {path: text for path, text in texts.items() if '__name__ == "__main__"' in text}
    assert len(commands) > 8
    handled = r"@command\(.*\)\ndef main|start_logging\(|followed_job\("
    assert [path for path, text in commands.items() if not re.search(handled, text)] == []


def test_ctrl_c_while_libraries_are_loaded_is_one_line():
    running = start("-X", "importtime", "-m", "cinorms.gate")
    assert running.stderr is not None
    # Python shows each module as soon as it is loaded; before the first of these, Ctrl+C is Python's own.
    assert any(line.split()[-1].startswith("cinorms.core.version") for line in running.stderr)
    running.send_signal(signal.SIGINT)
    left = [line for line in running.stderr if line.strip() and not line.startswith("import time:")]
    assert left == ["Stopped by Ctrl+C.\n"]
    assert running.wait() == -signal.SIGINT  # a shell calls it 130


@pytest.mark.parametrize(("verdict", "code"), [("0", 0), ("3", 3)])
def test_a_reader_who_leaves_changes_no_exit_code(verdict, code):
    lines = "[print(n, flush=True) for n in range(9)]; print('end', file=sys.stderr)"
    program = f"import sys; sys.argv[0] = '-m'; import cinorms; {lines}; sys.exit({verdict})"
    reading, writing = os.pipe()
    os.close(reading)
    running = start("-c", program, stdout=writing)
    os.close(writing)
    assert running.communicate()[1] == "end\n"
    assert running.returncode == code
