"""One new file adds a kind of analysis: it validates, runs, is on the page and in the reference.

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


def reference(project: Project) -> dict[str, str]:
    """Return the reference that the project's library writes."""
    folder = project.folder / "docs/reference"
    shutil.rmtree(folder, ignore_errors=True)
    command = [sys.executable, "-m", "cinorms.reference", "--pages", "docs/reference"]
    run(command, project.folder, environment={"PYTHONPATH": str(project.folder / "workflow/lib")})
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in files}


def test_the_page_on_the_architecture_calls_functions_as_the_example_does():
    page = " ".join((ROOT / "docs/architecture.md").read_text(encoding="utf-8").split())
    call = "add_factors(one.frame, vignettes, [factor])"
    assert call in page
    assert call in ANALYSIS


def test_a_kind_is_a_file(project):
    library = project.folder / "workflow/lib/cinorms"
    before = reference(project)
    (library / "analyses/loudest.py").write_text(ANALYSIS, encoding="utf-8")

    study = copy.deepcopy(SMALL)
    study["analyses"]["agreed"] = {"kind": "loudest", "arms": ["main"], "rows": 12}
    project.write("tiny.yaml", study)
    printed = project.run("-n", "--configfile", "tiny.yaml", ok=False)
    assert (
        "tiny.yaml: analyses.agreed.rows: 12 is not allowed; allowed: a whole number (at least 1, at most 9)"
        in printed
    )

    study["analyses"]["agreed"] = {"kind": "loudest", "arms": ["main"]}
    project.write("tiny.yaml", study)
    project.run("--configfile", "tiny.yaml")
    table = pd.read_csv(project.folder / "results/tiny/tables/agreed.csv")
    assert list(table) == ["arm", "model", "flow", "about", "share", "any_planted"]
    flows = pd.read_parquet(
        project.folder / f"results/tiny/vignettes/{SMALL['arms']['main']['dataset']}.parquet"
    )
    factor = next(name for name in flows if isinstance(flows[name].dtype, pd.CategoricalDtype))
    assert set(table["about"]) <= set(flows[factor])
    assert table.groupby("model").size().eq(2).all()
    page = (project.folder / "results/tiny/report/appendix.html").read_text(encoding="utf-8")
    assert "The flows that most variants agree on." in page

    after = reference(project)
    page = after["analyses.md"]
    assert "(#loudest)" in page
    assert "How many flows are listed." in page
    assert "Share of the most frequent level." in page

    module = library / "analyses/loudest.py"
    module.write_text(module.read_text(encoding="utf-8") + "\n# edited\n", encoding="utf-8")
    planned = project.run("-n", "--quiet", "rules", "--configfile", "tiny.yaml", "--", "tables")
    assert "make_table" in planned
    assert "draw_figure" not in planned

    module.unlink()
    assert reference(project) == before
    printed = project.run("-n", "--configfile", "tiny.yaml", ok=False)
    assert "analyses.agreed.kind: 'loudest' is not a kind" in printed
