"""Flipped bits: any bit of a database may be wrong, and no answer is ever silently another one.

Three things SQLite's file format cannot tell, and so cannot we: a flipped bit of an index can hide
a row from a look-up until the scrub compares the index with its table, one in the number of a
context hides the context until then, and one in the last transaction of a journal looks like a
crash in the middle of it. They are counted, and asserted to be found where they can be. A count of
what leaves no record, such as duplicates, is said to be damaged and begins again.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from foretell import protocol
from foretell.errors import ForetellError
from foretell.service.engine import Engine
from foretell.service.engine.fold import REPORT_SECONDS
from foretell.service.log.sqlite.check import check_database
from foretell.service.log.sqlite.connection import connect
from tests.service.log.machine import Machine
from tests.torture.fixed import fixed_machine
from tests.torture.pages import owners_of_pages, spans
from tests.torture.power_cuts import abandon, remove

CAMPAIGNS = ("one", "two")
NAMED = {
    "events": "record {}",
    "personal": "context of record {}",
    "states": "the state of campaign",
    "streams": "the end of the log",
    "links": "the log|the link|the records",
    "ranks": "the rank of decision",
    "keys": "the keys that were claimed",
    "units": "the keys that were claimed",
    "counters": "the count of",
    "meta": "the settings?",
}
"""What the sentence about a flipped bit says, by table."""
INDICES = ("feedback", "decisions", "configuration", "personal_unit", "rank_of")
HIDING = {f"page of {name}" for name in (*INDICES, "personal", "keys", "units", "ranks", "links")}
HIDING_COLUMNS = {
    *("keys.header", "keys.campaign", "keys.key"),
    *("units.header", "units.campaign", "units.unit", "units.n"),
}
COUNTS = {"page of counters", "page of sqlite_autoindex_counters_1"}
"""Where a flipped bit can hide a row from whoever looks for it."""
PAGE, FRAME = 4096, 4096 + 24


class Flip(NamedTuple):
    """One bit of a file."""

    ending: str
    """Of the file's name: nothing for the database itself."""
    offset: int
    bit: int
    what: str
    names: str | None = None
    """What the sentence about it says."""


class Asked(NamedTuple):
    """What is asked of a database."""

    decisions: list[tuple[str, str, str]]
    """Campaign, key and id of some decisions."""
    events: list[tuple[str, str]]
    """Decision and event_id of some signals."""


@dataclass
class Findings:
    """What became of the flips."""

    flips: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)


async def prepare(folder: Path, machine: Machine) -> tuple[Path, Asked]:
    """Make a database with every kind of row, half of it behind a saved state."""
    path = folder / "whole.db"
    engine = await Engine.open(path, compiled=False)
    decisions, events = [], []
    for name in CAMPAIGNS:
        new = protocol.NewCampaign(name, ["a", "b", "c"], ["click", "buy"], "ucb")
        new.sticky = name == "two"
        await engine.create(new)
    for number in range(60):
        name, key = CAMPAIGNS[number % 3 % 2], f"key-{number}"
        await engine.settled()  # a decision says from which state it was drawn
        answer, _ = await engine.decide(name, _request(key))
        decisions.append((name, key, answer.decision_id))
        events.append((answer.decision_id, f"signal-{number}"))
        await engine.batch([_raw(one) for one in _feedback(answer.decision_id, number)])
        if number == 40:
            await save_states(engine, machine)
        if number == 50:
            await engine.add_action("one", protocol.NewAction("d"))
    for decision, event_id in events[:2] * 3:  # duplicates are counted
        await engine.feedback(decision, protocol.SignalReport("click", event_id))
    await abandon(engine)
    connect(str(path), write=True).close()  # moves the journal to the database
    return path, Asked(decisions[::6], events[::6])


def _request(key: str) -> protocol.DecisionRequest:
    number = int(key.partition("-")[2]) if key.startswith("key-") else 0
    return protocol.DecisionRequest(
        decision_key=key, unit=f"unit-{number % 20}", context={"page": f"<{number}>"}
    )


def _feedback(decision: str, number: int) -> Iterator[dict[str, Any]]:
    about = {"decision_id": decision}
    yield {**about, "signal": "click", "event_id": f"signal-{number}"}
    yield {**about, "value": number / 64, "event_id": f"reward-{number}"}
    if number % 10 == 3:
        adjusted = {"kind": "adjust", "target": f"reward-{number}", "value": 0.25}
        yield {**about, **adjusted, "event_id": f"adjust-{number}"}
    if number % 20 == 7:
        yield {**about, "kind": "void", "event_id": f"void-{number}"}


def _raw(event: dict[str, Any]) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(event))


async def save_states(engine: Engine, machine: Machine) -> None:
    """Let the state of every campaign be saved."""
    campaigns = engine.runtime.by_number.values()
    for active in campaigns:
        active.save_due = True
    machine.pass_time(1.0)
    while any(active.save_due for active in campaigns):  # noqa: ASYNC110  (nothing tells of it)
        await asyncio.sleep(0.02)
    await engine.settled()


