"""A table of answers: what the command prints, what it refuses, and two tables compared."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from rewordings import Rule, by_respondent, compare, consistency, summarise
from rewordings.__main__ import main
from rewordings.table import TableError

README = Path(__file__).parents[1] / "README.md"


def table(items=8, wordings=3):
    rows = [(f"q{i}", f"w{w}", "yes" if i % 2 else "no") for i in range(items) for w in range(wordings)]
    return pd.DataFrame(rows, columns=["item", "wording", "answer"])


def test_a_table_is_counted_whatever_the_order_of_its_rows():
    rows = pd.concat([table(), table().iloc[:1]])
    rows.iloc[3, 2] = np.nan
    found = by_respondent(rows)[""]
    assert found.counts.shape == (2, 8, 3)
    assert found.counts[:, 0].tolist() == [[2, 1, 1], [0, 0, 0]]
    assert found.counts[:, 1].sum(axis=0).tolist() == [0, 1, 1]
    other = by_respondent(rows.sample(frac=1, random_state=1))[""]
    assert consistency(found.counts, [0, 1]) == pytest.approx(consistency(other.counts, [0, 1]), nan_ok=True)
    grades = table().assign(answer=lambda x: x["answer"].map({"yes": "10", "no": "9"}))
    assert list(by_respondent(grades)[""].answers) == ["9", "10"]
    items = summarise(found, Rule(3)).items
    assert items["verdict"].tolist() == ["no", "", "no", "yes", "no", "yes", "no", "yes"]


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (None, [], "cannot be read as CSV: No such file or directory"),
        ("", [], "cannot be read as CSV: No columns to parse from file"),
        ("item,text,answer\nq,a,b\n", [], "has no column 'wording'; it has 'item', 'text', 'answer'"),
        ("item,wording,answer\nq,a,b\nq,,b\n", [], "row 3 has no wording"),
        ("item,wording,answer\nq,a,\n", [], "has 0 different answers; 1 to 20 are allowed"),
        ("item,wording,answer\nq,a,b\n", ["--compare", "SAME"], "answers are no numbers (b); name one"),
        ("item,wording,answer\nq,a,b\n", ["--compare", "SAME", "--answer", "c"], "nobody gave this answer"),
        (
            "item,wording,repeat,answer\nq,a,1,b\nq,a,1,c\n",
            [],
            "row 3 has the item, wording and repeat of an",
        ),
        ("item,wording,respondent,answer\nq,a,1,b\nq,a,2,c\n", ["--compare", "SAME"], "has 2 respondents"),
    ],
)
def test_what_cannot_be_used_is_one_message(tmp_path, text, options, message):
    path = tmp_path / "answers.csv"
    if text is not None:
        path.write_text(text)
    with pytest.raises(SystemExit, match=re.escape(message)) as error:
        main([str(path), *(str(path) if option == "SAME" else option for option in options)])
    assert str(error.value).count("\n") <= 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--majority", "50"], "a share above 0 and at most 1 is allowed"),
        (["--answer", "yes"], "it needs --compare"),
        (["--compare", "x.csv", "--out", "y.csv"], "a comparison has none"),
    ],
)
def test_options_that_do_not_go_together_are_refused(capsys, options, message):
    with pytest.raises(SystemExit):
        main(["answers.csv", *options])
    assert message in capsys.readouterr().err


def test_two_tables_of_other_items_or_order_are_not_compared():
    one, other = (by_respondent(rows)[""] for rows in (table(), table().iloc[::-1]))
    with pytest.raises(TableError, match="other items, or another order"):
        compare(one, other, np.array([0.0, 1.0]))
    with pytest.raises(ValueError, match="majority: 50"):
        summarise(one, Rule(1, 50))


def test_the_command_prints_and_writes_what_the_library_gives(tmp_path, capsys):
    path, out = tmp_path / "answers.csv", tmp_path / "out.csv"
    pd.concat([table().assign(respondent=who) for who in ("a", "b")]).to_csv(path, index=False)
    main([str(path), "--out", str(out), "--show", "2"])
    printed = capsys.readouterr().out
    assert "a: 8 items, 3 wordings, 2 different answers" in printed
    assert "same answer in two wordings   100% [100% to 100%]; 50% if answers were shuffled" in printed
    assert "not known: it needs 6 wordings" in printed
    assert pd.read_csv(out).groupby("respondent")["verdict"].value_counts().tolist() == [4, 4, 4, 4]
    table().to_csv(path, index=False)
    main([str(path), "--compare", str(path), "--answer", "yes"])
    assert "share of 'yes'" in capsys.readouterr().out


def two(rng, items=60, wordings=8, shared=0.5):
    """Return the answers of two respondents that do not differ: each wording moves all items, of each in its way."""
    item = rng.normal(size=items)
    found = []
    for _ in range(2):
        x = item[:, None] + rng.normal(0, shared, wordings) + rng.normal(0, 0.7, (items, wordings))
        level = np.clip(np.rint(x), -2, 2)
        item_no, wording = np.indices(level.shape)
        rows = pd.DataFrame({"item": item_no.ravel(), "wording": wording.ravel(), "answer": level.ravel()})
        found.append(by_respondent(rows)[""])
    return found


def test_a_comparison_over_wordings_keeps_its_size_where_tests_over_items_do_not():
    rng, rejected = np.random.default_rng(1), np.zeros(3)
    for _ in range(300):
        one, other = two(rng)
        scores = one.answers.to_numpy(dtype=float)
        found = compare(one, other, scores)
        mean = [
            np.tensordot(scores, x.counts.sum(axis=2), 1) / x.counts.sum(axis=(0, 2)) for x in (one, other)
        ]
        left = mean[0] - mean[1]
        sign = stats.binomtest(int((left > 0).sum()), int((left != 0).sum())).pvalue
        rejected += [not found.low <= 0 <= found.high, sign < 0.05, stats.wilcoxon(left).pvalue < 0.05]
    ours, sign, wilcoxon = rejected / 300
    print(f"size of the comparison {ours:.1%}, sign test {sign:.1%}, Wilcoxon {wilcoxon:.1%}")
    assert 0.02 < ours < 0.09
    assert min(sign, wilcoxon) > 0.4


def test_a_comparison_of_complete_tables_is_the_paired_t_test_of_wordings():
    one, other = two(np.random.default_rng(2))
    scores = one.answers.to_numpy(dtype=float)
    mean = [np.tensordot(scores, x.counts, 1).mean(axis=0) for x in (one, other)]
    low, high = stats.ttest_rel(*mean).confidence_interval()
    found = compare(one, other, scores)
    assert (found.low, found.high) == pytest.approx((low, high))
    nothing = one._replace(counts=one.counts * 0)
    assert compare(one, nothing, scores).status == "nothing_shared"
    alone = [x._replace(counts=x.counts[:, :, :1]) for x in (one, other)]
    assert compare(*alone, scores).status == "one_wording"


def blocks(kind):
    return re.findall(rf"```{kind}\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)


def test_the_readme_does_what_it_shows(tmp_path):
    """Each Python block runs on the small files below, and the first prints what follows it."""
    (tmp_path / "samples.jsonl").write_text(
        '{"doc_id": 0, "doc": {"question": "2 + 2?"}, "filtered_resps": ["4"]}\n'
        '{"doc_id": 1, "doc": {"question": "3 + 3?"}, "filtered_resps": ["7"]}\n'
    )
    for number in (1, 2):
        folder = tmp_path / f"wording{number}"
        folder.mkdir()
        (folder / "samples_task.jsonl").write_text((tmp_path / "samples.jsonl").read_text())
        scores = [{"id": i, "epoch": 1, "scores": {"judge": {"value": x}}} for i, x in ((1, "C"), (2, "I"))]
        log = {"eval": {"task_args": {"wording": number}}, "samples": scores}
        (tmp_path / f"log{number}.json").write_text(json.dumps(log))
    path = str(Path(__file__).parents[2])
    example, inspect_log, lm_eval = blocks("python")
    printed = []
    for block in (inspect_log, lm_eval, example):
        run = [sys.executable, "-c", block]
        printed += [
            subprocess.run(
                run, cwd=tmp_path, check=True, stdout=-1, text=True, env={"PYTHONPATH": path}
            ).stdout
        ]
        if block != example:
            found = pd.read_csv(tmp_path / "answers.csv")
            assert (len(found), found["wording"].nunique(), found["item"].nunique()) == (4, 2, 2)
    assert printed[-1] == blocks("text")[0]
