"""Questions: everything one shard asks, as tables, and each prompt as it is sent."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pandas as pd

from cinorms.inference.shards import take_shard
from cinorms.inference.spec import Spec
from cinorms.prompts.variants import ask_grid, messages, select_flows

_ODD = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class Questions:
    """The flows and variants of a shard, and ``grid``: one row per question, in the order of the responses.

    ``grid`` has the columns flow, row (position in ``variants``) and order_code; see ``prompts.variants.ask_grid``.
    """

    spec: Spec
    flows: pd.DataFrame
    variants: pd.DataFrame
    grid: pd.DataFrame

    @classmethod
    def of(cls, spec: Spec, vignettes: pd.DataFrame, variants: pd.DataFrame) -> Questions:
        """Return the questions of the shard that ``spec`` describes."""
        flows = select_flows(vignettes, spec.select)
        asked = variants[variants["template_no"] < spec.n_templates].reset_index(drop=True)
        asked = take_shard(asked, spec.shard)
        return cls(spec, flows, asked, ask_grid(flows["flow"], asked, spec.order_method, spec.seed))

    def chat(self, at: int) -> list[dict[str, str]]:
        """Return the messages of the question in row ``at`` of the grid."""
        spec = self.spec
        return messages(
            self._templates[self._rows[at]],
            self._vignettes[self.flow_places[at]],
            int(self._orders[at]),
            spec.scale,
            spec.layout,
            spec.system,
        )

    def name(self, at: int) -> str:
        """Return a name of a question that outlives shards and jobs: flow, variant, hash of the prompt."""
        return f"{self._flows[at]}.{self._variants[self._rows[at]]}.{self.prompts[at]:016x}"

    @cached_property
    def flow_places(self) -> npt.NDArray[np.int64]:
        """The row of ``flows`` that each question asks about."""
        found = pd.Index(self.flows["flow"]).get_indexer(self.grid["flow"])
        return np.asarray(found, dtype=np.int64)

    @cached_property
    def prompts(self) -> npt.NDArray[np.uint64]:
        """A hash of each prompt: of its vignette, its template and its answer order."""
        vignette = _hashes(self._vignettes)[self.flow_places]
        template = _hashes(self._templates)[self._rows]
        order = self._orders.astype(np.uint64)
        with np.errstate(over="ignore"):
            return np.asarray(((vignette * _ODD + template) * _ODD + order) * _ODD, dtype=np.uint64)

    def missing(self, answered: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
        """Return the rows of the grid that are not ``answered``, sorted by template, flow, order.

        Neighbours then share the longest beginning, which the engines' prefix caches need.
        """
        template_no = self.variants["template_no"].to_numpy()[self._rows]
        order_no = self.variants["order_no"].to_numpy()[self._rows]
        todo = np.flatnonzero(~answered)
        return todo[np.lexsort((order_no[todo], self._flows[todo], template_no[todo]))]

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
    def _variants(self) -> list[str]:
        return self.variants["variant"].tolist()

    @cached_property
    def _templates(self) -> list[str]:
        return self.variants["template"].tolist()


def _hashes(texts: Iterable[str]) -> npt.NDArray[np.uint64]:
    digests = (
        hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest() for text in texts
    )
    return np.array([int.from_bytes(digest, "little") for digest in digests], dtype=np.uint64)
