"""What docs/architecture.md tells a reader to copy works: a rule with its script, and a kind in one file."""

import copy
import re
import shutil
import sys

import pandas as pd

from ..snakemake_runs import ROOT, run
from .conftest import SMALL, Project

#: What docs/architecture.md lets a reader copy: a rule, its script, a kind of analysis and one of figures.
RULE, SCRIPT, ANALYSIS, FIGURE = re.findall(
    r"```python\n(.*?)```", (ROOT / "docs/architecture.md").read_text(encoding="utf-8"), re.DOTALL
)


def reference(project: Project) -> dict[str, str]:
    """Return the reference that the project's library writes."""
    folder = project.folder / "docs/reference"
    shutil.rmtree(folder, ignore_errors=True)
    command = [sys.executable, ROOT / "docs/tools/reference.py", "docs/reference"]
    run(command, project.folder, environment={"PYTHONPATH": str(project.folder / "workflow/lib")})
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in files}


def test_a_rule_is_a_rule_and_a_script(project):
    workflow = project.folder / "workflow"
    stage = workflow / "rules/analysis.smk"
    stage.write_text(stage.read_text(encoding="utf-8") + "\n\n" + RULE, encoding="utf-8")
    (workflow / "scripts/count_words.py").write_text(SCRIPT, encoding="utf-8")
    words = "results/tiny/words/main/planted-gpt-4o-mini.csv"
    project.run("--configfile", "tiny.yaml", "--", words)
    assert pd.read_csv(project.folder / words)["words"].ge(1).all()


def test_a_kind_is_a_file_that_leaves_no_trace_when_it_is_deleted(project):
    library = project.folder / "workflow/lib/cinorms"
    before = reference(project)
    (library / "analyses/loudest.py").write_text(ANALYSIS, encoding="utf-8")
    (library / "figures/loudness.py").write_text(FIGURE, encoding="utf-8")

    study = copy.deepcopy(SMALL)
    study["analyses"]["agreed"] = {"kind": "loudest", "arms": ["main"], "rows": 12}
    project.write("tiny.yaml", study)
    printed = project.run("-n", "--configfile", "tiny.yaml", ok=False)
    assert (
        "tiny.yaml: analyses.agreed.rows: 12 is not allowed; allowed: a whole number (at least 1, at most 9)"
        in printed
    )

    study["analyses"]["agreed"] = {"kind": "loudest", "arms": ["main"]}
    study["figures"]["loudness"] = {"kind": "loudness", "arms": ["main"]}
    project.write("tiny.yaml", study)
    project.run("--configfile", "tiny.yaml")
    table = pd.read_csv(project.folder / "results/tiny/tables/agreed.csv")
    assert list(table) == ["arm", "model", "flow", "about", "share", "status", "any_planted"]
    flows = pd.read_parquet(
        project.folder / f"results/tiny/vignettes/{SMALL['arms']['main']['dataset']}.parquet"
    )
    factor = next(name for name in flows if isinstance(flows[name].dtype, pd.CategoricalDtype))
    assert set(table["about"]) <= set(flows[factor])
    assert table.groupby("model").size().eq(2).all()
    page = (project.folder / "results/tiny/report/appendix.html").read_text(encoding="utf-8")
    assert "The flows that most variants agree on." in page
    assert "Shares of valid answers." in page

    # The tests that are of every kind hold it, without a word about it.
    for tests, kind in (("figures", "loudness"), ("analyses", "loudest")):
        where = f"pythonpath={project.folder / 'workflow/lib'}"
        run([sys.executable, "-m", "pytest", "-q", "-o", where, f"tests/unit/{tests}", "-k", kind], ROOT)

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
    (library / "figures/loudness.py").unlink()
    assert reference(project) == before
    printed = project.run("-n", "--configfile", "tiny.yaml", ok=False)
    assert "analyses.agreed.kind: 'loudest' is not a kind" in printed
