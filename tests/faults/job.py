"""The command that asks, with short pauses between attempts, in a process of its own, to be killed."""

import os

from cinorms.inference import ask, job_state, lease

from .conftest import hurry

if __name__ == "__main__":
    hurry()
    ask.POLL, lease.HEARTBEAT, job_state.HEARTBEAT = 0.1, 0.5, 0.1
    lease.SILENCE = float(os.environ.get("CINORMS_TEST_SILENCE", lease.SILENCE))
    ask.main()
