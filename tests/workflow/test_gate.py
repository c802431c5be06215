"""Gates of a study, by Snakemake: made from what the study makes, and failing only where a claim fails."""

import json
import shutil
from pathlib import Path
from typing import Any

from .conftest import MAIN, SMALL

#: The same planted norms asked with other seeds are two models with the same norms.
STUDY: dict[str, Any] = {
    **SMALL,
    "study": "gated",
    "arms": {
        name: {**MAIN, "templates": 11, "temperature": temperature}
        for name, temperature in (("main", 0), ("hot", 0.7))
    },
    "analyses": {},
    "figures": {},
    "gates": {
        name: {"base": "gated/main/planted-gpt-4o-mini", "new": f"gated/{new}", "policy": "wide.yaml"}
        for name, new in (("arms", "hot/planted-gpt-4o-mini"), ("models", "main/planted-constant-position"))
    },
}
POLICY = {"claims": {"overall": {"kind": "shift", "margin": 0.5}, "norms": {"kind": "flips", "at_most": 0.2}}}


def test_a_gate_that_passes_and_one_that_does_not(project):
    project.write("gated.yaml", STUDY)
    # A mistake ends with one message before any job.
    project.write("wide.yaml", {"claims": {"overall": {"kind": "shift", "margn": 0.5}}})
    printed = project.run("--configfile", "gated.yaml", "-n", "--", "gate", ok=False)
    assert "wide.yaml: claims.overall.margn: there is no such key here" in printed
    assert "Traceback" not in printed
    project.write("wide.yaml", POLICY)
    folder = project.folder / "results/gated/gate"
    project.run("--configfile", "gated.yaml", "--", "results/gated/gate/arms/passed.txt")
    assert json.loads((folder / "arms/gate.json").read_text())["verdict"] == "pass"
    assert "Gate wide: pass" in (folder / "arms/passed.txt").read_text()
    assert not (project.folder / "results/gated/norms.csv").exists()  # a gate needs answers only
    printed = project.run("--configfile", "gated.yaml", "--keep-going", "--", "gate", ok=False)
    assert "Gate wide: fail" in printed
    for name in ("gate.json", "junit.xml", "index.html"):
        assert (folder / "models" / name).is_file()
    assert not (folder / "models/passed.txt").exists()


def test_a_gate_on_actions_reads_what_the_model_says_too(project):
    own = project.folder / "own/vignettes"
    shutil.copytree(Path(__file__).parents[2] / "examples/agent/vignettes", own)
    flows = json.loads((own / "flows.json").read_text(encoding="utf-8"))
    many = [{**flow, "name": f"{flow['name']}{n}"} for n in range(4) for flow in flows]
    (own / "flows.json").write_text(json.dumps(many), encoding="utf-8")
    full, leaky = (f"acting/act/planted-agent-{name}" for name in ("full", "sharing"))
    study = {
        **STUDY,
        "study": "acting",
        "resources": ["own"],
        "models": ["planted-agent-full", "planted-agent-sharing"],
        "arms": {
            "say": {"dataset": "office", "prompts": "chatgpt", "orders": {"count": 1}, "templates": 8},
            "act": {"dataset": "office_trajectory", "prompts": "act", "task": "act", "templates": 8},
        },
        "gates": {
            name: {"base": base, "new": new, "policy": "leaks.yaml"}
            for name, base, new in (("more", full, leaky), ("fewer", leaky, full))
        },
    }
    leaks = {"kind": "leaks", "said": "say", "may_rise": 0.1}
    project.write("leaks.yaml", {"claims": {"l": {**leaks, "said": "sya"}}})
    project.write("acting.yaml", study)
    printed = project.run("--configfile", "acting.yaml", "-n", "--", "gate", ok=False)
    assert (
        "leaks.yaml: said: 'sya' is no arm with 'planted-agent-sharing'; did you mean 'say'? allowed: act, say"
        in printed
    )
    project.write("leaks.yaml", {"claims": {"l": leaks}})
    printed = project.run("--configfile", "acting.yaml", "--keep-going", "--", "gate", ok=False)
    assert "Gate leaks: fail" in printed
    found = {
        name: json.loads((project.folder / f"results/acting/gate/{name}/gate.json").read_text())
        for name in ("more", "fewer")
    }
    assert {name: gate["verdict"] for name, gate in found.items()} == {"more": "fail", "fewer": "pass"}
    assert (project.folder / "results/acting/gate/fewer/passed.txt").is_file()
