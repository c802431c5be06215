"""The entries of a study: each with its kind's options, and everything else of the study that it depends on."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from cinorms.core.errors import ConfigError
from cinorms.core.labels import shared_words
from cinorms.core.validation import check_document
from cinorms.entries.entry import Entry
from cinorms.entries.kind import SECTIONS, kinds
from cinorms.entries.options import OfNorms
from cinorms.entries.place import EntryLocation, select_pairs
from cinorms.norms.thresholds import Thresholds
from cinorms.study.checks import check_select
from cinorms.study.study import Study


def make_entry(study: Study, section: str, name: str) -> Entry[Any]:
    """Return an analysis, a figure or a printed table of a study."""
    return entry_of(study, section, name, study.entries[section][name])


def norms_entry(study: Study) -> Entry[Any]:
    """Return the entry of the table that every study has: each flow of every arm with the norm of every model."""
    options: Any = kinds("analyses")["flow_norms"].options
    return entry_of(study, "analyses", "norms", options(kind="flow_norms", arms=list(study.arms)))


def entry_of(study: Study, section: str, name: str, options: Any) -> Entry[Any]:
    """Return the entry with ``options``, and everything of the study that it depends on."""
    kind = kinds(section)[options.kind]
    more: dict[str, Any] = {}
    if kind.reads == "registry":
        more["registry"] = study.described(options.models)
        names = list(more["registry"])
    elif section == "printed":
        sources = [make_entry(study, "analyses", source) for source in options.sources]
        more["scales"] = {arm: scale for source in sources for arm, scale in source.scales.items()}
        names = list(options.models or (model for source in sources for _, model in source.selected))
    else:
        selected = select_pairs(study, options)
        names = list(dict.fromkeys(model for _, model in selected))
        more |= {
            "seed": study.seed,
            "selected": selected,
            "respondents": tuple(pair for pair in selected if study.registry_entry(pair[1]).planted),
            "people": tuple(pair for pair in selected if study.registry[pair[1]].people),
            "scales": {arm: study.scale(arm) for arm in options.arms},
            "factors_of": {arm: study.factors_of(arm) for arm in options.arms},
            "conditions": {arm: study.conditions(arm) for arm in options.arms},
            "attributes": {model: study.attributes(model) for model in names},
        }
    if "norms" in (kind.reads, *kind.also) or issubclass(kind.options, OfNorms):
        # Its own thresholds override the study's. An entry that reads no norms has none: they do not affect it.
        stated = {name: getattr(options, name, None) for name in ("t_val", "t_maj")}
        overridden = {name: value for name, value in stated.items() if value is not None}
        more["thresholds"] = {model: study.thresholds_of(model)._replace(**overridden) for model in names}
        (t_vals, t_majs), consensus = study.thresholds(), study.settings.norms.consensus
        more["grid"] = tuple(Thresholds(v, m, consensus) for v in t_vals for m in t_majs)
    labels = study.labels(names) if section != "analyses" else {}
    shared = shared_words(labels.values()) if len(labels) == len(names) else ""
    if section == "figures" and shared and options.title:
        # Once in the title, and not at every mark.
        options = options.model_copy(update={"title": f"{options.title} ({shared.strip(' ,')})"})
        labels = {name: label.removeprefix(shared) for name, label in labels.items()}
    return Entry(section, name, options, labels=labels, mark=study.mark(names, labels), **more)


def with_entries(study: Study) -> Study:
    """Return the study with the options of every analysis, figure and printed table, all checked.

    Those that the study's files leave to the first layer, the defaults, are the demo's. In a study with other arms they
    are made for the first one; where one does not fit, it is left out, and the study says why. Nothing that a user did
    not write is a user's mistake. Those of a kind that is ``always`` there are made for all arms, and join the entries
    that a study names.
    """
    defaults, *others = study.layers
    is_changed, first = any(study.layers[file] for file in others), next(iter(study.arms))
    for section in SECTIONS:
        is_default = is_changed and study.stated_in(section).file == defaults
        fitting, options, left_out = {}, {}, []
        for name, stated in getattr(study.settings, section).items():
            if is_default and "arms" in stated:
                if kinds(section)[stated["kind"]].always:
                    stated = {**stated, "arms": list(study.arms)}
                elif "main" not in study.arms:
                    stated = {**stated, "arms": [first]}
            place = EntryLocation(study, section, name, study.stated_in(section, name).file)
            try:
                options[name] = read_options(place, stated)
                fitting[name] = stated
            except ConfigError as error:
                if not is_default:
                    raise
                left_out.append(str(error))
        for name, stated in _always(study, section, fitting):
            with suppress(ConfigError):  # what does not fit such a study
                options[name] = read_options(EntryLocation(study, section, name, defaults), stated)
                fitting[name] = stated
        study = replace(
            study,
            settings=study.settings.model_copy(update={section: fitting}),
            entries={**study.entries, section: options},
            left_out=(*study.left_out, *left_out),
        )
    return study


def _always(study: Study, section: str, stated: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the entries of the defaults that a study has besides the ``stated`` ones: of all its arms."""
    defaults = next(iter(study.layers.values())).get(section) or {}
    known = {entry["kind"] for entry in stated.values()}
    for name, entry in defaults.items():
        kind = entry["kind"]
        if kinds(section)[kind].always and kind not in known and name not in stated:
            yield name, {**entry, "arms": list(study.arms)}


def read_options(place: EntryLocation, stated: Mapping[str, Any]) -> Any:
    """Return the options that an entry states; look up every name in them."""
    in_section, name = kinds(place.section), stated.get("kind")
    if name is None:
        raise place.error("", "key 'kind' is missing; required: kind")
    if not isinstance(name, str) or name not in in_section:
        raise place.unknown("kind", name, in_section, "kind")
    options: Any = check_document(dict(stated), in_section[name].options, place.file, place.key())
    if hasattr(options, "arms"):
        study = place.study
        place.check_names("arms", options.arms, study.arms, "arm")
        asked = {model for arm in options.arms for model in study.models(arm)}
        place.check_names("models", options.models or (), asked, "model of these arms")
        select = study.stated_in(place.section, place.name, "select")
        for arm in options.arms:
            check_select(study, study.arms[arm].dataset, getattr(options, "select", None) or {}, select)
    options.check_options(place)
    return options
