"""Every law of the client is tried with both clients, against a real HTTP server."""

from __future__ import annotations

import asyncio
import inspect
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import pytest

import foretell
from tests.client.fake_service import Service

Make: TypeAlias = Callable[..., Any]

PATIENCE = 20.0
"""Seconds in which anything is done that should be, however busy the machine is."""


class Waiting:
    """An AsyncClient that is called like a Client, on a loop in a thread of its own."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        try:
            self._client = foretell.AsyncClient(*args, **settings)
        except BaseException:
            self.stop()
            raise

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._client, name)
        return self._called(found) if callable(found) else found

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._loop.close()

    def _called(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **settings: Any) -> Any:
            return self.waited(function(*args, **settings))

        return call

    def waited(self, value: Any) -> Any:
        if not inspect.iscoroutine(value):
            return value
        return asyncio.run_coroutine_threadsafe(value, self._loop).result(30)


def until(true: Callable[[], bool]) -> None:
    """Wait for something that comes true in another thread."""
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end
        time.sleep(0.005)


@pytest.fixture
def service() -> Iterator[Service]:
    with Service() as running:
        yield running


@pytest.fixture(params=["sync", "async"])
def make(request: pytest.FixtureRequest) -> Iterator[Make]:
    """Return a function that makes clients, which are closed in the end."""
    made: list[Any] = []

    def one(*args: Any, **settings: Any) -> Any:
        settings.setdefault("timeout", PATIENCE)
        kind = foretell.Client if request.param == "sync" else Waiting
        made.append(kind(*args, **settings))
        return made[-1]

    yield one
    for client in made:
        client.close(timeout=0.05)
        if isinstance(client, Waiting):
            client.stop()
