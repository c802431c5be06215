"""The table of how probable each norm is in other wordings."""

import pandas as pd

from cinorms.core.tables import AGAIN
from cinorms.norms.assessment import assess
from cinorms.norms.thresholds import Thresholds
from cinorms.stats.again import predict

from ...scales import ACCEPTABILITY
from .made import answers_of


def test_a_table_of_few_flows_has_a_reason_and_no_numbers():
    answers = answers_of([[1, 1, 1], [1, 2, None], [None] * 3], variants=["0_0", "1_0", "1_1"])
    norms = assess(answers, "strict", ACCEPTABILITY)
    prompts = pd.DataFrame({"variant": ["0_0", "1_0", "1_1"], "template_no": [0, 1, 1]})
    for people, status in ((False, "few_templates"), (True, "people")):
        table = predict(answers, norms, prompts, ACCEPTABILITY, Thresholds(1, 0.5, "strict"), people=people)
        assert list(table) == list(AGAIN.columns)
        assert table[["flow", "flows", "templates", "norms", "status"]].to_numpy().tolist() == [
            [flow, 3, 2, 1, status] for flow in range(3)
        ]
        assert table[["p_again", "again"]].isna().all(axis=None)
