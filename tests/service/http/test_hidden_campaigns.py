"""A hidden campaign is stopped and in no list; nothing of it is lost, and its name stays taken."""

from __future__ import annotations

import pytest

from tests.service.engine_driver import LOG_ENGINES
from tests.service.http.conftest import CAMPAIGN, Served

pytestmark = pytest.mark.parametrize("served", LOG_ENGINES, indirect=True)


def listed(served: Served, query: str = "") -> dict[str, str]:
    found = served.call("GET", f"/v1/campaigns{query}", "read").json()["campaigns"]
    return {one["name"]: one["status"] for one in found}


def test_a_campaign_that_is_hidden_is_stopped_and_in_no_list(served: Served) -> None:
    decision = served.decision()
    served.call("POST", "/v1/campaigns", json=CAMPAIGN | {"name": "other"})
    hidden = served.call("POST", "/v1/campaigns/hero/hide")
    assert (hidden.status_code, hidden.json()["status"]) == (200, "hidden")
    assert hidden.headers["etag"] == '"2"'
    assert listed(served) == {"other": "running"}
    assert listed(served, "?hidden=true") == {"hero": "hidden", "other": "running"}
    assert served.call("POST", "/v1/campaigns/hero/decisions").status_code == 409
    assert served.call("POST", "/v1/campaigns/hero/start").status_code == 409
    assert served.call("PATCH", "/v1/campaigns/hero", json={"explore": 0.1}).status_code == 409
    reward = served.call("POST", f"/v1/decisions/{decision}/reward", json={"value": 1.0})
    assert reward.json()["status"] == "accepted"
    report = served.call("GET", "/v1/campaigns/hero/report").json()
    assert (report["status"], report["counts"]["rewards"]) == ("stopped", 1)
    again = served.call("POST", "/v1/campaigns", json=CAMPAIGN)
    assert again.status_code == 409, "its name stays taken"


def test_a_hidden_campaign_can_be_shown_again_and_never_runs_again(served: Served) -> None:
    served.decision()
    served.call("POST", "/v1/campaigns/hero/hide")
    assert served.call("POST", "/v1/campaigns/hero/hide").json()["version"] == 2, "nothing changes"
    shown = served.call("POST", "/v1/campaigns/hero/stop")
    assert shown.json()["status"] == "stopped"
    assert listed(served) == {"hero": "stopped"}
    assert served.call("POST", "/v1/campaigns/hero/start").status_code == 409


def test_hiding_needs_an_admin_key_and_the_version_that_was_read(served: Served) -> None:
    served.decision()
    assert served.call("POST", "/v1/campaigns/hero/hide", "read").status_code == 403
    stale = served.call("POST", "/v1/campaigns/hero/hide", headers={"If-Match": '"7"'})
    assert stale.status_code == 412
    assert listed(served) == {"hero": "running"}
