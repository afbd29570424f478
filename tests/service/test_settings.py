"""The settings of a server agree with the layers that use them."""

from __future__ import annotations

from foretell.service.http import Limits
from foretell.service.server import limits_of
from foretell.service.settings import Settings


def test_the_limits_are_those_of_the_http_layer() -> None:
    assert limits_of(Settings()) == Limits()
