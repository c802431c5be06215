"""The picture of the data flow in docs/architecture.md is that of the rules."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_picture_of_the_data_flow_is_up_to_date(tmp_path: Path) -> None:
    drawn = tmp_path / "data-flow.svg"
    command = [sys.executable, ROOT / "docs/tools/data_flow.py", drawn]
    done = subprocess.run(list(map(str, command)), text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    kept = (ROOT / "docs/images/data-flow.svg").read_text(encoding="utf-8")
    assert drawn.read_text(encoding="utf-8") == kept, (
        "run `make reference` and commit docs/images/data-flow.svg"
    )
    assert kept.count('class="rule"') > 20
