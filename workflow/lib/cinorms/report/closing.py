"""The closing words of a run: where that is which this run made or found up to date."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

#: Files of a heading that are named one by one; more are named by their folder.
NAMED = 3


def closing_words(places: Mapping[str, Sequence[str]], made: Collection[str], mark: str = "") -> str:
    """Return a line for each heading of ``places`` of which this run has files; ``mark`` goes below them.

    ``places`` has the files of each heading, and ``made`` what the run was asked for and all that it needs.
    """
    found = {heading: [file for file in files if file in made] for heading, files in places.items()}
    lines = [(heading, _where(files, places[heading])) for heading, files in found.items() if files]
    if not lines:
        return ""
    width = max(len(heading) for heading, _ in lines) + 2
    said = [f"  {heading:<{width}}{where}" for heading, where in lines]
    return "\n".join(["", *said, *([f"  {mark}"] if mark else []), ""])


def _where(files: Sequence[str], every: Sequence[str]) -> str:
    if len(every) == 1 or (len(files) < len(every) and len(files) <= NAMED):
        return ", ".join(files)
    return files[0].rpartition("/")[0] + "/"
