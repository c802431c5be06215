"""The model registry: config/models.yaml and the models.yaml of a user's own folders, each entry checked and typed."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import ConfigDict, Field, RootModel

from cinorms.core.errors import ConfigError, listing
from cinorms.core.files import replacing
from cinorms.core.root import Root
from cinorms.core.scales import Scale
from cinorms.core.schema import schema_of
from cinorms.core.validation import check_document, unknown
from cinorms.core.yaml_files import load_yaml
from cinorms.inference.engine_kind import EngineKind, RegistryLocation, RespondentKind
from cinorms.inference.request import PROTOCOL, Request
from cinorms.inference.respondent_kinds import PEOPLE, PLANTED, respondent_kind, respondent_names
from cinorms.inference.settings import EntrySettings, ServedSettings
from cinorms.prompts.prompt_sets import Generation

#: What a request has where nothing else is stated: one sample of each prompt, in one order, as text.
PLAINEST: Mapping[str, Any] = {
    "factors": [],
    "select": {},
    "order_method": "fixed",
    "readout": "text",
    "layout": "single",
    "system": None,
    "sample": 1,
}
#: Tokens of a reply per paraphrase that it has room for: the papers' templates have about 40.
TOKENS_PER_WORDING = 120
#: After how long a price is old.
OLD = timedelta(days=183)
#: How long before the end of a model's endpoint there are warnings.
NOTICE = timedelta(days=60)


@dataclass(frozen=True)
class ModelEntry:
    """One model: what its entry states, and how it is asked."""

    name: str
    #: The file that the entry is in.
    file: str
    kind: RespondentKind
    #: Settings for whoever is asked: those of a stand-in where one answers.
    settings: EntrySettings
    #: Those of the model itself, also where a stand-in answers.
    original_settings: EntrySettings
    #: The part of the entry that can change a reply, as keys of a request.
    request: Mapping[str, Any]
    #: The entry as it is written.
    stated: Mapping[str, Any]

    @property
    def engine(self) -> str:
        """What the entry states as its engine: that of `asks`, or planted or human."""
        return self.kind.name

    @property
    def asks(self) -> EngineKind | None:
        """The engine that asks; None of people and planted respondents, who need none."""
        return self.kind if isinstance(self.kind, EngineKind) else None

    @property
    def is_fetched(self) -> bool:
        """Whether a checkpoint is fetched before a job of its engine starts."""
        return self.asks is not None and self.asks.checkpoint

    @property
    def planted(self) -> bool:
        """Whether a respondent with known norms answers, and no model."""
        return self.kind == PLANTED

    @property
    def people(self) -> bool:
        """Whether people have answered, and nobody can be asked."""
        return self.kind == PEOPLE

    @property
    def gpus(self) -> int:
        """GPUs that one copy of the model takes."""
        return self.settings.gpus if self.asks else 0

    @property
    def key_variable(self) -> str | None:
        """The environment variable with the key of the model's endpoint, if it needs one."""
        return self.settings.needed_key_variable

    @property
    def weights(self) -> dict[str, Any]:
        """Which checkpoint is loaded: its source, revision (empty: the newest) and adapter, if any."""
        revision, lora = getattr(self.settings, "revision", None), self.stated.get("lora")
        source = getattr(self.settings, "source", self.name)
        return {"source": source, "revision": revision or "", "lora": lora or ""}

    @property
    def paraphraser(self) -> dict[str, Any]:
        """Which model paraphrases; a planted one has nothing but its engine, because a fixed list answers for it."""
        return {"engine": self.engine, **({} if self.planted else self.request)}

    def paraphrasing(self, wanted: Generation, scale: Scale) -> dict[str, Any] | None:
        """Return the request for the first round of paraphrases, as plain data; None where no model is asked."""
        if self.asks is None:
            return None
        stated = {
            "scale": scale.plain,
            "n_templates": 1,
            "max_tokens": TOKENS_PER_WORDING * (wanted.count + 1),
            "temperature": wanted.temperature,
            "seed": wanted.seed,
        }
        return self.ask(stated).plain()

    def ask(
        self, stated: Mapping[str, Any], wrap: str = "registry", more: Mapping[str, Any] | None = None
    ) -> Request:
        """Return the request for what is ``stated``: the entry overrides it, and ``more`` overrides the entry.

        What is not stated is asked for in the plainest way.
        """
        wrapped = {}
        if isinstance(self.settings, ServedSettings):
            if wrap in ("registry", "paper"):
                wrap = self.settings.wrap if wrap == "registry" else self.settings.paper_wrap
            wrapped = {"wrap": wrap}
        common = {"protocol": PROTOCOL, "engine": self.engine, "model": self.name}
        return Request.from_plain({**common, **PLAINEST, **stated, **wrapped, **self.request, **(more or {})})

    def get(self, name: str) -> Any:
        """Return what the entry states as ``name``, or None."""
        return self.stated.get(name)

    def ending(self, today: date | None = None) -> str:
        """Return that the model's endpoint ends soon, or has ended; empty where it does not, or states no end."""
        ends = getattr(self.settings, "ends", None)
        if ends is None or date.fromisoformat(ends) - (today or date.today()) > NOTICE:
            return ""
        return (
            f"{self.name}: its endpoint stops serving it on {ends}; what is not asked by then cannot be asked"
        )

    def old_price(self, today: date | None = None) -> str:
        """Return that the model's prices were read long ago; empty where they were not, or no day is stated."""
        read = self.settings.rates.read
        if read is None or (today or date.today()) - date.fromisoformat(read) <= OLD:
            return ""
        return f"{self.name}: its prices were read on {read}; look them up and correct `rates` in {self.file}"

    def answered_by(self, stand_in: "ModelEntry") -> "ModelEntry":
        """Return the entry of this model as if ``stand_in`` answered under its name."""
        return replace(self, kind=stand_in.kind, settings=stand_in.settings, request=stand_in.request)


