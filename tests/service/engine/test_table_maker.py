"""Tables of large campaigns are made in threads, from a copy, and serve every eligible set."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from foretell import protocol
from foretell.policies.verbs import draw_values
from foretell.service.engine import Engine
from foretell.service.model import decider, value_table

ACTIONS = [f"a{n}" for n in range(300)]
SIGNALS = ["none", "s1", "s2", "s3"]


class Making:
    """Spies on the making of tables, and can hold it up."""

    def __init__(self) -> None:
        self.threads: list[int] = []
        self.states: list[Any] = []
        self.go_on = threading.Event()
        self.go_on.set()

    def draw(self, state: Any, *arguments: Any) -> Any:
        self.threads.append(threading.get_ident())
        self.states.append(state)
        assert self.go_on.wait(60)
        return draw_values(state, *arguments)


@pytest.fixture
def making(monkeypatch: pytest.MonkeyPatch) -> Making:
    spy = Making()
    monkeypatch.setattr(value_table, "draw_values", spy.draw)
    monkeypatch.setattr(value_table, "has", lambda verb, state: hasattr(state, "base"))
    return spy


def on_large(folder: Path, work: Callable[[Engine], Awaitable[None]]) -> None:
    """Work with an engine that has a large campaign and a small one."""

    async def run() -> None:
        engine = await Engine.open(folder / "a.db", durability="relaxed", compiled=False)
        try:
            for name, actions in (("large", ACTIONS), ("small", ["a", "b"])):
                new = protocol.NewCampaign(
                    name, actions, SIGNALS, signal_silence="unknown", reward_silence="unknown"
                )
                await engine.create(new)
            await work(engine)
        finally:
            await engine.close()

    asyncio.run(run())


async def decide(engine: Engine, name: str, eligible: list[str] | None = None) -> Any:
    return (await engine.decide(name, protocol.DecisionRequest(eligible=eligible)))[0]


def test_the_first_decision_waits_for_its_table_and_no_other_campaign_does(
    tmp_path: Path, making: Making
) -> None:
    async def work(engine: Engine) -> None:
        making.go_on.clear()
        first = asyncio.create_task(decide(engine, "large"))
        while not making.threads:  # noqa: ASYNC110  (nothing tells of it)
            await asyncio.sleep(0.001)
        assert making.threads[0] != threading.get_ident()
        small = engine.runtime.by_name["small"].decider
        small.choose = lambda *_: decider.Choice(0, 0.5, "policy", 1)  # type: ignore[method-assign]
        assert (await decide(engine, "small")).action == "a", "it is decided meanwhile"
        assert not first.done()
        making.go_on.set()
        assert (await first).action in ACTIONS
        large = engine.runtime.by_name["large"]
        assert making.states[0] is not large.campaign.state, "it is made from a copy"

    on_large(tmp_path, work)


def test_one_table_serves_every_set_and_an_old_one_while_another_is_made(
    tmp_path: Path, making: Making, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work(engine: Engine) -> None:
        rng = random.Random(1)  # noqa: S311
        monkeypatch.setattr(decider, "KEEP_FACTOR", 1e9)
        monkeypatch.setattr(decider, "SLOW_SECONDS", 0.0)
        for _ in range(30):
            eligible = rng.sample(ACTIONS, 20)
            answer = await decide(engine, "large", eligible)
            assert answer.action in eligible
            assert answer.propensity * value_table.TABLE_DRAWS >= 1.0
            await engine.feedback(answer.decision_id, protocol.SignalReport("s1"))
        assert len(making.threads) == 1
        await engine.settled()
        monkeypatch.setattr(decider, "KEEP_FACTOR", 0)
        making.go_on.clear()
        old = engine.runtime.by_name["large"].decider.find(decider.EVERY_SET)
        assert old is not None
        for _ in range(3):
            assert (await decide(engine, "large")).action in ACTIONS, "it waits for nobody"
        assert len(engine.runtime.by_name["large"].decider.making) == 1
        making.go_on.set()
        while engine.runtime.by_name["large"].decider.making:  # noqa: ASYNC110
            await asyncio.sleep(0.001)
        assert len(making.threads) == 2
        new = engine.runtime.by_name["large"].decider.find(decider.EVERY_SET)
        assert new is not None
        assert new.position > old.position

    on_large(tmp_path, work)


def test_a_table_that_was_begun_before_a_change_is_not_used(tmp_path: Path, making: Making) -> None:
    async def work(engine: Engine) -> None:
        making.go_on.clear()
        first = asyncio.create_task(decide(engine, "large"))
        while not making.threads:  # noqa: ASYNC110  (nothing tells of it)
            await asyncio.sleep(0.001)
        await engine.patch_action("large", ACTIONS[0], protocol.ActionPatch("retired"))
        making.go_on.set()
        assert (await first).action in ACTIONS
        large = engine.runtime.by_name["large"]
        for _ in range(20):
            assert (await decide(engine, "large")).action != ACTIONS[0]
        kept = large.decider.find(decider.EVERY_SET)
        assert kept is not None
        assert np.isneginf(kept.values[0]).all(), "only rows that can be chosen are made"

    on_large(tmp_path, work)


def test_a_small_table_is_made_again_when_its_decision_is_folded(
    tmp_path: Path, making: Making, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work(engine: Engine) -> None:
        monkeypatch.setattr(decider, "KEEP_FACTOR", 0)
        monkeypatch.setattr(decider, "SLOW_SECONDS", 60.0)
        small = engine.runtime.by_name["small"]
        await decide(engine, "small")
        await engine.settled()
        made = len(making.states)
        table = small.decider.find(decider.EVERY_SET)
        assert table is not None
        for _ in range(5):
            answer = await decide(engine, "small")
            assert len(making.states) == made, "it was at hand"
            assert small.decider.find(decider.EVERY_SET) is table
            await engine.settled()
            made += 1
            assert len(making.states) == made
            assert small.decider.find(decider.EVERY_SET) is not table
            table = small.decider.find(decider.EVERY_SET)
        for _ in range(3):
            await engine.feedback(answer.decision_id, protocol.SignalReport("s1"))
            await engine.settled()
        assert len(making.states) == made, "nobody has chosen from the last"

    on_large(tmp_path, work)


def test_a_table_that_cannot_be_made_again_holds_up_nobody(
    tmp_path: Path, making: Making, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work(engine: Engine) -> None:
        monkeypatch.setattr(decider, "KEEP_FACTOR", 0)
        monkeypatch.setattr(decider, "SLOW_SECONDS", 60.0)
        await engine.create(protocol.NewCampaign("other", ["a", "b"], SIGNALS))
        small, other = (engine.runtime.by_name[name] for name in ("small", "other"))
        draw = making.draw

        def failing(state: Any, *arguments: Any) -> Any:
            if state.base is small.campaign.served_state.base:
                raise ValueError("no draw is possible")
            return draw(state, *arguments)

        for name in ("small", "other"):
            await decide(engine, name)
            await engine.settled()
        await decide(engine, "small")
        monkeypatch.setattr(value_table, "draw_values", failing)
        await decide(engine, "other")
        await engine.settled()
        assert other.damage is None
        assert other.campaign.decided == 2
        assert small.damage is None
        assert small.campaign.decided == 2
        with pytest.raises(ValueError, match="no draw is possible"):
            await decide(engine, "small")

    on_large(tmp_path, work)
