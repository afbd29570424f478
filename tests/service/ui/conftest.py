"""Dashboards to test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from anyio.from_thread import start_blocking_portal

from tests.service.ui.dashboard import CAMPAIGN, Dashboard, fill


@pytest.fixture
def dashboard() -> Iterator[Dashboard]:
    with start_blocking_portal() as portal:
        opened = Dashboard(portal)
        yield opened
        opened.close()


@pytest.fixture
def served(dashboard: Dashboard) -> Dashboard:
    """Return a dashboard with a campaign in which something has happened, signed in."""
    settled = {"signal_silence": "unknown", "reward_silence": "unknown", "holdout": 0.3}
    dashboard.api("POST", "/campaigns", CAMPAIGN | settled)
    dashboard.portal.call(fill, dashboard.engine)
    dashboard.sign_in()
    return dashboard
