"""Answer scales: ordered options, each with its words and the whole number that it counts as, its level.

A scale is a file, resources/scales/{name}.yaml. Two of them are those of the papers: they are shipped with the project,
and specs of jobs name them; the spec of any other scale holds all of it, so that a changed file is another scale.
"""

from __future__ import annotations

import bisect
import itertools
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cinorms.core.errors import ConfigError, listing
from cinorms.core.labels import listed

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

FOLDER = Path(__file__).parents[4] / "resources" / "scales"

#: The papers' scales. What they offer never changes, as existing results name them; how pages put it (`says`) can.
PAPERS = ("acceptability", "agreement")

#: Most options of a scale that are words, and the bins in which norms are held on a line that keeps every number.
MOST_OPTIONS, BINS = 11, 5

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
    def binned(self) -> Scale:
        """The scale on which norms are held and figures are drawn: a line that keeps every number has `BINS` bins."""
        if self.line is None or len(self.options) <= MOST_OPTIONS:
            return self
        bins = _bins(self.line, BINS)
        return replace(self, options=_bin_names(bins), levels=_bin_levels(bins))

    def in_bins(self, levels: pd.Series[Any]) -> pd.Series[Any]:
        """Return ``levels``, missing ones too, as levels of `binned`."""
        if self.binned is self:
            return levels
        known = {
            level: self.binned.levels[place] for level, place in zip(self.levels, self._places, strict=True)
        }
        return levels.map(known, na_action="ignore").astype("Int8")

    def places(self, levels: npt.ArrayLike, missing: int = -1) -> npt.NDArray[np.intp]:
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
    def of(cls, known: Known) -> Scale:
        """Return the scale that a job knows (see `known`)."""
        if isinstance(known, str):
            return papers_scale(known)
        plain = {name: _frozen(value) for name, value in known.items()}
        line, says = known.get("line"), known.get("says")
        return cls(
            **{
                **plain,
                "line": Line(**{k: _frozen(v) for k, v in line.items()}) if line else None,
                "says": Says(**says) if says else None,
            }
        )


def _frozen(value: Any) -> Any:
    return tuple(_frozen(part) for part in value) if isinstance(value, list | tuple) else value


@cache
def papers_scale(name: str) -> Scale:
    """Return one of the papers' scales, from the project's own file.

    It is read as JSON, which is YAML too: jobs that ask models have no parser of YAML.
    """
    file = FOLDER / f"{name}.yaml"
    return make_scale(name, json.loads(file.read_text(encoding="utf-8")), file)


def make_scale(name: str, document: Mapping[str, Any], file: object) -> Scale:
    """Return the scale that a file of resources/scales states, already checked against its schema.

    Raises ``ConfigError`` with the ``file``, the key, what is given and what is allowed.
    """
    line = _line(file, document.get("line"))
    bins = _bins(line, document["line"].get("bins")) if line else []
    options = _bin_names(bins) or tuple(document["options"])
    levels = _levels(file, document, options) or _bin_levels(bins) or _steps(document, options)
    return Scale(
        name=name,
        title=document["title"],
        measure=document["measure"],
        options=options,
        levels=levels,
        midpoint=_midpoint(file, document.get("midpoint"), options, levels, line),
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


def _line(file: object, stated: Mapping[str, Any] | None) -> Line | None:
    if stated is None:
        return None
    lowest, highest = stated["lowest"], stated["highest"]
    if not lowest < highest:
        raise ConfigError(
            f"{file}: line: lowest is {lowest}, highest is {highest}; put the lower number under 'lowest'"
        )
    if stated.get("bins", 1) > highest - lowest + 1:
        raise ConfigError(
            f"{file}: line.bins: {stated['bins']} is more than the {highest - lowest + 1} numbers of the line; "
            "allowed: at most one bin per number"
        )
    return Line(lowest, highest, tuple(stated["ends"]))


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


def _levels(file: object, document: Mapping[str, Any], options: Sequence[str]) -> tuple[int, ...]:
    """Return the levels as stated, none where the file states none."""
    stated = document.get("levels")
    if stated is not None:
        if len(stated) != len(options):
            raise ConfigError(
                f"{file}: levels: has {len(stated)} numbers for {len(options)} options; give one for each option"
            )
        if sorted(set(stated)) != stated:
            raise ConfigError(f"{file}: levels: {stated} do not rise; put each above the last")
    return tuple(stated or ())


def _steps(document: Mapping[str, Any], options: Sequence[str]) -> tuple[int, ...]:
    """Return steps from the midpoint, or from the middle of the options."""
    if document.get("midpoint") is not None:
        middle = list(options).index(document["midpoint"]) if document["midpoint"] in options else 0
        return tuple(range(-middle, len(options) - middle))
    half = len(options) // 2
    if len(options) % 2:
        return tuple(range(1, len(options) + 1))
    return (*range(-half, 0), *range(1, half + 1))


def _midpoint(
    file: object, stated: str | int | None, options: Sequence[str], levels: Sequence[int], line: Line | None
) -> int | None:
    if stated is None:
        return None
    if line is not None:
        if not isinstance(stated, int) or not line.lowest <= stated <= line.highest:
            raise ConfigError(
                f"{file}: midpoint: {stated!r} is not a number of the line; allowed: {line.lowest} to {line.highest}, "
                "or null"
            )
        return stated
    if stated not in options:
        raise ConfigError(
            f"{file}: midpoint: {stated!r} is not an option of this scale; {listing(str(stated), options)}"
        )
    return levels[list(options).index(str(stated))]


def level_of_number(scale: Scale, number: float) -> int | None:
    """Return the level of ``number`` on a number line, or ``None`` where it is off the line."""
    line = scale.line
    assert line is not None, "only a number line has numbers"
    if not line.lowest <= number <= line.highest:
        return None
    last = [b for _, b in _bins(line, len(scale.options))]
    # Half a number rounds up, as people round.
    return scale.levels[bisect.bisect_left(last, math.floor(number + 0.5))]
