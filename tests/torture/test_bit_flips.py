"""A flipped bit is found, named, and never served."""

from __future__ import annotations

import asyncio
import random
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from foretell import protocol
from foretell.service.engine import Engine
from foretell.service.log.errors import Damaged
from foretell.service.log.open import open_reader
from foretell.service.log.sqlite.log import SqliteLog
from foretell.service.model.decision_id import read_decision_id
from tests.service.log.machine import Machine
from tests.torture import bit_flips
from tests.torture.bit_flips import Asked
from tests.torture.faults import until
from tests.torture.fixed import fixed_machine
from tests.torture.pages import STORED_COLUMNS, owners_of_pages, spans
from tests.torture.power_cuts import abandon

WITHOUT_BYTES = {
    *("events.seq", "events.campaign", "personal.seq", "keys.campaign", "links.stream"),
    *("streams.stream", "streams.slot", "streams.sealed", "ranks.rank", "units.n"),
    *("units.action", "meta.value"),
}
"""Columns that are the row's number, or 0 or 1 here: they are in the header of the row."""


def flip_in(
    path: Path, table: str, column: str, row: int | None = None, *, byte: int = 0, bit: int = 2
) -> int:
    """Flip a bit in a column of a row, or of the last one, and return the row."""
    span = [
        one for one in spans(str(path), table) if one.column == column and row in {None, one.row}
    ][-1]
    with path.open("r+b") as file:
        offset = span.offset + byte % span.length
        file.seek(offset)
        before = file.read(1)[0]
        file.seek(offset)
        file.write(bytes([before ^ 1 << bit]))
    return span.row


@pytest.fixture(scope="module", autouse=True)
def machine() -> Iterator[Machine]:
    with fixed_machine(seed=1) as machine:
        yield machine


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, machine: Machine) -> tuple[Path, Asked]:
    return asyncio.run(bit_flips.prepare(tmp_path_factory.mktemp("whole"), machine))


@pytest.fixture
def database(whole: tuple[Path, Asked], folder: Path) -> Path:
    return Path(shutil.copy(whole[0], folder / "live.db"))


def test_the_same_seed_makes_the_same_database(folder: Path) -> None:
    made = []
    for name in ("one", "other"):
        (folder / name).mkdir()
        with fixed_machine(seed=2) as machine:
            made.append(asyncio.run(bit_flips.prepare(folder / name, machine))[0].read_bytes())
    assert made[0] == made[1]


@pytest.mark.slow
@pytest.mark.minutes
def test_no_flipped_bit_of_a_row_a_page_or_the_journal_is_served(folder: Path) -> None:
    findings = asyncio.run(bit_flips.run(folder, seed=1, rows=1, anywhere=60))
    assert findings.violations == []
    assert findings.flips > 300


def test_a_read_names_the_record_that_is_damaged(database: Path, whole: tuple[Path, Asked]) -> None:
    decision = whole[1].decisions[0][2]

    async def read() -> None:
        engine = await Engine.open(database, compiled=False)
        token = read_decision_id(decision, engine.runtime.secrets)
        assert token is not None
        await abandon(engine)
        record = flip_in(database, "events", "body", row=token.number)
        engine = await Engine.open(database, compiled=False)
        try:
            for ask in (
                partial(engine.record_page, "one", 0, 1000),
                partial(engine.history, decision),
            ):
                with pytest.raises(Damaged, match=f"record {record} ") as found:
                    await ask()
                assert found.value.seq == record
        finally:
            await abandon(engine)

    asyncio.run(read())


def test_a_decision_whose_number_is_damaged_is_not_one_that_never_was(
    database: Path, whole: tuple[Path, Asked]
) -> None:
    """Feedback on it must not be answered as feedback on a decision that the log does not hold."""
    decision = whole[1].decisions[1][2]

    async def report() -> None:
        engine = await Engine.open(database, compiled=False)
        token = read_decision_id(decision, engine.runtime.secrets)
        assert token is not None
        await abandon(engine)
        flip_in(database, "events", "rowid", row=token.number, byte=3, bit=4)
        engine = await Engine.open(database, compiled=False)
        try:
            reward = protocol.RewardReport(value=0.5, event_id="new")
            for ask in (
                partial(engine.feedback, decision, reward),
                partial(engine.history, decision),
            ):
                with pytest.raises(Damaged):
                    await ask()
        finally:
            await abandon(engine)

    asyncio.run(report())


