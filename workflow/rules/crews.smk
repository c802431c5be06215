# Crews: jobs of a run that load the same engine. One of them asks for all, so that the engine is loaded once. And what
# the jobs of an engine request from a machine or a cluster, which depends on that.
from cinorms.inference.companions import (
    Companion,
    forget,
    is_answered,
    place_of,
    write_companions,
)
from cinorms.inference.job_state import read_state
from cinorms.run.crews import Asking, make_crews
from cinorms.study.spec import asking_minutes

# Jobs that share one start of an engine, by arm, model and shard. Known when a run starts, in its process only.
CREWS = {}
RESPONSES = VALUES.placed_responses
# What a job requests that finds every reply in the journal.
COLLECT_MB = 4000
COLLECT_MINUTES = 10


def join_crews(jobs):
    """Have jobs that load the same engine load it once: the first of them asks for the others, which wait for it."""
    responses = Path(RESPONSES)
    forget(responses)
    known = {get_job_key(j.wildcards): j for j in jobs}
    crews = make_crews([get_asking(*key) for key in known], INSIDE.lanes)
    for crew in crews:
        leader, *others = (known[get_key_of(job)] for job in crew.jobs)
        # A model asked before takes long: nobody waits for that.
        made_first = {
            job
            for other in others
            for job in INSIDE.makers(other, without=(*ASKING, *OTHERS_ASKING))
        }
        if not all(INSIDE.put_after(job, leader) for job in made_first):
            continue
        if not all(INSIDE.put_after(leader, other) for other in others):
            continue
        CREWS.update({get_key_of(job): crew for job in crew.jobs})
        place = Path(place_of(RESPONSES, *get_job_key(leader.wildcards)))
        write_companions(place, list(map(get_companion, others)))


def get_asking(arm, model, shard):
    """Return what decides with whom a job shares an engine."""
    kind = STUDY.registry_entry(model).kind
    last = read_state(Path(RESPONSES), arm, model, shard)
    return Asking(
        arm,
        model,
        shard,
        VALUES.loads(arm, model, shard),
        asking_minutes(STUDY, arm, model, attempt=1),
        kind.needs.start_minutes,
        bool(last and last.phase == "failed"),
    )


def get_companion(job):
    """Return what the leader of a crew must know to ask for a job."""
    made = INSIDE.remade_inputs(job)
    inputs = [str(job.input.vignettes), str(job.input.variants)]
    return Companion(
        json.loads(job.params.spec),
        json.loads(job.params.tuning),
        *inputs,
        str(job.output.responses),
        [path for path in inputs if path in made],
    )


def get_job_key(wildcards):
    """Return what names a job that asks."""
    return wildcards.arm, wildcards.model, wildcards.shard


def get_key_of(job):
    """Return `get_job_key` of a member of a crew."""
    return job.arm, job.model, job.shard


def get_priority(wildcards):
    """Return a job's minutes: where jobs wait for a GPU, the longest begins first, and none is left for the end."""
    return asking_minutes(STUDY, wildcards.arm, wildcards.model, attempt=1)


def get_needs(kind, get_settings, has_crew=False):
    """Return the resources that a job of an engine requests; `get_settings` returns the settings of its model.

    A job whose questions another job of its crew has asked only collects their replies.
    """

    def collects(wildcards, attempt):
        if not has_crew or attempt > 1 or get_job_key(wildcards) not in CREWS:
            return False
        return is_answered(Path(RESPONSES), *get_job_key(wildcards))

    def get_memory(wildcards, attempt):
        if collects(wildcards, attempt):
            return COLLECT_MB
        return kind.needs.memory_mb(get_settings(wildcards), attempt)

    def get_minutes(wildcards, attempt):
        if collects(wildcards, attempt):
            return COLLECT_MINUTES
        crew = CREWS.get(get_job_key(wildcards)) if has_crew else None
        if crew and get_job_key(wildcards) == get_key_of(crew.leader):
            return crew.minutes * attempt
        if has_crew:
            return asking_minutes(STUDY, wildcards.arm, wildcards.model, attempt)
        return kind.needs.minutes(get_settings(wildcards), attempt)

    def get_gpus(wildcards, attempt):
        if collects(wildcards, attempt) or INSIDE.is_in_job_without_gpu:
            return 0
        return kind.needs.gpus(get_settings(wildcards))

    gpus = {"gpu": get_gpus} if kind.needs.gpus else {}
    return {**gpus, "mem_mb": get_memory, "runtime": get_minutes, **kind.needs.more}
