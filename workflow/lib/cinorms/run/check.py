"""``python -m cinorms.run.check --configfile FILE``: can this study be run here? One line per check; spends nothing."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from cinorms.core.errors import ConfigError
from cinorms.core.logs import command
from cinorms.core.validation import load_yaml
from cinorms.inference.preflight import Surroundings
from cinorms.run.checks import of_machine, of_study
from cinorms.run.checks.case import Case, Check, left_to_ask, summary
from cinorms.run.study_file import ROOT, parser, read_study
from cinorms.study.study import Study


@command("The study cannot run.")
def main(arguments: Sequence[str] | None = None) -> int:
    """Run every check of the study that the arguments name; return 1 if one finds an error."""
    options = parser("check", "Check a study before anything is spent.")
    options.add_argument("--profile", help="the Snakemake profile that jobs will run with")
    options.add_argument("--sdm", nargs="*", default=[], help="as Snakemake's: conda")
    given, _ = options.parse_known_args(arguments)  # other options are for Snakemake
    case = make_case(read_study(given), given.profile, "conda" in given.sdm)
    print(f"Study {case.study.name}: {summary(case.study, case.asked)}")
    wrong = 0
    for line in make_checks(case):
        print(line, flush=True)
        wrong += line.severity == "error"
    return 1 if wrong else 0


def make_case(study: Study, profile: str | None, conda: bool) -> Case:
    """Return what the checks need to know about a study and its ``profile``."""
    asked = left_to_ask(study)
    stated = load_profile(profile) if profile else {}
    cluster = str(stated.get("executor", "")) not in ("", "local", "dryrun", "touch")
    rules = sorted({f"ask_{study.registry_entry(model).engine}" for _, model in asked})
    partitions = partitions_of(stated, rules) if stated.get("executor") == "slurm" else {}
    surroundings = Surroundings(ROOT.folder, os.environ, cluster, conda, study.settings.max_cost_usd)
    return Case(study, asked, surroundings, partitions)


class Line(NamedTuple):
    """One line for a terminal: ``ok``, ``warning`` or ``error``, the check's name, and a text."""

    severity: str
    name: str
    text: str

    def __str__(self) -> str:
        # A message may have a second line.
        return f"{self.severity:<8} {self.name:<12} " + self.text.replace("\n", "\n" + " " * 22)


def checks() -> tuple[Check, ...]:
    """Return every check; a new one is a function and an entry in one of these tuples."""
    return (*of_study.CHECKS, *of_machine.engine_checks(), *of_machine.CHECKS)


def make_checks(case: Case) -> Iterator[Line]:
    """Yield one line for each check that finds nothing, else one for each finding."""
    for check in checks():
        found = check.look(case)
        lines = [Line(finding.severity, check.name, finding.text) for finding in found or ()]
        nothing = Line("ok", check.name, check.about if found is not None else "nothing to look at")
        yield from lines or [nothing]


def load_profile(name: str) -> Mapping[str, Any]:
    """Return the settings of the profile in the folder ``name``."""
    files = sorted(Path(name).glob("config*.yaml"))
    if not files:
        raise ConfigError(
            f"profile {name!r}: not a folder with a config.yaml; name one such as profiles/slurm"
        )
    found = load_yaml(files[-1])
    return found if isinstance(found, dict) else {}


def partitions_of(profile: Mapping[str, Any], rules: Iterable[str]) -> dict[str, str | None]:
    """Return the SLURM partition that the profile names for each of ``rules``."""
    usual = _resources(profile.get("default-resources")).get("slurm_partition")
    single = profile.get("set-resources") or {}
    own = {rule: _resources(single.get(rule) if isinstance(single, dict) else None) for rule in rules}
    return {rule: _text(own[rule].get("slurm_partition", usual)) for rule in own}


def _resources(stated: Any) -> dict[str, Any]:
    """Return resources, which a profile states as a mapping or as a list of ``name=value``."""
    if isinstance(stated, dict):
        return stated
    return dict(str(pair).split("=", 1) for pair in stated or () if "=" in str(pair))


def _text(value: Any) -> str | None:
    return None if value is None else str(value).strip("'\"")


if __name__ == "__main__":
    sys.exit(main())
