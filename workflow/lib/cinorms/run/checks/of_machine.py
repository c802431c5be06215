"""Checks of where jobs run: what engines need, checkpoints, and the partitions of a cluster."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from cinorms import wheels
from cinorms.core.errors import listing
from cinorms.inference import checkpoints
from cinorms.inference.engine_kind import EngineKind, engine_kinds
from cinorms.inference.model_entry import ModelEntry
from cinorms.inference.preflight import Finding, ModelCheck, error, warning
from cinorms.inference.settings import ServedSettings
from cinorms.run.checks.case import Case, Check

#: Seconds to wait for an answer of the cluster's controller.
PATIENCE = 15


def look_at_checkpoints(case: Case) -> Iterator[Finding] | None:
    """Look for the checkpoints of the models that have requests left; sends nothing."""
    loaded = [entry for entry in case.entries() if entry.kind.checkpoint]
    return _missing(case, loaded) if loaded else None


def _missing(case: Case, entries: Sequence[ModelEntry]) -> Iterator[Finding]:
    absent = []
    for entry in entries:
        source = _source(entry)
        if Path(source) == checkpoints.TRAINED_HERE:
            continue  # the workflow trains it first
        if checkpoints.in_wheels(source) or not checkpoints.is_folder(source):
            absent += [] if _is_here(case, entry) else [f"{entry.name} ({source})"]
        elif not checkpoints.has_weights(Path(source)):
            what = "has no complete checkpoint" if os.path.isdir(source) else "does not exist"
            yield error(f"{entry.name}: the folder {source} {what}; correct `source` in {entry.file}")
    if absent and case.surroundings.environment.get("HF_HUB_OFFLINE") == "1":
        yield error(
            f"{', '.join(absent)}: not on this machine, and HF_HUB_OFFLINE forbids a download; run `make fetch` where "
            "there is internet, with the same HF_HOME"
        )
    elif absent:
        yield warning(
            f"{', '.join(absent)}: not on this machine yet; a run downloads them first, `make fetch` only downloads"
        )


def _is_here(case: Case, entry: ModelEntry) -> bool:
    """Tell whether a checkpoint from wheels or from the hub is on this machine."""
    source = _source(entry)
    if name := checkpoints.in_wheels(source):
        return wheels.is_here(name)
    lock = Path("results", case.study.name, ".checkpoints", f"{entry.name}.json")
    revision = entry.get("revision") or checkpoints.locked(lock, source)
    return checkpoints.cached(source, revision, case.surroundings.environment) is not None


def _source(entry: ModelEntry) -> str:
    assert isinstance(entry.settings, ServedSettings), "an engine that loads a checkpoint has these settings"
    return entry.settings.source


def look_at_partitions(case: Case) -> Iterator[Finding]:
    """Ask SLURM for its partitions and look for those that the jobs will name."""
    program = shutil.which("sinfo", path=case.surroundings.environment.get("PATH"))
    if program is None:
        yield warning("SLURM's command sinfo is not on this machine, so the partitions cannot be checked")
        return
    try:
        done = subprocess.run(
            [program, "--noheader", "--format=%P"], capture_output=True, text=True, timeout=PATIENCE
        )
    except (OSError, subprocess.TimeoutExpired) as failure:
        yield error(f"sinfo does not answer ({failure}); is SLURM's controller running?")
        return
    if done.returncode:
        why = (done.stderr.strip().splitlines() or ["no reason given"])[0]
        yield error(
            f"sinfo fails ({why}); is this machine part of the cluster, and is its controller running?"
        )
        return
    names = done.stdout.split()
    known = {name.rstrip("*") for name in names}
    for partition in dict.fromkeys(case.partitions.values()):
        rules = ", ".join(rule for rule, named in case.partitions.items() if named == partition)
        if partition is None and not any(name.endswith("*") for name in names):
            yield warning(
                f"{rules}: no partition is stated, and this cluster has no default one; set slurm_partition in the "
                "profile"
            )
        # A job may name several partitions: it runs where it can start first.
        for name in partition.split(",") if partition else ():
            if name not in known:
                yield error(f"{rules}: slurm_partition {name!r} does not exist; {listing(name, known)}")


def _if_cluster(case: Case) -> Iterator[Finding] | None:
    return look_at_partitions(case) if case.surroundings.cluster and case.partitions else None


def _of_engine(kind: EngineKind, check: ModelCheck) -> Check:
    def look(case: Case) -> list[Finding] | None:
        entries = [entry for entry in case.entries() if entry.kind is kind]
        found = check.look(entries, case.surroundings) if entries else None
        return None if found is None else list(found)

    return Check(check.name, check.about, look)


def engine_checks() -> tuple[Check, ...]:
    """Return the checks that engines declare."""
    return tuple(_of_engine(kind, check) for kind in engine_kinds() for check in kind.checks())


CHECKS = (
    Check("checkpoints", "every checkpoint is on this machine", look_at_checkpoints),
    Check("partitions", "every SLURM partition that jobs name exists", _if_cluster),
)
