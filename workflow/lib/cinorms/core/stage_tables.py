"""The contracts of the tables of all stages, and that of what an arm gives when it is asked again."""

from __future__ import annotations

import pyarrow as pa

from cinorms.core.tables import ANSWERS, CODES, NORMS, PLANTED, PROMPTS, RESPONSES, VIGNETTES, Contract

REPEATS = Contract(
    "repeats",
    1,
    ("repeat", "flow", "variant"),
    {
        "repeat": pa.int16(),
        **{name: ANSWERS.columns[name] for name in ("flow", "variant", "order", "level", "status", "rule")},
        "same_reply": pa.bool_(),
    },
    nullable=frozenset({"level", "same_reply"}),
    file="results/{study}/repeats/{arm}/{model}.parquet",
    holds="Of arms that are asked more than once: what was read in the further askings. They are in no other table.",
    about={
        "repeat": "Which asking of the arm: 2 is the second. The first is in answers.",
        **{name: ANSWERS.about[name] for name in ("flow", "variant", "order", "level")},
        "status": "ok, or why the answer has no level.",
        "rule": ANSWERS.about["rule"],
        "same_reply": "Whether the reply is the first asking's, letter by letter (readout options: number by number); "
        "missing where the engine failed to give one of the two.",
    },
)
#: The tables of the stages, in the order of the stages.
STAGES = (VIGNETTES, PROMPTS, RESPONSES, CODES, ANSWERS, REPEATS, NORMS, PLANTED)
