"""Write the commits of the checkpoints that were fetched next to their registry, for every study and machine."""

from pathlib import Path

from cinorms.core.logs import start_logging
from cinorms.inference.checkpoints import recorded
from cinorms.inference.model_entry import add_revisions

if __name__ == "__main__":
    start_logging(snakemake.log[0])
    for record, lock in zip(map(recorded, map(Path, snakemake.input)), snakemake.params.locks, strict=True):
        # A folder, or wheels, have no commit; a project that was fetched from git is no place to write to.
        if lock and not record["revision"].startswith("sha256:"):
            add_revisions(Path(lock), {record["source"]: record["revision"]})
