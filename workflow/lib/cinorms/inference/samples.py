"""What a sample is: one reply of one model to exactly what it saw. Two samples are the same if all of this is.

What a model sees is its settings (``sample_settings``: which model it is and how it is sampled) and the messages of one
prompt (``prompt_keys``). Studies, arms, shards and the numbers of flows are no part of either.

A prompt that an arm has more than once, because two of its variants render the same text, is sampled as often: the
second has a key of its own. So has every prompt in each further asking of an arm (``repeat``): its second asking is a
sample of its own at any temperature, 0 included, because the question is whether the engine answers the same again.
Where something is drawn, a repeat draws anew (the seed of an answer follows from its key).

At any temperature the first sample of a prompt is one sample, whoever asks for it. Another seed gives other samples
where something is drawn, so everywhere but at temperature 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cinorms.inference.engine_kind import engine_kind, engine_modules
from cinorms.inference.spec import Spec

#: Keys of a spec that do not change the response to a variant of a flow: what is asked, not how.
NOT_SETTINGS = frozenset({"shard", "n_templates", "select", "order_method", "factors", "asking"})
#: Further keys that only decide what the messages are, and so are in the keys of prompts.
IN_MESSAGES = frozenset({"layout", "system", "scale"})


def settings_of(spec: Spec) -> dict[str, Any]:
    """Return the keys of ``spec`` that can change the response to one prompt; 0.0 and 0 are the same setting."""
    return {name: _plain(value) for name, value in spec.as_plain().items() if name not in NOT_SETTINGS}


def sample_settings(spec: Spec) -> dict[str, Any]:
    """Return what the model of ``spec`` is and how it is sampled: all that can change a reply but the messages."""
    known = spec.engine in engine_modules()
    unseen = IN_MESSAGES | (engine_kind(spec.engine).unseen if known else frozenset())
    settings = {name: value for name, value in settings_of(spec).items() if name not in unseen}
    if spec.temperature == 0:  # nothing is drawn
        del settings["seed"]
    if spec.readout == "options":  # these are offered beside the messages
        settings["options"] = list(spec.answer_scale.options)
    return settings


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
