"""Draw the data flow as SVG: which rule reads and writes what, and which packages of the library do its work.

What is drawn is what Snakemake says that it would run for three studies (their dry runs), not what a page says. A row
is a rule, a line is a folder or file of results/{study}: it begins where it is first written and ends where it is last
read. ``make docs`` writes docs/images/data-flow.svg; a test says when that is out of date.
"""

from __future__ import annotations

import ast
import html
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
WORKFLOW = ROOT / "workflow"
LIBRARY = WORKFLOW / "lib/cinorms"
#: Studies that have a job of every rule between them, with the targets to ask for.
STUDIES = (
    ("docs/tools/data_flow.yaml", ("all", "plan", "export_prompts_plain", "gate")),
    ("config/replication.yaml", ("replicate",)),
    ("config/people-planted.yaml", ("people",)),
)
#: The files that data_flow.yaml names, with what must be in them.
OWN_FILES = {
    "tulu-2-7b.csv": "",
    "tulu-2-7b.jsonl": "",
    "overrides.csv": "",
    "policy.yaml": "claims: {all: {kind: shift, margin: 0.5}}",
}
#: Imported by nearly every script: naming it says nothing.
COMMON_PACKAGE = "core"


@dataclass
class Row:
    """A rule: its file, what it reads and writes below results/{study}, and the packages that do its work.

    ``needs`` and ``makes`` are the paths of all its jobs.
    """

    rule: str
    file: str
    needs: set[str] = field(default_factory=set)
    makes: set[str] = field(default_factory=set)
    reads: set[str] = field(default_factory=set)
    writes: set[str] = field(default_factory=set)
    packages: set[str] = field(default_factory=set)


# --- What there is to draw


def rows() -> list[Row]:
    """Return a row for every rule that makes a file, each below those that make what it reads."""
    with ThreadPoolExecutor() as pool:
        printed = list(pool.map(lambda study: dry_run(*study), STUDIES))
    found = rows_of(printed, declared_rules())
    missing = {path.stem for path in (WORKFLOW / "scripts").glob("*.py")} - {row.rule for row in found}
    missing -= {"fetch"}  # what it writes belongs to no study
    if missing:
        raise SystemExit(
            f"docs/tools/data_flow.py: no study in STUDIES has a job of {sorted(missing)}; add a target"
        )
    return in_order(found)


