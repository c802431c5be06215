# Crews: jobs of a run that load the same engine. One of them asks for all, so that the engine is loaded once.
from cinorms.inference.companions import (
    Companion,
    forget,
    is_answered,
    place_of,
    write_companions,
)
from cinorms.inference.job_state import read_state
from cinorms.run.crews import Asking, make_crews

# Jobs that share one start of an engine, by arm, model and shard. Known when a run starts, in its process only.
CREWS = {}


def join_crews(jobs):
    """Have jobs that load the same engine load it once: the first of them asks for the others, which wait for it.

    The order is not in their inputs: those are recorded, and another first job in another run would run them again.
    """
    responses = Path(placed(RESPONSES))
    forget(responses)
    known = {get_job_key(j.wildcards): j for j in jobs}
    crews = make_crews([get_asking(key) for key in known], get_lanes())
    for crew in crews:
        leader, *others = (known[get_key_of(job)] for job in crew.jobs)
        made_first = {job for other in others for job in get_made_first(other)}
        if not all(put_after(job, leader) for job in made_first):
            continue
        if not all(put_after(leader, other) for other in others):
            continue
        CREWS.update({get_key_of(job): crew for job in crew.jobs})
        place = Path(place_of(str(responses), *get_job_key(leader.wildcards)))
        write_companions(place, list(map(get_companion, others)))


def get_asking(key):
    """Return what decides with whom a job shares an engine."""
    arm, model, shard = key
    entry = STUDY.registry_entry(model)
    loads = None
    if entry.kind.loads:
        spec = make_spec(STUDY, *key)
        tuning = make_tuning(STUDY, *key, placed(RESPONSES))
        loads = json.dumps(entry.kind.loads(spec, tuning), sort_keys=True)
    last = read_state(Path(placed(RESPONSES)), *key)
    return Asking(
        *key,
        loads,
        asking_minutes(STUDY, arm, model, attempt=1),
        entry.kind.needs.start_minutes,
        bool(last and last.phase == "failed"),
    )


def get_lanes():
    """Return how many jobs with a GPU can run at once on this machine; None on a cluster."""
    if is_on_cluster():
        return None
    stated = workflow.global_resources.get("gpu")
    return getattr(stated, "value", stated) or 1


def get_made_first(job):
    """Return the jobs of this run that make a job's inputs; none if a model must be asked before, which takes long."""
    dag = workflow.dag
    makers = [maker for maker in dag.dependencies[job] if dag.needrun(maker)]
    before = list(dag.bfs(dag.dependencies, *makers)) if makers else []
    asked_before = {j.rule.name for j in before if dag.needrun(j)} & {
        *ASKING,
        *OTHERS_ASKING,
    }
    return [] if asked_before else makers


def get_companion(job):
    """Return what the leader of a crew must know to ask for a job."""
    made = {
        str(file)
        for other, files in workflow.dag.dependencies[job].items()
        if workflow.dag.needrun(other)
        for file in files
    }
    inputs = [str(job.input.vignettes), str(job.input.variants)]
    return Companion(
        json.loads(job.params.spec),
        json.loads(job.params.tuning),
        *inputs,
        str(job.output.responses),
        [path for path in inputs if path in made],
    )


def put_after(earlier, later):
    """Have Snakemake run a job after another, as if it had its output as input; tell whether this version can."""
    dag, file = workflow.dag, earlier.output[0]
    try:
        depending, dependencies = dag.depending, dag._dependencies
        until_ready, ready = dag._n_until_ready, dag._ready_jobs
    except AttributeError:
        return False
    if earlier not in dependencies[later]:
        depending[earlier][later].add(file)
        dependencies[later][earlier].add(file)
        until_ready[later] += 1
        ready.discard(later)
    return True


def get_job_key(wildcards):
    """Return what names a job that asks."""
    return wildcards.arm, wildcards.model, wildcards.shard


def get_key_of(job):
    """Return `get_job_key` of a member of a crew."""
    return job.arm, job.model, job.shard


def get_crew(wildcards):
    """Return the jobs that share an engine with this one, if any."""
    return CREWS.get(get_job_key(wildcards))


def is_answered_by_crew(wildcards):
    """Tell whether the leader of a job's crew has asked its questions in this run."""
    key = get_job_key(wildcards)
    return key in CREWS and is_answered(Path(placed(RESPONSES)), *key)
