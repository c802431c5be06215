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


@dataclass(frozen=True)
class ParaphraserKind:
    """One way to get rewordings, and where its packages are installed."""

    #: Makes the paraphraser from its entry, the variable that has to hold the key, and the key.
    make: Callable[[Mapping[str, Any], str | None, str | None], Paraphraser]
    #: Name of its file in ``envs/``, and of a virtual environment that is used without conda.
    environment: str
    virtual_environment: str | None = None


PARAPHRASERS = {
    "planted": ParaphraserKind(lambda entry, variable, key: PlantedParaphraser(), "core"),
    "openai": ParaphraserKind(OpenAIParaphraser, "openai"),
    "vllm": ParaphraserKind(lambda entry, variable, key: VllmParaphraser(entry), "vllm"),
    "pegasus": ParaphraserKind(
        lambda entry, variable, key: PegasusParaphraser(entry), "paraphrase", ".venv-paraphrase"
    ),
}


def open_paraphraser(entry: Mapping[str, Any], key_variable: str | None, key: str | None) -> Paraphraser:
    """Return the paraphraser that ``entry`` describes (``generate.make_request`` makes it).

    ``key`` is the endpoint's, and ``key_variable`` the variable of the environment that has to hold it.

    Raises ``ConfigError`` where its package is not installed or its key is not there.
    """
    if entry["engine"] not in PARAPHRASERS:
        raise ConfigError(f"paraphraser {entry['name']!r}: the engine {entry['engine']!r} cannot paraphrase")
    return PARAPHRASERS[entry["engine"]].make(entry, key_variable, key)
