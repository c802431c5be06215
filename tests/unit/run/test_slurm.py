"""What SLURM's states become in messages: those that `tests/slurm` cannot bring about."""

import pytest

from cinorms.run.slurm import in_words

#: As Snakemake's plugin words them.
ENDED = (
    "SLURM-job '7' failed, SLURM status is: '{}'. Detailed failure reason unavailable (status command is not "
    "'sacct').For further error details see the cluster/cloud log and the log files of the involved rule(s)."
)
NODE = "SLURM-job '7' failed due to a node failure, SLURM status is: '{}'. Failed nodes will be excluded."


@pytest.mark.parametrize(
    ("message", "state", "words"),
    [
        (
            ENDED,
            "OUT_OF_MEMORY",
            "it needed more memory than it asked for: each attempt asks for more; or set mem_mb",
        ),
        (NODE, "NODE_FAIL", "its node failed"),
    ],
)
def test_a_state_is_told_as_slurm_calls_it(message, state, words):
    assert in_words(message.format(state), "ask_vllm") == f"SLURM ended job 7: {state}: {words}"


def test_nothing_is_guessed_of_a_job_whose_own_log_says_why_it_failed():
    assert in_words(ENDED.format("FAILED"), "ask_vllm") == ""
