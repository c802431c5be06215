"""The command: ``python -m rewordings answers.csv [--compare other.csv]`` prints what a table of answers gives."""

import argparse
import sys

import numpy as np
import pandas as pd

from rewordings.rule import Majority, Rule
from rewordings.table import Answers, Summary, TableError, by_respondent, compare, read_table, summarise

#: What a status means, and what to do.
WHY = {
    "few_wordings": "not known: it needs 6 wordings",
    "few_items": "not known: it needs 40 items",
    "no_verdicts": "not known: no item has a verdict",
    "wide": "these wordings cannot show it; more wordings would",
}


def majority(text: str) -> Majority:
    """Return a share of the answers, or plurality."""
    if text == "plurality":
        return "plurality"
    try:
        share = float(text)
    except ValueError:
        share = 0.0
    if not 0 < share <= 1:
        raise argparse.ArgumentTypeError(
            f"{text} is given; a share above 0 and at most 1 is allowed, or plurality"
        )
    return share


def percent(share: float) -> str:
    """Return a share as text."""
    return "-" if np.isnan(share) else f"{share:.0%}"


def report(name: str, found: Summary, answers: Answers, shown: int) -> str:
    """Return what is printed of a respondent."""
    pairs, again, items = found
    levels, n_items, n_wordings = answers.counts.shape
    over = "" if np.isnan(pairs.low) else f" [{percent(pairs.low)} to {percent(pairs.high)}]"
    if np.isnan(pairs.same_level):
        alike = "not known: no item has answers in two wordings"
    else:
        blind = f"{percent(pairs.blind_level)} if answers were shuffled between items"
        alike = f"{percent(pairs.same_level)}{over}; {blind}"
    if np.isnan(again.again):
        recurs = WHY[again.status]
    else:
        share = f"{again.again:.0f} of {again.verdicts}"
        ends = f"[{again.low:.0f} to {again.high:.0f}]"
        recurs = f"{share} {ends}" + (f" ({WHY[again.status]})" if again.status != "ok" else "")
    lines = [
        f"{name}: {n_items} items, {n_wordings} wordings, {levels} different answers",
        f"  the same answer in two wordings   {alike}",
        f"  verdicts                          {again.verdicts} of {n_items} items",
        f"  expected in {n_wordings} other wordings{'':<{max(8 - len(str(n_wordings)), 1)}}{recurs}",
    ]
    if not np.isnan(again.half_seen):
        halves = f"{percent(again.half_predicted)} predicted, {percent(again.half_seen)} observed"
        lines.append(f"  check: half predicts other half    {halves}")
    shared = items.assign(
        verdict=items["verdict"].replace("", "-"),
        **{name: items[name].map(percent) for name in ("share", "again")},
    )
    doubtful = shared.loc[items["again"].fillna(2).sort_values(kind="stable").index].head(max(shown, 0))
    if len(doubtful):
        lines += ["", doubtful.to_string(index=False)]
    if len(doubtful) < len(items):
        lines.append(f"... and {len(items) - len(doubtful)} surer items are not shown (--show)")
    return "\n".join(lines)


def scores_of(answers: pd.Index, top: str | None) -> np.ndarray:
    """Return the score of each answer: the number that it is, or 1 for ``top`` and 0 for others."""
    if top is not None:
        if top not in answers:
            raise TableError(f"--answer {top}: nobody gave this answer; given: {', '.join(answers)}")
        return np.asarray(answers == top, dtype=np.float64)
    try:
        return np.array([float(answer) for answer in answers])
    except ValueError:
        raise TableError(
            f"--compare: answers are no numbers ({', '.join(answers)}); name one, whose share is compared, as --answer"
        ) from None


def main(arguments: list[str] | None = None) -> None:
    """Print what a table gives."""
    parser = argparse.ArgumentParser(prog="python -m rewordings", description=__doc__)
    parser.add_argument("table", help="CSV file: item, wording, answer; optionally repeat, respondent")
    parser.add_argument("--compare", metavar="CSV", help="a second table with the same items and wordings")
    parser.add_argument("--answer", help="compare the share of this answer, not mean numbers")
    parser.add_argument("--fewest", type=int, default=1, help="answers that a verdict needs (default: 1)")
    parser.add_argument(
        "--majority",
        type=majority,
        default=0.5,
        help="share of the answers that it needs, or plurality (default: 0.5)",
    )
    parser.add_argument(
        "--show", type=int, default=10, help="items that are shown, the least sure first (default: 10)"
    )
    parser.add_argument("--out", metavar="CSV", help="write all items here")
    given = parser.parse_args(arguments)
    if given.compare and given.out:
        parser.error("--out writes items, and a comparison has none: leave it out")
    if given.answer and not given.compare:
        parser.error("--answer is compared: it needs --compare")
    try:
        tables = [read_table(path) for path in (given.table, given.compare) if path]
        if given.compare:
            for path, table in zip((given.table, given.compare), tables, strict=True):
                if len(who := by_respondent(table, path)) > 1:
                    raise TableError(f"{path}: has {len(who)} respondents; --compare takes tables of one")
            both = pd.concat([table.assign(respondent=str(at)) for at, table in enumerate(tables)])
            sides = by_respondent(both.reset_index(drop=True))
            found = compare(sides["0"], sides["1"], scores_of(sides["0"].answers, given.answer))
            if found.status == "nothing_shared":
                raise TableError(
                    f"{given.compare}: no item has an answer in the same wording as in {given.table}"
                )
            what = f"share of {given.answer!r}" if given.answer else "mean answer"
            ends = (
                f" [{found.low:+.3g} to {found.high:+.3g}]"
                if found.status == "ok"
                else " (one wording: no interval)"
            )
            print(f"{what}, {given.table} less {given.compare}: {found.difference:+.3g}{ends}")
            print(f"{found.items} items, {found.wordings} wordings; 95% interval over wordings like these")
            return
        rule, parts = Rule(given.fewest, given.majority), []
        for respondent, answers in by_respondent(tables[0], given.table).items():
            found_of = summarise(answers, rule)
            print(report(respondent or given.table, found_of, answers, given.show), end="\n\n")
            parts.append(found_of.items.assign(**({"respondent": respondent} if respondent else {})))
        if given.out:
            pd.concat(parts).to_csv(given.out, index=False)
    except (TableError, OSError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
