"""The report's appendix: every figure and table of a study, how it was made, and its cards."""

import base64
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from cinorms.core.filling import render_page
from cinorms.core.labels import STATUS_LABELS
from cinorms.core.scales import measures_of
from cinorms.core.version import software, version
from cinorms.report import method, page
from cinorms.report.findings import discarded
from cinorms.report.results import StudyResults
from cinorms.report.words import header, number
from cinorms.study.metadata import EntryMetadata

# --- Sections: every figure and table of the study, under the question that its kind answers

#: Rows of a table that the page shows, and the largest CSV file that it carries.
SHOWN_ROWS = 40
MOST_CSV = 60_000
#: A table with more rows than this is folded.
OPEN_ROWS = 12
#: Characters that all figures together may take; the page links to figures beyond that.
MOST_FIGURES = 5_000_000


#: Title and question of each section. A kind names the section that its figures or tables belong to.
SECTIONS = {
    "answers": (
        "Answers and norms",
        "What did the models answer, and which answers are consistent enough to be norms?",
    ),
    "sensitivity": (
        "Sensitivity to prompts",
        "How much do results depend on the wording, the order of the options, and the thresholds?",
    ),
    "factors": (
        "What the norms depend on",
        "Which sender, recipient, information or condition raises or lowers the answers?",
    ),
    "models": (
        "Differences between models",
        "Do the models hold different norms, and do size, alignment or quantisation matter?",
    ),
    "agreement": ("Agreement of models", "How often do the models hold the same norm?"),
    "delta": (
        "Distance from expected values",
        "How far are the norms from what a survey, a law or a policy expects?",
    ),
    "acts": (
        "What models say and what they do",
        "Do models, as agents, share what they call unacceptable to share, and withhold what a task needs?",
    ),
    "calibration": (
        "Calibration",
        "How much of the known norms does the study recover from planted (simulated) respondents?",
    ),
    "reliability": (
        "Reliability and number of prompts",
        "Would other wordings give the same norms, and how many variants are enough?",
    ),
}


def sections(results: StudyResults, command: str) -> list[dict[str, Any]]:
    """Return the sections that have a figure or a table; ``command`` plus a file name rebuilds that file."""
    study, left = results.study, MOST_FIGURES
    shown = []
    for section, (title, question) in SECTIONS.items():
        figures = []
        for name, entry in study.figures.items():
            if entry.section == section:
                figures.append(_figure(results, name, entry, command, left))
                left -= len(figures[-1]["src"])
        own = ((name, entry) for name, entry in study.analyses.items() if entry.section == section)
        tables = [_table(results, name, entry, command) for name, entry in own]
        if figures or tables:
            words = {"name": section, "title": title, "question": question}
            shown.append({**words, "figures": figures, "tables": tables})
    return shown


def printed(results: StudyResults) -> list[dict[str, Any]]:
    """Return the tables that the study prints like the papers; they were escaped when written."""
    shown, paths = [], results.files["printed"]
    for name in results.study.settings["printed"]:
        text = paths[name, "html"].read_text(encoding="utf-8")
        table = text[text.index("<table") : text.index("</table>") + len("</table>")]
        data = _data(paths[name, "csv"], f"../printed/{name}.csv")
        shown.append({"name": name, "table": table, "data": data, "latex": f"../printed/{name}.tex"})
    return shown


def _figure(
    results: StudyResults, name: str, entry: EntryMetadata, command: str, left: int
) -> dict[str, Any]:
    files = results.files["figures"]
    svg = files[name, "svg"]
    src = svg_address(svg.read_text(encoding="utf-8"))
    return {
        "name": name,
        "title": entry.title or name,
        "src": src if len(src) <= left else f"../figures/{name}.svg",
        # Its line breaks suit the figure, which is narrower than the page. Its mark is in the figure, too.
        "caption": " ".join(files[name, "txt"].read_text(encoding="utf-8").split())
        .removesuffix(results.study.mark)
        .rstrip(),
        "about": entry.about,
        "pdf": f"../figures/{name}.pdf",
        "data": _data(files[name, "csv"], f"../figures/{name}.csv"),
        # A heatmap's data are long: the explorer has its norms, with a CSV download.
        "explore": results.link(entry.arms[0], entry.models[:4]) if entry.kind == "norms" else "",
        "command": f"{command} {svg.with_suffix('.png').as_posix()}",
    }


