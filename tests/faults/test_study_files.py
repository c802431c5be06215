"""Study files that nobody meant to write, through what `make plan` runs: one message, never a traceback."""

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cinorms.core import yaml_files

from ..snakemake_runs import COMMAND, ROOT

#: Seconds for one file: an alias bomb must not hang.
PATIENCE = 300

#: Longer than the name of a file can be, and not periodic, which Snakemake refuses.
LONG = "a" + "".join(map(str, range(150)))

#: What YAML can do to a reader, by name; `bytes` are written as they are.
NASTY: dict[str, str | bytes] = {
    "tab": "study:\n\t- a\n",
    "open quote": 'study: "demo\n',
    "unknown alias": "models: *nobody\n",
    "two documents": "study: a\n---\nstudy: b\n",
    "nul": b"study: a\0b\n",
    "empty": "",
    "comment only": "# nothing\n",
    "scalar": "just words\n",
    "list": "- a\n- b\n",
    "latin-1": "study: na\u00efve\n".encode("latin-1"),
    "utf-16": "study: a\n".encode("utf-16"),
    "byte order mark": b"\xef\xbb\xbfstudy: a\n",
    "deep nesting": "study: " + "[" * 3000 + "]" * 3000 + "\n",
    "anchor in itself": "models: &m [*m]\n",
    "alias bomb": "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
    + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 20)),
    "huge integer": "seed: " + "9" * 6000 + "\n",
    "python tag": "study: !!python/object/apply:os.system ['true']\n",
    "merge of text": "<<: text\n",
    "key twice": "study: a\nstudy: b\n",
    "number as key": "1: a\n",
    "list as key": "[a, b]: c\n",
    "not a number": "norms: {t_maj: .nan}\n",
    "line break in a name": 'study: "demo\\n"\n',
    "path in a name": "study: ../../elsewhere\n",
    "text as a whole number": "seed: !!int '99x'\n",
    "long name": f"study: {LONG}\n",
    "large integer": "norms: {t_val: 1000000000000000000000000000000}\n",
    "infinite": "max_cost_usd: .inf\n",
    "long name of an arm": f"arms: {{{LONG}: {{dataset: coppa, prompts: chatgpt}}}}\n",
    "long path": f"resources: [{LONG}]\n",
    "nul in a path": 'overrides: "a\\0b"\n',
    "half a character": 'overrides: "a\\ud800"\n',
    "many draws": "analyses: {a: {kind: flow_dependence, arms: [main], draws: 1000000000000}}\n",
}


def plan(path: Path) -> tuple[int, str]:
    """Plan the study without running anything, as `make plan` does once the file could be read."""
    command = [*COMMAND, "--snakefile", ROOT / "Snakefile", "-n", "--quiet", "--configfile", path]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "workflow/lib")}
    done = subprocess.run(
        command, cwd=path.parent, env=environment, capture_output=True, text=True, timeout=PATIENCE
    )
    return done.returncode, done.stdout + done.stderr


def test_no_study_file_ends_in_a_traceback(tmp_path, capsys):
    found: dict[str, tuple[int, str]] = {}
    readable = {}
    for number, (name, content) in enumerate(NASTY.items()):
        path = tmp_path / str(number) / "study.yaml"
        path.parent.mkdir()
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))
        found[name] = yaml_files.main([str(path)]), "".join(capsys.readouterr())
        if not found[name][0]:
            readable[name] = path
    with ThreadPoolExecutor(2) as both:
        found |= zip(readable, both.map(plan, readable.values()), strict=True)
    for name, (code, said) in found.items():
        assert "Traceback" not in said, (name, said[-2000:])
        if code:
            assert "study.yaml: " in said, (name, said)
            assert len(said.strip().splitlines()) <= 6, (name, said)
    assert all(found[name][0] for name in NASTY if name not in ("byte order mark", "empty", "comment only"))


@pytest.mark.parametrize("name", ["", "x" * 300])
def test_a_file_that_is_none(name, tmp_path, capsys):
    assert yaml_files.main([str(tmp_path / name)]) == 2
    assert "cannot be read" in capsys.readouterr().err
