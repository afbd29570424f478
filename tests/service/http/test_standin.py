"""The stand-in keeps the contract of the real engine, as far as HTTP uses it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from tests.service.http.conftest import Served
from tests.service.http.standin import StandIn

METHODS = [name for name, _ in inspect.getmembers(StandIn, inspect.isfunction) if name[0] != "_"]


def shape(method: Callable[..., Any]) -> tuple[int, str]:
    """Return what a caller sees: how many values it takes, and what it returns."""
    signature = inspect.signature(method)
    return len(signature.parameters), str(signature.return_annotation)


def test_the_stand_in_is_called_as_the_engine_is(served: Served) -> None:
    for name in METHODS:
        ours, theirs = getattr(StandIn(), name), getattr(served.engine, name)
        assert shape(ours) == shape(theirs), name
        assert inspect.iscoroutinefunction(ours) == inspect.iscoroutinefunction(theirs), name
