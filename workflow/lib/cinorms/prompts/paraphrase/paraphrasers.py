"""All paraphrasers, by the name of the engine that asks them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from cinorms.core.errors import ConfigError
from cinorms.prompts.paraphrase.chat_models import OpenAIParaphraser, VllmParaphraser
from cinorms.prompts.paraphrase.paraphraser import Paraphraser
from cinorms.prompts.paraphrase.pegasus import PegasusParaphraser
from cinorms.prompts.paraphrase.planted_rewordings import PlantedParaphraser

#: Makes a paraphraser from its entry, the name of the variable with the key, and the key.
Make = Callable[[Mapping[str, Any], str | None, str | None], Paraphraser]


@dataclass(frozen=True)
class OwnEnvironment:
    """Where the packages of a paraphraser are that no engine has."""

    #: Name of its file in ``envs/``, and of a virtual environment that is used without conda.
    environment: str
    virtual_environment: str


PARAPHRASERS: dict[str, Make] = {
    "planted": lambda entry, variable, key: PlantedParaphraser(),
    "openai": OpenAIParaphraser,
    "vllm": lambda entry, variable, key: VllmParaphraser(entry),
    "pegasus": lambda entry, variable, key: PegasusParaphraser(entry),
}

#: For the paraphrasers that are no engine; the others run in their engine's environment.
OWN_ENVIRONMENTS = {"pegasus": OwnEnvironment("paraphrase", ".venv-paraphrase")}


def open_paraphraser(entry: Mapping[str, Any], key_variable: str | None, key: str | None) -> Paraphraser:
    """Return the paraphraser that ``entry`` describes (``generate.make_request`` makes it).

    ``key`` is the endpoint's, and ``key_variable`` the environment variable that holds it.

    Raises ``ConfigError`` where its package is not installed or its key is not there.
    """
    if entry["engine"] not in PARAPHRASERS:
        raise ConfigError(f"paraphraser {entry['name']!r}: the engine {entry['engine']!r} cannot paraphrase")
    return PARAPHRASERS[entry["engine"]](entry, key_variable, key)