async def with_journal(folder: Path, path: Path, asked: Asked) -> Path:
    """Return a copy of a database as a crash would leave it: its newest records in the journal."""
    running = folder / "running.db"
    shutil.copy(path, running)
    engine = await Engine.open(running, compiled=False)
    for number in range(12):
        report = protocol.SignalReport("buy", f"late-{number}")
        await engine.feedback(asked.decisions[number % 10][2], report)
    crashed = folder / "crashed.db"
    for ending in ("", "-wal"):
        shutil.copy(f"{running}{ending}", f"{crashed}{ending}")
    await abandon(engine)
    return crashed


async def answers(path: Path, asked: Asked) -> dict[str, Any]:
    """Ask everything; an answer may be an error of ours, in one sentence."""
    given: dict[str, Any] = {}
    try:
        engine = await Engine.open(path, compiled=False)
    except Exception as error:  # noqa: BLE001  (which ones are allowed is for `compare`)
        return {"open": error}
    engine.decisions._nonces = random.Random(1)  # noqa: S311  (so that every draw is the same)
    try:
        for what, ask in _questions(engine, asked):
            try:
                given[what] = _plain(await ask())
            except Exception as error:  # noqa: BLE001  (the same)
                given[what] = error
    finally:
        given["damage"] = list(engine.maintenance.damage)
        await abandon(engine)
    return given


def _questions(engine: Engine, asked: Asked) -> Iterator[tuple[str, Callable[[], Any]]]:
    async def export(name: str) -> list[protocol.RecordView]:
        return [record async for record in engine.export(name)]

    async def decide(name: str, key: str) -> Any:
        with contextlib.suppress(ForetellError):
            await engine.fold.reached(engine.runtime.log.now(), REPORT_SECONDS)
        answer, new = await engine.decide(name, _request(key))
        return (answer.action, answer.propensity, new, None if new else answer.decision_id)

    for name in CAMPAIGNS:
        yield f"campaign {name}", partial(_later, engine.campaign, name)
        yield f"report {name}", partial(engine.report, name)
        yield f"page {name}", partial(engine.record_page, name, 0, 1000)
        yield f"export {name}", partial(export, name)
        yield f"delays {name}", partial(engine.delays, name)
    yield "keys", partial(_later, engine.keys)
    for name, key, decision in asked.decisions:
        yield f"history {key}", partial(engine.history, decision)
        yield f"again {key}", partial(decide, name, key)
    for decision, event_id in asked.events:
        yield event_id, partial(engine.feedback, decision, protocol.SignalReport("click", event_id))
    for number, (_, key, decision) in enumerate(asked.decisions):
        new = protocol.RewardReport(value=0.5, event_id=f"new-{number}")
        yield f"reward {key}", partial(engine.feedback, decision, new)
    for name in CAMPAIGNS:
        yield f"decide {name}", partial(decide, name, "new")
        yield f"last {name}", partial(engine.report, name)


async def _later(ask: Callable[..., Any], *args: str) -> Any:
    return ask(*args)


def _plain(answer: Any) -> Any:
    """Return an answer without what depends on the moment at which it was asked for."""
    if isinstance(answer, protocol.Receipt) and answer.status in {"accepted", "late"}:
        answer = protocol.Receipt(answer.status, answer.event_id)  # clipped: as far as was known
    plain = msgspec.to_builtins(answer)
    for part in (plain, plain.get("log")) if isinstance(plain, dict) else ():
        for name in ("as_of", "position", "next"):
            if isinstance(part, dict):
                part.pop(name, None)
    return plain


def compare(given: dict[str, Any], expected: dict[str, Any]) -> Iterator[str]:
    """Tell of answers that are others than they should be, and of errors that are no sentences."""
    errors = [one for one in given.values() if isinstance(one, Exception)]
    for error in errors:
        if not isinstance(error, ForetellError) or "\n" in str(error):
            yield f"not a sentence: {error!r}"
    if "open" in given:
        return
    for what, answer in given.items():
        after_errors = errors and what.startswith("last")
        if what == "damage" or isinstance(answer, Exception) or after_errors:
            continue
        if answer != expected[what]:
            yield f"another answer to {what}: {_difference(answer, expected[what])}"


def _difference(one: Any, other: Any) -> str:
    if isinstance(one, dict) and isinstance(other, dict):
        return "; ".join(
            f"{key}: {str(one.get(key))[:80]} for {str(other.get(key))[:80]}"
            for key in one.keys() | other.keys()
            if one.get(key) != other.get(key)
        )
    return f"{str(one)[:120]} for {str(other)[:120]}"


def row_flips(path: Path, rng: random.Random, rows: int) -> Iterator[Flip]:
    """Return a flip of every byte of some rows of each table, of long columns of some bytes."""
    for table, naming in NAMED.items():
        known = list(spans(str(path), table))
        numbers = sorted({span.row for span in known})
        some = set(rng.sample(numbers, min(rows, len(numbers))))
        some.add(numbers[-1])
        for span in known:
            if span.row not in some:
                continue
            each = list(range(span.length))
            if span.length > 40:
                each = sorted(rng.sample(each, 12))
            names = naming.format(span.row)
            exact = span.column not in {"rowid", "header", "stream", "slot"}
            for byte in each:
                what = f"{table}.{span.column}"
                offset = span.offset + byte
                yield Flip("", offset, rng.randrange(8), what, names if exact else None)


