"""What profiles of Snakemake state about the jobs of a rule: read as YAML, by what Snakemake documents of profiles."""

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from humanfriendly import parse_size, parse_timespan  # type: ignore[import-untyped]

from cinorms.core.errors import ConfigError
from cinorms.core.yaml_files import load_yaml

#: Where Snakemake looks for a profile, and what its file is called: the one for the newest version counts.
PLACES = (Path(), Path("~/.config/snakemake").expanduser(), Path("/etc/xdg/snakemake"))
FILE = re.compile(r"(?:profile|config)(?:\.v(\d+)\+)?\.yaml")


def read_profiles(names: Sequence[str]) -> dict[str, Any]:
    """Return the keys of profiles, a later one before an earlier one, and ``profiles/default`` before all."""
    stated: dict[str, Any] = {}
    for name in [*names, *filter(os.path.isdir, ["profiles/default"])]:
        path = next((place / name for place in PLACES if (place / name).exists()), Path(name))
        files = {found: match for found in path.glob("*.yaml") if (match := FILE.fullmatch(found.name))}
        file = max(files, key=lambda found: int(files[found][1] or 0), default=path)
        if not file.is_file() or not isinstance(keys := load_yaml(file), Mapping):
            raise ConfigError(
                f"profile {name!r}: {file} is no file with keys such as `executor: slurm`; name a folder with a "
                "config.yaml, such as profiles/slurm"
            )
        stated |= keys
    return stated


def needs_of(
    profile: Mapping[str, Any], rule: str, of_rule: Mapping[str, Any], wildcards: Any
) -> dict[str, Any]:
    """Return the resources and ``threads`` of the first attempt of a job, where its rule states ``of_rule``."""
    known = {"attempt": 1, "wildcards": wildcards, "shutil": shutil}
    known["threads"] = _value("", _pairs(profile.get("set-threads")).get(rule, of_rule["threads"]), known)
    stated = {
        **_pairs(profile.get("default-resources")),
        **{name: need(wildcards, 1) if callable(need) else need for name, need in of_rule.items()},
        **_pairs(_pairs(profile.get("set-resources")).get(rule)),
    }
    found = {name: _value(name, each, known) for name, each in stated.items()}
    return {**found, "mem_mb": found.get("mem", found.get("mem_mb")), "threads": known["threads"]}


def _pairs(stated: Any) -> dict[str, Any]:
    """Return a mapping, which may also be a list: ``name=value``, ``rule=2`` or ``rule:name=value``."""
    if isinstance(stated, Mapping):
        return dict(stated)
    pairs: dict[str, Any] = {}
    for text in [stated] if isinstance(stated, str) else stated or ():
        name, _, value = str(text).partition("=")
        rule, _, name = name.rpartition(":")
        (pairs.setdefault(rule, {}) if rule else pairs)[name] = value
    return pairs


def _value(name: str, stated: Any, known: Mapping[str, Any]) -> Any:
    """Return a resource: the value of an expression, or the text itself; None where only the run will know it."""
    try:
        value = eval(os.path.expandvars(stated), dict(known)) if isinstance(stated, str) else stated
    except (NameError, SyntaxError):
        value = stated
    except Exception:
        return None
    if not isinstance(value, str) or value.isdigit() or name not in ("mem", "mem_mb", "runtime"):
        return value
    return round(parse_timespan(value) / 60 if name == "runtime" else parse_size(value) / 1e6)
