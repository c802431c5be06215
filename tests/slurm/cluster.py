"""A real SLURM on loopback, with two pretend GPUs: munge, slurmctld and slurmd as daemons of our own.

Nothing of the machine is changed: configuration, sockets, spool and logs are in one temporary folder. `Cluster` has one
node, one partition and no accounting, and `sacct` is there all the same, which is where Snakemake's own settings wait
for ever. `Site` is what a university has: accounts by slurmdbd, a short default partition, and GPUs in another one.

Not here: OUT_OF_MEMORY, which SLURM learns from cgroups, and containers may have none (its words are in
`tests/unit/run/test_slurm.py`); real GPUs; a file system that other machines see late.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ..ports import free_port
from ..snakemake_runs import copy_project

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "scontrol", "scancel", "sinfo")
INSTALL = "apt-get install --no-install-recommends slurm-wlm munge slurmdbd mariadb-server-core"
#: Seconds after which a daemon that should be there is given up; seconds are normal.
PATIENCE = 300.0
CPUS = 12
MEMORY_MB = 400_000

SLURM_CONF = """\
ClusterName=cinorms
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={node_port}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
JobAcctGatherType=jobacct_gather/none
# A job in a partition of a higher tier takes the place of others, which are queued again.
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
MpiDefault=none
GresTypes=gpu
# The sizes stated below, not those of this machine.
SlurmdParameters=config_overrides
ReturnToService=2
# Jobs that have ended are shown so many seconds longer: tests look back at them.
MinJobAge=7200
"""

PLAIN = """\
AccountingStorageType=accounting_storage/none
NodeName={host} NodeAddr=127.0.0.1 Port={node_port} CPUs={cpus} RealMemory={memory} Gres=gpu:2 State=UNKNOWN
PartitionName=main Nodes={host} Default=YES MaxTime=2-00:00:00 State=UP
PartitionName=urgent Nodes={host} PriorityTier=2 State=UP
"""

ACCOUNTED = """\
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={dbd_port}
AccountingStoragePass={folder}/munge.socket
AccountingStorageEnforce=associations,limits
EnforcePartLimits=ALL
NodeName=DEFAULT CPUs={cpus} RealMemory={memory} State=UNKNOWN
NodeName=cpu1 NodeHostname={host} NodeAddr=127.0.0.1 Port={node_port}
NodeName=gpu1 NodeHostname={host} NodeAddr=127.0.0.1 Port={gpu_port} Gres=gpu:2
PartitionName=short Nodes=cpu1 Default=YES MaxTime=4:00:00 State=UP
PartitionName=gpu Nodes=gpu1 MaxTime=1-00:00:00 State=UP
"""

STRICT = """\
AccountingStorageType=accounting_storage/none
JobSubmitPlugins=lua
NodeName={host} NodeAddr=127.0.0.1 Port={node_port} CPUs={cpus} RealMemory={memory} State=UNKNOWN
PartitionName=cpu Nodes={host} Default=YES State=UP
"""
#: A site's own rule, which SLURM's last line does not repeat.
ASKED_FOR = "Name a partition: cpu or gpu."
JOB_SUBMIT = f"""\
function slurm_job_submit(job, partitions, user)
    if job.partition == nil then
        slurm.log_user("{ASKED_FOR}")
        return slurm.ERROR
    end
    return slurm.SUCCESS
end
function slurm_job_modify(job, record, partitions, user)
    return slurm.SUCCESS
