"""One new file adds a kind of analysis, another a figure: they validate, run, are on the page and in the reference.

Deleting the file removes every trace of the kind.
"""

import copy
import sys

import pandas as pd

from ..snakemake_runs import run
from .conftest import SMALL, Project

ANALYSIS = '''"""Kind ``loudest``: the flow that most variants agree on."""


import pandas as pd
from pydantic import Field

from cinorms.analyses.columns import WHO
from cinorms.analyses.shared import for_each_model
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Kind
from cinorms.entries.options import OfArms


class LoudestOptions(OfArms):
    """Options of the kind."""

    rows: int = Field(2, ge=1, le=9, description="How many flows are listed.")


@for_each_model
def loudest(one: Selected, entry: Entry[LoudestOptions]) -> pd.DataFrame:
    """Return the flows with the largest share."""
    table = one.frame.sort_values(["share", "flow"], ascending=[False, True])
    return table[["flow", "share"]].head(entry.options.rows)


KINDS = (
    Kind(
        name="loudest",
        about="The flows that most variants agree on.",
        function=loudest,
        reads="norms",
        report_section="answers",
        key=("arm", "model", "flow"),
        columns={**WHO, "flow": "Number of the flow.", "share": "Share of the most frequent level."},
    ),
)
'''

FIGURE = '''"""Kind ``shares``: a histogram of how far variants agree."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from cinorms.analyses.columns import usual
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Kind
from cinorms.entries.options import OfArms
from cinorms.figures.theme import Drawn, FigureOptions


class SharesOptions(FigureOptions, OfArms):
    """Options of the kind."""


def draw(selected: Sequence[Selected], entry: Entry[SharesOptions]) -> Drawn:
    """Return the histogram."""
    import plotnine as p9

    frame = pd.concat([one.frame.assign(model=one.model) for one in selected])
    plot = p9.ggplot(frame, p9.aes("share")) + p9.geom_histogram(bins=10) + p9.facet_wrap("model")
    return Drawn(plot, 5.0, 3.0, "How far the variants agree.", frame[["model", "flow", "share"]])


KINDS = (
    Kind(
        name="shares",
        about="How far the variants of a flow agree.",
        function=draw,
        reads="norms",
        report_section="answers",
        key=("model", "flow"),
        columns={**usual("model"), "flow": "Number of the flow.", "share": "How far the variants agree."},
    ),
)
'''


def reference(project: Project) -> dict[str, str]:
    """Return the reference that the project's library writes."""
    command = [sys.executable, "-m", "cinorms.reference", "--pages", "docs/reference"]
    run(command, project.folder, environment={"PYTHONPATH": str(project.folder / "workflow/lib")})
    folder = project.folder / "docs/reference"
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in files}


def test_a_kind_is_a_file(project):
    library = project.folder / "workflow/lib/cinorms"
    before = reference(project)
    (library / "analyses/loudest.py").write_text(ANALYSIS, encoding="utf-8")
    (library / "figures/shares.py").write_text(FIGURE, encoding="utf-8")

    study = copy.deepcopy(SMALL)
    study["analyses"]["agreed"] = {"kind": "loudest", "arms": ["main"], "rows": 12}
    project.write("tiny.yaml", study)
    printed = project.run("-n", "--configfile", "tiny.yaml", ok=False)
    assert "tiny.yaml: analyses.agreed.rows: 12 is out of range; allowed: at least 1, at most 9" in printed

    study["analyses"]["agreed"] = {"kind": "loudest", "arms": ["main"]}
    study["figures"] = {"how-far": {"kind": "shares", "arms": ["main"], "title": "How far"}}
    project.write("tiny.yaml", study)
    project.run("--configfile", "tiny.yaml")
    table = pd.read_csv(project.folder / "results/tiny/tables/agreed.csv")
    assert list(table) == ["arm", "model", "flow", "share", "any_planted"]
    assert table.groupby("model").size().eq(2).all()
    page = (project.folder / "results/tiny/report/index.html").read_text(encoding="utf-8")
    assert "The flows that most variants agree on." in page
    assert "How far the variants of a flow agree." in page

    after = reference(project)
    assert "(analyses/loudest.md)" in after["analyses.md"]
    assert "How many flows are listed." in after["analyses/loudest.md"]
    assert "Share of the most frequent level." in after["analyses/loudest.md"]
    assert "figures/shares.md" in after["figures.md"]

    module = library / "analyses/loudest.py"
    module.write_text(module.read_text(encoding="utf-8") + "\n# edited\n", encoding="utf-8")
    planned = project.run("-n", "--quiet", "rules", "--configfile", "tiny.yaml", "--", "tables")
    assert "make_table" in planned
    assert "draw_figure" not in planned

    module.unlink()
    (library / "figures/shares.py").unlink()
    assert reference(project) == before
    printed = project.run("-n", "--configfile", "tiny.yaml", ok=False)
    assert "analyses.agreed.kind: 'loudest' is not a kind" in printed
