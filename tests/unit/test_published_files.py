"""Where the authors' files come from in tests, and what pytest says where they cannot be obtained."""

import filecmp
import shutil

from .. import published_files


def test_what_is_fetched_is_laid_out_as_a_mirror(mirror, tmp_path, monkeypatch):
    cache, files = tmp_path / "cache", [file for file in published_files.declared() if file.path is None]
    cache.mkdir()
    for file in files:
        found = next(mirror / name for name in file.mirror if (mirror / name).is_file())
        assert file.sha256 is not None
        shutil.copy(found, cache / f"{file.sha256[:12]}-{file.url.rpartition('/')[2]}")
    monkeypatch.delenv("CINORMS_MIRROR", raising=False)
    monkeypatch.setattr(published_files, "CACHE", cache)
    folder = published_files.mirror_in(tmp_path / "made")
    assert len(files) > 20
    for file in files:
        found = next(mirror / name for name in file.mirror if (mirror / name).is_file())
        assert filecmp.cmp(folder / file.mirror[0], found, shallow=False)
