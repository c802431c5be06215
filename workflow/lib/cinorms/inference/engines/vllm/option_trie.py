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
class Branch:
    """One question to the model: how likely are the tokens ``wanted`` after a prompt and ``prefix``."""

    prefix: tuple[int, ...]
    wanted: tuple[int, ...]


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
        found: dict[tuple[int, ...], int] = {}
        for number, (option, spelled) in enumerate(written.items()):
            ways = {way for way in spelled if way}
            if not ways:
                raise ConfigError(
                    f"model {model!r}: its tokenizer cannot write {option!r} after the prompt; "
                    "use readout: text"
                )
            found |= dict.fromkeys(sorted(ways), number)
        for way in found:
            if any(way[:length] in found for length in range(1, len(way))):
                raise ConfigError(
                    f"model {model!r}: one option is the beginning of another; use readout: text"
                )
        return cls(tuple(found), tuple(found.values()), len(written))

    @cached_property
    def following(self) -> dict[tuple[int, ...], tuple[int, ...]]:
        """Every inner node (the tokens up to it) with the tokens that follow it."""
        found: dict[tuple[int, ...], dict[int, None]] = {}
        for way in self.ways:
            for length, token in enumerate(way):
                found.setdefault(way[:length], {})[token] = None
        return {node: tuple(following) for node, following in found.items()}

    @property
    def depth(self) -> int:
        """The length of the longest way."""
        return max(map(len, self.ways))


class OptionWalk:
    """The way through the trie after one prompt: branch by branch, those that enough of the probability enters."""

    def __init__(self, trie: OptionTrie, least_mass: float = LEAST_MASS) -> None:
        self._trie, self._least_mass = trie, least_mass
        self._mass: dict[tuple[int, ...], float] = {(): 1.0}

    def start(self) -> Branch:
        """Return the first question: the first tokens of all options."""
        return Branch((), self._trie.following[()])

    def take(self, branch: Branch, log_p: Floats) -> list[Branch]:
        """Take the log-probabilities of the tokens that ``branch`` wanted; return the questions that follow."""
        nodes = [(*branch.prefix, token) for token in branch.wanted]
        self._mass |= dict(zip(nodes, (self._mass[branch.prefix] * np.exp(log_p)).tolist(), strict=True))
        return [
            Branch(node, self._trie.following[node])
            for node in nodes
            if node in self._trie.following and self._mass[node] >= self._least_mass
        ]

    def probabilities(self) -> Floats:
        """Return the probability of each option, once nothing follows any more."""
        result = np.zeros(self._trie.n_options)
        for way, option in zip(self._trie.ways, self._trie.options, strict=True):
            result[option] += self._mass.get(way, 0.0)
        return result


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
