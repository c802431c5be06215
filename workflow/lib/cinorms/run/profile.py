"""Where a Snakemake profile runs jobs, for a check without Snakemake."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from cinorms.core.errors import ConfigError
from cinorms.core.validation import load_yaml


def load_profile(name: str) -> Mapping[str, Any]:
    """Return the settings of the profile in the folder ``name``."""
    files = sorted(Path(name).glob("config*.yaml"))
    if not files:
        raise ConfigError(
            f"profile {name!r}: not a folder with a config.yaml; name one such as profiles/slurm"
        )
    found = load_yaml(files[-1])
    return found if isinstance(found, dict) else {}


def partitions_of(profile: Mapping[str, Any], rules: Iterable[str]) -> dict[str, str | None]:
    """Return the SLURM partition that the profile names for each of ``rules``."""
    usual = _resources(profile.get("default-resources")).get("slurm_partition")
    single = profile.get("set-resources") or {}
    own = {rule: _resources(single.get(rule) if isinstance(single, dict) else None) for rule in rules}
    return {rule: _text(own[rule].get("slurm_partition", usual)) for rule in own}


def _resources(stated: Any) -> dict[str, Any]:
    """Return resources, which a profile states as a mapping or as a list of ``name=value``."""
    if isinstance(stated, dict):
        return stated
    return dict(str(pair).split("=", 1) for pair in stated or () if "=" in str(pair))


def _text(value: Any) -> str | None:
    return None if value is None else str(value).strip("'\"")
