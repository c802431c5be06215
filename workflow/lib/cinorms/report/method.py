"""How the study was made: which models answered what and when, who read it, with which software, at what cost."""

import hashlib
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from cinorms.answers.coding.codes import BY_HAND, rule_of
from cinorms.answers.coding.sample import COUNTS, INCOMPLETE, KINDS, TOO_LOW
from cinorms.core.labels import listed, share
from cinorms.norms.thresholds import norm_needs
from cinorms.report.results import StudyResults
from cinorms.report.words import count, counted

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
}


def summary(results: StudyResults) -> list[tuple[str, str]]:
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
    answers = (
        f"{count(asked)}; {count(valid)} of them ({share(valid, asked)}) are valid, that is, have a level"
    )
    needed = norm_needs(study.t_val, study.t_maj)
    received = [("From another tool", _received(record)) for record in results.provenance.get("received", [])]
    when = ("When", _when(results))
    return [*rows, ("Answers", answers), ("A norm needs", needed), *received, when]


def _received(record: Mapping[str, Any]) -> str:
    """Return where the responses of a model are from, how many there are, and what is known of the settings."""
    reasons, used = dict(record["unmatched"]), record["used"]
    prompts = used + reasons.pop("not_received", 0)
    text = (
        f"{record['model']} in arm {record['arm']}: {count(used)} of {count(prompts)} prompts have a "
        f"response ({record['format']}; {record['origin'] or 'origin not stated'})"
    )
    if reasons:
        unmatched = count(sum(reasons.values()))
        text += f". {unmatched} of {count(record['received'])} responses match no prompt or came twice"
    stated = [f"{name} {listed(list(map(str, values)))}" for name, values in record["stated"].items()]
    text += f". The files state {'; '.join(stated) or 'no settings'}"
    unlike = record["unlike_the_arm"]
    return text + (f". Unlike the arm: {listed(unlike)}" if unlike else "")


def _arm(results: StudyResults, arm: str) -> str:
    settings, prompts = results.study.arms[arm], results.prompts[arm]
    dataset = results.study.dataset_of(arm)
    flows = len(results.norms[results.pairs(arm)[0]])
    if results.is_people(arm):
        rated = results.codes[results.pairs(arm)[0]].n_asked
        return (
            f"{counted(flows, 'flow')} ({dataset.title}), rated by people, not by models: {settings.people} "
            f"gave {counted(rated, 'rating')} ({settings.prompts})"
        )
    return (
        f"{counted(flows, 'flow')} ({dataset.title}), each in up to {counted(len(prompts), 'variant')}: "
        f"{counted(prompts['template_no'].nunique(), 'wording')} ({settings.prompts}), each with "
        f"{counted(prompts['order_no'].nunique(), 'order')} of the options"
        + (f", sample {settings.sample}" if settings.sample > 1 else "")
    )


def _when(results: StudyResults) -> str:
    """Return when the models answered, or why there is no such time."""
    replies, arms = ("first_reply", "last_reply"), results.study.arms.values()
    moments = []
    for record in results.provenance["asked"]:
        # vLLM notes no time of each reply, but when its job ran.
        runs = [run.get(key) for run in record.get("runs", []) for key in ("started", "ended")]
        moments += list(filter(None, [record.get(key) for key in replies])) or list(filter(None, runs))
    parts = []
    if moments:
        parts.append(" to ".join(dict.fromkeys(moment[:10] for moment in (min(moments), max(moments)))))
    planted = set(results.study.planted)
    real = {model for arm in arms if arm.source == "model" for model in arm.models} - planted
    if real and not moments:
        parts.append(f"no time was recorded for {listed(sorted(real))}")
    if planted:
        whose = f"the planted {listed(sorted(planted))}" if real else "planted respondents"
        parts.append(f"no time is kept for {whose}")
    published = {arm.origin for arm in arms if arm.source == "published"}
    parts += [f"answers published by {origin}" for origin in sorted(published)]
    if any(arm.source == "raw_csv" for arm in arms):
        parts.append("answers from response files, which record no time")
    if results.provenance.get("received"):
        parts.append("the times of responses from another tool are not known")
    return "; ".join(parts) or "no time was recorded"


