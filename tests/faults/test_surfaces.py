"""A machine that refuses: full disks, limits, other users. One message each, and no reply is lost."""

import os
import resource
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from plotnine import aes, geom_point, ggplot

from cinorms.core import tables
from cinorms.core.csv_files import write_csv
from cinorms.core.errors import CinormsError
from cinorms.core.logs import without_traceback
from cinorms.figures.theme import Drawn, save

from .conftest import vignettes
from .test_kill import Jobs, environment

IS_ROOT = os.geteuid() == 0


@contextmanager
def limited(what: int, most: int) -> Iterator[None]:
    """Lower one of this process's limits."""
    before = resource.getrlimit(what)
    resource.setrlimit(what, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(what, before)


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[None]:
    """Put a file system of its own under ``folder``, full once it has ``size``; afterwards there is room."""
    folder.mkdir(parents=True)
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder])
    if mounted.returncode:
        pytest.skip("no file system can be mounted here")
    try:
        yield
    finally:
        subprocess.run(["mount", "-o", "remount,size=64m", folder], check=True)


@contextmanager
def another_user(folder: Path) -> Iterator[None]:
    """Be a user who may read everything and write nothing."""
    for path in (folder, *folder.parents[:3], *folder.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


#: What refuses, given the folder, and what the message then says.
REFUSALS: dict[str, tuple[Callable[[Path], Any], str]] = {
    "size": (lambda folder: limited(resource.RLIMIT_FSIZE, 20_000), r"allow larger files \(ulimit -f\)"),
    "disk for nothing": (lambda folder: small_disk(folder / "replies", "8k"), "free some space there"),
    "disk for no replies": (
        lambda folder: small_disk(folder / "replies", "4112k"),
        "free some space there",
    ),
    "another user": (lambda folder: another_user(folder), "make it writable"),
}


@pytest.mark.parametrize("what", REFUSALS)
def test_what_the_machine_refuses_is_one_message_and_costs_no_reply(asked, what):
    refusing, message = REFUSALS[what]
    if not IS_ROOT and what != "size":
        pytest.skip("only root can make it")
    try:
        with refusing(asked.folder), pytest.raises(CinormsError, match=message):
            asked.ask()
        assert not list(asked.folder.rglob("*.spare")), "what is kept free must not fill the disk"
        assert asked.ask()["text"].notna().all()
    finally:
        subprocess.run(["umount", "-q", asked.folder / "replies"], stderr=subprocess.DEVNULL)
    assert set(asked.endpoint.answered.values()) == {1}


def test_a_job_that_may_open_few_files_keeps_every_reply_and_says_so_if_it_ends(tmp_path, endpoint):
    endpoint.delay = 0.3  # connections are open at the same time
    jobs = Jobs(tmp_path, endpoint, 50, limits={"concurrency": 64, "timeout": 60})
    done = subprocess.run(
        jobs.command(),
        env=environment(),
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (24, 24)),
    )
    # New connections are tried again; a file that cannot be opened ends the job.
    assert done.returncode == ("ulimit -n" in done.stderr)
    assert "Traceback" not in done.stderr
    assert jobs.n_kept() == sum(endpoint.answered.values()) > 0


def draw(folder: Path) -> None:
    data = pd.DataFrame({"x": range(300)})
    plot = ggplot(data, aes("x", "x")) + geom_point()
    files = (folder / f"figure.{kind}" for kind in ("pdf", "png", "svg", "txt"))
    save(Drawn(plot, caption="", data=data), *files)


#: How the stages write: vignettes, prompts, responses, answers; norms and analyses; figures; cards and the report.
WRITERS: dict[str, Callable[[Path], Any]] = {
    "table": lambda folder: tables.write(vignettes(3000), folder / "v.parquet", tables.VIGNETTES),
    "csv": lambda folder: write_csv(vignettes(3000), folder / "v.csv"),
    "figure": draw,
    "page": lambda folder: (folder / "index.html").write_text("x" * 100_000),
}


@pytest.mark.parametrize("what", WRITERS)
def test_whatever_is_written_a_full_disk_is_one_message(tmp_path, what):
    if not IS_ROOT:
        pytest.skip("only root can mount a disk")
    try:
        with small_disk(tmp_path / "disk", "12k"), pytest.raises(OSError, match="No space") as found:
            WRITERS[what](tmp_path / "disk")
        assert "The disk is full" in str(without_traceback(found.value))
        assert what == "page" or not list((tmp_path / "disk").iterdir())
        WRITERS[what](tmp_path / "disk")
    finally:
        subprocess.run(["umount", "-q", tmp_path / "disk"], stderr=subprocess.DEVNULL)
