"""A log of format 1 that was written once can be opened, checked and used by every later version.

If this fails because the format has changed on purpose, the new format is another number. A
fixture stays as it was committed; what is new in a log goes into another one, which
`fixtures/make_format_1.py` makes.
"""

from __future__ import annotations

import asyncio
import gzip
import hashlib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from foretell import protocol
from foretell.service.engine import Engine
from foretell.service.engine.verify import verify_log
from foretell.service.log.open import open_reader
from tests.service.log.fixtures.make_format_1 import FOLDER, summaries

FIXTURES = sorted(one.name.removesuffix(".db.gz") for one in FOLDER.glob("*.db.gz"))
MUST_SAY = ("version", "decided", "counts", "seen", "paid")
"""What follows from the records under every version of the fold and of the policies."""
KEY = "ftk_the-key-of-the-fixture-of-format-1"


@pytest.fixture(params=FIXTURES)
def fixture(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def path(tmp_path: Path, fixture: str) -> str:
    copy = tmp_path / "format-1.db"
    copy.write_bytes(gzip.decompress((FOLDER / f"{fixture}.db.gz").read_bytes()))
    return str(copy)


@pytest.fixture
def expectation(fixture: str) -> dict[str, Any]:
    expected: dict[str, Any] = msgspec.json.decode((FOLDER / f"{fixture}.json").read_bytes())
    return expected


def test_the_fixtures_are_those_that_were_committed() -> None:
    """The first one is from before campaigns had some of their fields, and stays so."""
    digests = {
        name: hashlib.sha256((FOLDER / f"{name}.db.gz").read_bytes()).hexdigest()[:16]
        for name in FIXTURES
    }
    assert digests == {
        "format-1": "d3f6e481a8dbe3e7",
        "format-1-declared": "0d448333b411bb67",
    }


def test_it_says_what_it_said(path: str, expectation: dict[str, Any]) -> None:
    found = asyncio.run(summaries(path, int(expectation["position"])))
    assert found["records"] == expectation["records"]
    assert found["campaigns"].keys() == expectation["campaigns"].keys()
    for name, expected in expectation["campaigns"].items():
        campaign = found["campaigns"][name]
        if campaign["state_version"] == expected["state_version"]:
            assert campaign == expected
        for word in MUST_SAY:  # another version may fold it to another state of the policy
            assert campaign[word] == expected[word], (name, word)


def test_it_is_verified(path: str) -> None:
    async def verify() -> None:
        with open_reader(path) as log:
            found = await verify_log(log)
        assert found.damage == []
        assert {one.comparison for one in found.campaigns} <= {"same", "other version"}

    asyncio.run(verify())


def test_it_goes_on(path: str, expectation: dict[str, Any]) -> None:
    async def go_on() -> None:
        engine = await Engine.open(path, compiled=False)
        assert engine.identify(KEY) is not None
        for name in expectation["campaigns"]:
            before = (await engine.report(name)).counts.decisions
            answer, new = await engine.decide(name, protocol.DecisionRequest(unit="user-1"))
            signal = protocol.SignalReport("click", "new")
            assert new
            assert (await engine.feedback(answer.decision_id, signal)).status == "accepted"
            assert (await engine.report(name)).counts.decisions == before + 1
        ask = protocol.DecisionRequest(decision_key="key-0")
        again, new = await engine.decide("hero", ask)
        assert (again.decision_id, new) == (expectation["decision"], False)
        repeated = protocol.SignalReport("click", "signal-0")
        assert (await engine.feedback(again.decision_id, repeated)).status == "duplicate"
        await engine.close()
        with open_reader(path) as log:
            assert (await verify_log(log)).damage == []

    asyncio.run(go_on())
