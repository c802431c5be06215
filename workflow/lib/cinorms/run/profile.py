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

#: Where Snakemake looks for a profile, what its file is called, and the profile that overrides all others.
PLACES = (Path(), Path("~/.config/snakemake").expanduser(), Path("/etc/xdg/snakemake"))
FILE = re.compile(r"(?:profile|config)(?:\.v(\d+)\+)?\.yaml")
ALWAYS = Path("profiles/default")


class Profile:
    """The keys of all ``names``, a later one before an earlier one, and ``profiles/default`` before all."""

    def __init__(self, names: Sequence[str]) -> None:
        self._stated: dict[str, Any] = {}
        for file in [*map(_file_of, names), *([_file_of(str(ALWAYS))] if ALWAYS.is_dir() else [])]:
            stated = load_yaml(file)
            if not isinstance(stated, Mapping):
                raise ConfigError(
                    f"{file}: a profile has keys, such as `executor: slurm`; see profiles/slurm"
                )
            self._stated |= stated
        self.executor = str(self._stated.get("executor", "local"))

    def setting(self, name: str) -> Any:
        """Return what a key states; None where no profile has it."""
        return self._stated.get(name)

    def needs(self, rule: str, threads: int, of_rule: Mapping[str, Any], wildcards: Any) -> dict[str, Any]:
        """Return the resources and ``threads`` of the first attempt of a job, where its rule states ``of_rule``."""
        known = {"attempt": 1, "wildcards": wildcards, "shutil": shutil}
        known["threads"] = _value("", _pairs(self.setting("set-threads")).get(rule, threads), known)
        found = {
            **_pairs(self.setting("default-resources")),
            **{name: need(wildcards, 1) if callable(need) else need for name, need in of_rule.items()},
            **_pairs(_pairs(self.setting("set-resources")).get(rule)),
        }
        found = {name: _value(name, stated, known) for name, stated in found.items()}
        if "mem" in found:
            found["mem_mb"] = found.pop("mem")
        return {**found, "threads": known["threads"]}


def _file_of(name: str) -> Path:
    """Return the file of a profile: the one for the newest version of Snakemake."""
    for place in PLACES:
        path = place / name
        if path.is_file():
            return path
        files = {found: match for found in path.glob("*.yaml") if (match := FILE.fullmatch(found.name))}
        if files:
            return max(files, key=lambda found: int(files[found][1] or 0))
    raise ConfigError(
        f"profile {name!r} cannot be read: it is not here; name a folder with a config.yaml, such as profiles/slurm"
    )


def _pairs(stated: Any) -> dict[str, Any]:
    """Return a mapping, which may also be written as a list: ``name=value``, ``rule=2`` or ``rule:name=value``."""
    if isinstance(stated, Mapping):
        return dict(stated)
    pairs: dict[str, Any] = {}
    for text in [stated] if isinstance(stated, str) else stated or ():
        name, _, value = str(text).partition("=")
        rule, of_rule, name = name.rpartition(":")
        (pairs.setdefault(rule, {}) if of_rule else pairs)[name] = value
    return pairs


def _value(name: str, stated: Any, known: Mapping[str, Any]) -> Any:
    """Return a resource: the value of an expression, or the text itself; None where only the run will know it."""
    value = stated
    if isinstance(stated, str):
        try:
            value = eval(os.path.expandvars(stated), dict(known))
        except (NameError, SyntaxError):
            pass
        except Exception:
            return None
    if isinstance(value, str) and not value.isdigit():
        if name.startswith("mem"):
            return round(parse_size(value) / 1e6)
        if name == "runtime":
            return round(parse_timespan(value) / 60)
    return value
