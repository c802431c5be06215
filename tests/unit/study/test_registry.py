"""The registry that comes with the project, and what is refused in one's own."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from cinorms.core.errors import ConfigError
from cinorms.core.root import Root
from cinorms.inference.model_entry import load_registry
from cinorms.inference.settings import DEFAULT_STAND_IN
from cinorms.study.load import revision_locks
from cinorms.study.requests import request_of

from ...studies import change, load

ROOT = Path(__file__).parents[3]
TRAITS = ("capacity", "alignment", "quantisation")


def test_every_model_that_can_be_asked_has_what_a_study_needs(root):
    registry = load_registry(root)
    real = {name: entry for name, entry in registry.items() if not (entry.planted or entry.people)}
    for name, entry in real.items():
        assert registry[entry.stated["stand_in"]].engine == "planted", name
    assert real.pop("gpt-4o").stated["family"] == "gpt-4o"  # of CI-RL: its published answers are read
    families = ("gpt-4o", "llama-3.1", "tulu-2")
    papers = {name: entry for name, entry in real.items() if entry.stated["family"] in families}
    assert len(papers) == 10
    for name, entry in papers.items():
        assert {*TRAITS, "paper_wrap", "rates"} <= set(entry.stated), name
        assert ("dpo" in name) == (entry.stated["alignment"] == "dpo"), name
        assert ("awq" in name) == (entry.stated["quantisation"] == "awq"), name
        assert not entry.get("trust_remote_code"), name
        stand_in = registry[entry.stated["stand_in"]]
        assert [stand_in.get(trait) for trait in TRAITS] == [entry.get(trait) for trait in TRAITS], name
    planted = (entry.stated["planted"] for entry in registry.values() if "planted" in entry.stated)
    controls = {"constant_answer", "constant_position", "uniform", "refusing"}
    assert {stated.get("control") for stated in planted} == {None, *controls}


def test_the_default_planted_respondent_answers_for_a_model_without_stand_in(copied):
    file = copied.folder / "config/models.yaml"
    change(file, lambda models: models["tulu-2-7b"].pop("stand_in"))
    assert not load(copied, {"models": ["tulu-2-7b"]}).planted()
    study = load(copied, {"models": ["tulu-2-7b", "planted-uniform"], "engine": "planted"})
    answering, default = study.registry_entry("tulu-2-7b"), study.registry[DEFAULT_STAND_IN]
    assert answering.name == "tulu-2-7b"
    assert (answering.kind, answering.request) == (default.kind, default.request)
    assert study.registry_entry("planted-uniform").request == study.registry["planted-uniform"].request
    # A registry without the default respondent.
    mine = {"mine": {"engine": "openai", "source": "m", "family": "f", "base_url": "http://127.0.0.1:9/v1"}}
    file.write_text(yaml.safe_dump(mine), encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load(copied, {"models": ["mine"], "engine": "planted"})
    assert str(caught.value) == (
        "config/models.yaml: mine: key 'stand_in' is missing, and its default 'planted-gpt-4o-mini' does not exist; "
        "name a planted model"
    )


def test_fetched_commits_go_beside_the_registry_that_has_the_model(copied, tmp_path):
    own, models = tmp_path / "own", ["mine", "tulu-2-7b"]
    own.mkdir()
    mine = {"mine": dict(load_registry(copied)["tulu-2-7b"].stated)}
    (own / "models.yaml").write_text(yaml.safe_dump(mine), encoding="utf-8")
    study = load(copied, {"models": models, "resources": [str(own)], "analyses": {}, "figures": {}})
    locks = [str(folder / "revisions.lock") for folder in (own, copied.folder / "config")]
    assert revision_locks(study, models) == locks
    fetched = replace(study, root=replace(study.root, is_fetched=True))
    assert revision_locks(fetched, models) == ["", ""]


def test_the_lock_states_the_revision_of_entries_without_one(tmp_path):
    (tmp_path / "config").mkdir()
    api = {"engine": "openai", "family": "f", "source": "owner/m"}
    served = {**api, "engine": "vllm", "dtype": "auto", "max_model_len": 512}
    revisions = {"open": None, "pinned": "b" * 40}
    entries = {name: {**served, "revision": revision} for name, revision in revisions.items()} | {"api": api}
    (tmp_path / "config/models.yaml").write_text(yaml.safe_dump(entries))
    (tmp_path / "config/revisions.lock").write_text(yaml.safe_dump({"owner/m": "a" * 40}))
    registry = load_registry(Root(tmp_path))
    assert [registry[name].get("revision") for name in entries] == ["a" * 40, "b" * 40, None]
    assert registry["open"].settings.revision == "a" * 40


def test_a_study_of_the_page_on_models_of_your_own_can_run_with_each_of_its_entries(copied):
    page = (ROOT / "docs/ask-a-model.md").read_text(encoding="utf-8")
    *entries, study = (yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL))
    assert len(entries) == 4
    mine = {name: entry for block in entries for name, entry in block.items()}
    (copied.folder / "mine").mkdir()
    (copied.folder / "mine/models.yaml").write_text(yaml.safe_dump(mine), encoding="utf-8")
    loaded = load(copied, {**study, "resources": [str(copied.folder / "mine")], "models": list(mine)})
    ours = [entry for entry in loaded.registry.values() if not entry.planted]
    for name in mine:
        asked = request_of(loaded, "main", name)
        twin = [one for one in ours if one.name != name and one.request.items() <= asked.plain().items()]
        assert twin, f"{name} is asked like an entry of config/models.yaml"
