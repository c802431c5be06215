"""The entries of a study: each with its kind's options, and everything else of the study that it depends on."""

from collections.abc import Iterable, Mapping
from typing import Any

from cinorms.core.labels import listed
from cinorms.entries.entry import Entry, Pair
from cinorms.entries.kind import PART_SHOWN, Kind
from cinorms.entries.options import OfNorms
from cinorms.entries.registry import kinds
from cinorms.norms.thresholds import grid
from cinorms.study.study import Study


def make_entry(study: Study, section: str, name: str) -> Entry[Any]:
    """Return an analysis, a figure or a printed table of a study."""
    return read_entry(study, section, name, study.settings.entries(section)[name])


def norms_entry(study: Study) -> Entry[Any]:
    """Return the entry of the table that every study has: each flow of every arm with the norm of every model."""
    return read_entry(study, "analyses", "norms", {"kind": "flow_norms", "arms": list(study.arms)})


def read_entry(study: Study, section: str, name: str, stated: Mapping[str, Any]) -> Entry[Any]:
    """Return the entry for options as a study file states them."""
    kind = kinds(section)[stated["kind"]]
    options = kind.read(stated)
    base = {"section": section, "name": name, "kind": kind.name, "options": options}
    if kind.reads == "registry":
        described = study.described(options.models)
        return Entry(**base, registry=described, mark=study.mark(described))
    if section == "printed":
        sources = [make_entry(study, "analyses", source) for source in options.sources]
        shown = options.models or [model for source in sources for _, model in source.selected]
        scales = {arm: scale for source in sources for arm, scale in source.scales.items()}
        parts = [_part_shown(study, source.declared, source.options) for source in sources]
        return Entry(**base, scales=scales, mark=_joined([study.mark(shown), *parts]))
    selected = select_pairs(study, options)
    planted = {model for _, model in selected if study.registry_entry(model).kind.planted}
    names = list(dict.fromkeys(model for _, model in selected))
    more: dict[str, Any] = {}
    if "norms" in (kind.reads, *kind.also) or issubclass(kind.options, OfNorms):
        # Its own thresholds override the study's. An entry that reads no norms has none: they do not affect it.
        stated = {name: getattr(options, name, None) for name in ("t_val", "t_maj")}
        own = {name: value for name, value in stated.items() if value is not None}
        more["thresholds"] = {model: study.thresholds_of(model)._replace(**own) for model in names}
        more["grid"] = tuple(grid(*study.thresholds(), study.settings.norms.consensus))
    if "repeats" in kind.also:
        more["repeated"] = tuple(pair for pair in selected if pair[0] in study.repeated_arms())
        # In these, sampling draws anew.
        more["drawn"] = tuple(pair for pair in more["repeated"] if study.temperature(*pair) != 0)
    return Entry(
        **base,
        seed=study.seed,
        selected=selected,
        respondents=tuple(pair for pair in selected if pair[1] in planted),
        people=tuple(pair for pair in selected if pair[1] in study.people()),
        scales={arm: study.scale(arm) for arm in options.arms},
        factors_of={arm: study.factors_of(arm) for arm in options.arms},
        conditions={arm: study.conditions(arm) for arm in options.arms},
        attributes={model: study.attributes(model) for model in names},
        mark=_joined([study.mark(names), _part_shown(study, kind, options)]),
        **more,
    )


def select_pairs(study: Study, options: Any) -> tuple[Pair, ...]:
    """Return the (arm, model) pairs that an entry with ``options`` is made from (see `Entry`)."""
    models = list(options.models or study.all_models())[: getattr(options, "first", None)]
    return tuple((arm, model) for arm in options.arms for model in models if model in study.models(arm))


def _part_shown(study: Study, kind: Kind, options: Any) -> str:
    """Return what an entry takes from its arms that are asked until decided; nothing where none is."""
    if kind.reads == "table":
        source = make_entry(study, "analyses", options.table)
        return _part_shown(study, source.declared, source.options)
    arms = [arm for arm in options.arms if study.arms[arm].asking.until == "decided"]
    if not arms:
        return ""
    where = "" if len(arms) == len(options.arms) else f" in {listed(arms)}"
    return f"Asked until decided{where}: {PART_SHOWN[kind.decided]}."


def _joined(sentences: Iterable[str]) -> str:
    return " ".join(dict.fromkeys(filter(None, sentences)))
