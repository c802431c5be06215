"""The probability of each answer option: its whole token sequence, scored branch by branch.

The options of a scale share their first tokens ("strongly", "somewhat"), so no single token can tell them
apart. All spellings of all options form a trie; the probability of an option is the sum over its
spellings of the product of its tokens' probabilities along the branch. No spelling is the beginning of
another, so these are probabilities of events that exclude each other: *the answer begins with this
option*. The rest to 1 is the mass outside the options.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from cinorms.core.errors import ConfigError

Floats = npt.NDArray[np.float64]
Ways = tuple[tuple[int, ...], ...]

#: A branch that less than this much of the probability enters is not followed, which halves the work. An
#: option loses at most this per spelling: nothing that a table shows.
LEAST_MASS = 1e-5


@dataclass(frozen=True)
class OptionTrie:
    """Token sequences (``ways``), each spelling the option of the same place in ``options``."""

    ways: Ways
    options: tuple[int, ...]
    n_options: int

    @classmethod
    def of(cls, written: Mapping[str, Sequence[tuple[int, ...] | None]], model: str) -> OptionTrie:
        """Build the trie from the ways to write each option; ``None`` is a way that cannot be written.

        Raises ``ConfigError`` where an option has no way left, or where one way is the beginning of another.
        """
        options_by_way: dict[tuple[int, ...], int] = {}
        for number, (option, spelled) in enumerate(written.items()):
            ways = {way for way in spelled if way}
            if not ways:
                raise ConfigError(
                    f"model {model!r}: its tokenizer cannot write {option!r} after the prompt; "
                    "use readout: text"
                )
            options_by_way |= dict.fromkeys(sorted(ways), number)
        for way in options_by_way:
            if any(way[:length] in options_by_way for length in range(1, len(way))):
                raise ConfigError(
                    f"model {model!r}: one option is the beginning of another; use readout: text"
                )
        return cls(tuple(options_by_way), tuple(options_by_way.values()), len(written))

    @cached_property
    def following(self) -> dict[tuple[int, ...], tuple[int, ...]]:
        """Every inner node (the tokens up to it) with the tokens that follow it."""
        nodes: dict[tuple[int, ...], dict[int, None]] = {}
        for way in self.ways:
            for length, token in enumerate(way):
                nodes.setdefault(way[:length], {})[token] = None
        return {node: tuple(following) for node, following in nodes.items()}

    @property
    def depth(self) -> int:
        """The length of the longest way."""
        return max(map(len, self.ways))


def spellings(option: str) -> list[str]:
    """Return how an answer may write ``option``: as shown or with a capital, after a space or not."""
    capital = option[:1].upper() + option[1:]
    return [option, " " + option, capital, " " + capital]


def split_mass(p_options: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Return the probabilities of the options normalised to 1, and the mass outside them.

    Where all options together have no probability, the normalised ones are missing (NaN).
    """
    p = np.asarray(p_options, dtype=np.float64)
    inside = p.sum(axis=-1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        return p / np.where(inside > 0, inside, np.nan), np.clip(1 - inside[..., 0], 0, 1)
