"""The data of the norm explorer: packed so that a page of some megabytes holds a study's every answer."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from cinorms.core import tables
from cinorms.core.labels import STATUS_LABELS, variant_words
from cinorms.core.scales import Scale
from cinorms.prompts.orders import options_shown, orders_of
from cinorms.report import words
from cinorms.report.results import CALL, INDEX, INVALID, NO_ORDER, NOTHING, Pair, StudyResults, pack

#: Packed answers and orders of a page, in bytes; what goes beyond stays in the study's tables.
MOST_BYTES = 5_000_000
#: Returns what is packed if the page has room for it.
Take = Callable[[str], str | None]
#: In place of the value of a flow that has none, and of a probability; none is as high.
NO_VALUE, NOT_KNOWN = 127, 65_535
#: What a probability of 1 is there; only exactly 0 and 1 are its ends.
CERTAIN = 10_000


def explorer_data(results: StudyResults, most_bytes: int = MOST_BYTES) -> dict[str, Any]:
    """Return what the explorer needs, as plain data. Every ``pack`` is base64 of gzip.

    Answers take one byte each. Where all answers together are more than ``most_bytes``, those of the arms
    that come last are left out, and the page points to them.
    """
    study = results.study
    left = most_bytes

    def take(packed: str) -> str | None:
        """Return ``packed`` if there is room for it."""
        nonlocal left
        fits = len(packed) <= left
        left -= len(packed) if fits else 0
        return packed if fits else None

    return {
        "study": study.name,
        "main": results.main_arm(),
        "t_maj": study.t_maj,
        "invalid": [STATUS_LABELS[status] for status in INVALID],
        "codes": {status: STATUS_LABELS[status] for status in tables.OVERRIDE_STATUSES},
        "norm_statuses": [words.NORM_STATUSES[status] for status in tables.NORM_STATUSES],
        "datasets": {name: _dataset(results, name) for name in results.vignettes},
        "arms": [_arm(results, arm, take) for arm in dict.fromkeys(arm for arm, _ in results.norms)],
    }


def class_of(scale: Scale, at: int) -> str:
    """Return the page's class with the colours of the option ``at`` on a scale."""
    return f"l-{scale.name}-{at}"


def _numbers(values: npt.NDArray[Any], kind: str) -> bytes:
    return np.ascontiguousarray(values).astype(kind).tobytes()


def _dataset(results: StudyResults, name: str) -> dict[str, Any]:
    settings, frame = results.study.datasets[name], results.vignettes[name]
    factors = {name: frame[name].astype("category").cat for name in settings.factors if name in frame}
    expected = frame["expected"].to_numpy(dtype=np.float64, na_value=np.nan)
    return {
        "title": settings.title,
        "factors": [
            {"name": name, "label": words.plain(name), "levels": list(map(str, factor.categories))}
            for name, factor in factors.items()
        ],
        "n": len(frame),
        "flows": pack(_numbers(frame["flow"].to_numpy(), "<i4")),
        "codes": pack(b"".join(_numbers(factor.codes.to_numpy(), "<u2") for factor in factors.values())),
        "texts": pack(json.dumps(frame["vignette"].tolist()).encode()),
        "range": settings.expected_range,
        "expected": None
        if np.isnan(expected).all()
        else [None if np.isnan(value) else value for value in expected.tolist()],
    }


def _arm(results: StudyResults, arm: str, take: Take) -> dict[str, Any]:
    settings, prompts = results.study.arms[arm], results.prompts[arm]
    scale, asked = settings.scale.binned, settings.scale
    pairs = results.pairs(arm)
    flows = np.unique(np.concatenate([results.norms[pair]["flow"].to_numpy(np.int64) for pair in pairs]))
    frame = results.flows(arm)
    templates = prompts.drop_duplicates("template_no").set_index("template_no")["template"]
    # Models of an arm are shown the same orders, but for what was published of them.
    shown = [_aligned(results, pair, flows, "shown", NO_ORDER) for pair in pairs]
    orders = {codes: take(pack(codes)) for codes in dict.fromkeys(shown)}
    return {
        "name": arm,
        "dataset": settings.dataset,
        "levels": list(scale.levels),
        "middle": scale.middle,
        "ends": [asked.levels[0], asked.levels[-1]],
        "options": list(scale.options),
        "classes": [class_of(scale, at) for at in range(len(scale.levels))],
        "orderNames": list(orders_of(asked.n_shown).names),
        "line": options_shown(asked)[0] if asked.line else None,
        "system": settings.system,
        "numbered": variant_words(results.is_people(arm)).numbered,
        "variants": prompts[["variant", "template_no", "order_no"]].astype(object).to_numpy().tolist(),
        "templates": {str(no): text for no, text in templates.items()},
        "rows": pack(_numbers(pd.Index(frame["flow"]).get_indexer(pd.Index(flows)), "<i4")),
        "orders": list(orders.values()),
        "models": [
            _model(results, pair, flows, take) | {"orders": list(orders).index(codes)}
            for pair, codes in zip(pairs, shown, strict=True)
        ],
    }


