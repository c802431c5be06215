"""The reader of published pickles: it reads what the authors published and calls nothing else."""

import itertools
import lzma
import os
import pickle

import numpy as np
import pandas as pd
import pytest

from cinorms.core import tables
from cinorms.core.errors import DataError
from cinorms.prompts.variants import list_variants
from cinorms.published import frames
from cinorms.published.releases import import_answers, load_release, read_orders

TEXTS = ["a sends b", "a sends c", "a sends d"]
VIGNETTES = pd.DataFrame({"flow": np.arange(3, dtype=np.int32), "vignette": TEXTS})


def save(thing, path, container=lzma.FORMAT_ALONE):
    payload = thing if isinstance(thing, bytes) else pickle.dumps(thing, protocol=4)
    path.write_bytes(lzma.compress(payload, format=container))
    return path


def wide(**columns):
    """Return a frame as the authors pickled them: text columns are objects."""
    frame = pd.DataFrame({"Scenario": TEXTS, "dataset": "iot", "model": "m"} | columns)
    frame = frame.astype(dict.fromkeys(("Scenario", "dataset", "model"), object))
    frame.columns = pd.Index(list(frame.columns), dtype=object)
    return frame


# --- what is read


@pytest.mark.parametrize("container", [lzma.FORMAT_ALONE, lzma.FORMAT_XZ])
def test_a_frame_comes_back_as_it_was(tmp_path, container):
    kind = pd.Categorical(["b", None, "a"], categories=pd.Index(["a", "b"], dtype=object))
    frame = wide(number=[1, 2, 3], flag=[True, False, True], x=[1.5, np.nan, -2.0], kind=kind)
    back = frames.read_frame(save(frame, tmp_path / "f", container))
    pd.testing.assert_frame_equal(back, frame)


# --- what is refused


class Call:
    """Pickles as a call of ``function`` with ``arguments``."""

    def __init__(self, function, *arguments):
        self.call = (function, arguments)

    def __reduce__(self):
        return self.call


@pytest.mark.parametrize(
    ("attack", "named"),
    [
        (lambda target: Call(os.system, f"touch {target}"), "system"),
        (lambda target: Call(pd.read_pickle, target), "read_pickle"),
        (lambda target: {"frame": [wide(), Call(eval, f"open({target!r}, 'w').close()")]}, "builtins.eval"),
    ],
)
def test_a_pickle_that_runs_code_is_refused_by_name_and_runs_nothing(tmp_path, attack, named):
    target = tmp_path / "ran"
    with pytest.raises(DataError, match=rf"asks for '.*{named}.*fetch the file again"):
        frames.read_frame(save(attack(str(target)), tmp_path / "f"))
    assert not target.exists()


@pytest.mark.parametrize("path", ["DataFrame.to_pickle", "DataFrame.__init__.__globals__", "DataFrame.eval"])
def test_attributes_of_admitted_classes_are_refused(tmp_path, path):
    payload = b"\x80\x04" + pickle.dumps("pandas.core.frame", 4)[11:-1].replace(b"\x94", b"")
    payload += b"\x8c" + bytes([len(path)]) + path.encode() + b"\x93."
    with pytest.raises(DataError, match="DataFrame"):
        frames.read_frame(save(payload, tmp_path / "f"))


@pytest.mark.parametrize(
    ("thing", "message"),
    [
        ([1, 2], "holds a list, expected a frame"),
        (wide(x=pd.to_datetime(["2020", "2021", "2022"])), "pickle refused"),
        (b"not a pickle", "not a pickled frame"),
    ],
)
def test_anything_but_a_plain_frame_is_refused(tmp_path, thing, message):
    with pytest.raises(DataError, match=message):
        frames.read_frame(save(thing, tmp_path / "f"))


