"""Exports, backups and restores: streamed, and nothing is left behind."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from starlette.types import Message

from foretell import protocol
from foretell.service.http.call import Reply
from foretell.service.http.deliver import BrokenStream, deliver
from foretell.service.http.parquet import COLUMNS
from tests.service.http.conftest import Served
from tests.service.http.standin import NOW, StandIn

QUOTED = "what a message may quote"
SQLITE = {"Content-Type": "application/vnd.sqlite3"}


@pytest.fixture(autouse=True)
def nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    yield
    assert list(scratch.iterdir()) == []


def test_the_log_is_exported_line_by_line(served: Served) -> None:
    decision = served.decision()
    served.call("POST", f"/v1/decisions/{decision}/reward", json={"value": 0.5, "event_id": "r"})
    answer = served.call("GET", "/v1/campaigns/hero/export", "read")
    assert answer.headers["content-type"] == "application/x-ndjson"
    lines = [json.loads(line) for line in answer.text.splitlines()]
    assert [line["type"] for line in lines] == ["created", "decision", "reward"]
    page = served.call("GET", "/v1/campaigns/hero/events", "read").json()["events"]
    assert lines == page


def test_the_log_is_exported_as_a_table(served: Served, tmp_path: Path) -> None:
    import duckdb

    decision = served.decision()
    served.call("POST", f"/v1/decisions/{decision}/reward", json={"value": 0.5, "event_id": "r"})
    served.call("POST", f"/v1/decisions/{decision}/signal", json={"signal": "click"})
    answer = served.call("GET", "/v1/campaigns/hero/export?format=parquet", "read")
    assert answer.headers["content-type"] == "application/vnd.apache.parquet"
    assert int(answer.headers["content-length"]) == len(answer.content)
    file = tmp_path / "log.parquet"
    file.write_bytes(answer.content)
    with duckdb.connect() as connection:
        table = connection.read_parquet(str(file))
        assert table.columns == list(COLUMNS)
        columns = 'seq, type, round, action, signal, value, event_id, epoch_us("recorded_at"), body'
        rows = table.project(columns).fetchall()
    assert [row[1] for row in rows] == ["created", "decision", "reward", "signal"]
    assert rows[1][3] in {"a", "b"}
    assert (rows[2][5], rows[2][6]) == (0.5, "r")
    assert rows[3][4] == "click"
    lines = served.call("GET", "/v1/campaigns/hero/export", "read").text.splitlines()
    for row, line in zip(rows, map(json.loads, lines), strict=True):
        assert row[0] == line["seq"]
        assert row[7] % 1_000_000 == int(line["recorded_at"][20:26])
        assert json.loads(row[8]) == line["body"]


@pytest.mark.parametrize("query", ["?format=csv", "?format=", "?form=ndjson"])
def test_an_unknown_format_is_422(served: Served, query: str) -> None:
    served.decision()
    answer = served.call("GET", f"/v1/campaigns/hero/export{query}", "read")
    assert answer.status_code == 422
    assert "format" in answer.json()["detail"]


def test_an_unknown_campaign_is_404_in_any_format(served: Served) -> None:
    for form in ("ndjson", "parquet"):
        answer = served.call("GET", f"/v1/campaigns/none/export?format={form}")
        assert answer.status_code == 404


def test_a_large_log_is_sent_in_pieces(broken: Served) -> None:
    broken.decision()
    assert isinstance(broken.engine, StandIn)
    lines = [
        protocol.RecordView(seq, NOW, "reward", {"value": 1.0, "x": "y" * 50})
        for seq in range(20_000)
    ]
    broken.engine.lines["hero"] = lines
    answer = broken.call("GET", "/v1/campaigns/hero/export")
    assert len(answer.text.splitlines()) == 20_000
    table = broken.call("GET", "/v1/campaigns/hero/export?format=parquet")
    assert table.status_code == 200


async def _break(self: StandIn, name: str) -> AsyncIterator[protocol.RecordView]:
    for seq in range(5_000):
        yield protocol.RecordView(seq, NOW, "x", {})
    raise RuntimeError(QUOTED)


def test_an_export_that_breaks_is_cut_off_and_logged(
    broken: Served, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    broken.decision()
    monkeypatch.setattr(StandIn, "export", _break)
    with pytest.raises(BrokenStream):
        broken.call("GET", "/v1/campaigns/hero/export")
    assert "RuntimeError" in caplog.text
    assert QUOTED not in caplog.text
    table = broken.call("GET", "/v1/campaigns/hero/export?format=parquet")
    assert table.status_code == 500


def test_a_backup_can_be_restored(served: Served) -> None:
    decision = served.decision()
    copy = served.call("GET", "/v1/backup")
    assert copy.content.startswith(b"SQLite format 3\0")
    assert int(copy.headers["content-length"]) == len(copy.content)
    served.decision()
    pieces = (copy.content[i : i + 50_000] for i in range(0, len(copy.content), 50_000))
    answer = served.call("POST", "/v1/restore", content=pieces, headers=SQLITE)
    assert answer.status_code == 200, answer.text
    assert answer.json()["head"] > 0
    assert served.call("GET", f"/v1/decisions/{decision}").status_code == 200
    if isinstance(served.engine, StandIn):
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


def test_who_goes_away_is_sent_no_more(broken: Served) -> None:
    """An endless content ends when its client is gone, and lets go of what is behind it."""
    closed = []

    async def endless() -> AsyncGenerator[bytes]:
        try:
            while True:
                yield b"piece"
                await asyncio.sleep(0)
        finally:
            closed.append(True)

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    async def send(_: Message) -> None:
        return None

    asyncio.run(deliver(Reply(200, endless()), "export", "GET", receive, send))
    assert closed == [True]


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
    assert isinstance(broken.engine, StandIn)
    assert (sent, broken.engine.restored) == ([], b"")
    assert 'operation="restore",status="499"' in broken.client.get("/metrics").text
