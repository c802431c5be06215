"""Where a study states an entry, and what a kind's own checks look up in that study."""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from cinorms.core.errors import ConfigError
from cinorms.core.validation import check_file, unknown
from cinorms.entries.entry import Pair
from cinorms.vignettes.factors import other_flows


def select_pairs(study: Any, options: Any) -> tuple[Pair, ...]:
    """Return the (arm, model) pairs that an entry with ``options`` is made from (see `Entry`)."""
    models = list(options.models or study.all_models())[: getattr(options, "first", None)]
    return tuple((arm, model) for arm in options.arms for model in models if model in study.models(arm))


@dataclass(frozen=True)
class EntryLocation:
    """An entry's section and name, and the file that states it."""

    #: A `study.study.Study`. Kinds do not import it: an edit of how a study is read would make every table again.
    study: Any
    section: str
    name: str
    file: str

    def key(self, *parts: str) -> str:
        """Return the key of the entry, or of a part of it, as a message names it."""
        return ".".join((self.section, self.name, *parts))

    def error(self, part: str, text: str) -> ConfigError:
        """Return the error for what is wrong with ``part`` of the entry (empty: with the entry)."""
        return ConfigError(f"{self.file}: {self.key(*([part] if part else []))}: {text}")

    def unknown(self, part: str, given: object, allowed: Iterable[str], what: str) -> ConfigError:
        """Return the error for an unknown name in ``part``."""
        return unknown(self.file, self.key(part), given, allowed, what)

    def check_names(self, part: str, names: Iterable[str], allowed: Iterable[str], what: str) -> None:
        """Raise the error for the first of ``names`` that is not among ``allowed``."""
        allowed = list(allowed)
        for name in names:
            if name not in allowed:
                raise self.unknown(part, name, allowed, what)

    def check_people(self, people: Iterable[str], arms: Iterable[str]) -> None:
        """Raise the error for the first of ``people`` that is no arm of people among ``arms``."""
        rated = [arm for arm in arms if self.study.arms[arm].rated]
        self.check_names("people", people, rated, "arm of people among the entry's arms")

    def check_same_flows(self, part: str, arms: Sequence[str], others: Sequence[str]) -> None:
        """Raise an error unless each of ``arms`` asks about the same flows as each of ``others``."""
        study = self.study
        for a, b in itertools.product(arms, others):
            if study.arms[a].dataset == study.arms[b].dataset:
                continue
            factors = study.factors_of(a), study.factors_of(b)
            if why := other_flows(*factors, study.levels_of(a), study.levels_of(b)):
                raise self.error(part, f"arms '{a}' and '{b}': {why}")

    def check_file(self, part: str, path: str | None) -> None:
        """Raise an error unless the file that ``part`` names, if it names one, is there."""
        if path is not None:
            check_file(path, self.file, self.key(part))

    def selected(self, options: Any) -> tuple[Pair, ...]:
        """Return the (arm, model) pairs that an entry of arms is made from."""
        return select_pairs(self.study, options)

    def models(self, options: Any) -> list[str]:
        """Return the models that an entry of arms is made from."""
        return list(dict.fromkeys(model for _, model in self.selected(options)))
