"""Pages that are kept: made once for all who ask, sent one by one, made anew after a change."""

from __future__ import annotations

import asyncio
from time import monotonic

import pytest

from foretell import protocol
from foretell.service.engine import Engine
from foretell.service.http import Limits, Metrics
from foretell.service.log.memory import MemoryLog
from foretell.service.ui import Site, ui_routes
from foretell.service.ui.site import SPREAD, MadePage


class Maker:
    """Makes a page, and counts how often."""

    def __init__(self) -> None:
        self.made = 0

    async def __call__(self) -> str:
        self.made += 1
        await asyncio.sleep(0.01)
        return f"page {self.made}"


async def opened() -> tuple[Engine, Site]:
    engine = await Engine.open(MemoryLog(), compiled=False)
    await engine.create(protocol.NewCampaign("hero", ["a", "b"], ["none", "click"]))
    site = Site(engine, Limits(), Metrics(engine))
    ui_routes(site)  # the templates
    return engine, site


def test_a_hundred_who_wait_for_a_page_get_it_one_in_each_turn() -> None:
    async def law() -> None:
        engine, site = await opened()
        make, turns, turn = Maker(), list[int](), 0

        async def read() -> None:
            assert (await site.kept("a", make)).main == "page 1"
            turns.append(turn)

        reading = [asyncio.create_task(read()) for _ in range(100)]
        while not all(one.done() for one in reading):
            await asyncio.sleep(0)
            turn += 1
        await asyncio.gather(*reading)
        assert make.made == 1
        assert len(set(turns)) == 100
        await engine.close()

    asyncio.run(law())


def test_a_page_is_made_again_after_any_change_and_not_after_traffic() -> None:
    async def law() -> None:
        engine, site = await opened()
        make = Maker()
        await site.kept("a", make)
        await engine.decide("hero", protocol.DecisionRequest())
        assert (await site.kept("a", make)).main == "page 1"
        await engine.set_status("hero", "paused", None, None)
        assert (await site.kept("a", make)).main == "page 2"
        waiting = asyncio.create_task(site.kept("b", make))
        await asyncio.sleep(0)
        site.forget()
        assert (await waiting).main == "page 3"
        assert (await site.kept("b", make)).main == "page 4"
        await engine.close()

    asyncio.run(law())


def test_a_page_that_could_not_be_made_is_tried_again() -> None:
    async def law() -> None:
        engine, site = await opened()

        async def fail() -> str:
            raise RuntimeError("no page")

        with pytest.raises(RuntimeError, match="no page"):
            await site.kept("a", fail)
        assert (await site.kept("a", Maker())).main == "page 1"
        await engine.close()

    asyncio.run(law())


def test_open_pages_come_back_when_there_can_be_something_new_and_not_together() -> None:
    page = MadePage("", b"", 20.0, monotonic() + 5.0)
    waits = sorted(page.read_again_after() for _ in range(1000))
    assert waits[0] > 4.0
    assert waits[-1] < 5.0 + SPREAD * 20.0
    assert waits[-100] - waits[100] > 0.5 * SPREAD * 20.0
