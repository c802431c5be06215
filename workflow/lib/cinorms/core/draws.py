"""Random draws that are a pure function of what they are for, not of when they are made.

A draw is named by a purpose, a seed and any number of integer coordinates, so that it is the same in every
shard, after every restart, and whatever else was drawn before it.
"""

import hashlib

import numpy as np
import numpy.typing as npt

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def draw_bits(purpose: str, seed: int, *coordinates: npt.ArrayLike) -> npt.NDArray[np.uint64]:
    """Return 64 random bits for each point of the broadcast ``coordinates`` (whole numbers, modulo 2^64).

    Raises ``TypeError`` for a coordinate that is no whole number: rounding it would give two points one draw.
    """
    digest = hashlib.sha256(f"{purpose}:{seed}".encode()).digest()
    state = np.array(int.from_bytes(digest[:8], "little"), dtype=np.uint64)
    with np.errstate(over="ignore"):
        for coordinate in coordinates:
            # Each coordinate is mixed in before the next: (1, 2) and (2, 1) give different bits.
            values = np.asarray(coordinate)
            if values.dtype.kind == "O":  # Python's whole numbers beyond 64 bits
                values = np.asarray(np.mod(values, 2**64))
            elif values.dtype.kind not in "iu":
                raise TypeError(f"coordinates must be whole numbers, not {values.dtype}")
            state = _mix(state + _GOLDEN + values.astype(np.uint64) * _GOLDEN)
        return _mix(state + _GOLDEN)


def draw_uniform(purpose: str, seed: int, *coordinates: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return a number in the open interval (0, 1) for each point of ``coordinates``."""
    bits = draw_bits(purpose, seed, *coordinates)
    # 52 bits and a half: with 53 the largest would round to 1, which has no logistic or normal number.
    return np.asarray(((bits >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52)


def draw_logistic(purpose: str, seed: int, *coordinates: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return a standard logistic number (variance pi^2/3) for each point of ``coordinates``."""
    uniform = draw_uniform(purpose, seed, *coordinates)
    return np.asarray(np.log(uniform) - np.log1p(-uniform))


def text_number(text: str) -> int:
    """Return a whole number for ``text``, the same in every process, to use as a coordinate."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:7], "little")


def _mix(state: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Scramble 64 bits (the finaliser of SplitMix64, public domain mathematics)."""
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(state ^ (state >> np.uint64(31)))
