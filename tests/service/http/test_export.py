"""Exports: streamed or as a table, and nothing is left behind."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from foretell import protocol
from foretell.service.http.export import COLUMNS
from foretell.service.http.responses import BrokenStream
from tests.service.http.conftest import Served, check_problem
from tests.service.http.fake_engine import NOW, FakeEngine

pytestmark = pytest.mark.usefixtures("nothing_is_left")

QUOTED = "what a message may quote"


def test_the_log_is_exported_record_by_record(served: Served) -> None:
    decision = served.decision()
    served.call("POST", f"/v1/decisions/{decision}/reward", json={"value": 0.5, "event_id": "r"})
    answer = served.call("GET", "/v1/campaigns/hero/export", "read")
    assert answer.headers["content-type"] == "application/x-ndjson"
    records = [json.loads(line) for line in answer.text.splitlines()]
    assert [record["type"] for record in records] == ["created", "decision", "reward"]
    page = served.call("GET", "/v1/campaigns/hero/events", "read").json()["events"]
    assert records == page


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
        columns = 'seq, type, action, signal, value, event_id, epoch_us("recorded_at"), body'
        rows = table.project(columns).fetchall()
    assert [row[1] for row in rows] == ["created", "decision", "reward", "signal"]
    assert rows[1][2] in {"a", "b"}
    assert (rows[2][4], rows[2][5]) == (0.5, "r")
    assert rows[3][3] == "click"
    lines = served.call("GET", "/v1/campaigns/hero/export", "read").text.splitlines()
    for row, line in zip(rows, map(json.loads, lines), strict=True):
        assert str(row[0]) == line["seq"]
        assert row[6] % 1_000_000 == int(line["recorded_at"][20:26])
        assert json.loads(row[7]) == line["body"]


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
    assert isinstance(broken.engine, FakeEngine)
    records = [
        protocol.RecordView(str(seq), NOW, "reward", {"value": 1.0, "x": "y" * 50})
        for seq in range(20_000)
    ]
    broken.engine.records["hero"] = records
    answer = broken.call("GET", "/v1/campaigns/hero/export")
    assert len(answer.text.splitlines()) == 20_000
    table = broken.call("GET", "/v1/campaigns/hero/export?format=parquet")
    assert table.status_code == 200


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_without_duckdb_a_table_is_501_and_says_what_to_install(
    served: Served, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    served.decision()
    monkeypatch.setitem(sys.modules, "duckdb", None)
    answer = served.call(method, "/v1/campaigns/hero/export?format=parquet", "read")
    assert answer.status_code == 501
    if method == "GET":
        check_problem(answer, 501, "not-installed")
        assert "pip install 'foretell[parquet]'" in answer.json()["detail"]
    assert served.call("GET", "/v1/campaigns/none/export?format=parquet").status_code == 404
    answer = served.call("GET", "/v1/campaigns/hero/export", "read")
    assert [json.loads(line)["type"] for line in answer.text.splitlines()] == [
        "created",
        "decision",
    ]


async def _break(self: FakeEngine, name: str) -> AsyncIterator[protocol.RecordView]:
    for seq in range(5_000):
        yield protocol.RecordView(str(seq), NOW, "x", {})
    raise RuntimeError(QUOTED)


def test_an_export_that_breaks_is_cut_off_and_logged(
    broken: Served, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    broken.decision()
    monkeypatch.setattr(FakeEngine, "export", _break)
    with pytest.raises(BrokenStream):
        broken.call("GET", "/v1/campaigns/hero/export")
    assert "RuntimeError" in caplog.text
    assert QUOTED not in caplog.text
    table = broken.call("GET", "/v1/campaigns/hero/export?format=parquet")
    assert table.status_code == 500