@pytest.mark.parametrize("damage", [lambda _: b"\x00" * 40, lambda whole: whole[: len(whole) // 2], None])
def test_missing_and_damaged_files_are_refused(tmp_path, damage):
    path = save(wide(), tmp_path / "spoilt")
    path.write_bytes(damage(path.read_bytes())) if damage else path.unlink()
    with pytest.raises(DataError, match="spoilt: not a pickled frame"):
        frames.read_frame(path)


# --- answers


def test_answers_of_a_wide_frame(tmp_path):
    frame = wide(**{"p#0_0": [1.0, np.nan, -2.0], "p#10_2": [0.0, 2.0, np.nan], "p#11": 2.0}).iloc[[2, 0, 1]]
    answers = frames.to_answers(frame, "m", VIGNETTES)
    tables.write(answers, tmp_path / "a.parquet", tables.ANSWERS)
    answers = tables.read(tmp_path / "a.parquet", tables.ANSWERS)
    assert answers["flow"].tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert answers["variant"].tolist() == ["0_0", "10_2", "11_0"] * 3
    assert answers["level"].tolist() == [1, 0, 2, pd.NA, 2, 2, -2, pd.NA, 2]
    assert answers["status"].tolist() == np.where(answers["level"].isna(), "invalid", "ok").tolist()
    assert answers["order"].isna().all()
    assert set(answers["rule"]) == {"published"}


@pytest.mark.parametrize(
    ("dataset", "scores", "level", "status"),
    [
        # -100 is an invalid answer, and then a missing one was not asked.
        ("iot", [1.0, -100.0, np.nan], [1, pd.NA], ["ok", "invalid"]),
        # ConfAIde's scores are levels times 50.
        ("confaide", [-100.0, 50.0, np.nan], [-2, 1, pd.NA], ["ok", "ok", "invalid"]),
    ],
)
def test_scores_of_either_dataset(dataset, scores, level, status):
    frame = wide(**{"p#0_0": scores}).assign(dataset=dataset)
    answers = frames.to_answers(frame, "m", VIGNETTES)
    assert answers["flow"].tolist() == list(range(len(level)))
    assert answers["level"].tolist() == level
    assert answers["status"].tolist() == status


def test_a_model_that_was_asked_few_templates_has_no_rows_for_the_others():
    columns = {f"p#{t}_0": [1.0, 1.0, np.nan] for t in (0, 1, 2)} | {"p#3_0": [np.nan] * 3}
    frame = wide(**columns)
    assert len(frames.to_answers(frame, "m", VIGNETTES)) == 12
    frame["model"] = "gpt-4o-mini-8B"
    assert set(frames.to_answers(frame, "gpt-4o-mini-8B", VIGNETTES)["variant"]) == {"0_0", "1_0", "2_0"}


def test_models_of_the_paraphraser_run_lose_their_prefix():
    parts = [
        wide(**{"p#0": [float(i)] * 3}).assign(paraphrasing=p, model=m)
        for i, (p, m) in enumerate([("gpt", "gpt-x"), ("gemini", "gemini-x"), ("gpt", "gpt-4o-mini-8B")])
    ]
    frame = pd.concat(parts, ignore_index=True)
    assert frames.models(frame) == ["gpt-4o-mini-8B", "x"]
    assert set(frames.to_answers(frame, "x", VIGNETTES, "gemini")["level"]) == {1}
    with pytest.raises(DataError, match=r"twice; choose one value .* paraphrasing: gemini, gpt\)"):
        frames.to_answers(frame, "x", VIGNETTES)
    with pytest.raises(DataError, match=r"no prompt set 'pegasus' for x; it has \['gemini', 'gpt'\]"):
        frames.to_answers(frame, "x", VIGNETTES, "pegasus")


@pytest.mark.parametrize(
    ("model", "vignettes", "message"),
    [
        ("m", VIGNETTES, "off the scale"),
        ("n", VIGNETTES, r"no model 'n'; it has \['m'\]"),
        ("m", VIGNETTES.iloc[:2], "'a sends d' is not a vignette"),
        ("m", VIGNETTES.assign(vignette="a sends b"), "a text appears twice"),
    ],
)
def test_what_cannot_be_joined_or_read_is_named(model, vignettes, message):
    with pytest.raises(DataError, match=message):
        frames.to_answers(wide(**{"p#0_0": [1.0, 7.0, 2.0]}), model, vignettes)


# --- raw CSV files


def raw_csv(path, **changes):
    stated = {
        "Scenario": [TEXTS[1], TEXTS[0], TEXTS[1], TEXTS[1]],
        "Prompt": "p",
        "Response": ["somewhat acceptable", "", 'neutral, "yes"\nbecause', "NA"],
        "prompt_id": ["0", "p#10", "0", "1"],
        "likert": "...",
        "likert_order_id": ["ordering_1", "ordering_2", "ordering_120", "ordering_25"],
    }
    pd.DataFrame({**stated, **changes}).to_csv(path)
    return path


def test_raw_csv_keeps_texts_and_orders(tmp_path):
    table = frames.read_raw_csv(raw_csv(tmp_path / "r.csv"), VIGNETTES)
    assert table["flow"].tolist() == [1, 0, 1, 1]
    assert table["variant"].tolist() == ["0_0", "10_0", "0_1", "1_0"]
    assert table["order"].tolist() == ["01234", "01243", "43210", "10234"]
    assert table["text"].tolist() == ["somewhat acceptable", "", 'neutral, "yes"\nbecause', "NA"]
    tables.write(table, tmp_path / "r.parquet", tables.RESPONSES)
    # As the released code writes them: the order's number in both columns without a name, 0 for the one fixed order.
    ids = {"prompt_id": ["p#0_1", "p#10_0", "p#0_0", "p#1"], "likert_order_id": ["1", "2", "120", "0"]}
    table = frames.read_raw_csv(raw_csv(tmp_path / "released.csv", **ids), VIGNETTES)
    assert table["variant"].tolist() == ["0_1", "10_0", "0_0", "1_0"]
    assert table["order"].tolist() == ["01234", "01243", "43210", "01234"]


def test_order_of_counts_permutations_from_one():
    every = ["".join(order) for order in itertools.permutations("01234")]
    assert [frames.order_of(f"ordering_{i}") for i in range(1, 121)] == every
    for wrong in ("ordering_121", "121", "ordering_x", "x"):
        with pytest.raises(DataError, match="likert_order_id"):
            frames.order_of(wrong)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"prompt_id": "x"}, "prompt_id 'x' is not"),
        ({"Scenario": "else"}, "is not a vignette"),
        (None, r"the columns \['Response'"),
    ],
)
def test_raw_csv_says_what_is_wrong(tmp_path, changes, message):
    path = tmp_path / "r.csv"
    with pytest.raises(DataError, match="not a readable CSV"):
        frames.read_raw_csv(path, VIGNETTES)
    path.write_text("Scenario,Prompt\na,b\n") if changes is None else raw_csv(path, **changes)
    with pytest.raises(DataError, match=message):
        frames.read_raw_csv(path, VIGNETTES)


