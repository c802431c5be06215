"""The report's page: put together from a study's tables, with everything it needs inside it."""

import base64
import json
import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import quote

from cinorms.core.csv_files import read_csv
from cinorms.core.filling import render_page
from cinorms.core.labels import NO_NORM
from cinorms.core.scales import measures_of
from cinorms.core.version import software, version
from cinorms.figures.colours import NO_NORM_COLOUR, ink_on, level_colours
from cinorms.report import method
from cinorms.report.explorer import class_of, explorer_data
from cinorms.report.findings import discarded, findings, first_sentences
from cinorms.report.results import StudyResults
from cinorms.report.screen import Standing, asked, headline, nouns_of, standings, who_of
from cinorms.report.words import STATUSES, link, number, plain, share
from cinorms.study.facts import EntryFacts

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
                figures.append(_figure(results.files["figures"], name, entry, command, left))
                left -= len(figures[-1]["src"])
        own = ((name, entry) for name, entry in study.analyses.items() if entry.section == section)
        tables = [_table(results, name, entry, command) for name, entry in own]
        if figures or tables:
            words = {"name": section, "title": title, "question": question}
            shown.append({**words, "figures": figures, "tables": tables})
    return shown


def printed(results: StudyResults) -> list[dict[str, Any]]:
    """Return the tables that the study prints like the papers. They were escaped when they were written."""
    shown, files = [], results.files["printed"]
    for name in results.study.printed:
        text = files[name, "html"].read_text(encoding="utf-8")
        table = text[text.index("<table") : text.index("</table>") + len("</table>")]
        data = _data(files[name, "csv"], f"../printed/{name}.csv")
        shown.append({"name": name, "table": table, "data": data, "latex": f"../printed/{name}.tex"})
    return shown


