"""From the coder's replies to the codes that count, and from those to answers."""

from __future__ import annotations

import numpy as np
import pandas as pd

from cinorms.coding.agreement import COUNTS
from cinorms.coding.prompt import read_code
from cinorms.coding.unread import find_unread
from cinorms.core.scales import Scale
from cinorms.core.tables import USUAL_STATUSES

#: Rule of an answer that a person read; the rule of a coder's names it.
BY_HAND = "override"


def rule_of(coder: str) -> str:
    """Return the rule of the answers that ``coder`` read, so that the table shows who read them."""
    return f"coder {coder}"


def read_replies(items: pd.DataFrame, replies: pd.DataFrame, scale: Scale) -> pd.DataFrame:
    """Return item, level and status of each reply of the coder; both are missing where it is no code."""
    texts = replies.set_index("flow")["text"].reindex(items["flow"])
    codes = [read_code(None if pd.isna(text) else str(text), scale) for text in texts]
    read = [code or (None, None) for code in codes]
    frame = pd.DataFrame(read, columns=["level", "status"], index=items.index)
    return pd.DataFrame(
        {
            "item": items["item"],
            "level": frame["level"].astype("Int8"),
            "status": frame["status"].astype(object),
        }
    )


def codes_that_count(
    coded: pd.DataFrame, by_hand: pd.DataFrame, agreement: pd.DataFrame, coder: str
) -> pd.DataFrame:
    """Return item, level, status and rule of every code that counts: a person's, and the coder's where shown good.

    A person's code overrides the coder's.
    """
    status = agreement.set_index("kind")["status"]
    has_level = coded["level"].notna()
    good = np.where(has_level, status["level"] == COUNTS, status["no level"] == COUNTS)
    usable = coded["status"].notna() & good & ~coded["item"].isin(by_hand["item"])
    found: pd.DataFrame = pd.concat([by_hand.assign(rule=BY_HAND), coded[usable].assign(rule=rule_of(coder))])
    return found.sort_values("item", ignore_index=True)


def apply_codes(
    answers: pd.DataFrame,
    responses: pd.DataFrame,
    vignettes: pd.DataFrame,
    scale: str,
    codes: pd.DataFrame,
) -> pd.DataFrame:
    """Return ``answers`` with the codes of replies that the rules could not read."""
    unread = find_unread(responses, answers, vignettes, scale)
    at = pd.Index(codes["item"]).get_indexer(unread.items["item"])[unread.places]
    rows, at = unread.rows[at >= 0], at[at >= 0]
    rules = pd.Index([*answers["rule"].cat.categories, *codes["rule"]]).unique()
    level = answers["level"].copy()
    status = answers["status"].to_numpy(dtype=object, copy=True)
    rule = answers["rule"].to_numpy(dtype=object, copy=True)
    level.iloc[rows] = codes["level"].array[at]
    status[rows] = codes["status"].to_numpy(dtype=object)[at]
    rule[rows] = codes["rule"].to_numpy(dtype=object)[at]
    return answers.assign(
        level=level,
        status=pd.Categorical(status, categories=list(USUAL_STATUSES)),
        rule=pd.Categorical(rule, categories=rules),
    )
