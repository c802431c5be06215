"""Imports the modules that `MODULES` names; the process that scripts are forks of starts with this one (`run.forks`).

A list on its command line would fill a page of `ps`, once for each script that runs.
"""

import atexit
import os
import shutil
import signal
from contextlib import suppress
from importlib import import_module

#: Environment variable with the names of the modules, with spaces between.
MODULES = "CINORMS_LOADED"
#: Environment variable with the folder of the socket at which this process is asked for forks.
SOCKET_FOLDER = "CINORMS_FORKS"


def _remove(folder: str, owner: int) -> None:
    if os.getpid() == owner:  # no fork of it
        shutil.rmtree(folder, ignore_errors=True)


# Ctrl+C is for the process that starts the one with the libraries, and for the scripts once they run (`run.forks`).
if MODULES in os.environ:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
# The process that made the folder removes it, unless it is killed. This one ends after that, and after its forks.
if SOCKET_FOLDER in os.environ:
    atexit.register(_remove, os.environ[SOCKET_FOLDER], os.getpid())
for _name in os.environ.get(MODULES, "").split():
    # A script that needs it says what is wrong.
    with suppress(Exception):
        import_module(_name)