def dry_run(study: str, targets: Sequence[str]) -> str:
    """Return what Snakemake prints of all jobs of a study, run or not, in an empty folder."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in OWN_FILES.items():
            (Path(folder) / name).write_text(text, encoding="utf-8")
        options = [
            "--configfile",
            ROOT / study,
            "--dry-run",
            "--forceall",
            "--printshellcmds",
            "--cores",
            "1",
        ]
        command = [
            sys.executable,
            "-m",
            "snakemake",
            "--snakefile",
            ROOT / "Snakefile",
            *options,
            "--",
            *targets,
        ]
        done = subprocess.run(
            list(map(str, command)), cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
    if done.returncode:
        raise SystemExit(f"{study}: its dry run failed:\n{done.stdout}")
    return done.stdout


def declared_rules() -> dict[str, str]:
    """Return the file of each rule by its name, in the order of the pipeline.

    A name that is put together has an asterisk in place of its parts.
    """
    found = {}
    pipeline = (WORKFLOW / "Snakefile").read_text(encoding="utf-8")
    for name in re.findall(r"^include: .*?(\w+)(?:\.smk)?\"", pipeline, flags=re.MULTILINE):
        path = WORKFLOW / "rules" / f"{name}.smk"
        text = path.read_text(encoding="utf-8")
        names = r"^ *(?:use rule \w+ as|rule) (\w+)(?: with)?:|^ *name:\s*f?\"([^\"]+)\""
        for plain, made in re.findall(names, text, flags=re.MULTILINE):
            found[plain or re.sub(r"\{[^}]*\}", "*", made)] = path.name
    return found


def rows_of(printed: Iterable[str], declared: Mapping[str, str]) -> list[Row]:
    """Return the rows of the jobs that dry runs print: study by study, and in each in the order of the pipeline."""
    found: dict[str, Row] = {}
    for study in printed:
        seen = {}
        for block in re.split(r"\n(?=(?:local)?rule \w+:\n)", study):
            head = re.match(r"(?:local)?rule (\w+):\n", block)
            if head and paths_of(block, "output"):  # others are targets
                name = declared_name(head[1], declared)
                seen[name] = row = found.get(name) or seen.get(name) or Row(name, declared[name])
                add_job(row, block)
        found |= {name: seen[name] for name in declared if name in seen}
    return list(found.values())


def add_job(row: Row, block: str) -> None:
    """Add what a dry run prints of a job to the row of its rule."""
    needs, makes = paths_of(block, "input"), paths_of(block, "output")
    row.needs |= needs
    row.makes |= makes
    row.reads |= places(needs)
    row.writes |= places(makes)
    row.packages |= packages_of(row.rule, re.findall(r"-m cinorms\.([\w.]+)", block))


def declared_name(rule: str, declared: Mapping[str, str]) -> str:
    """Return the name under which a rule is declared."""
    if rule in declared:
        return rule
    made = [name for name in declared if "*" in name and re.fullmatch(name.replace("*", r"\w+"), rule)]
    if len(made) != 1:
        raise SystemExit(f"rule {rule}: no file of workflow/rules declares it")
    return made[0]


def paths_of(block: str, directive: str) -> set[str]:
    """Return the paths that a job reads or writes."""
    line = re.search(rf"\n    {directive}: (.*)", block)
    return set(line[1].split(", ")) if line else set()


def places(paths: Iterable[str]) -> set[str]:
    """Return where files are: their folder in results/{study}, or in resources."""
    found = (re.search(r"^results/[^/]+/([^/]+)|/(resources/\w+)/", path) for path in paths)
    return {place[1] or place[2] for place in found if place}


def packages_of(rule: str, modules: Sequence[str]) -> set[str]:
    """Return the packages that do the work of a rule: those of the modules it runs, else those its script imports."""
    found = {module.partition(".")[0] for module in modules if "." in module}
    files = [LIBRARY / f"{module}.py" for module in modules if "." not in module]
    files += [] if modules else [script_of(rule)]
    return found.union(*map(imported_packages, files), kinds_of(rule)) - {COMMON_PACKAGE}


def script_of(rule: str) -> Path:
    """Return the script of a rule, or of the rule that it copies."""
    texts = "".join(path.read_text(encoding="utf-8") for path in (WORKFLOW / "rules").glob("*.smk"))
    copied = re.search(rf"use rule (\w+) as {rule} with", texts)
    return WORKFLOW / "scripts" / f"{copied[1] if copied else rule}.py"


def imported_packages(file: Path) -> set[str]:
    """Return the packages of the library that a module imports."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    modules = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module]
    modules += [name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names]
    return {module.split(".")[1] for module in modules if module.startswith("cinorms.")}


def kinds_of(rule: str) -> set[str]:
    """Return the package in which the kinds that a rule makes are found at run time, which nothing imports by name."""
    text = (WORKFLOW / "rules" / "analysis.smk").read_text(encoding="utf-8")
    for block in re.split(r"^rule ", text, flags=re.MULTILINE):
        if f'code_of_entry("{rule}")' in block:
            folder = re.findall(r"results/\{study\}/(\w+)/", block)[0]
            return {"analyses" if folder == "tables" else folder}
    return set()


def in_order(found: Sequence[Row]) -> list[Row]:
    """Return rows so that what a rule reads is made above it."""
    order: list[Row] = []
    left = list(found)
    while left:
        order.append(next(row for row in left if not any(other.makes & row.needs for other in left)))
        left.remove(order[-1])
    return order


# --- The picture

WIDTH, TOP, ROW, STEP = 955, 100, 28, 15
#: The letters that have room in a column.
ROOM = 44
COLUMNS = {"rule": 0, "reads": 172, "writes": 472, "packages": 662, "file": 858}
# Dark enough for text on white.
COLOURS = ("#1f6fb4", "#b84a00", "#00795a", "#a3457f", "#7a5c00", "#5b3fa0", "#555555")
STYLE = """
text { font: 13px sans-serif; fill: #222 }
.rule { font: 13px monospace; font-weight: bold }
.head { font-weight: bold; fill: #555 }
.file { fill: #666; font-size: 11px }
.title { font-size: 17px; font-weight: bold }
"""


