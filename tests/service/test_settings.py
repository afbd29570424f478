"""The settings of a server agree with the layers that use them."""

from __future__ import annotations

from foretell.service.http import Limits
from foretell.service.settings import Settings


def test_the_limits_are_those_of_the_http_layer() -> None:
    settings = Settings()
    assert Limits(settings.max_body, settings.max_batch, settings.max_in_flight) == Limits()
