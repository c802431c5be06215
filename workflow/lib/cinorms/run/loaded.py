"""Imports the modules that `MODULES` names; the process that scripts are forks of starts with this one (`run.forks`).

A list on its command line would fill a page of `ps`, once for each script that runs.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from importlib import import_module

#: Environment variable with the names of the modules, with spaces between.
MODULES = "CINORMS_LOADED"

# Ctrl+C is for the process that starts the one with the libraries, and for the scripts once they run (`run.forks`).
if MODULES in os.environ:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
for _name in os.environ.get(MODULES, "").split():
    # A script that needs it says what is wrong.
    with suppress(Exception):
        import_module(_name)
