"""Which jobs share one start of an engine, and for how long their leader asks."""

import pytest

from cinorms.rules.crews import LONGEST, AskingJob, make_crews


def job(shard: str = "1-of-1", arm: str = "main", loads: str | None = "a", failed: bool = False) -> AskingJob:
    """Return a job of 20 minutes, of which the start takes 5."""
    return AskingJob(arm, "model", shard, loads, minutes=20, start=5, failed=failed)


def test_jobs_that_load_the_same_are_a_crew_whose_leader_starts_once():
    alike = [job(arm=arm) for arm in ("main", "options", "warm")]
    (crew,) = make_crews([alike[0], job(loads="b"), *alike[1:], job(loads=None), job(loads=None)], None)
    assert crew.jobs == tuple(alike)
    assert crew.leader == alike[0]
    assert crew.minutes == 5 + 3 * 15


@pytest.mark.parametrize(
    ("lanes", "crews"),
    [
        (
            None,
            ["1 1", "2 2", "3 3"],
        ),  # a cluster: each shard may run beside the others, so arms share by shard
        (2, ["1 3 1 3", "2 2"]),
        (1, ["1 2 3 1 2 3"]),
        (0, ["1 2 3 1 2 3"]),  # Snakemake has fewer cores than a job wants
    ],
)
def test_shards_are_dealt_out_to_as_many_jobs_as_can_run_at_once(lanes, crews):
    jobs = [job(f"{number}-of-3", arm) for arm in ("main", "options") for number in (1, 2, 3)]
    assert [" ".join(j.shard[0] for j in crew.jobs) for crew in make_crews(jobs, lanes)] == crews


def test_a_crew_ends_in_time():
    jobs = [AskingJob(f"arm{number}", "model", "1-of-1", "a", LONGEST // 3, 60) for number in range(7)]
    crews = make_crews(jobs, None)
    # One start of 60 minutes, then 180 for each: three take 600, four would take 780.
    assert [(len(crew.jobs), crew.minutes) for crew in crews] == [(3, 600), (3, 600)]
    assert (
        make_crews([AskingJob(arm, "m", "1-of-1", "a", LONGEST // 2) for arm in "xy"], None)[0].minutes
        == LONGEST
    )
    assert not make_crews([AskingJob(arm, "m", "1-of-1", "a", LONGEST // 2 + 1) for arm in "xy"], None)


def test_a_job_that_failed_leads_nobody_who_has_not():
    (crew,) = make_crews([job(arm="broken", failed=True), job(arm="main"), job(arm="options")], None)
    assert [j.arm for j in crew.jobs] == ["main", "options", "broken"]
