"""Answer scales as the workflow uses them: how pages put them, the bins that norms are held in, what jobs know of them.

A scale is a file, resources/scales/{name}.yaml; `optionreader` says what a scale is, and reads replies on it. Specs of
jobs name the papers' two scales; the spec of any other scale holds all of it, so that a changed file is another scale.
"""

import bisect
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

import optionreader
from cinorms.core.labels import listed
from optionreader import MOST_OPTIONS, Line

if TYPE_CHECKING:
    import pandas as pd  # the environment of paraphrases has none

FOLDER = Path(__file__).parents[4] / "resources" / "scales"

#: The papers' scales. What they offer never changes, as existing results name them; how pages put it (`says`) can.
PAPERS = ("acceptability", "agreement")

#: The bins in which norms are held on a line that keeps every number.
BINS = 5

#: What the scale of arms in which models act measures, and its name: how much of sensitive items an action discloses.
DISCLOSURE = "disclosure"

#: What a job knows a scale by: the name of one of ``PAPERS``, or all of the scale as plain data.
PlainScale = str | Mapping[str, Any]


@dataclass(frozen=True)
class Says:
    """How pages and figures put what an answer says, in English: the words for more, for less, and for the two sides.

    ``accept`` and ``accepted`` are for the upper side: models "accept" flows, which are then "accepted".
    """

    more: str
    less: str
    accept: str = "give a high answer to"
    accepted: str = "rated high"
    rejected: str = "rated low"


@dataclass(frozen=True, kw_only=True)
class Scale(optionreader.Scale):
    """An answer scale with how pages put what an answer says, where its file states that (see `spoken`).

    ``measure`` is what the options say of a flow: a prompt set that asks for it can offer any scale that measures it.
    """

    says: Says | None = None

    @classmethod
    def from_mapping(cls, name: str, document: Mapping[str, Any]) -> Self:
        """Return the scale that the keys of a file state."""
        says = document.get("says")
        return replace(super().from_mapping(name, document), says=Says(**says) if says else None)

    @property
    def measured(self) -> str:
        """What the options say of a flow, as words."""
        return self.measure.replace("_", " ")

    @property
    def spoken(self) -> Says:
        """How to put it: as the file states, or with the name of what is measured."""
        return self.says or Says(f"higher {self.measured}", f"lower {self.measured}")

    @property
    def n_shown(self) -> int:
        """How many options a prompt shows that can change places; a number line is shown as one."""
        return 1 if self.line else len(self.options)

    @cached_property
    def binned(self) -> "Scale":
        """The scale on which norms are held and figures are drawn: a line that keeps every number has `BINS` bins."""
        whole = self.line is not None and len(self.options) > MOST_OPTIONS
        return self.with_bins(BINS) if whole else self

    def in_bins(self, levels: "pd.Series[Any]") -> "pd.Series[Any]":
        """Return ``levels``, missing ones too, as levels of `binned`."""
        if self.binned is self:
            return levels
        binned = dict(zip(self.levels, (self.binned.levels[place] for place in self._places), strict=True))
        return levels.map(binned, na_action="ignore").astype("Int8")

    def places(self, levels: npt.ArrayLike, missing: int = -1) -> npt.NDArray[np.intp]:
        """Return the position of each of ``levels`` on the `binned` scale, lowest 0, and ``missing`` for NaN.

        All others must be on the scale.
        """
        # NaN sorts behind every level.
        place = np.searchsorted(np.array(self.levels), np.asarray(levels))
        return np.array([*self._places, missing], dtype=np.intp)[place]

    @cached_property
    def _places(self) -> tuple[int, ...]:
        """The position of each level on the `binned` scale."""
        if self.binned is self:
            return tuple(range(len(self.levels)))
        ends = [last for _, last in self.line.bins(BINS)] if self.line else []
        return tuple(bisect.bisect_left(ends, level) for level in self.levels)

    @property
    def plain(self) -> PlainScale:
        """What a job is told of the scale: its name if it is one of the papers', else all of it."""
        return self.name if self.name in PAPERS and self == papers_scale(self.name) else asdict(self)

    @classmethod
    def from_plain(cls, plain: PlainScale) -> "Scale":
        """Return the scale that a job is told of (see `plain`)."""
        if isinstance(plain, str):
            return papers_scale(plain)
        line, says = _frozen(plain.get("line")), plain.get("says")
        parts = {"line": Line(**line) if line else None, "says": Says(**says) if says else None}
        return cls(**_frozen(plain) | parts)


def _frozen(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _frozen(part) for name, part in value.items()}
    return tuple(map(_frozen, value)) if isinstance(value, list | tuple) else value


@cache
def papers_scale(name: str) -> Scale:
    """Return one of the papers' scales."""
    return Scale.shipped(name)


def spoken_of(scales: Iterable[Scale]) -> Says:
    """Return how to put answers on several scales at once: in the words that they share, if they do."""
    ways = {scale.spoken for scale in scales}
    return ways.pop() if len(ways) == 1 else Says("a higher answer", "a lower answer")


def measures_of(scales: Iterable[Scale]) -> str:
    """Return what some scales measure, in words: "acceptability", "acceptability and agreement"."""
    return listed(list(dict.fromkeys(scale.measured for scale in scales)))
