"""Settings are frozen values; the schema of a study file follows from them, and plain they are what was given."""

from jsonschema import Draft202012Validator

from cinorms.core.schema import schema_of
from cinorms.entries.options import ARM_ATTRIBUTES
from cinorms.study.layers import MIXED
from cinorms.study.settings import ArmDefaults, Settings, StudySettings

from ...studies import ARM, default_layer, make_arm, make_study_settings


def test_plain_settings_are_what_the_layers_state_in_the_order_of_the_defaults():
    (default,) = default_layer().values()
    expected = {**default, "arms": {"main": {**default["arm_defaults"], **ARM}}}
    assert repr(make_study_settings().plain()) == repr(expected)
    select = {"sender": ["a door lock", "a camera"]}
    changed = make_arm(temperature=1, models=["planted-uniform"], select=select).plain()
    assert (changed["models"], changed["select"]) == (["planted-uniform"], select)
    # The kind of a number stays.
    assert repr(changed["temperature"]) == "1"
    assert repr(make_arm(temperature=1.0).plain()["temperature"]) == "1.0"


def test_an_arm_counts_its_templates():
    few = {"templates_for": {"m": 3}}
    assert [make_arm().n_templates(11), make_arm(templates=5).n_templates(11)] == [11, 5]
    assert [make_arm(**few).n_templates(11, model) for model in (None, "m", "other")] == [11, 3, 11]
    assert make_arm(templates=2, **few).n_templates(11, "m") == 2


def test_an_arm_has_every_condition_that_an_analysis_can_name():
    conditions = make_arm(temperature=0.5).conditions()
    assert {*conditions, "scale"} == set(ARM_ATTRIBUTES)
    assert (conditions["temperature"], conditions["order"], conditions["system"]) == (0.5, "balanced", "none")
    assert make_arm(system="Be brief.").conditions()["system"] == "Be brief."
    reasons = [{"effort": "none"}, {"effort": "low", "budget": 9}]
    assert [make_arm(reasoning=each).conditions()["reasoning"] for each in reasons] == ["none", "low 9"]


# --- The schema


def sections(cls: type[Settings]) -> set[str]:
    """Return the keys of ``cls`` that hold settings, at any depth."""
    inner = {
        key: field.annotation
        for key, field in cls.model_fields.items()
        if isinstance(field.annotation, type) and issubclass(field.annotation, Settings)
    }
    return set(inner).union(*(sections(each) for each in inner.values()))


def test_the_sections_that_layers_mix_are_those_that_hold_settings():
    assert sections(StudySettings) == MIXED


def test_a_study_file_may_leave_out_every_key_but_the_dataset_of_an_arm():
    schema = schema_of(StudySettings)
    valid = Draft202012Validator(schema).is_valid
    assert valid({})
    assert valid({"norms": {}, "plan": {}, "arm_defaults": {"orders": {}}})
    assert valid({"arm_defaults": {"dataset": "iot", "models": ["planted-uniform"]}})
    assert valid({"arms": {"main": {"dataset": "iot"}}})
    assert not valid({"arms": {"main": {"prompts": "chatgpt"}}})


def test_only_what_a_study_need_not_have_has_a_default_in_code():
    optional = {key for key, field in ArmDefaults.model_fields.items() if not field.is_required()}
    assert optional == {"dataset", "prompts", "models"}
    assert all(field.is_required() for field in StudySettings.model_fields.values())
