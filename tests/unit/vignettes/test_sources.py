import hashlib
import http.server
import threading
from pathlib import Path
from typing import ClassVar

import pytest

from cinorms.core import tables
from cinorms.core.errors import DataError
from cinorms.vignettes.designs import load_dataset
from cinorms.vignettes.reading import read_vignettes
from cinorms.vignettes.source_files import SourceFile, get

from .test_designs import write

CONTENT = b"number,text\n" + b"1,some text\n" * 20_000
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves CONTENT whole, broken off, or not at all, and counts what it was asked for."""

    asked: ClassVar[list[str]] = []

    def do_GET(self):
        self.asked.append(self.path)
        if self.path == "/moved.csv":
            self.send_response(302)
            self.send_header("Location", "/whole.csv")
            self.end_headers()
        elif self.path in ("/whole.csv", "/broken.csv", "/unsized.csv"):
            self.send_response(200)
            if self.path != "/unsized.csv":
                self.send_header("Content-Length", str(len(CONTENT)))
            self.end_headers()
            self.wfile.write(CONTENT[: len(CONTENT) // 2] if self.path == "/broken.csv" else CONTENT)
        else:
            self.send_error(404)

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    Handler.asked.clear()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()


def fetched(url: str, cache: Path, mirror: Path | None = None, *paths: str, sha256: str = SHA256) -> Path:
    return get(SourceFile(url=url, sha256=sha256, mirror=paths), cache, mirror)


@pytest.mark.parametrize("name", ["whole.csv", "moved.csv", "unsized.csv"])
def test_a_file_is_downloaded_once_with_a_progress_bar(server, tmp_path, capsys, name):
    path = fetched(f"{server}/{name}", tmp_path / "cache")
    assert path.read_bytes() == CONTENT
    assert name in capsys.readouterr().err
    before = len(Handler.asked)
    assert fetched(f"{server}/{name}", tmp_path / "cache") == path
    assert len(Handler.asked) == before
    assert [p.name for p in (tmp_path / "cache").iterdir()] == [path.name]
    path.write_bytes(b"damaged")
    assert fetched(f"{server}/{name}", tmp_path / "cache").read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("name", "sha256", "words"),
    [
        ("whole.csv", "0" * 64, [SHA256, "0" * 64, "nothing is kept"]),
        ("broken.csv", SHA256, ["broken.csv", "CINORMS_MIRROR"]),
        ("nowhere.csv", SHA256, ["404", "CINORMS_MIRROR", "vignettes/x.csv"]),
    ],
)
def test_a_failed_download_leaves_nothing_behind(server, tmp_path, name, sha256, words):
    with pytest.raises(DataError) as raised:
        fetched(f"{server}/{name}", tmp_path / "cache", None, "vignettes/x.csv", sha256=sha256)
    for word in words:
        assert word in str(raised.value)
    assert list((tmp_path / "cache").iterdir()) == []


def test_an_unreachable_address_says_how_to_use_the_mirror(tmp_path):
    with http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler) as closed:
        url = f"http://127.0.0.1:{closed.server_port}/x.csv"
    for mirror, message in (
        (None, r"cannot be fetched .*a/x\.csv.*CINORMS_MIRROR"),
        (tmp_path, rf"the mirror {tmp_path} does not have it either; put it there as a/x\.csv"),
    ):
        with pytest.raises(DataError, match=message):
            fetched(url, tmp_path, mirror, "a/x.csv")


def test_the_mirror_is_used_before_the_network(server, tmp_path):
    mirror, beside = tmp_path / "mirror" / "published", tmp_path / "mirror" / "x.csv"
    mirror.mkdir(parents=True)
    beside.write_bytes(b"other")
    with pytest.raises(DataError, match=f"expected {SHA256}; replace it in the mirror"):
        fetched(f"{server}/whole.csv", tmp_path / "cache", mirror, "x.csv", "../x.csv")
    beside.write_bytes(CONTENT)
    path = fetched(f"{server}/whole.csv", tmp_path / "cache", mirror, "x.csv", "../x.csv")
    assert path.resolve() == beside
    assert Handler.asked == []
    beside.unlink()
    assert fetched(f"{server}/whole.csv", tmp_path / "cache", mirror, "../x.csv").read_bytes() == CONTENT


def test_a_local_path_that_is_gone(tmp_path):
    with pytest.raises(DataError, match="no such file"):
        fetched(str(tmp_path / "x.csv"), tmp_path / "cache")


def csv_dataset(folder: Path, content: str, **changes: object):
    (folder / "x.csv").write_text(content, encoding="utf-8")
    sha256 = hashlib.sha256(content.encode()).hexdigest()
    stated = {
        "source": "csv",
        "factors": None,
        "template": None,
        "files": {"vignettes": {"url": "x.csv", "sha256": sha256}},
        "columns": {"vignette": "text", "factors": {"sender": "from", "access": "how"}},
        "rows": 3,
    }
    return load_dataset(write(folder, **stated | changes))


ROWS = "text,from,how,mean\nB tells,B,null,-5\nA tells,A,,\nB asks,B,NA,2.5\n"


def test_a_csv_file_becomes_flows_in_its_own_order(tmp_path):
    frame = read_vignettes(csv_dataset(tmp_path, ROWS), tmp_path / "cache")
    assert frame["flow"].tolist() == [0, 1, 2]
    assert frame["vignette"].tolist() == ["B tells", "A tells", "B asks"]
    assert frame["sender"].cat.categories.tolist() == ["B", "A"]
    # Texts that pandas would take for missing are levels; only an empty one is shown as such.
    assert frame["access"].tolist() == ["null", "(empty)", "NA"]
    assert frame["expected"].isna().all()
    tables.write(frame, tmp_path / "x.parquet", tables.VIGNETTES)


def test_ones_own_file_is_read_as_it_is_and_checked_only_where_a_digest_is_stated(tmp_path):
    path, more = tmp_path / "x.csv", ROWS + "C asks,C,,\n"
    dataset = csv_dataset(tmp_path, ROWS, files={"vignettes": {"url": "x.csv"}}, rows=None)
    path.write_text(more, encoding="utf-8")
    assert read_vignettes(dataset, tmp_path)["vignette"].tolist()[-1] == "C asks"
    path.write_text(ROWS.splitlines()[0] + "\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"x\.csv: has no rows"):
        read_vignettes(dataset, tmp_path)
    stated = csv_dataset(tmp_path, ROWS, rows=None)
    path.write_text(more, encoding="utf-8")
    with pytest.raises(DataError, match="correct the path or the sha256"):
        read_vignettes(stated, tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (ROWS + "C asks,C,,\n", "has 4 rows, the dataset's file declares 3"),
        (ROWS.replace("from", "form"), "has no column 'from'; it has: text, form, how, mean"),
        (ROWS.replace("A tells", " "), "row 1 has no vignette"),
        (ROWS.replace("2.5", "much"), "row 2: expected value 'much' is not a number"),
        (ROWS.replace("2.5", "25"), r"flow 2: expected value 25.0 is outside expected_range \[-10, 10\]"),
        ("", "cannot be read as a CSV file"),
    ],
)
def test_a_csv_file_that_is_not_as_declared_is_an_error(tmp_path, content, message):
    columns = {"vignette": "text", "factors": {"sender": "from"}, "expected": "mean"}
    dataset = csv_dataset(tmp_path, content, columns=columns, expected_range=[-10, 10])
    with pytest.raises(DataError, match=message):
        read_vignettes(dataset, tmp_path / "cache")


def confaide_dataset(folder: Path, scenarios: str, labels: str):
    (folder / "vignettes.txt").write_text(scenarios, encoding="utf-8")
    (folder / "labels.txt").write_text(labels, encoding="utf-8")
    files = {key: {"url": f"{key}.txt"} for key in ("vignettes", "labels")}
    factors = {"information_type": ["habits", "views"], "recipient": ["a shop"]}
    stated = {"source": "confaide", "template": None, "expected_range": [-100, 100]}
    return load_dataset(write(folder, files=files, factors=factors, **stated))


def test_confaide_scenarios_lose_their_instruction_and_get_their_labels(tmp_path):
    scenarios = "Rate it: 100) agree. \\nHabits.\x85\u2028 Sold.\nRate it: 100) agree.\\n Views. \n"
    frame = read_vignettes(confaide_dataset(tmp_path, scenarios, "1.26\n-73"), tmp_path)
    assert frame["vignette"].tolist() == ["Habits.\x85\u2028 Sold.", "Views."]
    assert frame["expected"].tolist() == [1.26, -73.0]
    assert frame["information_type"].tolist() == ["habits", "views"]
    tables.write(frame, tmp_path / "x.parquet", tables.VIGNETTES)


@pytest.mark.parametrize(
    ("scenarios", "labels", "message"),
    [
        ("I\\na\n", "1\n2\n", r"vignettes\.txt: has 1 lines, the dataset's factors make 2"),
        ("I\\na\nI\\nb\n", "1\n", r"labels\.txt: has 1 lines"),
        ("I\\na\nI b\n", "1\n2\n", "line 2 has no"),
        ("I\\na\nI\\nb\n", "1\n200\n", "outside expected_range"),
    ],
)
def test_confaide_files_that_do_not_fit_are_an_error(tmp_path, scenarios, labels, message):
    with pytest.raises(DataError, match=message):
        read_vignettes(confaide_dataset(tmp_path, scenarios, labels), tmp_path)
