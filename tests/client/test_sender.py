"""The sender: it lives as long as its client, and ends when it is told to."""

from __future__ import annotations

from typing import Any

import pytest

from foretell.client import wire
from tests.client.conftest import Make
from tests.client.service import Service


def test_no_failure_ends_the_sending(
    service: Service, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = make(service.url)
    with monkeypatch.context() as patched:
        patched.setattr(wire, "batch", _broken)
        client.reward("d", 1.0)
        assert not client.flush(0.1)
        assert "tried again: RuntimeError('a defect')" in str(client.trouble)
    assert client.flush()
    assert client.trouble is None
    assert len(service.events) == 1


def _broken(*_: Any) -> None:
    raise RuntimeError("a defect")
