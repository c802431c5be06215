"""The registry that comes with the project, and what is refused in one's own."""

from dataclasses import replace

import pytest
import yaml

from cinorms.core.errors import ConfigError
from cinorms.core.root import Root
from cinorms.inference.model_entry import load_registry
from cinorms.inference.settings import DEFAULT_STAND_IN
from cinorms.study.load import revision_locks

from ...studies import change, load


def test_every_model_that_can_be_asked_has_what_a_study_needs(root):
    registry = load_registry(root)
    real = {name: entry for name, entry in registry.items() if not (entry.kind.planted or entry.kind.people)}
    for name, entry in real.items():
        assert registry[entry.stated["stand_in"]].engine == "planted", name
    assert real.pop("gpt-4o").stated["family"] == "gpt-4o"  # of CI-RL: its published answers are read
    families = ("gpt-4o", "llama-3.1", "tulu-2")
    papers = {name: entry for name, entry in real.items() if entry.stated["family"] in families}
    assert len(papers) == 10
    for name, entry in papers.items():
        assert {"family", "capacity", "alignment", "quantisation", "paper_wrap", "rates"} <= set(
            entry.stated
        ), name
        assert ("dpo" in name) == (entry.stated["alignment"] == "dpo"), name
        assert ("awq" in name) == (entry.stated["quantisation"] == "awq"), name
        assert not entry.get("trust_remote_code"), name
        stand_in = registry[entry.stated["stand_in"]]
        for trait in ("capacity", "alignment", "quantisation"):
            assert stand_in.get(trait) == entry.get(trait), name
    controls = {
        entry.stated["planted"].get("control") for entry in registry.values() if "planted" in entry.stated
    }
    assert controls == {None, "constant_answer", "constant_position", "uniform", "refusing"}


def test_the_default_planted_respondent_answers_for_a_model_without_stand_in(copied):
    registry = copied.folder / "config/models.yaml"
    change(registry, lambda models: models["tulu-2-7b"].pop("stand_in"))
    assert not load(copied, {"models": ["tulu-2-7b"]}).planted()
    study = load(copied, {"models": ["tulu-2-7b", "planted-uniform"], "engine": "planted"})
    answering, default = study.registry_entry("tulu-2-7b"), study.registry[DEFAULT_STAND_IN]
    assert answering.name == "tulu-2-7b"
    assert (answering.kind, answering.request) == (default.kind, default.request)
    assert study.registry_entry("planted-uniform").request == study.registry["planted-uniform"].request


def test_a_registry_without_the_default_respondent_needs_stand_ins(copied):
    mine = {"mine": {"engine": "openai", "source": "m", "family": "f", "base_url": "http://127.0.0.1:9/v1"}}
    (copied.folder / "config/models.yaml").write_text(yaml.safe_dump(mine), encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load(copied, {"models": ["mine"], "engine": "planted"})
    assert str(caught.value) == (
        "config/models.yaml: mine: key 'stand_in' is missing, and its default 'planted-gpt-4o-mini' does not exist; "
        "name a planted model"
    )


def test_fetched_commits_go_beside_the_registry_that_has_the_model(copied, tmp_path):
    own = tmp_path / "own/models.yaml"
    own.parent.mkdir()
    stated = load_registry(copied)["tulu-2-7b"].stated
    own.write_text(yaml.safe_dump({"mine": dict(stated)}), encoding="utf-8")
    study = load(
        copied,
        {"models": ["mine", "tulu-2-7b"], "resources": [str(own.parent)], "analyses": {}, "figures": {}},
    )
    locks = [str(own.with_name("revisions.lock")), str(copied.folder / "config/revisions.lock")]
    assert revision_locks(study, ["mine", "tulu-2-7b"]) == locks
    fetched = replace(study, root=replace(study.root, is_fetched=True))
    assert revision_locks(fetched, ["mine", "tulu-2-7b"]) == ["", ""]


def test_the_lock_states_the_revision_of_entries_without_one(tmp_path):
    (tmp_path / "config").mkdir()
    served = {"engine": "vllm", "family": "f", "source": "owner/m", "dtype": "auto", "max_model_len": 512}
    entries = {"open": {**served, "revision": None}, "pinned": {**served, "revision": "b" * 40}}
    entries["api"] = {"engine": "openai", "family": "f", "source": "owner/m"}
    (tmp_path / "config/models.yaml").write_text(yaml.safe_dump(entries))
    (tmp_path / "config/revisions.lock").write_text(yaml.safe_dump({"owner/m": "a" * 40}))
    registry = load_registry(Root(tmp_path))
    assert [registry[name].get("revision") for name in entries] == ["a" * 40, "b" * 40, None]
    assert registry["open"].settings.revision == "a" * 40
