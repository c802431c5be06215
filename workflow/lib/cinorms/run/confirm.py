"""``python -m cinorms.run.confirm --configfile FILE``: show unconfirmed paraphrases, and confirm them."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from cinorms.core.logs import command
from cinorms.core.yaml_files import load_yaml
from cinorms.prompts.paraphrase.frozen_file import confirm, mended_in, run_on_fault
from cinorms.prompts.prompt_sets import PromptSet, accepted_unread
from cinorms.study.load import parser, read_study

WHAT_TO_LOOK_AT = """\
Check each one: does it ask the same as wording 0, as strictly? Is every sentence complete? Does it hint at an answer?
Correct a bad one in the file, then run this command again; the file records which wordings you changed."""


@command()
def main(arguments: Sequence[str] | None = None) -> int:
    """Show unconfirmed paraphrases and confirm them if the user agrees; return 1 if any are left."""
    options = parser("confirm", "Confirm paraphrases.")
    options.add_argument("--yes", action="store_true", help="do not ask")
    given, _ = options.parse_known_args(arguments)
    study = read_study(given)
    waiting = [prompt_set for prompt_set in map(study.prompt_set, study.worded()) if prompt_set.waits]
    if not waiting:
        awaited = ", ".join(study.awaited())
        print(
            f"{awaited}: there are no paraphrases yet; `make run` makes them and stops."
            if awaited
            else f"Study {study.name}: no paraphrases wait for you."
        )
    confirmed = [_confirm(prompt_set, given.yes) for prompt_set in waiting]
    return 0 if all(confirmed) else 1


def _confirm(prompt_set: PromptSet, yes: bool) -> bool:
    print(f"{prompt_set.file}\n")
    print("\n".join(_shown(prompt_set)))
    print(f"\n{WHAT_TO_LOOK_AT}")
    if not (yes or accepted_unread() or _agrees()):
        print("Not confirmed: no model will be asked with these wordings.")
        return False
    # A user at a terminal has just read them.
    confirm(Path(prompt_set.file), read=not (yes or accepted_unread()))
    print(f"Confirmed; commit {prompt_set.file} and run the study.")
    return True


def _shown(prompt_set: PromptSet) -> Iterator[str]:
    """Yield each template with its number and its remarks."""
    mended = mended_in(load_yaml(prompt_set.file))
    for number, template in enumerate(prompt_set.templates):
        marks = ["the original"] * (number == 0) + ["by hand"] * (number in mended)
        fault = run_on_fault(template)
        if fault:
            marks.append(f"unless vignettes end with a full stop, {fault}")
        yield f"{number:>3}  {template}" + (f"\n     [{'; '.join(marks)}]" if marks else "")


def _agrees() -> bool:
    if not sys.stdin.isatty():
        print("Run this in a terminal to confirm them, or with YES=1 to accept them unread.")
        return False
    print("Ask models with these wordings? [y/N] ", end="", flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


if __name__ == "__main__":
    sys.exit(main())