def any_flips(path: Path, rng: random.Random, count: int) -> Iterator[Flip]:
    """Return flips anywhere in the database, many of them in its first bytes."""
    owners = owners_of_pages(str(path))
    for _ in range(count):
        size = path.stat().st_size
        offset = rng.randrange(100) if rng.random() < 0.1 else rng.randrange(size)
        owner = "head" if offset < 100 else owners.get(offset // PAGE + 1, "free page")
        yield Flip("", offset, rng.randrange(8), f"page of {owner}")


def journal_flips(path: Path, rng: random.Random, count: int) -> Iterator[Flip]:
    """Return flips anywhere in a journal but its last transaction."""
    content = Path(f"{path}-wal").read_bytes()
    ends = [
        start + FRAME
        for start in range(32, len(content), FRAME)
        if content[start + 4 : start + 8] != bytes(4)
    ]
    for _ in range(count):
        offset = rng.randrange(32) if rng.random() < 0.1 else rng.randrange(ends[-2])
        yield Flip("-wal", offset, rng.randrange(8), "journal")


def may_hide(flip: Flip, different: list[str]) -> bool:
    """Return whether this flip is one that only the scrub can find."""
    if flip.what == "personal.rowid":
        return all(one.startswith("another answer to history") for one in different)
    if flip.what in COUNTS or flip.what.startswith("counters."):
        return all(re.match("another answer to (report|last)", one) for one in different)
    hiding = flip.what in HIDING or flip.what in HIDING_COLUMNS
    return hiding and not any(one.startswith("not a sentence") for one in different)


def _with_flip(path: Path, flip: Flip) -> Path:
    copy = path.with_name("flipped.db")
    for ending in ("", "-wal"):
        with contextlib.suppress(FileNotFoundError):
            shutil.copy(f"{path}{ending}", f"{copy}{ending}")
    with Path(f"{copy}{flip.ending}").open("r+b") as file:
        file.seek(flip.offset)
        byte = file.read(1)[0]
        file.seek(flip.offset)
        file.write(bytes([byte ^ 1 << flip.bit]))
    return copy


async def flipped(
    path: Path, asked: Asked, flip: Flip, expected: dict[str, Any], findings: Findings
) -> None:
    """Flip one bit in a copy, and see what comes of it."""
    copy = _with_flip(path, flip)
    findings.flips += 1
    wrong: list[str] = []
    try:
        damage = check_database(str(copy)).damage
    except ForetellError as error:
        damage = [str(error)]
    except Exception as error:  # noqa: BLE001  (verify must not fail so)
        damage = ["failed"]
        wrong.append(f"verify fails with {error!r}")
    if flip.names is not None and not any(re.search(f"{flip.names}\\b", one) for one in damage):
        wrong.append(f"verify does not name {flip.names}: {damage[:3]}")
    given = await answers(copy, asked)
    different = list(compare(given, expected))
    outcome = "refused" if "open" in given else "answered"
    if different and damage and may_hide(flip, different):
        outcome = "another answer until the scrub"
    else:
        wrong += different
    if any(isinstance(one, Exception) for one in given.values()) and outcome == "answered":
        outcome = "damage raised"
    findings.outcomes[f"{flip.what}: {outcome}, {'found' if damage else 'harmless'}"] += 1
    findings.violations += [f"{flip}: {one}" for one in wrong]
    remove(copy)


async def run(
    folder: Path,
    seed: int,
    *,
    rows: int,
    anywhere: int,
    tell: Callable[[Findings], None] = lambda _: None,
) -> Findings:
    """Flip bits of rows, bits anywhere, and bits of the journal: the same ones for a seed."""
    with fixed_machine(seed) as machine:
        return await _run(folder, machine, random.Random(seed), rows, anywhere, tell)  # noqa: S311


async def _run(
    folder: Path,
    machine: Machine,
    rng: random.Random,
    rows: int,
    anywhere: int,
    tell: Callable[[Findings], None],
) -> Findings:
    findings = Findings()
    path, asked = await prepare(folder, machine)
    copy = folder / "copy.db"
    shutil.copy(path, copy)
    expected = await answers(copy, asked)
    for flip in [*row_flips(path, rng, rows), *any_flips(path, rng, anywhere)]:
        await flipped(path, asked, flip, expected, findings)
        tell(findings)
    crashed = await with_journal(folder, path, asked)
    copy = folder / "other.db"
    for ending in ("", "-wal"):
        shutil.copy(f"{crashed}{ending}", f"{copy}{ending}")
    expected = await answers(copy, asked)
    for flip in journal_flips(crashed, rng, anywhere // 2):
        await flipped(crashed, asked, flip, expected, findings)
        tell(findings)
    return findings
