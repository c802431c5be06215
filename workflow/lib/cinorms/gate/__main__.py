"""``python -m cinorms.gate --base STUDY/ARM/MODEL --new STUDY/ARM/MODEL --policy FILE``: judge a change of norms.

Ends with 0 if every claim passes, 1 if one fails, 3 if one is undecided, 2 if nothing can be judged.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from cinorms.core.logs import command


@command("The gate cannot judge.")
def main(arguments: Sequence[str] | None = None) -> int:
    """Judge the gate that the arguments describe, write its files and return its exit code."""
    # Imported here: where a package is missing, the gate must not end with 1 either.
    from cinorms.gate import verdicts
    from cinorms.gate.files import FILES, as_document, summary, write
    from cinorms.gate.policy import load_policy
    from cinorms.gate.side import find

    parser = argparse.ArgumentParser(prog="cinorms gate", description="Did a model's norms change?")
    parser.add_argument(
        "--base",
        required=True,
        help="STUDY/ARM/MODEL; leave out the arm or the model where there is only one",
    )
    parser.add_argument("--new", required=True, help="STUDY/ARM/MODEL of the model to judge")
    parser.add_argument("--policy", required=True, help="the policy: a YAML file with claims")
    parser.add_argument(
        "--out", help=f"folder for {', '.join(FILES)}; default: gate/POLICY below the new study's results"
    )
    given = parser.parse_args(arguments)
    policy = load_policy(given.policy)
    new = find(given.new, "NEW")
    gate = verdicts.run(find(given.base, "BASE"), new, policy)
    folder = Path(given.out) if given.out else new.folder / "gate" / policy.name
    write(gate, {name: folder / name for name in FILES})
    print(summary(as_document(gate)))
    print(f"\n{folder / 'index.html'}")
    return gate.exit_code


if __name__ == "__main__":
    sys.exit(main())
