"""The fake engine keeps the contract of the real one, as far as HTTP uses it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, get_type_hints

from tests.service.http.conftest import Served
from tests.service.http.fake_engine import FakeEngine

METHODS = [name for name, _ in inspect.getmembers(FakeEngine, inspect.isfunction) if name[0] != "_"]


def shape(method: Callable[..., Any]) -> tuple[int, Any, bool]:
    """Return what a caller sees: how many values go in, what comes out, and whether it waits."""
    parameters = inspect.signature(method).parameters
    returned = get_type_hints(method).get("return")
    return len(parameters), returned, inspect.iscoroutinefunction(method)


def test_the_fake_engine_is_called_as_the_engine_is(served: Served) -> None:
    for name in METHODS:
        assert shape(getattr(FakeEngine(), name)) == shape(getattr(served.engine, name)), name