def lanes(order: Sequence[Row]) -> dict[str, tuple[int, int, int]]:
    """Return for each place that is written and read: its lane, its first row and its last."""
    spans = {}
    for name in dict.fromkeys(name for row in order for name in sorted(row.writes)):
        readers = [i for i, row in enumerate(order) if name in row.reads]
        if readers:
            spans[name] = (min(i for i, row in enumerate(order) if name in row.writes), max(readers))
    free_from: list[int] = []
    placed = {}
    for name, (first, last) in spans.items():
        lane = next((i for i, end in enumerate(free_from) if end < first), len(free_from))
        free_from[lane : lane + 1] = [last]
        placed[name] = (lane, first, last)
    return placed


def draw(order: Sequence[Row]) -> str:
    """Return the picture as SVG."""
    placed = lanes(order)
    colours = {name: COLOURS[lane % len(COLOURS)] for name, (lane, *_) in placed.items()}
    left = 30 + STEP * (1 + max(lane for lane, *_ in placed.values()))
    height = TOP + ROW * len(order) + 10
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left + WIDTH} {height}" role="img">',
        "<title>Data flow: which rule reads and writes what</title>",
        f"<style>{STYLE}</style>",
        f'<rect width="{left + WIDTH}" height="{height}" fill="#fff"/>',
        text(20, 30, "From a study to its report", "title"),
        text(
            20,
            52,
            "A row is a rule. A line is a folder or file in results/{study}: ● writes it, ○ reads it.",
            "",
        ),
    ]
    heads = {"rule": "rule", "reads": "reads", "writes": "writes", "packages": "packages", "file": "rules/"}
    parts += [text(left + COLUMNS[name], 86, words, "head") for name, words in heads.items()]
    middle = [TOP + ROW * i + ROW / 2 for i in range(len(order))]
    for i, row in enumerate(order):
        if i % 2 == 0:
            parts.append(
                f'<rect x="0" y="{TOP + ROW * i}" width="{left + WIDTH}" height="{ROW}" fill="#f4f4f2"/>'
            )
        parts += row_texts(row, left, middle[i] + 5, colours)
    for name, (lane, first, last) in placed.items():
        x = 25 + STEP * lane
        parts.append(
            f'<path d="M{x} {middle[first]}V{middle[last]}" stroke="{colours[name]}" stroke-width="3" fill="none"/>'
        )
        for i, row in enumerate(order):
            if name in row.writes | row.reads and first <= i <= last:
                fill = colours[name] if name in row.writes else "#fff"
                shape = f'<circle cx="{x}" cy="{middle[i]}" r="5.5" stroke="{colours[name]}" stroke-width="2"'
                parts.append(f'{shape} fill="{fill}"><title>{html.escape(name)}</title></circle>')
    return "\n".join([*parts, "</svg>", ""])


def row_texts(row: Row, left: int, y: float, colours: Mapping[str, str]) -> list[str]:
    """Return the texts of a row."""
    read = [name for name in colours if name in row.reads] + sorted(row.reads - set(colours))
    written = [name for name in colours if name in row.writes] + sorted(row.writes - set(colours))
    return [
        text(left, y, row.rule, "rule"),
        listed(left + COLUMNS["reads"], y, read, colours),
        listed(left + COLUMNS["writes"], y, written, colours),
        text(left + COLUMNS["packages"], y, ", ".join(sorted(row.packages)), ""),
        text(left + COLUMNS["file"], y, row.file, "file"),
    ]


def listed(x: float, y: float, names: Sequence[str], colours: Mapping[str, str]) -> str:
    """Return names in one line, each in the colour of its lane; of many only how many."""
    if len(", ".join(names)) > ROOM:
        names = list(dict.fromkeys(name.partition("/")[0] for name in names))
    if len(", ".join(names)) > ROOM:
        return text(x, y, f"{len(names)} of the lines on the left", "")
    spans = [f'<tspan fill="{colours.get(name, "#222")}">{html.escape(name)}</tspan>' for name in names]
    return f'<text x="{x}" y="{y}">{", ".join(spans)}</text>'


def text(x: float, y: float, words: str, kind: str) -> str:
    """Return a line of text."""
    return f'<text x="{x}" y="{y}" class="{kind}">{html.escape(words)}</text>'


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(draw(rows()), encoding="utf-8")
