"""Problems name what would be right, show nothing that is secret, and are all documented."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NoReturn

import pytest

from foretell import protocol
from foretell.service.log.errors import Damaged, DatabaseRefused, LogClosed
from foretell.service.model import errors as problems
from foretell.service.model.events import Author
from tests.service.http.conftest import CAMPAIGN, Served, check_problem, post
from tests.service.http.fake_engine import FakeEngine

ROOT = Path(__file__).parents[3]


def test_a_name_that_is_none_is_refused_in_words(served: Served) -> None:
    answer = post(served, json.dumps({**CAMPAIGN, "name": "a/b"}))
    assert "name must be a name of at most 100 letters" in answer.json()["detail"]
    assert "regex" not in answer.text


@pytest.mark.parametrize(
    ("method", "path", "body", "said"),
    [
        ("POST", "/v1/keys", {"name": "k", "scopes": ["root"]}, "'decide', 'feedback', 'read'"),
        ("PATCH", "/v1/campaigns/hero", {"signal_silence": "x"}, "'default', 'unknown'"),
        ("PATCH", "/v1/campaigns/hero/actions/a", {"status": "x"}, "'active', 'paused', 'retired'"),
        ("GET", "/v1/campaigns/hero/export?format=csv", None, "'ndjson', 'parquet'"),
    ],
)
def test_the_words_that_would_do_are_listed(
    served: Served, method: str, path: str, body: Any, said: str
) -> None:
    served.decision()
    answer = served.call(method, path, json=body)
    assert answer.status_code in {400, 422}
    assert said in answer.json()["detail"]


def test_a_closed_log_is_503_and_not_ready(broken: Served) -> None:
    decision = broken.decision()
    assert isinstance(broken.engine, FakeEngine)
    broken.engine.open = False
    for path, body in (
        ("/v1/campaigns/hero/decisions", {}),
        (f"/v1/decisions/{decision}/signal", {"signal": "click"}),
        ("/v1/events/batch", {"events": [{"decision_id": decision, "value": 1}]}),
    ):
        answer = broken.call("POST", path, json=body)
        check_problem(answer, 503, "log-closed")
        assert int(answer.headers["retry-after"]) >= 1
    ready = broken.client.get("/readyz")
    check_problem(ready, 503, "log-closed")
    assert "the disk is full" in ready.json()["detail"]
    assert broken.client.get("/livez").status_code == 200
    broken.engine.open = True
    assert broken.client.get("/readyz").json()["status"] == "ok"


def test_an_unknown_failure_says_nothing_and_logs_where(
    broken: Served, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(
        self: FakeEngine, campaign: protocol.NewCampaign, by: Author | None
    ) -> protocol.CampaignView:
        raise KeyError(campaign.name)

    monkeypatch.setattr(FakeEngine, "create", fail)
    answer = broken.call("POST", "/v1/campaigns", json=CAMPAIGN)
    assert answer.status_code == 500
    assert answer.json()["type"] == "urn:foretell:problem:internal"
    assert "hero" not in answer.text
    assert "KeyError" not in answer.text
    (record,) = [one for one in caplog.records if one.name == "foretell.service"]
    assert "KeyError" in record.getMessage()
    assert "test_problems.py" in record.getMessage()
    assert "hero" not in record.getMessage()


def test_a_damaged_record_is_500_and_names_it(
    broken: Served, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def damaged(self: FakeEngine, *_: str | None) -> protocol.DecisionHistory:
        raise Damaged("record", 7)

    monkeypatch.setattr(FakeEngine, "history", damaged)
    answer = broken.call("GET", f"/v1/decisions/{broken.decision()}")
    check_problem(answer, 500, "damaged")
    assert "record 7 does not match its checksum: run foretell verify" in answer.json()["detail"]
    assert [one for one in caplog.records if one.name == "foretell.service"]


def kinds_of_problems() -> list[type[problems.RequestProblem]]:
    return [
        one
        for one in vars(problems).values()
        if isinstance(one, type)
        and issubclass(one, problems.RequestProblem)
        and one is not problems.RequestProblem
    ]


def test_every_problem_is_documented_with_its_status() -> None:
    text = (ROOT / "docs" / "problems.md").read_text("utf-8")
    written = dict(re.findall(r"^\| `([a-z-]+)` \| (\d{3}) \|", text, re.MULTILINE))
    assert written == {one.name: str(one.status) for one in kinds_of_problems()}


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (LogClosed("postgresql://me@db [Errno 111]", "the server is away"), "the server is away"),
        (DatabaseRefused("postgresql://me@db refuses me"), "the database server refuses this"),
    ],
)
def test_an_address_of_a_database_is_logged_and_not_shown(
    broken: Served,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    error: Exception,
    said: str,
) -> None:
    async def fail(*_: object) -> NoReturn:
        raise error

    monkeypatch.setattr(FakeEngine, "backup", fail)
    answer = broken.call("GET", "/v1/backup")
    check_problem(answer, 503, "log-closed")
    assert answer.json()["detail"].startswith(said)
    assert "me@db" not in answer.text
    assert "me@db" in caplog.text
