"""Handing over in time, and never twice what was kept."""

from __future__ import annotations

import pytest

from cinorms.inference.engine_kind import SECONDS, Handover
from cinorms.inference.journal_files import LastChunkKept


def test_many_are_handed_over_at_once_and_none_waits_long() -> None:
    now, kept = [0.0], []
    handover: Handover[int] = Handover(kept.append, most=3, clock=lambda: now[0])
    for number in range(4):
        handover.add(number)
    assert kept == [[0, 1, 2]]
    now[0] += SECONDS - 1
    handover.look()
    assert kept == [[0, 1, 2]]
    handover.add(4)
    now[0] += 1
    handover.look()  # the oldest has waited long enough; the youngest goes with it
    assert kept == [[0, 1, 2], [3, 4]]
    handover.look()
    handover.add(5)
    handover.flush()
    handover.flush()
    assert kept == [[0, 1, 2], [3, 4], [5]]


@pytest.mark.parametrize(("error", "again"), [(OSError, [[1], [1]]), (LastChunkKept, [[1]])])
def test_a_chunk_that_was_not_kept_is_handed_over_again(
    error: type[Exception], again: list[list[int]]
) -> None:
    given: list[list[int]] = []

    def keep(finished: list[int]) -> None:
        given.append(list(finished))
        if len(given) == 1:
            raise error("the disk is full")

    handover: Handover[int] = Handover(keep, most=1)
    with pytest.raises(error, match="full"):
        handover.add(1)
    handover.flush()
    handover.flush()
    assert given == again
