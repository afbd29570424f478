"""Dashboards to test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from anyio.from_thread import start_blocking_portal

from tests.service.ui.dashboard import Dashboard


@pytest.fixture
def dashboard() -> Iterator[Dashboard]:
    with start_blocking_portal() as portal:
        opened = Dashboard(portal)
        yield opened
        opened.close()
