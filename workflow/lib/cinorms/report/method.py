"""How the study was made: which models answered what and when, who read it, with which software, at what cost."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Hashable, Iterable, Mapping
from datetime import datetime
from importlib import metadata
from typing import Any

from cinorms import __version__
from cinorms.coding.codes import BY_HAND, rule_of
from cinorms.coding.sample import COUNTS, INCOMPLETE, NONE, TOO_LOW
from cinorms.core.labels import listed
from cinorms.report.results import Results
from cinorms.report.words import count, counted, share, thresholds

#: Shown in place of an engine where no engine was used.
ENGINES = {
    "model": "not recorded",
    "published": "published answers",
    "raw_csv": "file of responses",
    "human": "people",
    "responses": "another tool",
}
#: Whether a coder's codes count, and its kinds of code.
CODER_VERDICTS = {
    COUNTS: "these codes count",
    INCOMPLETE: "these codes do not count until the whole sample is coded by hand (coding/to_code.csv)",
    TOO_LOW: "these codes do not count: the agreement is too low",
    NONE: "the coder gave none",
}
CODE_KINDS = {"level": "codes with a level", "no level": "codes without a level"}
#: Packages that the numbers of a study come from.
PACKAGES = ("numpy", "pandas", "pyarrow", "scipy", "statsmodels", "matplotlib", "plotnine")


def summary(results: Results) -> list[tuple[str, str]]:
    """Return which models were asked what and when, as pairs of a heading and a sentence."""
    study = results.study
    arms = list(dict.fromkeys(arm for arm, _ in results.norms))
    people = {model for arm, model in results.norms if results.is_people(arm)}
    models = [model for model in study.models if model not in people]
    rows = [("Models", listed(models))] if models else []
    for arm in arms:
        rows.append((f"{'Rated' if results.is_people(arm) else 'Asked'} in arm {arm}", _arm(results, arm)))
    asked = sum(codes.n_asked for codes in results.codes.values())
    valid = sum(codes.n_valid for codes in results.codes.values())
    rows.append(
        (
            "Answers",
            f"{count(asked)}; {count(valid)} of them ({share(valid, asked)}) are valid, that is, have a level",
        )
    )
    t_vals = list(study.t_val.values())
    usual = max(t_vals, key=t_vals.count)
    needed = thresholds(usual, study.t_maj)
    others = [f"{t} for {model}" for model, t in study.t_val.items() if t != usual]
    rows.append(("A norm needs", needed + (f" (valid answers: {', '.join(others)})" if others else "")))
    rows += [("From another tool", _received(one)) for one in results.provenance.get("received", [])]
    return [*rows, ("When", _when(results))]


def _received(one: Mapping[str, Any]) -> str:
    """Return where the responses of a model are from, how many there are, and what is known of the settings."""
    reasons = dict(one["unmatched"])
    missing = reasons.pop("not_received", 0)
    parts = [
        f"{one['model']} in arm {one['arm']}: {count(one['used'])} of {count(one['used'] + missing)} prompts have a "
        f"response ({one['format']}; {one['origin'] or 'origin not stated'})"
    ]
    if reasons:
        parts.append(
            f"{count(sum(reasons.values()))} of {count(one['received'])} responses match no prompt or are doubled"
        )
    stated = [f"{name} {listed(list(map(str, values)))}" for name, values in one["stated"].items()]
    parts.append(f"the files state {'; '.join(stated)}" if stated else "the files state no settings")
    if one["unlike_the_arm"]:
        parts.append(f"unlike the arm: {listed(one['unlike_the_arm'])}")
    return ". ".join(part[0].upper() + part[1:] if at else part for at, part in enumerate(parts))


def _arm(results: Results, arm: str) -> str:
    settings, prompts = results.study.arms[arm], results.prompts[arm]
    dataset = results.study.dataset_of(arm)
    flows = len(results.norms[results.pairs(arm)[0]])
    if results.is_people(arm):
        rated = next(iter(results.codes[pair] for pair in results.pairs(arm))).n_asked
        return (
            f"{counted(flows, 'flow')} of {dataset.title}, rated by people, not by models: {settings.people} "
            f"gave {counted(rated, 'rating')} ({settings.prompts})"
        )
    n_orders, asking = prompts["order_no"].nunique(), settings.asking
    decided = f", until the risk that its norm would change is at most {asking['risk']:g}"
    return (
        f"{counted(flows, 'flow')} of {dataset.title}, each in up to {counted(len(prompts), 'variant')}: "
        f"{counted(prompts['template_no'].nunique(), 'wording')} ({settings.prompts}) in "
        f"{counted(n_orders, 'order')} of the options"
        + (f", asked {settings.repeat} times (the first asking counts)" if settings.repeat > 1 else "")
        + (decided if asking["until"] == "decided" else "")
    )


def _when(results: Results) -> str:
    """Return when the models answered, or why there is no such time."""
    asked = results.provenance["asked"]
    moments = [one[key] for one in asked for key in ("first_reply", "last_reply") if one.get(key)]
    parts = []
    if moments:
        first, last = min(moments)[:10], max(moments)[:10]
        parts.append(first if first == last else f"{first} to {last}")
    planted = set(results.study.planted)
    asked_models = {
        model for arm in results.study.arms.values() if arm.source == "model" for model in arm.models
    }
    if asked_models - planted and not moments:
        parts.append(f"no time was recorded for {listed(sorted(asked_models - planted))}")
    if planted:
        whose = "planted respondents" if asked_models <= planted else f"the planted {listed(sorted(planted))}"
        parts.append(f"no time is kept for {whose}")
    published = {arm.origin for arm in results.study.arms.values() if arm.source == "published"}
    parts += [f"answers published by {origin}" for origin in sorted(published)]
    if any(arm.source == "raw_csv" for arm in results.study.arms.values()):
        parts.append("answers from response files, which record no time")
    if results.provenance.get("received"):
        parts.append("no time is known of responses that another tool collected")
    return "; ".join(parts) or "no time was recorded"


def models(results: Results) -> list[dict[str, str]]:
    """Return what is known about each model and arm; columns without any value are left out."""
    asked = {(one["arm"], one["model"]): one for one in results.provenance["asked"]}
    rows = [
        _model(pair, results.study.models[pair[1]].identity, asked.get(pair, {}), results)
        for pair in results.norms
    ]
    known = [name for name in rows[0] if any(row[name] for row in rows)]
    return [{name: row[name] for name in known} for row in rows]


def _model(
    pair: tuple[str, str], entry: Mapping[str, Any], record: Mapping[str, Any], results: Results
) -> dict[str, str]:
    spec, codes = record.get("spec", {}), results.codes[pair]
    runs = record.get("runs", [])
    ran = next((run["revision"] for run in runs if run.get("revision")), None)
    versions = (f"{name} {version}" for run in runs for name, version in run.get("versions", {}).items())
    source = results.study.arms[pair[0]].source
    return {
        "arm": pair[0],
        "model": pair[1],
        "engine": str(record.get("engine") or ENGINES[source]),
        "source": str(spec.get("source") or entry.get("source", "")),
        "revision": str(ran or spec.get("revision") or entry.get("revision") or ""),
        "known about it": ", ".join(
            f"{k} {entry[k]}" for k in ("family", "capacity", "alignment", "quantisation") if k in entry
        ),
        "answers": count(codes.n_asked),
        "valid": share(codes.n_valid, codes.n_asked),
        "answered by": ", ".join(record.get("answered_by") or {}),
        "software": ", ".join(dict.fromkeys(versions)),
        "run time": _run_time(runs),
        "US dollars": "" if record.get("usd") is None else f"{record['usd']:.2f}",
    }


def _run_time(runs: Iterable[Mapping[str, Any]]) -> str:
    """Return the hours of all jobs of a model together; nothing if no job was recorded."""
    seconds = 0.0
    for run in runs:
        if run.get("started") and run.get("ended"):
            times = [
                datetime.fromisoformat(str(run[key]).replace("Z", "+00:00")) for key in ("started", "ended")
            ]
            seconds += (times[1] - times[0]).total_seconds()
    return f"{seconds / 3600:.2f} h" if seconds else ""


def readers(results: Results) -> list[tuple[str, str]]:
    """Return who coded how many answers, and how often a person agrees with the coder; empty without a coder."""
    if results.readers is None or results.agreement is None:
        return []
    coder = str(results.study.coder)
    by = results.readers
    n_coder, n_hand = int(by.get(rule_of(coder), 0)), int(by.get(BY_HAND, 0))
    rows = [
        ("Read by rules", f"{count(int(by.sum()) - n_coder - n_hand)} answers"),
        ("Read by a person", f"{count(n_hand)} answers"),
        (f"Read by {coder}", f"{count(n_coder)} answers that no rule could read"),
    ]
    return rows + [_coder_verdict(coder, row) for row in results.agreement.to_dict("records")]


def _coder_verdict(coder: str, row: Mapping[Hashable, Any]) -> tuple[str, str]:
    """Return how one kind of code did in the sample."""
    checked = f"{count(row['codes'])} given; {count(row['coded_by_hand'])} of {count(row['sample'])} checked by hand"
    if row["coded_by_hand"]:
        checked += (
            f", {row['agreed']} confirmed ({row['share']:.3f}, 95% interval {row['low']:.3f} to {row['high']:.3f} over "
            f"replies; needed: {row['needed']:g} at its lower end)"
        )
    return f"{coder}, {CODE_KINDS[row['kind']]}", f"{checked}; {CODER_VERDICTS[row['status']]}"


def software() -> list[tuple[str, str]]:
    """Return the versions of what made the numbers and this page."""
    found = [("cinorms", __version__), ("Python", platform.python_version())]
    for package in PACKAGES:
        try:
            found.append((package, metadata.version(package)))
        except metadata.PackageNotFoundError:
            continue
    return found


def hashes(results: Results) -> list[tuple[str, str]]:
    """Return the SHA-256 of vignettes, prompts, and every response file."""
    asked = [
        (f"{part}/{name}.parquet", hashlib.sha256(path.read_bytes()).hexdigest())
        for part in ("vignettes", "prompts")
        for name, path in results.files[part].items()
    ]
    responses = [
        (f"responses/{record['arm']}/{record['model']}/{file['shard']}.parquet", file["sha256"])
        for record in results.provenance["asked"]
        for file in record["files"]
    ]
    return asked + responses


def citations(results: Results) -> list[str]:
    """Return the citations of the study's datasets, prompts and published answers."""
    study = results.study
    found = [dataset.citation for dataset in study.datasets.values()]
    for arm in study.arms.values():
        found += [arm.prompts_citation, arm.origin]
    return list(dict.fromkeys(text for text in found if text))