end
"""

SLURMDBD_CONF = """\
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort={dbd_port}
SlurmUser=root
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={sql_port}
StorageUser=root
StorageLoc=accounts
LogFile={folder}/slurmdbd.log
PidFile={folder}/slurmdbd.pid
"""

GRES_CONF = """\
Name=gpu File=/dev/full
Name=gpu File=/dev/zero
"""


class Cluster:
    """The daemons, as a context manager."""

    programs = PROGRAMS
    conf = SLURM_CONF + PLAIN
    #: Each node, if slurmd has to be told which it is.
    nodes: tuple[str, ...] = ("",)
    #: Who submits jobs.
    user = "root"

    def __init__(self) -> None:
        if missing := [name for name in self.programs if not _which(name)]:
            raise RuntimeError(f"tests/slurm need SLURM and munge ({', '.join(missing)} missing): {INSTALL}")
        if os.getuid():
            raise RuntimeError(
                "tests/slurm must run as root, in a container: slurmd starts jobs as their users"
            )
        self.folder = Path(tempfile.mkdtemp(prefix="cinorms-slurm-"))
        self.daemons: list[subprocess.Popen[bytes]] = []

    @property
    def source(self) -> Path:
        """Return the copy of the project that all copies are made from: files may change while tests run."""
        folder = self.folder / "source"
        if not folder.exists():
            copy_project(folder)
        return folder

    @property
    def environment(self) -> dict[str, str]:
        """Return the environment in which SLURM's commands find this cluster."""
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("SLURM_", "SBATCH_"))
        }
        path = f"{self.folder / 'bin'}:{kept.get('PATH', '')}:/usr/sbin"
        return {**kept, "SLURM_CONF": str(self.folder / "slurm.conf"), "PATH": path}

    def __enter__(self) -> Cluster:
        for tries_left in (2, 1, 0):
            try:
                self._begin()
                return self
            except BaseException as error:
                self.__exit__()
                # Another process has taken a port meanwhile, or the machine was so busy that munge timed out.
                if not tries_left or not isinstance(error, RuntimeError):
                    raise
            self.folder = Path(tempfile.mkdtemp(prefix="cinorms-slurm-"))
            self.daemons = []
        raise AssertionError("never here: the last try returns or raises")

    def _begin(self) -> None:
        self._configure()
        munge = {name: self.folder / f"munge.{name}" for name in ("socket", "pid", "log", "seed")}
        self._start(
            *("munged", "--foreground", "--force", "--num-threads=10"),
            *(f"--key-file={self.folder / 'munge.key'}", f"--socket={munge['socket']}"),
            *(f"--pid-file={munge['pid']}", f"--log-file={munge['log']}", f"--seed-file={munge['seed']}"),
        )
        self._wait("munge", munge["socket"].exists)
        self._begin_accounting()
        conf = str(self.folder / "slurm.conf")
        self._start("slurmctld", "-D", "-f", conf)
        for node in self.nodes:
            self._start("slurmd", "-D", "-f", conf, *(["-N", node] if node else []))
        self._wait("SLURM", self._is_idle)

    def _begin_accounting(self) -> None:
        """Start what the controller needs before it starts."""

    def __exit__(self, *error: object) -> None:
        """End the jobs, then the daemons, last one first, and take the folder away."""
        if len(self.daemons) > 2 and all(daemon.poll() is None for daemon in self.daemons):
            self.ask("scancel", f"--user={self.user}", check=False)
            self._until(lambda: not self.ask("squeue", "--noheader", check=False).strip(), 60)
        for daemon in reversed(self.daemons):
            daemon.send_signal(signal.SIGTERM)
            try:
                daemon.wait(30)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _configure(self) -> None:
        self.folder.chmod(0o755)
        for name in ("state", "spool", "bin"):
            (self.folder / name).mkdir(mode=0o755)
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        settings = {"host": socket.gethostname().split(".")[0], "folder": self.folder}
        ports = ("controller_port", "node_port", "gpu_port", "dbd_port", "sql_port")
        settings |= {name: free_port() for name in ports} | {"cpus": CPUS, "memory": MEMORY_MB}
        self.settings = settings
        (self.folder / "slurm.conf").write_text(self.conf.format(**settings))
        (self.folder / "gres.conf").write_text(GRES_CONF)
        # The plugin clears SLURM_CONF before its srun and relies on /etc/slurm, which is not ours to write.
        srun = self.folder / "bin" / "srun"
        srun.write_text(f'#!/bin/sh\nSLURM_CONF={self.folder}/slurm.conf exec {_which("srun")} "$@"\n')
        srun.chmod(0o755)

    def _start(self, *command: str) -> None:
        with (self.folder / f"{command[0]}.out").open("wb") as printed:
            self.daemons.append(
                subprocess.Popen(
                    [_which(command[0]) or command[0], *command[1:]],
                    stdin=subprocess.DEVNULL,
                    stdout=printed,
                    stderr=subprocess.STDOUT,
                    env=self.environment,
                    preexec_fn=end_with_parent,
                )
            )

    def _wait(self, what: str, is_there: Callable[[], bool]) -> None:
        def is_over() -> bool:
            return any(daemon.poll() is not None for daemon in self.daemons) or is_there()

        if not self._until(is_over, PATIENCE) or not is_there():
            written = [*self.folder.glob("*.out"), *self.folder.glob("*.log")]
            ends = "\n".join(f"--- {p.name}\n{p.read_text(errors='replace')[-2000:]}" for p in written)
            raise RuntimeError(f"{what} has not come up in {PATIENCE:.0f} s.\n{ends}")

    def _until(self, holds: Callable[[], bool], seconds: float) -> bool:
        end = time.monotonic() + seconds
        while not holds():
            if time.monotonic() > end:
                return False
            time.sleep(0.2)
        return True

    def _is_idle(self) -> bool:
        states = self.ask("sinfo", "--noheader", "--Node", "--format=%T", check=False).split()
        return set(states) == {"idle"}

    def ask(self, *command: str, check: bool = True) -> str:
        """Run one of SLURM's commands and return what it prints."""
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True)
        if check and done.returncode:
            raise RuntimeError(f"{' '.join(command)}: {done.stderr}")
        return done.stdout

    def jobs(self) -> list[dict[str, str]]:
        """Return what SLURM knows of every job, oldest first."""
        lines = self.ask("scontrol", "show", "jobs", "--oneliner").splitlines()
        found = [dict(word.partition("=")[::2] for word in line.split() if "=" in word) for line in lines]
        return sorted((job for job in found if "JobId" in job), key=lambda job: int(job["JobId"]))

    def job_of(self, model: str) -> dict[str, str]:
        """Return the newest job that asks ``model``."""
        jobs = [job for job in self.jobs() if model in job.get("Comment", "")]
        assert jobs, f"no job asks {model}"
        return jobs[-1]

    def state(self, number: str) -> str:
        """Return the state of a job."""
        return next(job["JobState"] for job in self.jobs() if job["JobId"] == number)

    def last_job(self) -> int:
        """Return the number of the last job that was submitted."""
        return max((int(job["JobId"]) for job in self.jobs()), default=0)


