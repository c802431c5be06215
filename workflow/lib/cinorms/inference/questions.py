"""Questions: everything one shard asks, as tables, each prompt as it is sent, and its key.

The key of a prompt is a digest of the very messages that the model receives, and of which sample of them it is.
"""

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product, takewhile
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from cinorms.core.draws import draw_bits
from cinorms.core.scales import Scale
from cinorms.inference.spec import Spec, take_shard
from cinorms.prompts.acts import asks_for_action
from cinorms.prompts.orders import as_categorical
from cinorms.prompts.variants import ask_grid, asked_orders, messages, select_flows

#: Bytes of a key. With 64 bits, two of a hundred million prompts could share one by chance.
KEY_BYTES = 16

#: Stands for the vignette while the text around it is looked up: characters that no text has.
_MARK = "\ue000vignette\ue001"

Keys = npt.NDArray[np.void]
Places = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Questions:
    """The flows and variants of a shard, and ``grid``: one row per question, in the order of the responses.

    ``grid`` has the columns flow, row (position in ``variants``) and order_code; see ``prompts.variants.ask_grid``.
    """

    spec: Spec
    flows: pd.DataFrame
    variants: pd.DataFrame
    grid: pd.DataFrame
    #: The variants of all shards: whether a prompt is a repeat does not depend on the shard.
    of_all_shards: pd.DataFrame

    @classmethod
    def of(cls, spec: Spec, vignettes: pd.DataFrame, variants: pd.DataFrame) -> "Questions":
        """Return the questions of the shard that ``spec`` describes."""
        flows = select_flows(vignettes, spec.select)
        asked = variants[variants["template_no"] < spec.n_templates].reset_index(drop=True)
        own = take_shard(asked, spec.shard)
        n_options = spec.answer_scale.n_shown
        grid = ask_grid(flows["flow"], own, spec.order_method, spec.seed, n_options)
        return cls(spec, flows, own, grid, asked)

    def named(self, rows: npt.NDArray[np.int64] | slice = slice(None)) -> pd.DataFrame:
        """Return flow, variant and order of ``rows`` of the grid (default: all), as tables have them."""
        grid = self.grid.iloc[rows]
        variant = pd.Categorical.from_codes(grid["row"], categories=pd.Index(self.variants["variant"]))
        order = as_categorical(grid["order_code"].to_numpy(), self.spec.answer_scale.n_shown)
        return pd.DataFrame({"flow": grid["flow"], "variant": variant, "order": order}, index=grid.index)

    def chat(self, at: int) -> list[dict[str, str]]:
        """Return the messages of the question in row ``at`` of the grid."""
        templates, vignettes, rows, flows, orders, scale = self._prompt_parts
        spec = self.spec
        return messages(
            templates[rows[at]], vignettes[flows[at]], int(orders[at]), scale, spec.layout, spec.system
        )

    @cached_property
    def _prompt_parts(self) -> tuple[list[str], list[str], Places, Places, Places, Scale]:
        """What prompts are made of: templates and vignettes, each question's place in both, its order, the scale."""
        flows = pd.Index(self.flows["flow"]).get_indexer(self.grid["flow"])
        places = (self.grid["row"].to_numpy(), flows, self.grid["order_code"].to_numpy())
        texts = self.variants["template"].tolist(), self.flows["vignette"].tolist()
        return (*texts, *places, self.spec.answer_scale)

    @cached_property
    def prompts(self) -> Keys:
        """The key of each prompt: what the model sees, and which sample of it."""
        variants, spec = self.of_all_shards, self.spec
        codes = asked_orders(
            self.flows["flow"], variants, spec.order_method, spec.seed, spec.answer_scale.n_shown
        ).astype(np.int16)
        vignettes, templates = tuple(self.flows["vignette"]), variants["template"].to_numpy(dtype=object)
        how = spec.answer_scale, spec.layout, spec.system
        # Orders that are added later count last, so that what was a first sample stays one.
        places = np.lexsort((variants["template_no"], variants["order_no"]))
        own = pd.Index(variants["variant"]).get_indexer(self.variants["variant"])
        if len(set(vignettes)) == len(vignettes) and not any(map(asks_for_action, templates)):
            # Only the orders of a flow can repeat a prompt: other shards' need no keys.
            numbers = _earlier_samples(tuple(templates), codes, places, own, *how)
            keys = _prompt_keys(vignettes, tuple(templates[own]), codes[:, own].tobytes(), *how)
            keys = _numbered(keys.ravel(), numbers.ravel())
        else:
            keys = _prompt_keys(vignettes, tuple(templates), codes.tobytes(), *how)
            first = (np.arange(len(self.flows))[:, None] * len(variants) + places[None, :]).ravel()
            keys = number_samples(keys.ravel(), first).reshape(keys.shape)
            keys = np.ascontiguousarray(keys[:, own]).ravel()
        if spec.repeat > 1:  # in each asking of an arm they have keys of their own
            mark = b"repeat" + spec.repeat.to_bytes(4, "little")
            digests = b"".join(_digest(key.tobytes() + mark) for key in keys)
            keys = np.frombuffer(digests, dtype=f"V{KEY_BYTES}")
        return keys

    @cached_property
    def digest(self) -> str:
        """What names the questions of the shard, with its spec: their texts, and what the spec draws their orders by.

        Responses with another digest are to other questions. It takes milliseconds; ``prompts`` takes seconds.
        """
        flows = self.flows[["flow", "vignette", *self.spec.factors]].astype("str")
        total = hashlib.sha256(flows.to_json(orient="values").encode("utf-8", "surrogatepass"))
        total.update(self.variants[["variant", "template"]].to_json(orient="values").encode())
        return total.hexdigest()

    def missing(self, answered: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
        """Return the rows of the grid that are not ``answered``, sorted by template, flow, order.

        Neighbours then share the longest beginning, which the engines' prefix caches need. A repeat asks in an order
        drawn at random, a pure function of seed, prompt and repeat: every batch has other prompts in it.
        """
        todo = np.flatnonzero(~answered)
        if self.spec.repeat > 1:
            return todo[np.argsort(draw_bits("repeat", self.spec.seed, *as_numbers(self.prompts[todo])))]
        flows, rows = self.grid["flow"].to_numpy()[todo], self.grid["row"].to_numpy()[todo]
        template_no, order_no = (self.variants[name].to_numpy()[rows] for name in ("template_no", "order_no"))
        return todo[np.lexsort((order_no, flows, template_no))]


@lru_cache(maxsize=1)  # the next shard or model of an arm has the same prompts
def _prompt_keys(
    vignettes: tuple[str, ...],
    templates: tuple[str, ...],
    order_codes: bytes,
    scale: Scale,
    layout: str,
    system: str | None,
) -> Keys:
    """Return the digest of the messages, as JSON, of every vignette in every template.

    ``order_codes`` are whole numbers, one per vignette and template.
    """
    shape = len(vignettes), len(templates)
    digests = np.empty(shape, dtype=f"V{KEY_BYTES}")
    frames: dict[tuple[int, int], list[str]] = {}
    orders = np.frombuffer(order_codes, dtype=np.int16).reshape(shape)
    for row, (vignette, codes) in enumerate(zip(vignettes, orders, strict=True)):
        text, found = _json(vignette)[1:-1], []
        for column, code in enumerate(codes.tolist()):
            if asks_for_action(templates[column]):  # the order moves parts of the vignette
                chat = messages(templates[column], vignette, code, scale, layout, system)
                found.append(_digest(_json(chat).encode("utf-8", "surrogatepass")))
                continue
            frame = frames.get((column, code))
            if frame is None:
                frame = frames[column, code] = _frame(templates[column], code, scale, layout, system)
            found.append(_digest(text.join(frame).encode("utf-8", "surrogatepass")))
        digests[row] = np.frombuffer(b"".join(found), dtype=digests.dtype)
    digests.flags.writeable = False  # the cache gives it to others too
    return digests


def _frame(template: str, code: int, scale: Scale, layout: str, system: str | None) -> list[str]:
    """Return the messages of a template and an order, as JSON, cut where the vignette stands."""
    return _json(messages(template, _MARK, code, scale, layout, system)).split(_MARK)


def _earlier_samples(
    templates: tuple[str, ...],
    codes: npt.NDArray[np.int16],
    places: Places,
    own: Places,
    scale: Scale,
    layout: str,
    system: str | None,
) -> Places:
    """Return for each flow and variant ``own`` how many variants before it, in the order ``places``, ask the same."""
    known: dict[str, int] = {}
    #: By variant and order: a number of what is asked about a vignette.
    asked = np.zeros((len(templates), int(codes.max(initial=0)) + 1), dtype=np.int32)
    for column, code in product(range(len(templates)), np.unique(codes).tolist()):
        frame = _frame(templates[column], code, scale, layout, system)
        asked[column, code] = known.setdefault(_MARK.join(frame), len(known))
    numbers = np.zeros((len(codes), len(own)), dtype=np.int64)
    for at, column in enumerate(own):
        alike = asked[column, codes[:, column]]
        for earlier in takewhile(column.__ne__, places):
            numbers[:, at] += asked[earlier, codes[:, earlier]] == alike
    return numbers


def number_samples(keys: Keys, first: npt.NDArray[np.int64]) -> Keys:
    """Return ``keys`` with a key of its own for every further sample of a prompt; ``first`` is how they are counted."""
    codes = as_column(keys).dictionary_encode()
    if len(codes.dictionary) == len(keys):
        return keys
    code = codes.indices.to_numpy()[first]
    by_code = np.argsort(code, kind="stable")
    ordered = code[by_code]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    number = np.empty(len(keys), dtype=np.int64)
    number[first[by_code]] = np.arange(len(keys)) - np.repeat(starts, np.diff(np.r_[starts, len(keys)]))
    return _numbered(keys, number)


def _numbered(keys: Keys, number: Places) -> Keys:
    own = keys.copy()
    for at in np.flatnonzero(number):
        own[at] = np.void(_digest(keys[at].tobytes() + int(number[at]).to_bytes(4, "little")))
    return own


def as_column(keys: Keys) -> pa.FixedSizeBinaryArray:
    """Return keys as a column of a table."""
    data = pa.py_buffer(np.ascontiguousarray(keys).tobytes())
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(KEY_BYTES), len(keys), [None, data])


def as_numbers(keys: Keys) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """Return each key as two whole numbers, as coordinates of a draw."""
    halves = np.frombuffer(np.ascontiguousarray(keys).tobytes(), dtype="<u8").reshape(-1, 2)
    return halves[:, 0], halves[:, 1]


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=KEY_BYTES).digest()


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
