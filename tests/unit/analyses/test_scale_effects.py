"""The same flows on two scales: what is compared, and that a known effect is found."""

import numpy as np
import pandas as pd
import pytest

from cinorms.analyses.scale_effects import scale_effects
from cinorms.core.scales import Scale
from cinorms.entries.entry import Selected
from cinorms.entries.kind import kinds
from cinorms.norms.assessment import assess
from cinorms.prompts.variants import list_variants

from ...entries import make_entry
from ...scales import ACCEPTABILITY, shipped

FLOWS, TEMPLATES = 60, 6
FOUR = shipped("acceptability_4")
PROMPTS = list_variants("set", ["text"] * TEMPLATES, TEMPLATES, 1)


def answers(levels: np.ndarray) -> pd.DataFrame:
    """Return answers with the same level in every template of a flow."""
    return pd.DataFrame(
        {
            "flow": np.repeat(np.arange(FLOWS, dtype=np.int32), TEMPLATES),
            "variant": pd.Categorical(np.tile(PROMPTS["variant"], FLOWS)),
            "level": pd.array(np.repeat(levels, TEMPLATES), dtype="Int8"),
            "status": "ok",
        }
    )


def effects(given: dict[str, tuple[pd.DataFrame, Scale]]) -> pd.DataFrame:
    pairs = [(arm, "m") for arm in given]
    entry = make_entry(
        "analyses", "scale_effects", {}, pairs, scales={arm: scale for arm, (_, scale) in given.items()}
    )
    selected = [Selected(arm, "m", frame) for arm, (frame, _) in given.items()]
    norms = [Selected(arm, "m", assess(frame, "strict", scale)) for arm, (frame, scale) in given.items()]
    return scale_effects(selected, entry, norms, dict.fromkeys(given, PROMPTS), {})


def test_neutral_norms_go_where_they_were_sent():
    five = np.tile([-2, -1, 0, 0, 1, 2], FLOWS // 6)
    # Without a neutral option, three of four flows that were neutral become acceptable.
    neutral = np.flatnonzero(five == 0)
    four = five.copy()
    four[neutral] = np.where(np.arange(len(neutral)) % 4 < 3, 1, -1)
    table = effects({"five": (answers(five), ACCEPTABILITY), "four": (answers(four), FOUR)})
    found = table.set_index("measure")
    assert list(table) == list(kinds("analyses")["scale_effects"].columns)
    middle, to_upper = found.loc["middle"], found.loc["norm middle to upper"]
    assert middle[["value_a", "value_b", "difference"]].tolist() == pytest.approx([1 / 3, 0, -1 / 3])
    assert found.loc["upper", "difference"] == pytest.approx(0.25)
    assert to_upper[["value_b", "of"]].tolist() == pytest.approx([0.75, len(neutral)])
    assert found.loc["norm middle to lower", "value_b"] == pytest.approx(0.25)
    assert found.loc["norm upper to upper", "value_b"] == 1
    assert found.loc["valid", "difference"] == 0
    assert (table["status"] == "ok").all()


def test_one_scale_has_nothing_to_compare():
    five = np.zeros(FLOWS, dtype=int)
    table = effects({"a": (answers(five), ACCEPTABILITY), "b": (answers(five), ACCEPTABILITY)})
    assert table["status"].tolist() == ["one_scale"]