def make_model(stated: Mapping[str, Any], place: RegistryLocation) -> ModelEntry:
    """Return the entry that ``stated`` is, which passes ``entries_schema``.

    Raises ``ConfigError`` for what its engine refuses and a schema cannot see.
    """
    kind = respondent_kind(stated["engine"])
    request = kind.request(stated, place)
    settings = kind.settings.model_validate(stated)
    return ModelEntry(place.model, place.file, kind, settings, settings, request, stated)


ModelName = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}(?!\n)$",
        description="a model's name has letters, digits, '.', '-' and '_' (at most 100)",
    ),
]


class _Registry(RootModel[Any]):
    """Models under audit, by name."""

    model_config = ConfigDict(regex_engine="python-re")
    root: Mapping[ModelName, Mapping[str, Any]]


def entries_schema() -> dict[str, Any]:
    """Return the JSON schema of config/models.yaml: an entry has the keys of its engine."""
    entries = []
    for kind in map(respondent_kind, respondent_names()):
        entry = {key: value for key, value in schema_of(kind.settings).items() if key != "$schema"}
        engine = {**entry["properties"]["engine"], "const": kind.name}
        entries.append({**entry, "properties": {**entry["properties"], "engine": engine}})
    return {**schema_of(_Registry), "title": "The model registry", "additionalProperties": {"oneOf": entries}}


def load_registry(root: Root) -> dict[str, ModelEntry]:
    """Read and check the files with models; every entry knows the file and the name it has there."""
    registry: dict[str, ModelEntry] = {}
    for path in root.registries:
        registry = {**_read(path, root), **registry}
    planted = [name for name, entry in registry.items() if entry.planted]
    for name, entry in registry.items():
        stand_in = entry.settings.stand_in
        if stand_in is not None and stand_in not in planted:
            raise unknown(
                entry.file, f"{name}.stand_in", stand_in, planted, "planted model", root.searched("models")
            )
    return registry


#: The file beside the registry with a commit for each hub repository.
REVISIONS = "revisions.lock"


class _Revisions(RootModel[Any]):
    """The commit of each repository of the Hugging Face hub."""

    model_config = ConfigDict(regex_engine="python-re")
    root: Mapping[
        str, Annotated[str, Field(pattern=r"^[0-9a-f]{40}(?!\n)$", description="a full commit of the hub")]
    ]


def read_revisions(path: Path) -> dict[str, str]:
    """Return the commits that the lock at ``path`` states; none where there is no such file."""
    if not path.is_file():
        return {}
    stated = load_yaml(path)
    check_document(stated, _Revisions, str(path))
    return dict(stated)


def add_revisions(path: Path, fetched: Mapping[str, str]) -> None:
    """Add the commits that were ``fetched`` to the lock at ``path``; a repository that is in it keeps its commit."""
    commits = read_revisions(path)
    for source, commit in fetched.items():
        if commits.get(source, commit) != commit:
            print(f"{path}: {source} stays at {commits[source]}; {commit} was fetched")
    added = {source: commit for source, commit in fetched.items() if source not in commits}
    if added:
        lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
        head = [line for line in lines if line.startswith("#")]
        with replacing(path) as part:
            part.write_text(
                "\n".join([*head, yaml.safe_dump({**commits, **added}, width=200)]), encoding="utf-8"
            )
        print(f"{path}: {', '.join(added)} added; commit the file")


def _read(path: Path, root: Root) -> dict[str, ModelEntry]:
    stated, file = load_yaml(path), root.shown(path)
    check_document(stated, _Registry, file)
    locked = read_revisions(path.with_name(REVISIONS))
    for name, entry in stated.items():
        engine = entry.get("engine")
        if engine is None:
            raise ConfigError(f"{file}: {name}: key 'engine' is missing; required: engine, family")
        if engine not in respondent_names():
            raise ConfigError(
                f"{file}: {name}.engine: {engine!r} is not allowed; {listing(engine, respondent_names())}"
            )
        kind = respondent_kind(engine)
        check_document(entry, kind.settings, file, name)
        # Only an engine that loads checkpoints itself takes a commit of the hub.
        loads = isinstance(kind, EngineKind) and kind.checkpoint
        if loads and entry.get("revision") is None and entry["source"] in locked:
            stated[name] = {**entry, "revision": locked[entry["source"]]}
    return {name: make_model(entry, RegistryLocation(file, name, root)) for name, entry in stated.items()}
