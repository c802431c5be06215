# What the jobs of an engine request from a machine or a cluster.
from cinorms.study.asking_time import asking_minutes

# What a job requests that finds every reply in the journal.
COLLECT_MB = 4000
COLLECT_MINUTES = 10


def get_needs(kind, get_settings, has_crew=False):
    """Return the resources that a job of an engine requests; `get_settings` returns the settings of its model.

    A job whose questions another job of its crew has asked only collects their replies.
    """

    def collects(wildcards, attempt):
        return has_crew and attempt == 1 and is_answered_by_crew(wildcards)

    def get_memory(wildcards, attempt):
        if collects(wildcards, attempt):
            return COLLECT_MB
        return kind.needs.memory_mb(get_settings(wildcards), attempt)

    def get_minutes(wildcards, attempt):
        if collects(wildcards, attempt):
            return COLLECT_MINUTES
        crew = get_crew(wildcards) if has_crew else None
        if crew and get_job_key(wildcards) == get_key_of(crew.leader):
            return crew.minutes * attempt
        if has_crew:
            return asking_minutes(STUDY, wildcards.arm, wildcards.model, attempt)
        return kind.needs.minutes(get_settings(wildcards), attempt)

    def get_gpus(wildcards, attempt):
        if collects(wildcards, attempt) or is_in_job_without_gpu():
            return 0
        return kind.needs.gpus(get_settings(wildcards))

    gpus = {"gpu": get_gpus} if kind.needs.gpus else {}
    return {**gpus, "mem_mb": get_memory, "runtime": get_minutes, **kind.needs.more}


def is_in_job_without_gpu():
    """Tell whether this is the Snakemake inside a job of SLURM that has no GPU.

    There, resources are computed again, without the crews, and SLURM refuses a step that requests more than its job has.
    """
    given = ("SLURM_JOB_GPUS", "SLURM_GPUS", "SLURM_GPUS_ON_NODE", "SLURM_STEP_GPUS")
    in_job = workflow.remote_exec and "SLURM_JOB_ID" in os.environ
    return in_job and not any(map(os.environ.get, given))
