"""Many visitors at once: records that are not on disk yet are read like all others."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from foretell import protocol
from foretell.service.log.memory import MemoryLog
from foretell.service.log.protocol import Draft, Written
from foretell.service.log.sqlite.writer import Writer
from tests.service.engine_driver import Served


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["nsd-adaptive", "nsd-kl"])
@pytest.mark.parametrize("silence", ["default", "unknown"])
def test_visitors_do_not_disturb_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, policy: str, silence: str
) -> None:
    """On a slow disk the records of one decision are spread over transactions under way."""
    write, append = Writer._write, MemoryLog.append

    def slow(self: Writer, jobs: Any) -> None:
        time.sleep(0.002)
        write(self, jobs)

    async def slow_append(self: MemoryLog, drafts: Sequence[Draft]) -> list[Written]:
        await asyncio.sleep(0.002)
        return await append(self, drafts)

    monkeypatch.setattr(Writer, "_write", slow)
    monkeypatch.setattr(MemoryLog, "append", slow_append)
    with Served(tmp_path / "a.db") as served:
        served.create(
            policy=policy,
            signal_window=0.05,
            reward_window=0.1,
            signal_silence=silence,
            reward_silence=silence,
        )
        engine, history_reports = served.engine, []

        async def visitor(number: int) -> None:
            await asyncio.sleep(0.001 * (number % 7))
            answer, _ = await engine.decide(
                "c", protocol.DecisionRequest(decision_key=f"k{number}")
            )
            one = answer.decision_id
            reports: list[Any] = [
                engine.feedback(one, protocol.SignalReport("click", f"s{number}")),
                engine.feedback(one, protocol.SignalReport("buy", f"t{number}")),
                engine.feedback(one, protocol.RewardReport(0.25, event_id=f"r{number}")),
                engine.feedback(one, protocol.RewardReport(0.5, event_id=f"q{number}")),
                engine.feedback(one, protocol.SignalReport("click", f"s{number}")),
            ]
            tasks = []
            for index, report in enumerate(reports):
                tasks.append(asyncio.create_task(report))
                await asyncio.sleep(0.001 * ((number + index) % 4))
            found = [receipt.status for receipt in await asyncio.gather(*tasks)]
            assert found[1:4] == ["accepted"] * 3
            assert sorted(found[::4]) == ["accepted", "duplicate"], "one of the two that are alike"
            history = await engine.history(one)
            assert len(history.events) == 5
            history_reports.append(one)
            served.machine.time += 50

        async def all_of_them() -> None:
            await asyncio.gather(*(visitor(number) for number in range(300)))

        served.run(all_of_them())
        served.pass_time(1.0)
        for one in history_reports[::10]:
            assert (served.history(one).signal, served.history(one).reward) == ("buy", 0.75)
        counts = served.report().counts
        assert (counts.decisions, counts.signals, counts.rewards) == (300, 600, 600)
        assert counts.duplicates == 300
        assert served.digest() == served.rebuilt().digest()
        digest = served.digest()
        served.crash()
        assert served.digest() == digest
