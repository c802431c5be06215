"""One start of real vLLM for several arms: the replies are those of arms that start it themselves."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from cinorms import ask
from cinorms.core import tables
from cinorms.inference.companions import Companion, is_answered, place_of, write_companions
from cinorms.inference.engines.vllm import offline
from cinorms.inference.journal import Journal
from cinorms.inference.spec import Spec
from cinorms.prompts.variants import list_variants

from .conftest import TUNING, spec_of

#: Arms that differ in everything that needs no other engine.
ARMS: dict[str, dict[str, Any]] = {
    "main": {},
    "drawn": {"temperature": 0.8},
    "options": {"readout": "options", "n_templates": 1},
    "wrapped": {"wrap": "llama2"},
}


def test_arms_share_a_start(
    tmp_path,
    checkpoint,
    flows,
    templates,
    session,
    monkeypatch,
):
    monkeypatch.setattr(offline, "_LOADED", {})
    loads: list[str] = []
    import_vllm = offline.import_vllm

    def counted(model: str) -> tuple[Any, str, bool]:
        LLM, version, on_cpu = import_vllm(model)

        def load(**settings: Any) -> Any:
            loads.append(settings["model"])
            return LLM(**settings)

        return load, version, on_cpu

    monkeypatch.setattr(offline, "import_vllm", counted)
    responses = tmp_path / "results/s/responses"
    vignettes, variants = tmp_path / "vignettes.parquet", tmp_path / "variants.parquet"
    tables.write(flows, vignettes, tables.VIGNETTES)
    tables.write(list_variants("chatgpt", templates, 2, 2), variants, tables.PROMPTS)
    jobs = {}
    for arm, changes in ARMS.items():
        where = {"journal": str(tmp_path / "results/.journal"), "asker": ["s", arm, "tiny"]}
        out = str(responses / arm / "tiny/1-of-1.parquet")
        plain = spec_of(checkpoint, **changes).as_plain()
        jobs[arm] = Companion(plain, {**TUNING, **where}, str(vignettes), str(variants), out)
    place = Path(place_of(str(responses), "main", "tiny", "1-of-1"))
    write_companions(place, [jobs[arm] for arm in ARMS if arm != "main"])

    def collect(arm: str) -> pd.DataFrame:
        ask.ask_job(jobs[arm], None, [], write=True)
        return tables.read(jobs[arm].out, tables.RESPONSES)

    collect("main")
    ask.ask_companions(place, None, [])
    assert len(loads) == 1
    for arm, changes in ARMS.items():
        assert arm == "main" or is_answered(responses, arm, "tiny", "1-of-1")
        found = collect(arm)
        own = session.ask(spec_of(checkpoint, **changes))
        column = "p_options" if arm == "options" else "text"
        expected = [list(each) if arm == "options" else each for each in own[column]]
        given = [pytest.approx(list(each)) if arm == "options" else each for each in found[column]]
        assert expected == given
        spec = Spec.from_plain(jobs[arm].spec)
        run = Journal.of(jobs[arm].tuning, spec).runs()[0]
        assert ("load_seconds" in run) == (arm == "main")
        assert run["device"].startswith("CPU")
    assert len(loads) == 1, "what was asked is collected without a start"
    assert json.loads(tables.facts(jobs["drawn"].out)["spec"])["temperature"] == 0.8
