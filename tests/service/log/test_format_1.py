"""A log of format 1 that was written once can be opened, checked and used by every later version.

If this fails because the format has changed on purpose, the new format is another number: only
before the first release was the fixture made again, by `fixtures/make_format_1.py`.
"""

from __future__ import annotations

import asyncio
import gzip
from pathlib import Path
from typing import Any

import msgspec
import pytest

from foretell import protocol
from foretell.service.engine import Engine
from foretell.service.engine.verify import verify_log
from foretell.service.log.open import open_reader
from tests.service.log.fixtures.make_format_1 import DATABASE, EXPECTED, summaries

EXPECTATION: dict[str, Any] = msgspec.json.decode(EXPECTED.read_bytes())
KEY = "ftk_the-key-of-the-fixture-of-format-1"


@pytest.fixture
def path(tmp_path: Path) -> str:
    copy = tmp_path / "format-1.db"
    copy.write_bytes(gzip.decompress(DATABASE.read_bytes()))
    return str(copy)


def test_it_says_what_it_said(path: str) -> None:
    found = asyncio.run(summaries(path, int(EXPECTATION["position"])))
    assert found["records"] == EXPECTATION["records"]
    for name, expected in EXPECTATION["campaigns"].items():
        campaign = found["campaigns"][name]
        if campaign["state_version"] == expected["state_version"]:
            assert campaign == expected
        else:  # a later version may fold it to another state, from the same records
            assert campaign["decided"] == expected["decided"]


def test_it_is_verified(path: str) -> None:
    async def verify() -> None:
        with open_reader(path) as log:
            found = await verify_log(log)
        assert found.damage == []
        assert {one.comparison for one in found.campaigns} <= {"same", "other version"}

    asyncio.run(verify())


def test_it_goes_on(path: str) -> None:
    async def go_on() -> None:
        engine = await Engine.open(path, compiled=False)
        assert engine.identify(KEY) is not None
        for name in EXPECTATION["campaigns"]:
            before = (await engine.report(name)).counts.decisions
            answer, new = await engine.decide(name, protocol.DecisionRequest(unit="user-1"))
            signal = protocol.SignalReport("click", "new")
            assert new
            assert (await engine.feedback(answer.decision_id, signal)).status == "accepted"
            assert (await engine.report(name)).counts.decisions == before + 1
        ask = protocol.DecisionRequest(decision_key="key-0")
        again, new = await engine.decide("hero", ask)
        assert (again.decision_id, new) == (EXPECTATION["decision"], False)
        repeated = protocol.SignalReport("click", "signal-0")
        assert (await engine.feedback(again.decision_id, repeated)).status == "duplicate"
        await engine.close()
        with open_reader(path) as log:
            assert (await verify_log(log)).damage == []

    asyncio.run(go_on())
