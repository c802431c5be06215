"""Study files that nobody meant to write, through what `make plan` runs: one message, never a traceback."""

import os
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cinorms.study import load

ROOT = Path(__file__).parents[2]
#: Seconds for one file: an alias bomb must not hang.
PATIENCE = 300
N_MUTATED = 10

GOOD = (
    (ROOT / "config/real.yaml")
    .read_text(encoding="utf-8")
    .replace("smollm2-135m-instruct", "planted-tulu-2-7b")
)

#: Longer than the name of a file can be, and not periodic, which Snakemake refuses.
LONG = "a" + "".join(map(str, range(150)))

#: What YAML can do to a reader, by name; `bytes` are written as they are.
NASTY: dict[str, str | bytes] = {
    "tab": "study:\n\t- a\n",
    "open quote": 'study: "demo\n',
    "open bracket": "models: [a, b\n",
    "unknown alias": "models: *nobody\n",
    "two documents": "study: a\n---\nstudy: b\n",
    "nul": b"study: a\0b\n",
    "bad indentation": "arms:\n  main:\n dataset: iot\n",
    "empty": "",
    "comment only": "# nothing\n",
    "scalar": "just words\n",
    "list": "- a\n- b\n",
    "number": "42\n",
    "latin-1": "study: na\u00efve\n".encode("latin-1"),
    "utf-16": "study: a\n".encode("utf-16"),
    "byte order mark": b"\xef\xbb\xbfstudy: a\n",
    "deep nesting": "study: " + "[" * 3000 + "]" * 3000 + "\n",
    "deep mappings": "\n".join(" " * depth + "a:" for depth in range(600)) + "\n",
    "anchor in itself": "models: &m [*m]\n",
    "mapping in itself": "arms: &a {main: *a}\n",
    "alias bomb": "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
    + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 20)),
    "huge integer": "seed: " + "9" * 6000 + "\n",
    "large integer": "norms: {t_val: 1000000000000000000000000000000}\n",
    "base 60": "norms: {t_val: 1:30}\n",
    "octal": "seed: 010\n",
    "impossible date": "study: 2026-13-45\n",
    "date": "study: 2026-01-01\n",
    "python tag": "study: !!python/object/apply:os.system ['true']\n",
    "unknown tag": "study: !mine a\n",
    "binary": "study: !!binary aGVsbG8=\n",
    "set": "models: !!set {a, b}\n",
    "merge of text": "<<: text\n",
    "key twice": "study: a\nstudy: b\n",
    "number as key": "1: a\n",
    "truth value as key": "on: a\n",
    "null as key": "~: a\n",
    "list as key": "[a, b]: c\n",
    "not a number": "norms: {t_maj: .nan}\n",
    "infinite": "max_cost_usd: .inf\n",
    "line break in a name": 'study: "demo\\n"\n',
    "path in a name": "study: ../../elsewhere\n",
    "text as a whole number": "seed: !!int '99x'\n",
    "text as a number": "norms: {t_maj: !!float abc}\n",
    "nothing as a whole number": "seed: !!int ''\n",
    "text as a truth value": "norms: {t_maj: !!bool maybe}\n",
    "list as a whole number": "seed: !!int [1]\n",
    "list as a set": "models: !!set [a]\n",
    "text as a mapping": "models: !!map a\n",
    "long name": f"study: {LONG}\n",
    "long name of an arm": f"arms: {{{LONG}: {{dataset: coppa, prompts: chatgpt}}}}\n",
    "long name of a model": f"models: [{LONG}]\n",
    "long path": f"resources: [{LONG}]\n",
    "nul in a path": 'mirror: "a\\0b"\n',
    "half a character": 'mirror: "a\\ud800"\n',
    "many draws": "analyses: {a: {kind: flow_dependence, arms: [main], draws: 1000000000000}}\n",
}


def mutated(seed: int) -> str:
    """Return a good study with a few lines or characters changed."""
    chance = random.Random(seed)
    lines = GOOD.splitlines()
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len(lines))
        way = chance.randrange(6)
        if way == 0:
            del lines[at]
        elif way == 1:
            lines.insert(at, chance.choice(lines))
        elif way == 2:
            lines[at] = lines[at].replace(":", chance.choice(["", "::", ": [", ": {", ": *x ", ": |"]), 1)
        elif way == 3:
            place = chance.randrange(len(lines[at]) + 1)
            lines[at] = (
                lines[at][:place] + chance.choice("\t\"'{}[]&*!%@`\\#\x07\u2028\u00e9") + lines[at][place:]
            )
        elif way == 4:
            lines[at] = "  " * chance.randrange(3) + lines[at]
        else:
            key, colon, _value = lines[at].partition(":")
            lines[at] = f"{key}{colon} " + chance.choice(
                ["null", "-1", "1e999", "yes", "[]", "{}", "''", "a" * 5000, "0.5"]
            )
    return "\n".join(lines) + "\n"


def run(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a module of Python in a folder."""
    environment = os.environ | {"PYTHONPATH": str(ROOT / "workflow/lib")}
    command = [sys.executable, "-m", *arguments]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False
    )


def plan(path: Path) -> tuple[int, str]:
    """Plan the study without running anything, as `make plan` does once the file could be read."""
    words = ["snakemake", "--snakefile", str(ROOT / "Snakefile"), "--cores", "1", "-n", "--quiet"]
    done = run(*words, "--configfile", str(path), folder=path.parent)
    return done.returncode, done.stdout + done.stderr


def test_no_study_file_ends_in_a_traceback(tmp_path, capsys):
    files = {**NASTY, **{f"mutated {seed}": mutated(seed) for seed in range(N_MUTATED)}}
    found: dict[str, tuple[int, str]] = {}
    readable = {}
    for number, (name, content) in enumerate(files.items()):
        path = tmp_path / str(number) / "study.yaml"
        path.parent.mkdir()
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))
        found[name] = load.main([str(path)]), "".join(capsys.readouterr())
        if not found[name][0]:
            readable[name] = path
    with ThreadPoolExecutor(2) as both:
        found |= zip(readable, both.map(plan, readable.values()), strict=True)
    refused = 0
    for name, (code, said) in found.items():
        assert "Traceback" not in said, (name, said[-2000:])
        if code:
            refused += 1
            assert "study.yaml: " in said, (name, said)
            assert len(said.strip().splitlines()) <= 6, (name, said)
    assert all(found[name][0] for name in NASTY if name not in ("byte order mark", "empty", "comment only"))
    assert refused >= len(NASTY)


@pytest.mark.parametrize("name", ["a folder", "x" * 300])
def test_a_file_that_is_none(name, tmp_path):
    if len(name) < 100:
        (tmp_path / name).mkdir()
    done = run("cinorms.study.load", str(tmp_path / name), folder=tmp_path)
    assert done.returncode == 2
    assert "cannot be read" in done.stderr
    assert "Traceback" not in done.stderr
