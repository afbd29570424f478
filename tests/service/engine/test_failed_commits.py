"""A decision whose record could not be written leaves no trace."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from foretell import protocol
from foretell.policies.state import fingerprint
from foretell.service.log.errors import LogClosed
from foretell.service.log.memory import MemoryLog
from tests.service.engine_driver import Served


@pytest.mark.parametrize("name", ["ucb", "nsd-kl", "nsd-adaptive", "nsd-psrl"])
def test_what_was_not_committed_leaves_no_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Nor is the log read again for it."""
    with Served(tmp_path / "a.db") as served:
        served.create(policy=name)
        served.decide_many(3)
        before = fingerprint(served.state())
        log: Any = served.engine.runtime.log
        reads: list[int] = []

        async def fail(_: object) -> None:
            raise LogClosed("the disk is full: try again soon")

        async def counted(*_: object, **__: object) -> list[Any]:
            reads.append(1)
            return []

        with monkeypatch.context() as broken:
            broken.setattr(log, "append", fail)
            for reading in ("records", "decisions", "decisions_after"):
                broken.setattr(log, reading, counted)

            async def fails() -> int:
                failed = 0
                for _ in range(20):
                    try:
                        await served.engine.decide("c", protocol.DecisionRequest())
                    except LogClosed:
                        failed += 1
                return failed

            assert served.run(fails()) == 20
        active = served.engine.runtime.by_name["c"]
        assert active.overlay.state() is active.campaign.state
        assert active.overlay.t == active.campaign.decided == 3
        assert fingerprint(served.state()) == before
        assert isinstance(log, MemoryLog) or not reads, "in memory, the tail itself reads records"
        served.decide()
        assert served.campaign().decided == 4
        assert served.digest() == served.rebuilt().digest()
