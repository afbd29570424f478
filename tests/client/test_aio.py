"""Clients in several event loops, and closed while they work."""

from __future__ import annotations

import asyncio
import gc
import threading
from typing import Any

import pytest

import foretell
from foretell.client import ClientClosed
from tests.client.conftest import Make, until
from tests.client.fake_service import Fault, Service


async def _decided(client: foretell.AsyncClient) -> str:
    decision = await client.decide("c")
    await decision.signal("click")
    return decision.mode


async def _flushed_and_closed(client: foretell.AsyncClient) -> bool:
    await client.decide("c")
    flushed = await client.flush()
    await client.close()
    return flushed


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
def test_a_client_serves_one_loop_after_another(service: Service) -> None:
    client = foretell.AsyncClient(service.url, timeout=20.0)
    assert [asyncio.run(_decided(client)) for _ in range(3)] == ["policy"] * 3
    assert asyncio.run(_flushed_and_closed(client))
    assert len(service.events) == 3
    assert not client._transport._pools
    gc.collect()


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
def test_a_client_serves_several_loops_at_once(service: Service) -> None:
    client = foretell.AsyncClient(service.url, timeout=20.0)
    ready = threading.Barrier(4, timeout=20)
    modes: list[Any] = []

    async def several() -> None:
        ready.wait()
        modes.extend([await _decided(client) for _ in range(5)])

    threads = [threading.Thread(target=asyncio.run, args=(several(),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert modes == ["policy"] * 20
    assert asyncio.run(_flushed_and_closed(client))
    assert len(service.events) == 20
    gc.collect()


def test_deciding_while_the_client_closes_raises(service: Service, make: Make) -> None:
    service.always = Fault(delay=0.2)
    client = make(service.url, timeout=10.0)
    errors: list[BaseException] = []

    def decide() -> None:
        try:
            while True:
                client.decide("c")
        except BaseException as error:  # noqa: BLE001 - checked below
            errors.append(error)

    threads = [threading.Thread(target=decide) for _ in range(4)]
    for thread in threads:
        thread.start()
    until(lambda: len(service.requests) >= 4)
    client.close()
    for thread in threads:
        thread.join(20)
    assert [type(error) for error in errors] == [ClientClosed] * 4
    assert {str(error) for error in errors} == {"this client is closed: make another one"}
