"""Which replies are checked, each once per flow; from a coder's replies to the codes that count, and to answers."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from cinorms.answers.acting import CALL_RULES
from cinorms.answers.coding.prompt import read_code
from cinorms.answers.coding.sample import COUNTS, kinds_of
from cinorms.answers.read import categories
from cinorms.core.scales import Scale
from cinorms.vignettes.agent_files import scenes_of
from optionreader import LOOSE_RULES

#: The reply is empty, or a person has read it: a coder has nothing to add.
SETTLED_RULES = frozenset(
    {"engine_error", "no_text", "unfinished_thinking", "empty", "no_words", "override", "trace_cut"}
)
#: Longest reply that a coder sees, in characters: this limits its context and the costs of a study.
MOST_CHARACTERS = 20_000
#: Numbers of items lie below this: they are flows of the coder's questions, which are 32-bit numbers.
_NUMBERS = 2**31 - 1
#: Rule of an answer that a person read; the rule of a coder's names it.
BY_HAND = "override"


@dataclass(frozen=True)
class Unread:
    """Distinct replies of one model in one arm that no rule, or a loose one, read, and the rows that each one is in.

    ``items`` has the columns item, scenario, reply, cut; row ``i`` of it is what ``rows[j]`` holds where
    ``places[j]`` is ``i``.
    """

    items: pd.DataFrame
    rows: npt.NDArray[np.intp]
    places: npt.NDArray[np.intp]


def find_unread(
    responses: pd.DataFrame, answers: pd.DataFrame, vignettes: pd.DataFrame, scale: str
) -> Unread:
    """Return what no exact rule read; ``answers`` are those of ``responses``, row for row."""
    text, rule = categories(responses["text"]), categories(answers["rule"])
    settled = np.isin(np.asarray(rule.categories), list(SETTLED_RULES))
    short = np.array([len(t) <= MOST_CHARACTERS for t in text.categories] + [False])
    loose = np.isin(np.asarray(rule.categories), list(LOOSE_RULES | CALL_RULES))[rule.codes]
    without = answers["level"].isna().to_numpy() & ~settled[rule.codes]
    unread = (without | loose) & short[text.codes]
    rows = np.flatnonzero(unread)
    cut = (responses["finish_reason"] == "length").to_numpy()[rows]
    keys = pd.DataFrame({"flow": responses["flow"].to_numpy()[rows], "text": text.codes[rows], "cut": cut})
    places, distinct = pd.factorize(pd.MultiIndex.from_frame(keys))
    replies = pd.DataFrame(list(distinct), columns=["flow", "text", "cut"])
    scenes = scenes_of(vignettes) if "sensitive" in answers else vignettes["vignette"].to_numpy(dtype=object)
    scenarios = pd.Series(scenes, index=vignettes["flow"], dtype=object)
    items = pd.DataFrame(
        {
            "scenario": scenarios.reindex(replies["flow"]).to_numpy(dtype=object),
            "reply": np.asarray(text.categories, dtype=object)[replies["text"].to_numpy(dtype=np.intp)],
            "cut": replies["cut"].to_numpy(dtype=bool),
        }
    )
    names = [item_name(scale, *each) for each in items.itertuples(index=False)]
    items.insert(0, "item", pd.Series(names, dtype=object))
    return Unread(items, rows, np.asarray(places, dtype=np.intp))


def item_name(scale: str, scenario: str, reply: str, cut: bool) -> str:
    """Return the name of an item: the same wherever the same reply to the same flow is found."""
    parts = (scale, scenario, reply, "cut" if cut else "whole")
    data = "\x00".join(parts).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=10).hexdigest()


def merge_items(parts: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """Return the items of several models as one table, each once, sorted by their numbers (``flow``).

    The number follows from the item, so that the store knows it again in a study that has grown. Two items
    with one number in 2^31 are rare: the second takes the next number that is free.
    """
    empty = pd.DataFrame(columns=["item", "scenario", "reply", "cut"])
    items = pd.concat([empty, *parts]).drop_duplicates("item").sort_values("item", ignore_index=True)
    taken: set[int] = set()
    numbers = []
    for name in items["item"]:
        number = int(name[:15], 16) % _NUMBERS
        while number in taken:
            number = (number + 1) % _NUMBERS
        taken.add(number)
        numbers.append(number)
    items.insert(0, "flow", np.array(numbers, dtype=np.int32))
    return items.sort_values("flow", ignore_index=True)


def rule_of(coder: str) -> str:
    """Return the rule of the answers that ``coder`` read, so that the table shows who read them."""
    return f"coder {coder}"


def read_codes(items: pd.DataFrame, replies: pd.DataFrame | None, scale: Scale) -> pd.DataFrame:
    """Return item, level and status of each reply of the coder; both are missing where it is no code, or no coder."""
    known = pd.Series(dtype=object) if replies is None else replies.set_index("flow")["text"]
    texts = known.reindex(items["flow"])
    codes = [read_code(None if pd.isna(text) else str(text), scale) for text in texts]
    read = [code or (None, None) for code in codes]
    frame = pd.DataFrame(read, columns=["level", "status"], index=items.index)
    frame.insert(0, "item", items["item"])
    return frame.astype({"level": "Int8", "status": object})


def list_readings(model: str, answers: pd.DataFrame, unread: Unread) -> pd.DataFrame:
    """Return the level that the rules read in each reply of ``model`` that is among the items."""
    item = unread.items["item"].to_numpy(dtype=object)[unread.places]
    return pd.DataFrame({"model": model, "item": item, "level": answers["level"].array[unread.rows]})


def merge_readings(parts: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """Return the readings of several arms as one table of each model's, each item once."""
    merged = pd.concat(parts).sort_values(["model", "item", "level"])
    return merged.drop_duplicates(["model", "item"], ignore_index=True)