class Strict(Cluster):
    """A cluster with a rule of its own for jobs, which polls their memory, and whose srun can be broken."""

    # What polls memory, in place of nothing.
    conf = (SLURM_CONF + STRICT).replace(
        "JobAcctGatherType=jobacct_gather/none",
        "JobAcctGatherType=jobacct_gather/linux\nJobAcctGatherFrequency=task=1\nJobAcctGatherParams=OverMemoryKill",
    )

    def _configure(self) -> None:
        super()._configure()
        (self.folder / "gres.conf").unlink()
        (self.folder / "job_submit.lua").write_text(JOB_SUBMIT)

    @contextmanager
    def broken_srun(self) -> Iterator[str]:
        """Have srun fail as where a job does not find its cluster, and return what it says."""
        srun, says = self.folder / "bin/srun", "srun: error: Unable to confirm allocation for job"
        whole = srun.read_text()
        srun.write_text(f'#!/bin/sh\necho "{says} $SLURM_JOB_ID: Invalid job id specified" >&2\nexit 1\n')
        yield says
        srun.write_text(whole)


class Site(Cluster):
    """A cluster with accounts, a default partition of four hours without GPUs, and a partition with them.

    Jobs of ``user`` must name the account ``lab``: by default they are of one that may submit nothing.
    """

    programs = (*PROGRAMS, "slurmdbd", "sacctmgr", "mariadbd")
    conf = SLURM_CONF + ACCOUNTED
    nodes = ("cpu1", "gpu1")

    def __init__(self) -> None:
        super().__init__()
        # Whose Python may be in a folder that only root can enter.
        found = subprocess.run(
            ["sh", "-c", f"{sys.executable} -c ''"], user="nobody", stderr=subprocess.DEVNULL
        )
        self.user = "root" if found.returncode else "nobody"

    def _begin_accounting(self) -> None:
        data = str(self.folder / "sql")
        Path(data).mkdir()
        server = ("mariadbd", "--no-defaults", f"--datadir={data}", "--user=root", "--skip-grant-tables")
        # What mariadb-install-db does, which needs the client's package too: slurmdbd keeps procedures in these tables.
        tables = Path("/usr/share/mysql/mysql_system_tables.sql").read_text()
        made = f"create database mysql;\nuse mysql;\n{tables}"
        subprocess.run(
            [_which(server[0]) or "", *server[1:], "--bootstrap"], input=made, text=True, check=True
        )
        self._start(
            *server,
            *("--bind-address=127.0.0.1", f"--port={self.settings['sql_port']}"),
            *(f"--socket={self.folder}/sql.socket", "--innodb-buffer-pool-size=64M"),
        )
        self._wait("MariaDB", (self.folder / "sql.socket").exists)
        conf = self.folder / "slurmdbd.conf"
        conf.write_text(SLURMDBD_CONF.format(**self.settings))
        conf.chmod(0o600)
        self._start("slurmdbd", "-D")
        manage = ("sacctmgr", "--immediate")
        self._wait("slurmdbd", lambda: "Cluster" in self.ask(*manage, "list", "cluster", check=False))
        for words in (
            *("add cluster cinorms", "add account lab", "add account guests MaxSubmitJobs=0"),
            *(f"add user {self.user} account={account}" for account in ("guests", "lab")),
            f"modify user {self.user} set DefaultAccount=guests",
        ):
            self.ask(*manage, *words.split(), check="modify" not in words)

    def _is_idle(self) -> bool:
        # On a busy machine the controller starts before it has the accounts.
        return super()._is_idle() and self._accepts("--account=lab") and not self._accepts()

    def _accepts(self, *words: str) -> bool:
        command = ("sbatch", "--test-only", *words, "--wrap=true")
        return not subprocess.run(
            command, env=self.environment, user=self.user, capture_output=True
        ).returncode


def _which(name: str) -> str | None:
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin")


def end_with_parent() -> None:
    """Have a process end when the tests' process does, however that ends."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