def svg_address(text: str) -> str:
    """Return an SVG file as a ``data:`` address: as an image it can run nothing and load nothing.

    Written out rather than as base64, which would be longer. Where DejaVu is not installed, Verdana has
    nearly the same widths. Coordinates keep two decimals: less than a hundredth of a point cannot be seen.
    """
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = text.replace("'DejaVu Sans'", "'DejaVu Sans', Verdana, sans-serif")
    text = re.sub(r"<[^>]*>", lambda tag: re.sub(r"(\.\d\d)\d+", r"\1", tag[0]), text)
    text = re.sub(r"\s+", " ", text)
    return "data:image/svg+xml," + quote(text, safe=" ~()*!.'/:=;,-_?&@$|^`{}[]+")


def _table(results: StudyResults, name: str, entry: EntryMetadata, command: str) -> dict[str, Any]:
    path = results.files["tables"][name]
    frame = results.table(name, as_text=True)
    columns = [c for c in entry.columns if c in frame] or [str(c) for c in frame if c != "any_planted"]
    shown = frame[columns].head(SHOWN_ROWS)
    # What is in angle brackets describes the columns named by the data.
    by_data = next((about for name, about in entry.meanings.items() if name.startswith("<")), "")
    return {
        "name": name,
        "about": entry.sentence,
        "meanings": [(column, entry.meanings.get(column, by_data)) for column in columns],
        "columns": [header(column) for column in columns],
        "rows": [
            [_cell(cell, _to_flow(results, row) if column == "flow" else "") for column, cell in row.items()]
            for row in shown.to_dict("records")
        ],
        "total": len(frame),
        "open": len(frame) <= OPEN_ROWS,
        "data": _data(path, f"../tables/{name}.csv"),
        "command": f"{command} {path.as_posix()}",
    }


def _to_flow(results: StudyResults, row: Mapping[Any, Any]) -> str:
    """Return the address of what a model replied to the flow of a row; empty where the row is of no single model."""
    arm, model = row.get("arm", ""), row.get("model", "")
    return results.link(arm, [model], flow=row["flow"]) if (arm, model) in results.codes else ""


def _cell(text: str, href: str = "") -> dict[str, Any]:
    """Return a cell as the page shows it; ``whole`` is the file's text where that is longer."""
    shown = number(text)
    numeric = bool(re.fullmatch(r"-?\d[\d.]*(e[+-]?\d+)?", text))
    return {"text": shown, "whole": text if shown != text else "", "number": numeric, "href": href}


def _data(path: Path, address: str) -> dict[str, str] | None:
    """Return the link to a CSV file: inside the page, or ``address`` if it is long; None if it is empty."""
    raw = path.read_bytes()
    if not raw.strip():
        return None
    inside = f"data:text/csv;charset=utf-8;base64,{base64.b64encode(raw).decode()}"
    return {"name": path.name, "href": inside if len(raw) <= MOST_CSV else address}


# --- The appendix

#: What is folded on the screen is open on paper.
OPENED = """addEventListener("beforeprint", () => {
  for (const folded of document.querySelectorAll("details")) folded.open = true;
});
"""


def render(results: StudyResults, command: str) -> str:
    """Return the appendix, which is next to the page. Everything that comes from data or settings is escaped.

    ``command`` makes the file again that is put after it.
    """
    return render_page(
        "report",
        "appendix",
        script=OPENED,
        study=results.study,
        measures=measures_of(arm.scale for arm in results.study.arms.values()),
        summary=method.summary(results),
        main_arm=results.main_arm(),
        discarded=discarded(results),
        sections=sections(results, command),
        printed=printed(results),
        texts=[
            {"arm": arm, "model": model} | row | {"status": STATUS_LABELS[row["status"]]}
            for (arm, model), texts in results.reviews.items()
            for row in texts.to_dict("records")
        ],
        readers=method.readers(results),
        models=method.models(results),
        software=software(),
        hashes=method.hashes(results),
        citations=method.citations(results),
        pasted=page.findings(results).to_paste(),
        settings=json.dumps(dict(results.study.settings), indent=2, ensure_ascii=False),
        cards=_cards(results),
        version=version(),
    )


def _cards(results: StudyResults) -> dict[str, list[dict[str, str]]]:
    """Return the files of each model's norm card, each inside the page."""
    kinds = {"md": "text/markdown", "json": "application/json"}
    cards: dict[str, list[dict[str, str]]] = {}
    for (model, ending), path in results.files["cards"].items():
        text = base64.b64encode(path.read_bytes()).decode()
        href = f"data:{kinds[ending]};charset=utf-8;base64,{text}"
        cards.setdefault(model, []).append({"name": path.name, "href": href})
    return cards
