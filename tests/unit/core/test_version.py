"""A version names the code: a commit where there is git, the files elsewhere."""

import json
import re
import shutil
import subprocess
import sys

import yaml

from cinorms.core.version import LIBRARY, PROJECT, RELEASE


def test_a_version_is_a_commit_with_edits_marked_and_the_digest_of_the_files_without_git(tmp_path):
    module = tmp_path / "workflow/lib/cinorms/core/version.py"
    module.parent.mkdir(parents=True)
    shutil.copy(LIBRARY / "core/version.py", module)
    (tmp_path / "study.yaml").write_text("study: a\n")

    def git(*arguments: str) -> str:
        return subprocess.check_output(["git", "-C", tmp_path, *arguments], text=True).strip()

    def version() -> str:
        code = "from version import version; print(version())"
        command = [sys.executable, "-B", "-c", code]
        return subprocess.check_output(command, cwd=module.parent, text=True).strip()

    without_git = version()
    assert re.fullmatch(re.escape(RELEASE) + r"\+files\.[0-9a-f]{8}", without_git)
    git("init", "--quiet")
    git("add", ".")
    git("-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qam", "a")
    commit = git("rev-parse", "--short=8", "HEAD")
    assert version() == f"{RELEASE}+g{commit}"
    (tmp_path / "study.yaml").write_text("study: b\n")
    assert version() == f"{RELEASE}+g{commit}", "a study is no code"
    git("tag", f"v{RELEASE}")
    assert version() == RELEASE
    (module.parent / "new.py").write_text("a = 1\n")
    assert version() == f"{RELEASE}+g{commit}.dirty"
    shutil.rmtree(tmp_path / ".git")
    assert version() != without_git


def test_the_files_for_citing_state_the_same_release():
    cited = yaml.safe_load((PROJECT / "CITATION.cff").read_text(encoding="utf-8"))["version"]
    archived = json.loads((PROJECT / ".zenodo.json").read_text(encoding="utf-8"))["version"]
    assert cited == archived == RELEASE
