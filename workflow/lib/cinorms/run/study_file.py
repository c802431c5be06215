"""A study as the commands around a run get it: from its file, as Snakemake would read it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cinorms.core.errors import ConfigError
from cinorms.core.root import Root
from cinorms.core.validation import read_yaml
from cinorms.study.layers import Layer
from cinorms.study.load import load_study, read_layers
from cinorms.study.study import Study

#: The project's own folder.
ROOT = Root(Path(__file__).parents[4])


def parser(name: str, about: str) -> argparse.ArgumentParser:
    """Return a parser for the arguments that name a study, with Snakemake's option names."""
    found = argparse.ArgumentParser(prog=f"cinorms {name}", description=about)
    found.add_argument("--configfile", nargs="*", default=[], help="the study's file")
    found.add_argument(
        "--config", nargs="*", default=[], metavar="KEY=VALUE", help="settings that override it"
    )
    return found


def read_study(given: argparse.Namespace) -> Study:
    """Return the study that the arguments name; the default one where they name none."""
    layers = read_layers(map(Path, given.configfile), ROOT)
    return load_study([*layers, Layer("--config", _settings(given.config))], ROOT)


def _settings(given: Sequence[str]) -> dict[str, Any]:
    """Return ``key=value`` pairs as Snakemake reads them: values are YAML."""
    found = {}
    for pair in given:
        key, equals, value = pair.partition("=")
        if not equals:
            raise ConfigError(f"--config: {pair!r} is not of the form KEY=VALUE")
        found[key] = read_yaml(value, f"--config {key}")
    return found
