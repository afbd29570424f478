"""Backups and restores: streamed, and nothing is left behind."""

from __future__ import annotations

import asyncio
import errno
import os
from typing import NoReturn

import pytest
from starlette.types import Message

from foretell import protocol
from foretell.service.engine import Engine
from foretell.service.log.errors import Damaged
from foretell.service.log.sqlite.log import SqliteLog
from tests.service.http.conftest import Served, check_problem
from tests.service.http.fake_engine import FakeEngine

pytestmark = pytest.mark.usefixtures("nothing_is_left")

SQLITE = {"Content-Type": "application/vnd.sqlite3"}


def test_a_backup_can_be_restored(served: Served) -> None:
    decision = served.decision()
    copy = served.call("GET", "/v1/backup")
    if not isinstance(served.engine, Engine) or isinstance(served.engine.runtime.log, SqliteLog):
        assert copy.content.startswith(b"SQLite format 3\0")
    kind = served.engine.copy_kind
    assert kind.begins(copy.content)
    for answer in (copy, served.call("HEAD", "/v1/backup")):
        assert answer.headers["content-type"] == kind.media_type
        assert f"foretell-backup{kind.ending}" in answer.headers["content-disposition"]
    assert int(copy.headers["content-length"]) == len(copy.content)
    served.decision()
    pieces = (copy.content[i : i + 50_000] for i in range(0, len(copy.content), 50_000))
    media = {"Content-Type": kind.media_type}
    answer = served.call("POST", "/v1/restore", content=pieces, headers=media)
    assert answer.status_code == 200, answer.text
    assert int(answer.json()["head"]) > 2**53, "too large for a number of JSON"
    assert served.call("GET", f"/v1/decisions/{decision}").status_code == 200
    if isinstance(served.engine, FakeEngine):
        assert served.engine.restored == copy.content
    else:
        page = served.call("GET", "/v1/campaigns/hero/events").json()
        assert [one["type"] for one in page["events"]] == ["created", "decision"]


@pytest.mark.parametrize("body", [b"", b"nonsense", b"SQLite format 2\0" + bytes(5000)])
def test_what_is_no_backup_is_422_and_changes_nothing(served: Served, body: bytes) -> None:
    decision = served.decision()
    answer = served.call("POST", "/v1/restore", content=body, headers=SQLITE)
    assert answer.status_code == 422, answer.text
    assert "restore.db" not in answer.text, "a name that means nothing to the sender"
    assert served.call("GET", f"/v1/decisions/{decision}").status_code == 200


def test_a_backup_is_not_sent_as_a_form(served: Served) -> None:
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = served.call("POST", "/v1/restore", content=b"x", headers=form)
    assert answer.status_code == 415


def test_an_upload_that_is_cut_off_changes_nothing(broken: Served) -> None:
    messages: list[Message] = [
        {"type": "http.request", "body": b"SQLite format 3\0", "more_body": True},
        {"type": "http.disconnect"},
    ]
    sent: list[Message] = []

    async def receive() -> Message:
        return messages.pop(0)

    async def send(message: Message) -> None:
        sent.append(message)

    key = f"Bearer {broken.keys['admin']}".encode()
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/v1/restore",
        "query_string": b"",
        "headers": [(b"authorization", key), (b"content-type", b"application/vnd.sqlite3")],
    }
    asyncio.run(broken.client.app(scope, receive, send))  # type: ignore[arg-type]
    assert isinstance(broken.engine, FakeEngine)
    assert (sent, broken.engine.restored) == ([], b"")
    assert 'operation="restore",status="499"' in broken.client.get("/metrics").text


PLACES = ["scratch_folder", "restore", "backup", "export"]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    ("number", "status", "sentence"),
    [
        (errno.ENOSPC, 507, "there is no room for the copy"),
        (errno.EDQUOT, 507, "there is no room for the copy"),
        (errno.EFBIG, 507, "there is no room for the copy"),
        (errno.EROFS, 507, "make its folder writable"),
        (errno.EMFILE, 503, "try again soon"),
        (errno.EIO, 503, "try again soon"),
        (errno.EINVAL, 500, "the service failed"),
    ],
)
def test_a_copy_that_cannot_be_written_is_said(
    broken: Served,
    monkeypatch: pytest.MonkeyPatch,
    number: int,
    status: int,
    sentence: str,
    place: str,
) -> None:
    broken.decision()

    def fail(*_: object) -> NoReturn:
        raise OSError(number, os.strerror(number), "/srv/foretell.db")

    monkeypatch.setattr(FakeEngine, place, fail)
    copy = b"SQLite format 3\0"
    answers = {
        "restore": broken.call("POST", "/v1/restore", content=copy, headers=SQLITE),
        "backup": broken.call("GET", "/v1/backup"),
        "export": broken.call("GET", "/v1/campaigns/hero/export?format=parquet"),
    }
    for name, answer in answers.items():
        if place in ("scratch_folder", name):
            assert (answer.status_code, sentence in answer.text) == (status, True), name
            assert "foretell.db" not in answer.text
            assert ("retry-after" in answer.headers) == (status == 503)
        else:
            assert answer.status_code == 200


def test_a_log_that_is_damaged_after_a_restore_is_500(
    broken: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def damaged(self: FakeEngine, path: str, by: object) -> protocol.Restored:
        raise Damaged("record", 7)

    monkeypatch.setattr(FakeEngine, "restore", damaged)
    answer = broken.call("POST", "/v1/restore", content=b"SQLite format 3\0", headers=SQLITE)
    check_problem(answer, 500, "damaged")
    assert "record 7 does not match its checksum" in answer.json()["detail"]