def _figure(
    files: Mapping[Any, Path], name: str, entry: EntryFacts, command: str, left: int
) -> dict[str, Any]:
    svg = files[name, "svg"]
    src = svg_address(svg.read_text(encoding="utf-8"))
    return {
        "name": name,
        "title": entry.title or name,
        "src": src if len(src) <= left else f"../figures/{name}.svg",
        # Its line breaks suit the figure, which is narrower than the page.
        "caption": " ".join(files[name, "txt"].read_text(encoding="utf-8").split()),
        "about": entry.about,
        "pdf": f"../figures/{name}.pdf",
        "data": _data(files[name, "csv"], f"../figures/{name}.csv"),
        # A heatmap's data are long: the explorer has its norms, with a CSV download.
        "explore": link(entry.arms[0], entry.models[:4]) if entry.kind == "norms" else "",
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


def _table(results: StudyResults, name: str, entry: EntryFacts, command: str) -> dict[str, Any]:
    path = results.files["tables"][name]
    frame = read_csv(path, as_text=True)
    columns = [c for c in entry.columns if c in frame] or [str(c) for c in frame if c != "any_planted"]
    shown = frame[columns].head(SHOWN_ROWS)
    # What is in angle brackets describes the columns named by the data.
    by_data = next((about for name, about in entry.meanings.items() if name.startswith("<")), "")
    return {
        "name": name,
        "about": entry.sentence,
        "meanings": [(column, entry.meanings.get(column, by_data)) for column in columns],
        "columns": [plain(column) for column in columns],
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
    return link(arm, [model], flow=row["flow"]) if (arm, model) in results.codes else ""


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


# --- The page

#: The page's script, in the order in which its parts build on each other.
SCRIPTS = (
    *("dom", "codec", "data", "state", "slice", "controls", "heatmap", "flows"),
    *("replies", "said", "cell", "main"),
)


def render(results: StudyResults, command: str) -> str:
    """Return the page. Everything that comes from data, models or settings is escaped.

    ``command`` makes the file again that is put after it.
    """
    templates = files("cinorms.report") / "templates"
    parts = "\n".join((templates / f"report_{name}.js").read_text(encoding="utf-8") for name in SCRIPTS)
    script = f'"use strict";\n(() => {{\n{parts}\n}})();\n'
    data, rows = explorer_data(results), standings(results)
    return render_page(
        "report",
        "report",
        study=results.study,
        mark=results.study.mark,
        measures=measures_of(arm.scale for arm in results.study.arms.values()),
        style=_colours(results),
        script=script,
        beside=_loads(data),
        data=embedded(data),
        summary=method.summary(results),
        title=headline(rows) or f"Privacy norms of {who_of(rows)}",
        legend=_legend(results, rows[0].arm),
        rows=rows,
        nouns=nouns_of(rows),
        computed=any(row.status != "not_computed" for row in rows),
        asked=asked(results, rows),
        bars={row.model: _bars(results, row) for row in rows},
        sentences=first_sentences(results, rows[0].arm, [row.model for row in rows if row.reads_flow]),
        main_arm=results.main_arm(),
        findings=findings(results),
        discarded=discarded(results),
        sections=sections(results, command),
        printed=printed(results),
        texts=[
            {"arm": arm, "model": model} | row | {"status": STATUSES[row["status"]]}
            for (arm, model), texts in results.reviews.items()
            for row in texts.to_dict("records")
        ],
        readers=method.readers(results),
        models=method.models(results),
        software=software(),
        hashes=method.hashes(results),
        citations=method.citations(results),
        settings=json.dumps(dict(results.study.settings), indent=2, ensure_ascii=False),
        cards=_cards(results),
        version=version(),
    )


def _legend(results: StudyResults, arm: str) -> list[tuple[str, str]]:
    """Return what the colours of the levels and of no norm mean."""
    scale = results.scale(arm)
    return [*((class_of(scale, at), option) for at, option in enumerate(scale.options)), ("b-none", NO_NORM)]


def _bars(results: StudyResults, row: Standing) -> dict[str, list[dict[str, Any]]]:
    """Return the bars of a model on the first screen: parts with a look, a name and a place."""
    scale = results.scale(row.arm)
    again, may_change, none = row.parts
    looks = {option: class_of(scale, at) for at, option in enumerate(row.levels)}
    bars: dict[str, list[tuple[str, str, float]]] = {
        "norms": [
            ("b-again", "norm expected again", again),
            ("b-held", "norm that may change" if row.told else "norm", may_change),
            ("b-none", NO_NORM, none),
        ],
        "levels": [(looks[name], name, n) for name, n in row.levels.items()] + [("b-none", NO_NORM, none)],
        "read": [
            ("b-read", "could be read", row.valid),
            ("b-refused", "refused", row.refused),
            ("b-none", "other", row.answers - row.valid - row.refused),
        ],
    }
    return {name: _placed(parts) for name, parts in bars.items()}


def _placed(parts: Sequence[tuple[str, str, float]]) -> list[dict[str, Any]]:
    """Return where each part of a bar from 0 to 100 begins and how wide it is; none that are empty."""
    whole, placed, at = sum(n for *_, n in parts), [], 0.0
    for look, name, n in parts:
        if n:
            width = 100 * n / whole
            placed.append({"look": look, "name": name, "share": share(n, whole), "x": at, "width": width})
            at += width
    return placed


def _loads(data: Mapping[str, Any]) -> bool:
    """Tell whether the page loads replies from files beside it."""
    replies = [model["replies"] for arm in data["arms"] for model in arm["models"] if model["replies"]]
    return any(len(list(filter(None, part["inside"]))) < len(part["last"]) for part in replies)


def embedded(data: Any) -> str:
    """Return ``data`` as JSON that can stand in a script element: it cannot end it, nor begin a comment."""
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _colours(results: StudyResults) -> str:
    """Return the part of the page's style with the colours that all figures have."""
    scales = {scale.name: scale for scale in map(results.scale, results.study.arms)}
    colours = {
        class_of(scale, at): colour
        for scale in scales.values()
        for at, colour in enumerate(level_colours(scale).values())
    }
    return "".join(
        f".{name} {{ background: {colour}; fill: {colour}; color: {ink_on(colour, '#ffffff', '#000000')}; }}\n"
        for name, colour in {**colours, "l-none": NO_NORM_COLOUR}.items()
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
