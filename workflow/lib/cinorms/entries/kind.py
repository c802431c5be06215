"""Kinds: one declaration states everything about a kind of analysis, figure or printed table.

A module of the packages ``analyses``, ``figures`` or ``printed`` declares its kinds in a tuple ``KINDS``; nothing else
names them. To add a kind is to add a file, and deleting the file removes every trace of it.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import import_module
from importlib.util import find_spec
from inspect import signature
from pathlib import Path
from typing import Any, Literal, cast, get_args, get_type_hints

import pandas as pd

from cinorms.core.declared import modules_in
from cinorms.core.errors import ConfigError
from cinorms.core.labels import listed
from cinorms.core.version import LIBRARY
from cinorms.entries.options import OfFlows, Options

#: What there is of each selected model and arm: a table.
PerModel = Literal["answers", "norms", "again"]
PER_MODEL = get_args(PerModel)
#: What a kind is made from. ``table``, ``tables``: of the analyses it names; ``registry``: what the registry says.
Reads = Literal[PerModel, "table", "tables", "registry"]
#: What else its function takes, by name. Those of `PER_MODEL`: as ``reads``; ``vignettes``, ``prompts``: a table per
#: arm; ``planted``, ``coefficients``: what was planted, per arm and model, of planted respondents only;
#: ``expected``: path of the CSV file of expected values that the entry names, or None.
Also = Literal[PerModel, "vignettes", "prompts", "planted", "coefficients", "expected"]


@dataclass(frozen=True)
class Kind:
    """One kind. ``function`` is called with the selected tables, the entry, and what its further parameters name.

    Its signature states the kind's ``options`` (``entry: Entry[LostOptions]``) and what is read for it (``also``).

    Of answers and norms it gets the flows alone that the entry's ``select`` names.

    ``about``: one sentence, for the page and the reference. ``columns``: every column of the table it returns (of a
    figure: of its data) in their order, with a sentence on what it holds; a name in angle brackets is for columns whose
    names come from the data: ``<factor>``. ``key``: those that tell its rows apart; ``shown``: those that the page
    shows (all where empty). ``report_section``: the section of the page that shows it
    (``report.page.SECTIONS``). ``always``: a study that names no entry of it has that of the defaults, of all its arms.
    """

    name: str
    about: str
    function: Callable[..., Any]
    reads: Reads
    report_section: str = ""
    columns: Mapping[str, str] = field(default_factory=dict)
    key: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    always: bool = False

    @cached_property
    def options(self) -> type[Options]:
        """The class of the options of its entries: the one that its function takes an entry of."""
        (options,) = get_args(get_type_hints(self.function)["entry"])
        return cast(type[Options], options)

    @property
    def also(self) -> tuple[Also, ...]:
        """What its function takes besides the selected tables and the entry."""
        _, _, *names = signature(self.function).parameters
        return cast(tuple[Also, ...], tuple(names))

    @property
    def made_from(self) -> tuple[Also, ...]:
        """What it is made from besides ``reads``: ``also``, and vignettes where its entries can select flows."""
        selects = issubclass(self.options, OfFlows) and "vignettes" not in self.also
        return ("vignettes", *self.also) if selects else self.also

    def arranged(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return the table with those of its columns that it has in the declared order."""
        further = [name for name in table if name not in self.columns]
        places = [further if name.startswith("<") else [name] for name in self.columns]
        return table[[name for names in places for name in names if name in table]]

    @property
    def sentence(self) -> str:
        """What its table, or the data of its figure, holds, and what a row is."""
        return f"{self.about} One row per {listed(self.key)}." if self.key else self.about

    @property
    def module(self) -> str:
        """Name of the module that makes it: what it imports is what can change the result."""
        return self.function.__module__

    @property
    def schema(self) -> dict[str, Any]:
        """JSON schema of an entry of this kind."""
        return self.options.schema_for(self.name, self.about)


#: Sections of a study with named entries, and packages of the library with their kinds.
SECTIONS = ("analyses", "figures", "printed")


#: Environment variable with folders of a user's own, in which a section's folder has modules with more kinds.
OWN = "CINORMS_KINDS"


def use_own(folders: Iterable[Path]) -> None:
    """Let this process, and the jobs that it starts, find kinds in ``folders`` too."""
    os.environ[OWN] = os.pathsep.join(map(str, folders))
    kinds.cache_clear()


@cache
def kinds(section: str) -> Mapping[str, Kind]:
    """Return the kinds of a section by name, in the order of their modules."""
    # Every process of a run loads all kinds. Three packages take two seconds, so functions import them when they run:
    # plotnine, Matplotlib and statsmodels. SciPy loads its parts by itself when they are first used (`import scipy`).
    package, folders = import_module(f"cinorms.{section}"), os.environ.get(OWN, "").split(os.pathsep)
    package.__path__ = [package.__path__[0], *(str(Path(folder, section)) for folder in folders if folder)]
    by_name: dict[str, Kind] = {}
    for module in modules_in(f"cinorms.{section}").values():
        for kind in _kinds_of(module):
            if other := by_name.get(kind.name):
                modules = f"{other.module}, {kind.module}"
                raise ConfigError(
                    f"{section}: kind {kind.name!r} is declared in two modules ({modules}); give yours another name"
                )
            by_name[kind.name] = kind
    return by_name


def _kinds_of(module: str) -> tuple[Kind, ...]:
    """Return what a module declares; raise ``ConfigError`` for one of a user's own that cannot be loaded."""
    try:
        return getattr(import_module(module), "KINDS", ())
    except Exception as fault:
        spec = find_spec(module)
        if spec is None or spec.origin is None or Path(spec.origin).is_relative_to(LIBRARY):
            raise
        raise ConfigError(
            f"{os.path.relpath(spec.origin)} cannot be loaded ({type(fault).__name__}: {fault}); correct it, or "
            "leave its folder out of `resources`"
        ) from fault
