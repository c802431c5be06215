"""Answer scales: ordered options, each with its words and the whole number that it counts as, its level.

A scale is a file, resources/scales/{name}.yaml. Two of them are those of the papers: they are shipped with the project,
and specs of jobs name them; the spec of any other scale holds all of it, so that a changed file is another scale.
"""

import bisect
import itertools
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cinorms.core.labels import listed

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

FOLDER = Path(__file__).parents[4] / "resources" / "scales"

#: The papers' scales. What they offer never changes, as existing results name them; how pages put it (`says`) can.
PAPERS = ("acceptability", "agreement")
#: Links to their files, which an installed package has in it: results are read without a clone.
_INSTALLED = Path(__file__).parent / "papers"

#: Most options of a scale that are words, and the bins in which norms are held on a line that keeps every number.
MOST_OPTIONS, BINS = 11, 5

#: What the scale of arms in which models act measures, and its name: how much of sensitive items an action discloses.
DISCLOSURE = "disclosure"

#: What a job knows a scale by: the name of one of ``PAPERS``, or all of the scale as plain data.
Known = str | Mapping[str, Any]


@dataclass(frozen=True)
class Line:
    """A number line that models and people answer with a whole number on; ``ends`` are the words of its two ends."""

    lowest: int
    highest: int
    ends: tuple[str, str]


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


@dataclass(frozen=True)
class Scale:
    """Ordered answer options, lowest first; option ``i`` counts as ``levels[i]``.

    ``measure`` is what the options say of a flow: a prompt set that asks for it can offer any scale that measures it.
    ``midpoint`` is the level that says neither the one nor the other, if there is one. ``language`` is the language of
    the options, and ``words`` are what the reader must know of it, by kind. A number line has an option for each of
    its numbers, or for each of its bins. ``says`` is what the file states of how to put it (see `spoken`).
    """

    name: str
    title: str
    measure: str
    options: tuple[str, ...]
    levels: tuple[int, ...]
    midpoint: int | None = None
    language: str = "English"
    words: tuple[tuple[str, tuple[str, ...]], ...] = ()
    line: Line | None = None
    says: Says | None = None

    def label(self, level: int) -> str:
        """Return the option that counts as ``level``."""
        return self.options[self.levels.index(level)]

    @property
    def ends(self) -> tuple[str, str]:
        """What the lowest and the highest answer mean, in the words of the scale."""
        return self.line.ends if self.line else (self.options[0], self.options[-1])

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

    @property
    def labels(self) -> dict[int, str]:
        """Return the words of each level, lowest first."""
        return dict(zip(self.levels, self.options, strict=True))

    @property
    def middle(self) -> float:
        """The number between the two sides of the scale: the midpoint, or halfway between its ends."""
        return (self.levels[0] + self.levels[-1]) / 2 if self.midpoint is None else float(self.midpoint)

    @cached_property
    def sides(self) -> tuple[int, ...]:
        """On which side of the scale each option is: -1 the lower, 1 the upper, 0 neither (the midpoint)."""
        return tuple((level > self.middle) - (level < self.middle) for level in self.levels)

    @cached_property
    def binned(self) -> "Scale":
        """The scale on which norms are held and figures are drawn: a line that keeps every number has `BINS` bins."""
        if self.line is None or len(self.options) <= MOST_OPTIONS:
            return self
        bins = _bins(self.line, BINS)
        return replace(self, options=_bin_names(bins), levels=_bin_levels(bins))

    def in_bins(self, levels: "pd.Series[Any]") -> "pd.Series[Any]":
        """Return ``levels``, missing ones too, as levels of `binned`."""
        if self.binned is self:
            return levels
        binned = dict(zip(self.levels, (self.binned.levels[place] for place in self._places), strict=True))
        return levels.map(binned, na_action="ignore").astype("Int8")

    def places(self, levels: "npt.ArrayLike", missing: int = -1) -> "npt.NDArray[np.intp]":
        """Return the position of each of ``levels`` on the `binned` scale, lowest 0, and ``missing`` for NaN.

        All others must be on the scale.
        """
        import numpy as np

        # NaN sorts behind every level.
        own = np.searchsorted(np.array(self.levels), np.asarray(levels))
        return np.array([*self._places, missing], dtype=np.intp)[own]

    @cached_property
    def _places(self) -> tuple[int, ...]:
        """The position of each level on the `binned` scale."""
        if self.binned is self:
            return tuple(range(len(self.levels)))
        ends = [last for _, last in _bins(self.line, BINS)] if self.line else []
        return tuple(bisect.bisect_left(ends, level) for level in self.levels)

    @property
    def known(self) -> Known:
        """What a job is told of the scale: its name if it is one of the papers', else all of it."""
        return self.name if self.name in PAPERS and self == papers_scale(self.name) else asdict(self)

    @classmethod
    def of(cls, known: Known) -> "Scale":
        """Return the scale that a job knows (see `known`)."""
        if isinstance(known, str):
            return papers_scale(known)
        line, says = _frozen(known.get("line")), known.get("says")
        parts = {"line": Line(**line) if line else None, "says": Says(**says) if says else None}
        return cls(**_frozen(known) | parts)


