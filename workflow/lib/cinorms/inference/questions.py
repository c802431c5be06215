"""Questions: everything one shard asks, as tables, and each prompt as it is sent."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pandas as pd

from cinorms.core.draws import draw_bits
from cinorms.core.scales import Scale
from cinorms.inference.prompt_keys import Keys, as_numbers, keys_in_repeat, number_samples, prompt_keys
from cinorms.inference.spec import Spec, take_shard
from cinorms.prompts.variants import ask_grid, messages, select_flows


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
    def of(cls, spec: Spec, vignettes: pd.DataFrame, variants: pd.DataFrame) -> Questions:
        """Return the questions of the shard that ``spec`` describes."""
        flows = select_flows(vignettes, spec.select)
        asked = variants[variants["template_no"] < spec.n_templates].reset_index(drop=True)
        own = take_shard(asked, spec.shard)
        n_options = spec.answer_scale.n_shown
        grid = ask_grid(flows["flow"], own, spec.order_method, spec.seed, n_options)
        return cls(spec, flows, own, grid, asked)

    def chat(self, at: int) -> list[dict[str, str]]:
        """Return the messages of the question in row ``at`` of the grid."""
        spec = self.spec
        return messages(
            self._templates[self._rows[at]],
            self._vignettes[self.flow_places[at]],
            int(self._orders[at]),
            self._scale,
            spec.layout,
            spec.system,
        )

    def name(self, at: int) -> str:
        """Return a name of a question that outlives shards, jobs and studies: the key of its prompt."""
        return bytes(self.prompts[at]).hex()

    @cached_property
    def flow_places(self) -> npt.NDArray[np.int64]:
        """The row of ``flows`` that each question asks about."""
        found = pd.Index(self.flows["flow"]).get_indexer(self.grid["flow"])
        return np.asarray(found, dtype=np.int64)

    @cached_property
    def prompts(self) -> Keys:
        """The key of each prompt: what the model sees, and which sample of it (``inference.prompt_keys``)."""
        variants, spec = self.of_all_shards, self.spec
        grid = ask_grid(self.flows["flow"], variants, spec.order_method, spec.seed, self._scale.n_shown)
        codes = grid["order_code"].to_numpy().reshape(len(self.flows), len(variants))
        keys = prompt_keys(spec, self._vignettes, variants["template"].tolist(), codes)
        # Orders that are added later count last, so that what was a first sample stays one.
        places = np.lexsort((variants["template_no"], variants["order_no"]))
        first = (np.arange(len(self.flows))[:, None] * len(variants) + places[None, :]).ravel()
        keys = number_samples(keys.ravel(), first).reshape(codes.shape)
        own = pd.Index(variants["variant"]).get_indexer(self.variants["variant"])
        return keys_in_repeat(np.ascontiguousarray(keys[:, own]).ravel(), spec.repeat)

    @cached_property
    def digest(self) -> str:
        """What names the questions of the shard, with its spec: their texts, and what the spec draws their orders by.

        Responses with another digest are to other questions. It takes milliseconds; ``prompts`` takes seconds.
        """
        flows = self.flows[["flow", "vignette", *self.spec.factors]].astype("str")
        found = hashlib.sha256(flows.to_json(orient="values").encode("utf-8", "surrogatepass"))
        found.update(self.variants[["variant", "template"]].to_json(orient="values").encode())
        return found.hexdigest()

    def missing(self, answered: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
        """Return the rows of the grid that are not ``answered``, sorted by template, flow, order.

        Neighbours then share the longest beginning, which the engines' prefix caches need. A repeat asks in an order
        drawn at random, a pure function of seed, prompt and repeat: every batch has other prompts in it.
        """
        if self.spec.repeat > 1:
            left = np.flatnonzero(~answered)
            return left[np.argsort(draw_bits("repeat", self.spec.seed, *as_numbers(self.prompts[left])))]
        template_no = self.variants["template_no"].to_numpy()[self._rows]
        order_no = self.variants["order_no"].to_numpy()[self._rows]
        todo = np.flatnonzero(~answered)
        return todo[np.lexsort((order_no[todo], self._flows[todo], template_no[todo]))]

    @cached_property
    def _scale(self) -> Scale:
        return self.spec.answer_scale

    @cached_property
    def _flows(self) -> npt.NDArray[np.int32]:
        return self.grid["flow"].to_numpy()

    @cached_property
    def _rows(self) -> npt.NDArray[np.int32]:
        return self.grid["row"].to_numpy()

    @cached_property
    def _orders(self) -> npt.NDArray[np.int64]:
        return self.grid["order_code"].to_numpy()

    @cached_property
    def _vignettes(self) -> list[str]:
        return self.flows["vignette"].tolist()

    @cached_property
    def _templates(self) -> list[str]:
        return self.variants["template"].tolist()
