"""Questions: everything that is asked of a model in an arm, as tables, each prompt as it is sent, and its key.

The key of a prompt is a digest of the very messages that the model receives, and of which sample of them it is.
"""

import hashlib
import json
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from cinorms.core.draws import draw_bits
from cinorms.core.scales import Scale
from cinorms.inference.request import Request
from cinorms.prompts.acts import asks_for_action
from cinorms.prompts.orders import as_categorical
from cinorms.prompts.variants import ask_grid, messages, select_flows

#: Bytes of a key. With 64 bits, two of a hundred million prompts could share one by chance.
KEY_BYTES = 16
#: The names of shards, as a regular expression.
SHARD = r"\d+-of-\d+"

#: Stands for the vignette while the text around it is looked up: characters that no text has.
_MARK = "\ue000vignette\ue001"

Keys = npt.NDArray[np.void]
Rows = npt.NDArray[np.int64]


#: The shard of the job of a coder, which asks everything, and how that of a paraphraser begins.
CODER, PARAPHRASES = "coder", "paraphrases."


def shard_names(count: int) -> list[str]:
    """Return ``["1-of-3", "2-of-3", "3-of-3"]`` for three shards."""
    return [f"{number}-of-{count}" for number in range(1, count + 1)]


@dataclass(frozen=True)
class Questions:
    """The flows and variants that are asked, and ``grid``: one row per question, in the order of the responses.

    ``grid`` has the columns flow, row (position in ``variants``) and order_code; see ``prompts.variants.ask_grid``.
    """

    request: Request
    flows: pd.DataFrame
    variants: pd.DataFrame
    grid: pd.DataFrame

    @classmethod
    def of(cls, request: Request, vignettes: pd.DataFrame, variants: pd.DataFrame) -> "Questions":
        """Return what ``request`` asks about these vignettes in these variants."""
        flows = select_flows(vignettes, request.select)
        chosen = variants[variants["template_no"] < request.n_templates].reset_index(drop=True)
        n_options = request.answer_scale.n_shown
        grid = ask_grid(flows["flow"], chosen, request.order_method, request.seed, n_options)
        return cls(request, flows, chosen, grid)

    def shard(self, name: str) -> "Questions":
        """Return the questions of one shard: those about some of the flows, drawn by the number of the flow alone.

        So two shards of a model never ask the same prompt for two arms, and a vignette's prompts stay together, which
        the engines' prefix caches need.
        """
        if name == CODER:
            return self
        number, count = (int(part) for part in name.split("-of-"))
        if count == 1:
            return self
        chosen = draw_bits("shard", 0, self.flows["flow"].to_numpy()) % count == number - 1
        grid = self.grid[np.repeat(chosen, len(self.variants))].reset_index(drop=True)
        return replace(self, flows=self.flows[chosen].reset_index(drop=True), grid=grid)

    def named(self, rows: Rows | slice = slice(None)) -> pd.DataFrame:
        """Return flow, variant and order of ``rows`` of the grid (default: all), as tables have them."""
        grid = self.grid.iloc[rows]
        variant = pd.Categorical.from_codes(grid["row"], categories=pd.Index(self.variants["variant"]))
        order = as_categorical(grid["order_code"].to_numpy(), self.request.answer_scale.n_shown)
        return pd.DataFrame({"flow": grid["flow"], "variant": variant, "order": order}, index=grid.index)

    def chat(self, row: int) -> list[dict[str, str]]:
        """Return the messages of the question in a ``row`` of the grid."""
        templates, vignettes, orders, scale = self._prompt_parts
        request = self.request
        flow, variant = divmod(row, len(templates))
        order = int(orders[row])
        return messages(templates[variant], vignettes[flow], order, scale, request.layout, request.system)

    @cached_property
    def _prompt_parts(self) -> tuple[list[str], list[str], Rows, Scale]:
        """What prompts are made of: templates, vignettes, each question's order, the scale."""
        orders = self.grid["order_code"].to_numpy()
        return (
            self.variants["template"].tolist(),
            self.flows["vignette"].tolist(),
            orders,
            self.request.answer_scale,
        )

    @cached_property
    def keys(self) -> Keys:
        """The key of each prompt: what the model sees, and which sample of it.

        A prompt that a flow has more than once, because two of its variants render the same text, is sampled as often.
        """
        request, variants = self.request, self.variants
        keys = _prompt_keys(
            tuple(self.flows["vignette"]),
            tuple(variants["template"]),
            self.grid["order_code"].to_numpy(np.int16).tobytes(),
            request.answer_scale,
            request.layout,
            request.system,
        )
        # Orders that are added later count last, so that what was a first sample stays one.
        earlier = _earlier_alike(keys, np.lexsort((variants["template_no"], variants["order_no"])))
        return _sampled(keys.ravel(), request.sample, earlier.ravel())

    @cached_property
    def digest(self) -> str:
        """What names the questions, with their request: their texts, and what their orders are drawn by.

        Responses with another digest are to other questions. It takes milliseconds; ``keys`` takes seconds.
        """
        flows = self.flows[["flow", "vignette", *self.request.factors]].astype("str")
        total = hashlib.sha256(flows.to_json(orient="values").encode("utf-8", "surrogatepass"))
        total.update(self.variants[["variant", "template"]].to_json(orient="values").encode())
        return total.hexdigest()

    def in_asking_order(self, todo: Rows) -> Rows:
        """Return the rows ``todo`` of the grid sorted by template, flow, order.

        Neighbours then share the longest beginning, which the engines' prefix caches need. A further sample is asked
        in an order drawn at random, a pure function of seed and prompt: every batch has other prompts in it.
        """
        if self.request.sample > 1:
            return todo[np.argsort(draw_bits("sample", self.request.seed, *as_numbers(self.keys[todo])))]
        flows, rows = self.grid["flow"].to_numpy()[todo], self.grid["row"].to_numpy()[todo]
        template_no, order_no = (self.variants[name].to_numpy()[rows] for name in ("template_no", "order_no"))
        return todo[np.lexsort((order_no, flows, template_no))]