def _model(results: StudyResults, pair: Pair, flows: npt.NDArray[np.int64], take: Take) -> dict[str, Any]:
    arm, model = pair
    norms = results.norms[pair].set_index("flow").reindex(flows)
    status = results.status(arm, model).set_axis(results.norms[pair]["flow"]).reindex(flows)
    codes = pd.Categorical(status, categories=list(tables.NORM_STATUSES)).codes
    value = norms["value"].astype("Float64").to_numpy(dtype=np.float64, na_value=NO_VALUE)
    again = results.again.get(pair, pd.Series(dtype=np.float64)).reindex(flows) * CERTAIN
    between = again.between(0, CERTAIN, inclusive="neither")
    again = again.round().mask(between, again.round().clip(1, CERTAIN - 1)).fillna(NOT_KNOWN)
    columns = tables.count_columns(results.scale(arm).levels)
    counts = norms[["n_asked", *columns]].fillna(0).to_numpy().T
    return {
        "name": results.name_of(model),
        "label": model,
        "planted": model in results.study.planted,
        "t_val": results.study.t_val[model],
        "layout": results.study.arms[arm].layouts[model],
        "norms": pack(
            _numbers(counts, "<u2")
            + _numbers(again.to_numpy(), "<u2")
            + _numbers(value, "i1")
            + _numbers(codes, "i1")
        ),
        "answers": take(pack(_aligned(results, pair, flows, "answers", NOTHING))),
        "replies": _replies(results, pair, take),
    } | ({"people": compared} if (compared := _people(results, arm, model)) else {})


def _replies(results: StudyResults, pair: Pair, take: Take) -> dict[str, Any] | None:
    """Return the last flow of each script with replies of a model; and what is in the script, where the page has it."""
    folder = results.files["replies"].get(pair)
    if folder is None:
        return None
    about: dict[str, Any] = json.loads((folder / INDEX).read_text(encoding="utf-8"))
    inside = results.study.settings["report"]["replies"] == "page"
    scripts = [folder / f"{number}.js" for number in range(len(about["last"]))] if inside else []
    return about | {
        "inside": [take(file.read_text(encoding="ascii")[len(CALL[0]) : -len(CALL[1])]) for file in scripts]
    }


def _people(results: StudyResults, arm: str, model: str) -> dict[str, str]:
    """Return, per flow that was compared (its number as text), a sentence for each group of people."""
    flows = next(results.tables_of("people_flows", arm, model), None)
    if flows is None:
        return {}
    tested = flows[flows["status"] == "ok"]
    spoken = results.scale(arm).spoken
    beyond = {
        "model higher": f"the model answers higher ({spoken.more}), beyond noise",
        "model lower": f"the model answers lower ({spoken.less}), beyond noise",
        # The interval is of this flow alone, so it can leave out 0 where the corrected test does not.
        "no difference shown": "no difference shown, corrected for all flows compared",
    }
    # The units of the dataset, which can differ from the scale's levels.
    levels = results.study.arms[arm].scale.levels
    low, high = results.study.dataset_of(arm).expected_range or (levels[0], levels[-1])
    sentences: dict[str, list[str]] = {}
    for row in tested.to_dict("records"):
        n = int(row["n_raters"])
        # The mean of one is no mean.
        by = f"{row['baseline']}, " + ("one rating" if n == 1 else f"mean of {n} people")
        sentences.setdefault(str(int(row["flow"])), []).append(
            f"{by if n else 'Expected value'}: {row['people_mean']:.1f}, this model {row['model_mean']:.1f} (from "
            f"{low:g} to {high:g}); difference {row['difference']:.1f} (95% interval {row['conf_low']:.1f} to "
            f"{row['conf_high']:.1f}): {beyond.get(row['verdict'], row['verdict'])}."
        )
    return {flow: " ".join(sentences[flow]) for flow in sorted(sentences)}


def _aligned(
    results: StudyResults, pair: Pair, flows: npt.NDArray[np.int64], what: str, nothing: int
) -> bytes:
    """Return a model's codes, variant by variant, for the flows of its arm.

    Neighbours are answers to similar flows in one wording, which packs better than answers to one flow.
    """
    codes = results.codes[pair]
    given = getattr(codes, what)
    whole = np.full((len(flows), given.shape[1]), nothing, dtype=given.dtype)
    whole[np.searchsorted(flows, codes.flows)] = given
    return _numbers(whole.T, given.dtype.newbyteorder("<").str)
