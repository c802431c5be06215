"""The report's page: put together from a study's tables, with everything it needs inside it."""

import base64
import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from cinorms.core.filling import render_page
from cinorms.core.scales import measures_of
from cinorms.core.software import software
from cinorms.core.version import __version__
from cinorms.figures.colours import NO_NORM_COLOUR, ink_on, level_colours
from cinorms.report import method
from cinorms.report.explorer import class_of, explorer_data
from cinorms.report.findings import discarded, findings
from cinorms.report.reliance import IN_PART, MOSTLY, is_asked_again, reliance
from cinorms.report.results import StudyResults
from cinorms.report.sections import printed, sections
from cinorms.report.words import STATUSES

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
    data = explorer_data(results)
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
        reliance=reliance(results),
        asked_again=is_asked_again(results),
        limits=[f"{limit:.0%}" for limit in (MOSTLY, IN_PART)],
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
        version=__version__,
    )


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
        f".{name} {{ background: {colour}; color: {ink_on(colour, '#ffffff', '#000000')}; }}\n"
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
