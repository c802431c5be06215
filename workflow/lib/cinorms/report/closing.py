"""The last lines of a run: what the report says first, and where the results are."""

import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from cinorms.study.study import Study

#: Files of a heading that are named one by one; more are named by their folder.
NAMED = 3


def closing_words(study: Study, results: str, made: Collection[str], failed: Sequence[str]) -> str:
    """Return what the report says first, and where the results are that a run ``made`` or found up to date.

    ``results`` is the study's folder, ``failed`` a note for what could not be asked.
    """

    def of(folder: str, names: Collection[str], ending: str) -> list[str]:
        return [f"{results}/{folder}/{name}.{ending}" for name in names]

    page = f"{results}/report/index.html"
    places = {
        "Comparison": [f"{results}/index.html"],
        "People": [f"{results}/people/index.html"],
        "Report": [page],
        "Norms": [f"{results}/norms.csv"],
        "Tables": of("tables", study.entries["analyses"], "csv"),
        "As printed": of("printed", study.entries["printed"], "csv"),
        "Figures": of("figures", study.entries["figures"], "png"),
        "Not matched": _unmatched(study, results),
    }
    mark, left_out = study.mark(study.all_models()), ""
    if study.left_out:
        left_out = f"Left out, as they do not fit this study: {len(study.left_out)} of the default tables and figures"
        left_out += " (`make check` says why)"
    cite = f"To cite: {results}/report/appendix.html#cite" if page in made else ""
    words = where_results_are(places, made, *failed, mark, left_out, cite)
    return "\n".join(["", *said_first(study, results)]) + words if page in made else words


def said_first(study: Study, results: str) -> list[str]:
    """Return what the report says first, in lines for a terminal, from the study's cards; none where there are none."""
    # Not above: a study is loaded without SciPy.
    from cinorms.report.screen import closing_lines

    cards = [Path(f"{results}/cards/{model}.json") for model in study.all_models()]
    return closing_lines([json.loads(card.read_text(encoding="utf-8")) for card in cards if card.is_file()])


def _unmatched(study: Study, results: str) -> list[str]:
    """Return the files that list responses without a prompt or prompts without a response, where there are any."""
    pairs = study.pairs("responses")
    files = [Path(f"{results}/responses/{arm}/{model}.unmatched.csv") for arm, model in pairs]
    # More than a header.
    return [str(file) for file in files if file.exists() and len(file.read_bytes().splitlines()) > 1]


def where_results_are(places: Mapping[str, Sequence[str]], made: Collection[str], *notes: str) -> str:
    """Return where the results of a run are: a line for each heading of ``places`` that has files, then ``notes``.

    ``places`` has the files of each heading; ``made`` has the run's targets and everything they need.
    """
    lines = {}
    for heading, every in places.items():
        files = [file for file in every if file in made]
        if files:
            by_name = len(every) == 1 or (len(files) < len(every) and len(files) <= NAMED)
            lines[heading] = ", ".join(files) if by_name else files[0].rpartition("/")[0] + "/"
    if not lines:
        return ""
    width = max(map(len, lines)) + 2
    shown = [f"{heading:<{width}}{where}" for heading, where in lines.items()]
    return "\n".join(["", *(f"  {line}" for line in (*shown, *notes) if line), ""])
