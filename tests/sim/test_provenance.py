"""Caches are where a user's caches are, by source, and are dropped when nobody uses them."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from foretell.sim.provenance import KEPT_SECONDS, cache_folder, source_digest, user_cache

linux = pytest.mark.skipif(sys.platform != "linux", reason="other systems have other folders")


@linux
def test_caches_are_in_the_users_cache_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere/else")
    assert user_cache() == Path("/somewhere/else/foretell")
    for unset in ("", None):
        if unset is None:
            monkeypatch.delenv("XDG_CACHE_HOME")
        else:
            monkeypatch.setenv("XDG_CACHE_HOME", unset)
        assert user_cache() == Path.home() / ".cache" / "foretell"


@linux
def test_what_is_long_unused_is_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    old, recent, other = (
        tmp_path / "foretell" / name for name in ("kind-old", "kind-recent", "other-old")
    )
    for folder in (old, recent, other):
        folder.mkdir(parents=True)
    for folder in (old, other):
        before = folder.stat().st_mtime - KEPT_SECONDS - 60
        os.utime(folder, (before, before))
    made = cache_folder("kind")
    assert made == tmp_path / "foretell" / f"kind-{source_digest()}"
    assert (old.exists(), recent.exists(), other.exists()) == (False, True, True)


def test_a_users_own_source_is_part_of_the_digest(tmp_path: Path) -> None:
    own = tmp_path / "own.py"
    digests = {source_digest()}
    for text in ("one", "two"):
        own.write_text(text)
        digests.add(source_digest((own,)))
    assert len(digests) == 3
