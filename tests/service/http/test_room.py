"""A disk that is full while a backup is restored."""

from __future__ import annotations

import errno
import os

import pytest

from foretell import protocol
from tests.service.http.conftest import Served
from tests.service.http.standin import StandIn


@pytest.mark.parametrize(("number", "status"), [(errno.ENOSPC, 413), (errno.EDQUOT, 413), (5, 500)])
def test_no_room_for_a_backup_is_413(
    broken: Served, monkeypatch: pytest.MonkeyPatch, number: int, status: int
) -> None:
    async def full(self: StandIn, path: str) -> protocol.Restored:
        raise OSError(number, os.strerror(number), "/srv/foretell.db")

    monkeypatch.setattr(StandIn, "restore", full)
    media = {"Content-Type": "application/vnd.sqlite3"}
    answer = broken.call("POST", "/v1/restore", content=b"SQLite format 3\0", headers=media)
    assert answer.status_code == status
    assert "foretell.db" not in answer.text
