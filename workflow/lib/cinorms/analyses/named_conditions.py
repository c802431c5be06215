"""Kind ``named_conditions``: on which conditions do the models make their verdicts depend."""

import json
import re

import numpy as np
import pandas as pd

from cinorms.analyses.columns import WHO
from cinorms.analyses.shared import for_each_model
from cinorms.core import tables
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Kind
from cinorms.entries.options import OfArms

#: Transmission principles and parties, each with beginnings of words by which a condition names it.
CONDITIONS = {
    "consent": "consent|agree|permi|opt|asked|asks|accept|volunt|sign|refus|object",
    "notice": "inform|know|knew|aware|told|notif|notice|announc|transparen|disclos|open",
    "purpose": "purpose|used|advert|market|research|care|treat|profit|commerc|improv|aim|benefit",
    "onward sharing": "third|shar|pass|sold|sell|sale|confiden|secre|leak|publi|broker",
    "anonymity": "anonym|identif|aggregat|pseudonym|trace|names?$",
    "security": "encrypt|secure|security|protect|safeguard",
    "retention": "stor|delete|deleti|kept|keep|retain|retention|forever",
    "law": "law|legal|court|warrant|regulat|gdpr|hipaa|require|subpoena",
    "emergency": "emergenc|life|danger|safety|urgent|crime|criminal",
    "age": "adult|child|minor|grown|teen",
}
#: Rows of every condition together, and of answers whose conditions name none of these.
ANY, OTHER = "any", "other"
_BEGINS = {name: re.compile(rf"\b(?:{stems})") for name, stems in CONDITIONS.items()}


def conditions_of(cases: str) -> set[str]:
    """Return the conditions that ``cases`` of an answer name."""
    words = " ; ".join(words for words, _ in json.loads(cases))
    return {name for name, begins in _BEGINS.items() if begins.search(words)} or {OTHER}


def distance_of(cases: str) -> int:
    """Return how far apart the verdicts of ``cases`` are, in levels."""
    levels: list[int] = [level for _, level in json.loads(cases)]
    return max(levels) - min(levels)


@for_each_model
def named_conditions(one: Selected, entry: Entry[OfArms]) -> pd.DataFrame:
    """Return one row per arm, model and condition that its conditional answers name, and one of all together."""
    asked = one.frame[one.frame["status"] != tables.NOT_ASKED]
    chosen = asked[asked["status"] == "conditional"]
    column = chosen["cases"] if "cases" in chosen else pd.Series(index=chosen.index, dtype=object)
    cases = column.astype(object)
    known = {text: conditions_of(text) for text in cases.dropna().unique()}
    rows = []
    for name in (ANY, *CONDITIONS, OTHER):
        # A person's code names no cases: such an answer counts in the row of all alone.
        names = cases if name == ANY else cases[[name in known.get(text, ()) for text in cases]]
        if not (len(names) or name == ANY):
            continue
        told = names.dropna()
        distance = told.map(distance_of).mean() if len(told) else np.nan
        example = told.value_counts().sort_index().idxmax() if len(told) else None
        flows = chosen.loc[names.index, "flow"].nunique()
        share = len(names) / len(asked) if len(asked) else np.nan
        rows.append((name, len(names), share, flows, distance, example))
    table = pd.DataFrame(rows, columns=["condition", "answers", "share", "flows", "distance", "example"])
    return table.astype({"share": "Float64", "distance": "Float64", "example": object})


KINDS = (
    Kind(
        name="named_conditions",
        about="On which conditions conditional answers make their verdict depend.",
        function=named_conditions,
        reads="answers",
        decided="block",
        report_section="answers",
        key=("arm", "model", "condition"),
        columns={
            **WHO,
            "condition": "What the conditions are about, by their words: "
            f"{', '.join([*CONDITIONS, OTHER])}; {ANY} for all conditional answers. An answer can name several. "
            "Words are English.",
            "answers": "Conditional answers that name it.",
            "share": "answers divided by all answers of the model in the arm; missing where nothing was asked.",
            "flows": "Flows with such an answer.",
            "distance": "Mean distance of the highest from the lowest verdict of these answers, in levels; missing "
            "without one.",
            "example": "The most frequent cases of these answers, as in the answers table.",
        },
    ),
)