# --- the authors' files


def vignettes_of(mirror, dataset):
    names = pd.read_csv(mirror / "vignettes" / f"{dataset}.csv", index_col=0, dtype=str)["vignette"]
    return pd.DataFrame({"flow": np.arange(len(names), dtype=np.int32), "vignette": names.to_numpy()})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "dataset", "shape", "n_flows"),
    [
        ("without_NA_regular_run", "iot", (55296, 77), 6912),
        ("without_NA_para_run", "iot", (165405, 24), 6453),
        ("confaide", "confaide", (160, 44), 20),
    ],
)
def test_the_published_files_are_laid_out_as_documented(name, dataset, shape, n_flows, mirror):
    frame = frames.read_frame(mirror / "responses" / f"pivot_prompt_df_{name}.pkl.lzma")
    assert frame.shape == shape
    assert len(frames.models(frame)) == 8
    prompt_set = "pegasus" if "para" in name else None
    answers = frames.to_answers(frame, "tulu-2-dpo-13b", vignettes_of(mirror, dataset), prompt_set)
    assert answers["flow"].nunique() == n_flows
    assert answers["variant"].nunique() == (11 if prompt_set else 33)
    assert set(answers["status"]) == {"ok", "invalid"}


def test_each_template_of_a_flow_was_asked_in_three_different_orders(folder):
    variants = [f"{template}_{order}" for template in range(4) for order in range(3)]
    asked = pd.MultiIndex.from_product([range(6912), variants], names=["flow", "variant"]).to_frame(
        index=False
    )
    asked["order"] = read_orders(folder / "resources/published/pets2026_gpt_4o_mini_orders.csv.gz", asked)
    template = asked["variant"].str[0]
    assert asked.loc[template == "3", "order"].isna().all()
    known = asked[template != "3"]
    assert known["order"].str.len().eq(5).all()
    assert (known.groupby([known["flow"], template])["order"].nunique() == 3).all()


@pytest.mark.slow
def test_the_order_of_each_published_answer_of_gpt_4o_mini_is_that_of_its_request(mirror, folder):
    """Under any other pairing of answers and requests the chosen option is first, and last, in 16% or more."""
    release = load_release(folder / "resources/published/pets2026.yaml")
    flows, variants = vignettes_of(mirror, "iot"), list_variants("chatgpt", [""] * 11, 11, 3)
    models = ["gpt-4o-mini", "tulu-2-7b"]
    found = dict(import_answers(release, "regular", models, flows, variants, "unused", mirror))
    assert found["tulu-2-7b"]["order"].isna().all()
    answers = found["gpt-4o-mini"].astype({"variant": "str"})
    cells = answers.groupby([answers["flow"], answers["variant"].str[0]])["level"]
    differ = answers[cells.transform("nunique") > 1]
    place = [o.index(str(level + 2)) for o, level in zip(differ["order"], differ["level"], strict=True)]
    shares = np.bincount(place) / len(place)
    assert shares[[0, 4]] == pytest.approx([0.119, 0.131], abs=0.001)
    one = dict(import_answers(release, "gemini", ["tulu-2-7b"], flows, variants, "unused", mirror))
    assert set(one["tulu-2-7b"]["order"]) == {"01234"}
