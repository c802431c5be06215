"""The place of an entry in a study: what its checks look up, and how their messages name it."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from cinorms.core.errors import ConfigError
from cinorms.core.validation import check_file, unknown
from cinorms.entries.entry import Entry, Pair
from cinorms.study.entries import make_entry, select_pairs
from cinorms.study.study import Study
from cinorms.vignettes.factors import other_flows


@dataclass(frozen=True)
class EntryPlace:
    """An entry's section and name, the file that states it, and a hint where that file cannot fit the study."""

    study: Study
    section: str
    name: str
    file: str
    hint: str = ""

    def key(self, *parts: str) -> str:
        """Return the key of the entry, or of a part of it, as a message names it."""
        return ".".join((self.section, self.name, *parts))

    def error(self, part: str, text: str) -> ConfigError:
        """Return the error for what is wrong with ``part`` of the entry (empty: with the entry)."""
        return ConfigError(f"{self.file}: {self.key(*([part] if part else []))}: {text}")

    def unknown(
        self, part: str, given: object, allowed: Iterable[str], what: str, *, hint: bool = False
    ) -> ConfigError:
        """Return the error for an unknown name in ``part``; ``hint``: with the hint of the entry's file."""
        return unknown(self.file, self.key(part), given, allowed, what, self.hint if hint else "")

    def check_names(self, part: str, given: Iterable[str], allowed: Iterable[str], what: str) -> None:
        """Raise the error for the first of ``given`` that is not among ``allowed``."""
        known = list(allowed)
        for name in given:
            if name not in known:
                raise self.unknown(part, name, known, what)

    def check_same_flows(self, part: str, arms: Sequence[str], others: Sequence[str]) -> None:
        """Raise an error unless each of ``arms`` asks about the same flows as each of ``others``."""
        study = self.study
        for a, b in itertools.product(arms, others):
            if study.arms[a].dataset == study.arms[b].dataset:
                continue
            told = study.factors_of(a), study.factors_of(b)
            if why := other_flows(*told, study.levels_of(a), study.levels_of(b)):
                raise self.error(part, f"arms '{a}' and '{b}': {why}")

    def check_file(self, part: str, given: str | None) -> None:
        """Raise an error unless the file that ``part`` names, if it names one, is there."""
        if given is not None:
            check_file(given, self.file, self.key(part))

    def analysis(self, name: str) -> Entry[Any]:
        """Return an analysis of the study, for an entry that is made from its table."""
        return make_entry(self.study, "analyses", name)

    def selected(self, options: Any) -> tuple[Pair, ...]:
        """Return the (arm, model) pairs that an entry of arms is made from."""
        return select_pairs(self.study, options)

    def models(self, options: Any) -> list[str]:
        """Return the models that an entry of arms is made from."""
        return list(dict.fromkeys(model for _, model in self.selected(options)))
