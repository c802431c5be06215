"""``python -m cinorms.run.confirm --configfile FILE``: show the paraphrases that wait for a reader; confirm them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from cinorms.core.errors import CinormsError
from cinorms.core.validation import load_yaml
from cinorms.prompts.paraphrase.checks import run_on_fault
from cinorms.prompts.paraphrase.frozen_file import confirm, mended_in
from cinorms.prompts.prompt_sets import PromptSet, accepted_unread
from cinorms.run.study_file import parser, read_study
from cinorms.study.study import Study

WHAT_TO_LOOK_AT = """\
Look at each: does it ask what template 0 asks, as strictly? Is every sentence whole? Does it hint at an answer?
Mend a bad one in the file, then call this again; who worded what is recorded."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Show what waits and confirm it where the user agrees; return 1 where anything still waits."""
    options = parser("confirm", "Confirm paraphrases.")
    options.add_argument("--yes", action="store_true", help="do not ask")
    given, _ = options.parse_known_args(arguments)
    try:
        study = read_study(given)
        waiting = list(_waiting(study))
        if not waiting:
            print(_nothing(study))
        confirmed = [_confirm(prompt_set, given.yes) for prompt_set in waiting]
        return 0 if all(confirmed) else 1
    except CinormsError as failure:
        print(f"\n{failure}\n", file=sys.stderr)
        return 1


def _waiting(study: Study) -> Iterator[PromptSet]:
    for name in dict.fromkeys(arm.prompts for arm in study.arms.values()):
        if study.prompt_set(name).waits:
            yield study.prompt_set(name)


def _nothing(study: Study) -> str:
    awaited = study.awaited()
    if awaited:
        return f"{', '.join(awaited)}: the paraphrases are still to be made; `make run` makes them and stops."
    return f"Study {study.name}: no paraphrases wait for you."


def _confirm(prompt_set: PromptSet, yes: bool) -> bool:
    print(f"{prompt_set.file}\n")
    print("\n".join(_shown(prompt_set)))
    print(f"\n{WHAT_TO_LOOK_AT}")
    if not (yes or accepted_unread() or _agrees()):
        print("Not confirmed: no model is asked in these words.")
        return False
    # Whoever calls this in a terminal has them before their eyes.
    confirm(Path(prompt_set.file), read=not (yes or accepted_unread()))
    print(f"Confirmed; commit {prompt_set.file} and run the study.")
    return True


def _shown(prompt_set: PromptSet) -> Iterator[str]:
    """Yield each template with its number, and what is remarkable about it."""
    mended = mended_in(load_yaml(prompt_set.file)) or []
    for number, template in enumerate(prompt_set.templates):
        marks = ["the original"] * (number == 0) + ["by hand"] * (number in mended)
        fault = run_on_fault(template)
        if fault:
            marks.append(f"unless vignettes end with a full stop, {fault}")
        yield f"{number:>3}  {template}" + (f"\n     [{'; '.join(marks)}]" if marks else "")


def _agrees() -> bool:
    if not sys.stdin.isatty():
        print("Call this in a terminal to confirm them, or with YES=1 to accept them without being asked.")
        return False
    print("Ask models in these words? [y/N] ", end="", flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


if __name__ == "__main__":
    sys.exit(main())
