"""Where the files of a study are: the project's own, and those of its user."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cinorms.core.errors import ConfigError

#: What a folder of resources can hold; one of a user's own also modules with kinds, and a file with models.
KINDS = ("checkpoints", "planted", "prompts", "published", "ratings", "scales", "vignettes")
CODE = ("analyses", "figures", "printed")
MODELS = "models.yaml"


@dataclass(frozen=True)
class Root:
    """Where the project's own files are, and the user's: ``own`` are folders that are laid out as ``resources``.

    ``results`` is the folder of all studies' results. A project that ``is_fetched`` from git is no place to write to.
    """

    folder: Path
    own: tuple[Path, ...] = ()
    results: Path = Path("results")
    is_fetched: bool = False

    @property
    def registries(self) -> list[Path]:
        """The files with models: the user's own, which override entries of the same name, and the project's last."""
        files = [folder / MODELS for folder in self.own]
        return [*filter(os.path.isfile, files), self.folder / "config" / MODELS]

    def with_own(self, folders: Sequence[str], place: object) -> "Root":
        """Return this with a study's ``folders``, which ``place`` states; a path starts where the study runs.

        Raises ``ConfigError`` for a folder that is not there or holds nothing that a study can name.
        """
        own = tuple(Path(folder).absolute() for folder in folders)
        for stated, folder in zip(folders, own, strict=True):
            if not os.path.isdir(folder):  # Path.is_dir raises where it may not look, or a path is too long
                raise ConfigError(
                    f"{place}: there is no folder {stated!r} in {Path.cwd()}, where the study runs; "
                    "correct the path, or give a full one"
                )
            if not any(os.path.exists(folder / name) for name in (*KINDS, *CODE, MODELS)):
                raise ConfigError(
                    f"{place}: the folder {stated!r} has none of {', '.join(f'{kind}/' for kind in (*KINDS, *CODE))}, "
                    f"{MODELS}; lay it out like resources/ of this project"
                )
        return replace(self, own=own)

    def places(self, kind: str) -> list[Path]:
        """Return the folders with resources of ``kind``, in the order of the search."""
        return [*(folder / kind for folder in self.own), self.folder / "resources" / kind]

    def names(self, kind: str) -> dict[str, Path]:
        """Return the files of a ``kind`` of resources by the name that a study gives them, a user's own first."""
        files: dict[str, Path] = {}
        for place in self.places(kind):
            for path in sorted(place.glob("[!.]*.yaml")):  # ._NAME.yaml is macOS's
                files.setdefault(path.stem, path)
        return files

    def resource(self, kind: str, name: str) -> Path:
        """Return the file of one of ``names``, without looking at the others."""
        files = [place / f"{name}.yaml" for place in self.places(kind)]
        return next((file for file in files[:-1] if file.is_file()), files[-1])

    def is_own(self, path: Path) -> bool:
        """Tell whether ``path`` is in a folder of the user's."""
        return any(path.is_relative_to(folder) for folder in self.own)

    def shown(self, path: Path) -> str:
        """Return ``path`` as a message should name it."""
        starts = (Path.cwd(), self.folder) if self.is_own(path) else (self.folder, Path.cwd())
        for start in starts:
            if path.is_relative_to(start):
                return str(path.relative_to(start))
        return str(path)

    def searched(self, kind: str) -> str:
        """Return where a name of a ``kind`` (or of ``models``) was looked up, to end a message with.

        That is nothing where the user has no folders: then the project's folder is the only one.
        """
        places = self.registries if kind == "models" else self.places(kind)
        return f"; looked in {', '.join(map(self.shown, places))}" if self.own else ""
