"""The probe of the tests takes no seconds."""

from __future__ import annotations

import pytest

from foretell.traffic import probe


@pytest.fixture
def short_probe(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the probe look for a moment only."""
    monkeypatch.setattr(probe, "WARM_UP_SECONDS", 0.0)
    monkeypatch.setattr(probe, "PROBE_SECONDS", 0.02)
