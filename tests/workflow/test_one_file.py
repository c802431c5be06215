"""One new file adds a kind of analysis, another a figure: they validate, run, are on the page and in the reference.

Deleting the file removes every trace of the kind.
"""

import copy
import shutil
import sys

import pandas as pd

from ..snakemake_runs import ROOT, run
from .conftest import SMALL, Project

ANALYSIS = '''"""Kind ``loudest``: the flow that most variants agree on."""


import pandas as pd
from pydantic import Field

from cinorms.analyses.columns import WHO
from cinorms.analyses.shared import add_factors, for_each_model
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Kind
from cinorms.entries.options import OfArms


class LoudestOptions(OfArms):
    """Options of the kind."""

    rows: int = Field(2, ge=1, le=9, description="How many flows are listed.")


@for_each_model
def loudest(one: Selected, entry: Entry[LoudestOptions], vignettes: pd.DataFrame) -> pd.DataFrame:
    """Return the flows with the largest share, and what the dataset's first factor is there."""
    factor = entry.factors_of[one.arm].factors[0]
    flows = add_factors(one.frame, vignettes, [factor]).rename(columns={factor: "about"})
    table = flows.sort_values(["share", "flow"], ascending=[False, True])
    return table[["flow", "about", "share"]].head(entry.options.rows)


KINDS = (
    Kind(
        name="loudest",
        about="The flows that most variants agree on.",
        function=loudest,
        reads="norms",
        report_section="answers",
        key=("arm", "model", "flow"),
        columns={
            **WHO,
            "flow": "Number of the flow.",
            "about": "Its level of the first factor.",
            "share": "Share of the most frequent level.",
        },
    ),
)
'''

FIGURE = '''"""Kind ``shares``: how far variants agree, by a factor."""

from collections.abc import Sequence

import pandas as pd

from cinorms.analyses.columns import WHO
from cinorms.analyses.shared import Frames, add_factors
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Kind
from cinorms.entries.options import OfArms
from cinorms.figures import theme
from cinorms.figures.colours import palette_of
from cinorms.figures.theme import FigureOptions, p9


class SharesOptions(FigureOptions, OfArms):
    """Options of the kind."""


def draw(selected: Sequence[Selected], entry: Entry[SharesOptions], vignettes: Frames) -> theme.Drawn:
    """Return a panel per model, with a bar for each level of the dataset's first factor."""
    parts = []
    for name, one in theme.by_label(selected).items():
        factor = entry.factors_of[one.arm].factors[0]
        flows = add_factors(one.frame, vignettes[one.arm], [factor])
        means = flows.groupby(factor, observed=True)["share"].mean().rename_axis("about").reset_index()
        parts.append(means.assign(panel=name, arm=one.arm, model=one.model))
    frame = pd.concat(parts, ignore_index=True)
    frame["panel"] = theme.in_order(frame["panel"])
    width, panel, across, down = theme.panels(frame["panel"], entry, 2.2, 1.8)
    plot = (
        p9.ggplot(frame.assign(panel=panel), p9.aes("about", "share"))
        + p9.geom_col(fill=palette_of(entry).shares[-1])
        + p9.facet_wrap("panel", ncol=across)
        + p9.coord_flip()
        + p9.labs(x="", y="share of the most frequent level")
        + theme.base_theme()
    )
    data = frame[["arm", "model", "about", "share"]]
    return theme.finish(plot, entry, data, (width, 2.5 * down + 1), "How far the variants agree.")


KINDS = (
    Kind(
        name="shares",
        about="How far the variants of a flow agree.",
        function=draw,
        reads="norms",
        report_section="answers",
        key=("arm", "model", "about"),
        columns={
            **WHO,
            "about": "Level of the first factor.",
            "share": "Mean share of the most frequent level.",
        },
    ),
)
'''


def reference(project: Project) -> dict[str, str]:
    """Return the reference that the project's library writes."""
    folder = project.folder / "docs/reference"
    shutil.rmtree(folder, ignore_errors=True)
    command = [sys.executable, "-m", "cinorms.reference", "--pages", "docs/reference"]
    run(command, project.folder, environment={"PYTHONPATH": str(project.folder / "workflow/lib")})
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in files}


def test_the_page_on_the_architecture_calls_functions_as_the_examples_do():
    page = " ".join((ROOT / "docs/architecture.md").read_text(encoding="utf-8").split())
    for call, example in (
        ("add_factors(one.frame, vignettes[one.arm], [factor])", FIGURE),
        ("add_factors(one.frame, vignettes, [factor])", ANALYSIS),
    ):
        assert call in page
        assert call in example


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
    look = {"title": "How far", "palette": ["#102030", "#a0b0c0"], "font": "STIXGeneral", "width": 7}
    study["figures"] = {"how-far": {"kind": "shares", "arms": ["main"], **look}}
    project.write("tiny.yaml", study)
    project.run("--configfile", "tiny.yaml")
    table = pd.read_csv(project.folder / "results/tiny/tables/agreed.csv")
    assert list(table) == ["arm", "model", "flow", "about", "share", "any_planted"]
    drawn = (project.folder / "results/tiny/figures/how-far.svg").read_text(encoding="utf-8")
    for stated in ("How far", "#a0b0c0", "STIXGeneral", 'width="504pt"'):
        assert stated in drawn, stated
    data = pd.read_csv(project.folder / "results/tiny/figures/how-far.csv")
    flows = pd.read_parquet(
        project.folder / f"results/tiny/vignettes/{SMALL['arms']['main']['dataset']}.parquet"
    )
    factor = next(name for name in flows if isinstance(flows[name].dtype, pd.CategoricalDtype))
    assert set(table["about"]) <= set(data["about"]) <= set(flows[factor])
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
