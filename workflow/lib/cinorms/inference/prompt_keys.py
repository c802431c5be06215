"""The key of a prompt: a digest of the very messages that the model receives, and which sample of them it is."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cinorms.core.scales import Scale
from cinorms.inference.spec import Spec
from cinorms.prompts.variants import messages

#: Bytes of a key. With 64 bits, two of a hundred million prompts could share one by chance.
KEY_BYTES = 16

#: Stands for the vignette while the text around it is looked up: characters that no text has.
_MARK = "\ue000vignette\ue001"

Keys = npt.NDArray[np.void]


def prompt_keys(
    spec: Spec,
    vignettes: Sequence[str],
    templates: Sequence[str],
    order_codes: npt.NDArray[np.int64],
) -> Keys:
    """Return the digest of the messages of every vignette in every template.

    ``order_codes`` has a row per vignette and a column per template. The digest is of the messages as JSON.
    """
    codes = np.ascontiguousarray(order_codes, dtype=np.int64)
    texts = tuple(vignettes), tuple(templates)
    found = _keys(*texts, codes.tobytes(), spec.answer_scale, spec.layout, spec.system)
    return np.frombuffer(found, dtype=f"V{KEY_BYTES}").reshape(order_codes.shape)


@lru_cache(maxsize=1)  # the next shard or model of an arm has the same prompts
def _keys(
    vignettes: tuple[str, ...],
    templates: tuple[str, ...],
    order_codes: bytes,
    scale: Scale,
    layout: str,
    system: str | None,
) -> bytes:
    frames: dict[tuple[int, int], list[str]] = {}
    found = bytearray()
    codes_of = np.frombuffer(order_codes, dtype=np.int64).reshape(len(vignettes), len(templates)).tolist()
    for vignette, codes in zip(vignettes, codes_of, strict=True):
        text = _json(vignette)[1:-1]
        for column, code in enumerate(codes):
            frame = frames.get((column, code))
            if frame is None:
                chat = messages(templates[column], _MARK, code, scale, layout, system)
                frame = frames[column, code] = _json(chat).split(_MARK)
            found += _digest(text.join(frame))
    return bytes(found)


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
    own = keys.copy()
    for at in np.flatnonzero(number):
        own[at] = _derived(keys[at].tobytes() + int(number[at]).to_bytes(4, "little"))
    return own


def keys_in_repeat(keys: Keys, repeat: int) -> Keys:
    """Return the keys of the same prompts in the asking ``repeat`` of an arm: in each they have keys of their own."""
    if repeat == 1:
        return keys
    mark = b"repeat" + repeat.to_bytes(4, "little")
    own = b"".join(_derived(key.tobytes() + mark).tobytes() for key in keys.ravel())
    return np.frombuffer(own, dtype=f"V{KEY_BYTES}").reshape(keys.shape)


def as_column(keys: Keys) -> pa.FixedSizeBinaryArray:
    """Return keys as a column of a table."""
    data = pa.py_buffer(np.ascontiguousarray(keys).tobytes())
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(KEY_BYTES), len(keys), [None, data])


def as_numbers(keys: Keys) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """Return each key as two whole numbers, as coordinates of a draw."""
    halves = np.frombuffer(np.ascontiguousarray(keys).tobytes(), dtype="<u8").reshape(-1, 2)
    return halves[:, 0], halves[:, 1]


def _derived(data: bytes) -> np.void:
    return np.void(hashlib.blake2b(data, digest_size=KEY_BYTES).digest())


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=KEY_BYTES).digest()


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
