"""``python -m cinorms.run.check --configfile FILE``: can this study be run here? One line per check; spends nothing."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from cinorms.core.logs import command
from cinorms.inference.preflight import Surroundings
from cinorms.run.checks.case import Case, left_to_ask, summary
from cinorms.run.checks.registry import make_checks
from cinorms.run.profile import load_profile, partitions_of
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


if __name__ == "__main__":
    sys.exit(main())