@pytest.mark.parametrize("column", ["seq", "header"])
def test_a_damaged_rank_gives_no_other_round(
    database: Path, whole: tuple[Path, Asked], column: str
) -> None:
    with open_reader(str(whole[0])) as log:
        expected = {one.number: one.rank for one in asyncio.run(log.decisions_after(1, 0, 100))}
    first = next(span.row for span in spans(str(database), "ranks"))
    raised = 0
    for place in range(64):
        shutil.copy(whole[0], database)
        flip_in(database, "ranks", column, first, byte=place // 8, bit=place % 8)
        with open_reader(str(database)) as log:
            for number in list(expected)[::10]:
                try:
                    (found,) = asyncio.run(log.decisions(1, [number]))
                    assert found.rank == expected[number]
                    assert asyncio.run(log.number_at(1, found.rank)) == number
                except Damaged:
                    raised += 1
    assert raised > 64


@pytest.mark.parametrize("table", ["links", "events"])
def test_a_blob_that_became_a_text_is_damage_at_a_start(database: Path, table: str) -> None:
    """The type of the last column but one of a record, of the last one of a link, is flipped."""
    flip_in(database, table, "header", byte=-2 if table == "events" else -1, bit=0)

    async def open_log() -> None:
        SqliteLog(str(database))

    with pytest.raises(Damaged):
        asyncio.run(open_log())


def test_a_campaign_that_the_index_has_lost_is_damage_at_a_start(database: Path) -> None:
    owners = owners_of_pages(str(database))
    page = next(page for page, owner in owners.items() if owner == "configuration")
    content = bytearray(database.read_bytes())
    content[(page - 1) * 4096 + 4] -= 1  # it ends before the second campaign
    database.write_bytes(content)

    async def open_engine() -> None:
        await Engine.open(database, compiled=False)

    with pytest.raises(Damaged):
        asyncio.run(open_engine())


def test_a_damaged_state_is_said_and_the_campaign_built_from_the_log(
    database: Path, whole: tuple[Path, Asked], folder: Path
) -> None:
    async def counts(path: Path) -> tuple[object, list[str]]:
        engine = await Engine.open(path, compiled=False)
        report = await engine.report("one")
        await abandon(engine)
        return (report.counts, report.log.state_hash), engine.maintenance.damage

    expected, damage = asyncio.run(counts(Path(shutil.copy(whole[0], folder / "other.db"))))
    assert damage == []
    for row in {span.row for span in spans(str(database), "states")}:
        flip_in(database, "states", "digest", row)
    found, damage = asyncio.run(counts(database))
    assert found == expected
    assert len(damage) == 2
    assert all("the state as of" in sentence for sentence in damage)


def test_a_damaged_count_is_said_and_counted_from_0(database: Path) -> None:
    async def duplicates() -> tuple[int, list[str]]:
        engine = await Engine.open(database, compiled=False)
        report = await engine.report("two")
        await abandon(engine)
        return report.counts.duplicates, engine.maintenance.damage

    assert asyncio.run(duplicates()) == (3, [])
    flip_in(database, "counters", "checksum")
    count, damage = asyncio.run(duplicates())
    assert count == 0
    assert len(damage) == 1
    assert damage[0].startswith("campaign 2: the count of 'duplicates' does not match")
    assert damage[0].endswith("it is counted from 0 again")


@pytest.mark.parametrize(
    ("table", "column"),
    [
        *(("events", "body"), ("links", "link"), ("keys", "key"), ("units", "seq")),
        *(("ranks", "seq"), ("personal", "context"), ("states", "body")),
        *(("counters", "checksum"), ("meta", "checksum")),
    ],
)
def test_the_scrub_finds_it_while_the_server_runs(database: Path, table: str, column: str) -> None:
    async def scrub() -> list[str]:
        engine = await Engine.open(database, compiled=False, scrub_seconds=0.05)
        flip_in(database, table, column)
        await until(lambda: bool(engine.maintenance.damage))
        await abandon(engine)
        return engine.maintenance.damage

    assert asyncio.run(scrub())


def test_a_harness_that_sees_another_answer_says_so(whole: tuple[Path, Asked]) -> None:
    given = {"report": {"counts": 1}, "history": ValueError("no sentence")}
    assert len(list(bit_flips.compare(given, {"report": {"counts": 2}, "history": {}}))) == 2


def test_every_column_of_every_table_is_flipped(whole: tuple[Path, Asked]) -> None:
    rng = random.Random(1)  # noqa: S311
    flipped = {flip.what for flip in bit_flips.row_flips(whole[0], rng, rows=3)}
    columns = {f"{table}.{column}" for table, names in STORED_COLUMNS.items() for column in names}
    assert columns - flipped <= WITHOUT_BYTES
