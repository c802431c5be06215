"""``python -m cinorms.run.lock_models``: write the commits that `make fetch` recorded into config/revisions.lock.

A study asks these commits from then on, on every machine that has the file.
"""

from collections.abc import Sequence
from pathlib import Path

import yaml

from cinorms.core.errors import DataError
from cinorms.core.files import replacing
from cinorms.core.logs import command
from cinorms.inference import checkpoints
from cinorms.inference.model_entry import REVISIONS, read_revisions

#: Where the fetches of all studies are recorded.
RECORDS = "results/*/.checkpoints/*.json"


@command()
def main(arguments: Sequence[str] | None = None, folder: Path = Path()) -> int:
    """Add to the lock in ``folder`` what is not in it; a repository that is in it keeps its commit."""
    path = folder / "config" / REVISIONS
    known, new = read_revisions(path), _fetched(folder)
    for source, commit in new.items():
        if known.get(source, commit) != commit:
            print(f"{path}: {source} stays at {known[source]}; {commit} was fetched")
    added = {source: commit for source, commit in new.items() if source not in known}
    if added:
        head = [line for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("#")]
        lines = yaml.safe_dump({**known, **added}, width=200)
        with replacing(path) as part:
            part.write_text("\n".join([*head, lines]), encoding="utf-8")
    print(f"{path}: {len(added)} added, {len(known)} were there. Commit the file.")
    return 0


def _fetched(folder: Path) -> dict[str, str]:
    """Return the commit of each hub repository that a study fetched; raise ``DataError`` where two studies differ."""
    found: dict[str, tuple[str, Path]] = {}
    for path in sorted(folder.glob(RECORDS)):
        record = checkpoints.recorded(path)
        source, commit = record["source"], record["revision"]
        if commit.startswith("sha256:"):  # a folder, or wheels: not of the hub
            continue
        other, where = found.setdefault(source, (commit, path))
        if other != commit:
            raise DataError(
                f"{path}: {source} was fetched at {commit}, and at {other} in {where}; delete the record of the "
                "study that is not to count, or write the commit into config/revisions.lock yourself"
            )
    return {source: commit for source, (commit, _) in found.items()}


if __name__ == "__main__":
    raise SystemExit(main())
