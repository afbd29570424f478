"""Settings of every test: hypothesis draws the same examples each time, without a clock."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from foretell.kernel import KERNELS
from foretell.policies import registry

settings.register_profile(
    "same-every-time",
    deadline=None,
    derandomize=True,
    database=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("same-every-time")


@pytest.fixture
def own_registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let a test register policies and kernels that no other test sees."""
    monkeypatch.setattr(registry, "_entries", dict(registry._entries))
    kernels = len(KERNELS)
    yield
    del KERNELS[kernels:]
