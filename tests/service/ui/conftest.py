"""Dashboards to test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from anyio.from_thread import start_blocking_portal
from playwright.sync_api import Browser, expect

from tests.browser import chromium
from tests.service.ui.dashboard import CAMPAIGN, Dashboard, fill
from tests.service.ui.watched import WAIT


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


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        expect.set_options(timeout=WAIT)
        yield started