def _frozen(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _frozen(part) for name, part in value.items()}
    return tuple(map(_frozen, value)) if isinstance(value, list | tuple) else value


@cache
def papers_scale(name: str) -> Scale:
    """Return one of the papers' scales, from the project's own file.

    It is read as JSON, which is YAML too: jobs that ask models have no parser of YAML.
    """
    return make_scale(name, json.loads((_INSTALLED / f"{name}.yaml").read_text(encoding="utf-8")))


def make_scale(name: str, document: Mapping[str, Any]) -> Scale:
    """Return the scale that a file of resources/scales states, already checked (`cinorms.core.scale_files`)."""
    stated, midpoint = document.get("line"), document.get("midpoint")
    line = Line(stated["lowest"], stated["highest"], tuple(stated["ends"])) if stated else None
    bins = _bins(line, stated.get("bins")) if stated and line else []
    options = _bin_names(bins) or tuple(document["options"])
    levels = tuple(document.get("levels", ())) or _bin_levels(bins)
    half, odd = divmod(len(options), 2)
    if not levels and midpoint is not None:
        levels = tuple(range(-options.index(midpoint), len(options) - options.index(midpoint)))
    elif not levels:  # steps from the middle that leave out 0, which an odd number of options cannot have
        levels = tuple(range(1, len(options) + 1)) if odd else (*range(-half, 0), *range(1, half + 1))
    return Scale(
        name=name,
        title=document["title"],
        measure=document["measure"],
        options=options,
        levels=levels,
        midpoint=midpoint if line or midpoint is None else levels[options.index(midpoint)],
        language=document.get("language", "English"),
        words=tuple((kind, tuple(words)) for kind, words in sorted(document.get("words", {}).items())),
        line=line,
        says=Says(**document["says"]) if document.get("says") else None,
    )


def spoken_of(scales: Iterable[Scale]) -> Says:
    """Return how to put answers on several scales at once: in the words that they share, if they do."""
    found = {scale.spoken for scale in scales}
    return found.pop() if len(found) == 1 else Says("a higher answer", "a lower answer")


def measures_of(scales: Iterable[Scale]) -> str:
    """Return what some scales measure, in words: "acceptability", "acceptability and agreement"."""
    return listed(list(dict.fromkeys(scale.measured for scale in scales)))


def _bins(line: Line, bins: int | None) -> list[tuple[int, int]]:
    """Return the first and the last number of each bin; the bins differ by one number at most."""
    n = line.highest - line.lowest + 1
    bins = bins or n
    size, larger = divmod(n, bins)
    starts = [line.lowest + i * size + min(i, larger) for i in range(bins + 1)]
    return [(start, after - 1) for start, after in itertools.pairwise(starts)]


def _bin_names(bins: Sequence[tuple[int, int]]) -> tuple[str, ...]:
    return tuple(str(a) if a == b else f"{a} to {b}" for a, b in bins)


def _bin_levels(bins: Sequence[tuple[int, int]]) -> tuple[int, ...]:
    return tuple((a + b) // 2 for a, b in bins)


def level_of_number(scale: Scale, number: float) -> int | None:
    """Return the level of ``number`` on a number line, or ``None`` where it is off the line."""
    line = scale.line
    assert line is not None, "only a number line has numbers"
    if not line.lowest <= number <= line.highest:
        return None
    last = [b for _, b in _bins(line, len(scale.options))]
    # Half a number rounds up, as people round.
    return scale.levels[bisect.bisect_left(last, math.floor(number + 0.5))]