def models(results: StudyResults) -> list[dict[str, str]]:
    """Return what is known about each model and arm; columns without any value are left out."""
    asked = {(record["arm"], record["model"]): record for record in results.provenance["asked"]}
    rows = [_model(results, pair, asked.get(pair, {})) for pair in results.norms]
    known = [name for name in rows[0] if any(row[name] for row in rows)]
    return [{name: row[name] for name in known} for row in rows]


def _model(results: StudyResults, pair: tuple[str, str], record: Mapping[str, Any]) -> dict[str, str]:
    (arm, model), codes = pair, results.codes[pair]
    entry, request = results.study.models[model].identity, record.get("request", {})
    runs = record.get("runs", [])
    versions = (f"{name} {version}" for run in runs for name, version in run.get("versions", {}).items())
    # Of all jobs together.
    times = [
        [datetime.fromisoformat(str(run[key]).replace("Z", "+00:00")) for key in ("started", "ended")]
        for run in runs
        if run.get("started") and run.get("ended")
    ]
    seconds = sum((ended - started).total_seconds() for started, ended in times)
    return {
        "arm": arm,
        "model": model,
        "in files": f"{arm}/{results.name_of(model)}" if results.name_of(model) != model else "",
        "engine": str(record.get("engine") or ENGINES[results.study.arms[arm].source]),
        "source": str(request.get("source") or entry.get("source", "")),
        "revision": _revision(request.get("revision"), entry.get("revision")),
        "known about it": ", ".join(
            f"{k} {entry[k]}"
            for k in ("family", "capacity", "alignment", "quantisation", "lora")
            if k in entry
        ),
        "answers": count(codes.n_asked),
        "valid": share(codes.n_valid, codes.n_asked),
        "answered by": ", ".join(record.get("answered_by") or {}),
        "software": ", ".join(dict.fromkeys(versions)),
        "run time": f"{seconds / 3600:.2f} h" if seconds else "",
        "US dollars": "" if record.get("usd") is None else f"{record['usd']:.2f}",
    }


def _revision(ran: Any, stated: Any) -> str:
    """Return which checkpoint was asked, and the one that the registry or its lock states where that is another."""
    if ran and stated and ran != stated:
        return f"{ran} (differs from {stated}, which config/ states)"
    return str(ran or stated or "")


def readers(results: StudyResults) -> list[tuple[str, str]]:
    """Return who coded how many answers, and how often a person agrees with the coder."""
    if results.readers is None or results.agreement is None:
        return []
    coder, by = str(results.study.coder), results.readers
    n_coder, n_hand = int(by.get(rule_of(coder), 0)), int(by.get(BY_HAND, 0))
    rows = [
        ("Read by rules", counted(int(by.sum()) - n_coder - n_hand, "answer")),
        ("Read by a person", counted(n_hand, "answer")),
    ]
    if results.study.coder:
        rows.append((f"Read by {coder}", f"{counted(n_coder, 'answer')} that no exact rule could read"))
    for row in results.agreement.to_dict("records"):
        text = f"{count(row['codes'])} given; {count(row['coded_by_hand'])} of {count(row['sample'])} checked by hand"
        if row["coded_by_hand"]:
            text += (
                f", {row['agreed']} confirmed ({row['share']:.3f}, 95% interval {row['low']:.3f} to {row['high']:.3f} "
                f"over replies; needed: {row['needed']:g} at its lower end)"
            )
        name = f"{coder} on {row['model']}, {KINDS[row['kind']]}"
        rows.append((name, f"{text}; {CODER_VERDICTS[row['status']]}"))
    return rows


def hashes(results: StudyResults) -> list[tuple[str, str]]:
    """Return the SHA-256 of vignettes, prompts, and every response file."""
    asked = [
        (f"{part}/{name}.parquet", hashlib.sha256(path.read_bytes()).hexdigest())
        for part in ("vignettes", "prompts")
        for name, path in results.files[part].items()
    ]
    responses = [
        (f"responses/{record['arm']}/{results.name_of(record['model'])}.parquet", record["sha256"])
        for record in results.provenance["asked"]
    ]
    return asked + responses


def citations(results: StudyResults) -> list[str]:
    """Return the citations of the study's datasets, prompts and published answers."""
    arms = results.study.arms.values()
    datasets = [dataset.citation for dataset in results.study.datasets.values()]
    of_arms = [text for arm in arms for text in (arm.prompts_citation, arm.origin)]
    return list(dict.fromkeys(filter(None, [*datasets, *of_arms])))