def with_codes(readings: pd.DataFrame, coded: pd.DataFrame) -> pd.DataFrame:
    """Return each model's items: what the rules read (``read``), and the coder's level and status."""
    merged = readings.rename(columns={"level": "read"}).merge(coded, on="item", how="left")
    return merged.astype({"level": "Int8", "status": object})


def codes_that_count(
    coded: pd.DataFrame, by_hand: pd.DataFrame, agreement: pd.DataFrame, coder: str | None
) -> pd.DataFrame:
    """Return model, item, level, status and rule of every code that counts: a person's, and the coder's shown good.

    A person's code overrides the coder's and the rules'; a level of a loose rule that the coder gives too stays.
    """
    good = pd.MultiIndex.from_frame(agreement.loc[agreement["status"] == COUNTS, ["model", "kind"]])
    counts = pd.MultiIndex.from_arrays([coded["model"], kinds_of(coded)]).isin(good)
    usable = coded[counts & ~coded["item"].isin(by_hand["item"])]
    checked = coded[["model", "item"]].merge(by_hand, on="item").assign(rule=BY_HAND)
    codes = pd.concat([checked, usable.drop(columns="read").assign(rule=rule_of(str(coder)))])
    names = ["model", "item", "level", "status", "rule"]
    return codes[names].astype({"level": "Int8"}).sort_values(["model", "item"], ignore_index=True)


def apply_codes(
    answers: pd.DataFrame,
    responses: pd.DataFrame,
    vignettes: pd.DataFrame,
    scale: str,
    codes: pd.DataFrame,
    model: str,
) -> pd.DataFrame:
    """Return the ``answers`` of ``model`` with the codes that count of replies that no exact rule read."""
    unread = find_unread(responses, answers, vignettes, scale)
    codes = codes[codes["model"] == model]
    positions = pd.Index(codes["item"]).get_indexer(unread.items["item"])[unread.places]
    rows, positions = unread.rows[positions >= 0], positions[positions >= 0]
    rules = pd.Index([*answers["rule"].cat.categories, *codes["rule"]]).unique()
    level = answers["level"].copy()
    status = answers["status"].to_numpy(dtype=object, copy=True)
    rule = answers["rule"].to_numpy(dtype=object, copy=True)
    level.iloc[rows] = codes["level"].array[positions]
    status[rows] = codes["status"].to_numpy(dtype=object)[positions]
    rule[rows] = codes["rule"].to_numpy(dtype=object)[positions]
    return answers.assign(
        level=level,
        status=pd.Categorical(status, categories=answers["status"].cat.categories),
        rule=pd.Categorical(rule, categories=rules),
    )
