"""Turn logs of Inspect into the format ``plain``: ``python -m cinorms.exchange.inspect_log --out FILE LOG...``.

This runs in Inspect's own environment, which has none of this project's packages: it imports nothing of them.
"""

import argparse
import json
import re
import resource
import stat
import struct
import sys
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

#: Inspect's reasons to stop, in the words of the table of responses; others stay as they are.
REASONS = {"max_tokens": "length", "model_length": "length", "content_filter": "error"}

#: Bytes that a log may have, unpacked: Inspect reads all of it into memory.
MOST_BYTES = 2**31
#: Bytes that are unpacked at once.
PIECE = 2**20
#: Memory that Inspect may take: for itself, and for each byte of a log.
OWN_MEMORY, MEMORY_PER_BYTE = 2**31, 20
#: How members of an archive can be packed that Inspect reads; zipfile has no name for the last.
STORED, DEFLATED, ZSTD = zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, 93


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the samples of the logs as lines; return 1 with a message where a log cannot be read."""
    parser = argparse.ArgumentParser(prog="cinorms.exchange.inspect_log")
    parser.add_argument("--out", required=True)
    parser.add_argument("logs", nargs="+")
    given = parser.parse_args(arguments)
    part = Path(f"{given.out}.part")
    part.parent.mkdir(parents=True, exist_ok=True)
    with part.open("w", encoding="utf-8") as lines:
        for log in given.logs:
            try:
                if problem := problem_of(Path(log)):
                    return _refuse(f"{log}: {problem}")
                with _memory_for(Path(log)):
                    for line in lines_of(log):
                        lines.write(json.dumps(line) + "\n")
            except ImportError as error:
                return _refuse(
                    f"{log}: needs the package inspect_ai ({error}); install it with `make .venv-inspect/done`, or run "
                    "with --sdm conda"
                )
            except Exception as error:  # its reader fails in any way on a file that is no log
                return _refuse(f"{log}: inspect_ai cannot read it ({type(error).__name__}: {error})")
    part.replace(given.out)
    return 0


def problem_of(log: Path) -> str | None:
    """Return why a log is not to be read; None where nothing speaks against it.

    An archive (.eval) is unpacked to see how large it is: what it states of that may be wrong. Nothing is kept.
    """
    if not zipfile.is_zipfile(log):
        return None if log.stat().st_size <= MOST_BYTES else f"has more than {MOST_BYTES:,} bytes"
    left = MOST_BYTES
    with zipfile.ZipFile(log) as archive, log.open("rb") as file:
        for member in archive.infolist():
            if member.filename.startswith(("/", "\\")) or ".." in re.split(r"[/\\]", member.filename):
                return f"has a file {member.filename!r} that is outside it"
            if member.compress_type not in (STORED, DEFLATED, ZSTD):
                return f"has {member.filename!r} in a format that Inspect does not read"
            if stat.S_ISLNK(member.external_attr >> 16):
                return f"has a link, {member.filename!r}"
            size = _unpacked(file, member, left)
            if size > left or member.file_size > left:
                return f"has more than {MOST_BYTES:,} bytes, unpacked"
            if size != member.file_size:
                return f"states {member.file_size:,} bytes for {member.filename!r}, which has {size:,}"
            left -= size
    return None


def _unpacked(file: IO[bytes], member: zipfile.ZipInfo, most: int) -> int:
    """Return how many bytes a member of an archive has once it is unpacked, or a number above ``most``."""
    if member.compress_type == STORED:
        return member.compress_size
    file.seek(member.header_offset + 26)
    lengths = file.read(4)
    file.seek(sum(struct.unpack("<HH", lengths)), 1)
    if member.compress_type == ZSTD:
        import zstandard  # Inspect's environment has it

        packed = file.read(member.compress_size)
        return _counted(zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True), most)
    unpacking, size, left = zlib.decompressobj(-zlib.MAX_WBITS), 0, member.compress_size
    while size <= most and not unpacking.eof:
        packed = unpacking.unconsumed_tail or file.read(min(PIECE, left))
        left -= 0 if unpacking.unconsumed_tail else len(packed)
        unpacked = len(unpacking.decompress(packed, PIECE))
        if not packed and not unpacked:  # after the last byte of the file some may still wait in zlib
            break
        size += unpacked
    return size


def _counted(unpacking: IO[bytes], most: int) -> int:
    size = 0
    while size <= most and (piece := len(unpacking.read(PIECE))):
        size += piece
    return size


@contextmanager
def _memory_for(log: Path) -> Iterator[None]:
    """Give Inspect the memory that a log of this size can need: its reader may find more in it than ``problem_of``."""
    sizes = [log.stat().st_size]
    if zipfile.is_zipfile(log):
        with zipfile.ZipFile(log) as archive:
            sizes = [member.file_size for member in archive.infolist()]
    least, hard = resource.getrlimit(resource.RLIMIT_DATA)
    most = OWN_MEMORY + MEMORY_PER_BYTE * sum(sizes)
    if least == resource.RLIM_INFINITY or least > most:
        resource.setrlimit(resource.RLIMIT_DATA, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (least, hard))


def lines_of(log: str) -> Iterator[dict[str, Any]]:
    """Yield a line of the format ``plain`` for each sample and epoch of a log."""
    from inspect_ai.log import read_eval_log

    # Long texts are kept apart in a log, as attachments.
    found = read_eval_log(log, resolve_attachments=True)
    settings = found.eval.model_generate_config.model_dump() | found.plan.config.model_dump(exclude_none=True)
    stated = {"model": found.eval.model}
    stated |= {
        name: settings[name] for name in ("temperature", "max_tokens") if settings.get(name) is not None
    }
    for number, sample in enumerate(found.samples or [], 1):
        yield {
            "file": Path(log).name,
            "line": number,
            **_line(sample, settings.get("system_message")),
            **stated,
        }


def _line(sample: Any, system: str | None = None) -> dict[str, Any]:
    # What the model received: solvers may have added to what the dataset has. An empty chat is none.
    chat = list(sample.messages)
    asked = (chat[:-1] if chat and str(chat[-1].role) == "assistant" else chat) or sample.input
    messages = (
        [{"role": "user", "content": asked}]
        if isinstance(asked, str)
        else [{"role": str(message.role), "content": message.text} for message in asked]
    )
    # Inspect puts the system message of its settings in front of every chat, and records it nowhere else.
    before = [{"role": "system", "content": system}] if system else []
    output, failed = sample.output, sample.error is not None or bool(sample.output.error)
    answered = bool(output.choices)
    reason = str(output.stop_reason) if answered else "error"
    usage = output.usage
    return {
        "id": str(sample.id),
        "messages": before + messages,
        "text": output.completion if answered else None,
        "finish_reason": "error" if failed else REASONS.get(reason, reason),
        "n_prompt_tokens": usage.input_tokens if usage else None,
        "n_output_tokens": usage.output_tokens if usage else None,
    }


def _refuse(message: str) -> int:
    print(f"\n{message}\n", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