@lru_cache(maxsize=1)  # the next model of an arm has the same prompts
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
    acts = [asks_for_action(template) for template in templates]
    for row, (vignette, codes) in enumerate(zip(vignettes, orders, strict=True)):
        text, row_digests = _json(vignette)[1:-1], []
        for column, code in enumerate(codes.tolist()):
            if acts[column]:  # the order moves parts of the vignette
                chat = messages(templates[column], vignette, code, scale, layout, system)
                row_digests.append(_digest(_json(chat).encode("utf-8", "surrogatepass")))
                continue
            frame = frames.get((column, code))
            if frame is None:
                chat = messages(templates[column], _MARK, code, scale, layout, system)
                frame = frames[column, code] = _json(chat).split(_MARK)
            row_digests.append(_digest(text.join(frame).encode("utf-8", "surrogatepass")))
        digests[row] = np.frombuffer(b"".join(row_digests), dtype=digests.dtype)
    digests.flags.writeable = False  # the cache gives it to others too
    return digests


def _earlier_alike(keys: Keys, places: Rows) -> Rows:
    """Return for each flow and variant how many variants before it, in the order ``places``, have the same key."""
    numbers = np.zeros(keys.shape, dtype=np.int64)
    first, second = (half.reshape(keys.shape) for half in as_numbers(keys.ravel()))
    for place, column in enumerate(places):
        for earlier in places[:place]:
            alike = first[:, column] == first[:, earlier]
            numbers[:, column] += alike & (second[:, column] == second[:, earlier])
    return numbers


def _sampled(keys: Keys, sample: int, earlier: Rows) -> Keys:
    """Return ``keys`` with a key of its own for every further sample of a prompt."""
    sampled = keys.copy()
    for row in range(len(sampled)) if sample > 1 else np.flatnonzero(earlier):
        mark = sample.to_bytes(4, "little") + int(earlier[row]).to_bytes(4, "little")
        sampled[row] = np.void(_digest(keys[row].tobytes() + mark))
    return sampled


def as_numbers(keys: Keys) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """Return each key as two whole numbers, as coordinates of a draw."""
    halves = np.frombuffer(np.ascontiguousarray(keys).tobytes(), dtype="<u8").reshape(-1, 2)
    return halves[:, 0], halves[:, 1]


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=KEY_BYTES).digest()


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
