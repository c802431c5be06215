"""`make clean` removes what can be made again and keeps what was paid for, as the documents say."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
KEPT = (
    "results/s/responses/main/m/1-of-1.parquet",
    "results/s/responses/main/m/.journal/key/parts/1.parquet",
    "results/.journal/m.key/parts/1.parquet",
    "results/.journal/m.key/settings.json",
    "results/s/.spending/x",
    "results/s/.checkpoints/m.json",
)
REMOVED = ("results/s/norms.csv", "results/s/tables/t.csv", "results/s/report/index.html", "logs/s/a.log")


def test_responses_and_their_journals_stay(tmp_path: Path) -> None:
    shutil.copy(ROOT / "Makefile", tmp_path)
    for name in (*KEPT, *REMOVED):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x", encoding="utf-8")
    subprocess.run(["make", "clean"], cwd=tmp_path, check=True, capture_output=True)
    assert [name for name in KEPT if not (tmp_path / name).exists()] == []
    assert [name for name in REMOVED if (tmp_path / name).exists()] == []
    asking = (ROOT / "docs/method/inference/asking.md").read_text(encoding="utf-8")
    assert "`make clean` keeps responses, journals" in asking
