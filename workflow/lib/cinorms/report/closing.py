"""The closing words of a run: where its results are, whether it made them or found them up to date."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

#: Files of a heading that are named one by one; more are named by their folder.
NAMED = 3


def closing_words(places: Mapping[str, Sequence[str]], made: Collection[str], mark: str = "") -> str:
    """Return a line for each heading of ``places`` that has files in this run, then ``mark``.

    ``places`` has the files of each heading; ``made`` has the run's targets and everything they need.
    """
    found = {heading: [file for file in files if file in made] for heading, files in places.items()}
    lines = [(heading, _where(files, places[heading])) for heading, files in found.items() if files]
    if not lines:
        return ""
    width = max(len(heading) for heading, _ in lines) + 2
    shown = [f"  {heading:<{width}}{where}" for heading, where in lines]
    return "\n".join(["", *shown, *([f"  {mark}"] if mark else []), ""])


def _where(files: Sequence[str], every: Sequence[str]) -> str:
    if len(every) == 1 or (len(files) < len(every) and len(files) <= NAMED):
        return ", ".join(files)
    return files[0].rpartition("/")[0] + "/"
