"""What a database holds, read apart from the server: its records, and the states they lead to."""

from __future__ import annotations

import hashlib
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field

import asyncpg

from foretell.service.engine.replay import rebuild
from foretell.service.log.open import open_reader
from foretell.service.log.protocol import LogReader
from foretell.service.log.sqlite.connection import connect
from foretell.service.model.decision_id import Token
from foretell.service.model.events import (
    SERVER,
    CampaignConfig,
    Configured,
    Decided,
    Feedback,
    KeyMade,
    KeyRevoked,
    Record,
    SecretMade,
)

read_only = open_reader
RECORDS_PER_READ = 1000


@dataclass
class LogContents:
    """What a log holds, by the names that the load's book gives to things."""

    records: int = 0
    last: int = 0
    """The seq of the last record."""
    times: Counter[str] = field(default_factory=Counter)
    anonymous: int = 0
    """Decisions without a key."""
    tokens: set[Token] = field(default_factory=set)
    secrets: dict[int, bytes] = field(default_factory=dict)
    kinds: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Records by campaign and kind."""
    matched: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Feedback by campaign and kind, of decisions that are there."""
    voided: Counter[str] = field(default_factory=Counter)
    """Decisions by campaign that were never shown."""
    disorder: list[str] = field(default_factory=list)
    """What is wrong with the order of the records."""
    units: set[str] = field(default_factory=set)
    """Units that are still named, of those asked about."""
    names: dict[int, str] = field(default_factory=dict)
    """Campaigns by number."""


async def found_in(log: LogReader, path: str, units: list[tuple[str, str]]) -> LogContents:
    """Read every record, each against its checksum and the chain."""
    found = LogContents()
    configs: dict[int, CampaignConfig] = {}
    feedback: list[Record] = []
    head = log.head()
    while records := await log.records(found.last, head, RECORDS_PER_READ):
        for record in records:
            found.records += 1
            _note(found, record, configs)
            if record.seq <= found.last:
                found.disorder.append(f"record {record.seq} comes after {found.last}")
            found.last = record.seq
            if isinstance(record.event, Feedback):
                feedback.append(record)
    _match(found, feedback)
    numbers = {name: number for number, name in found.names.items()}
    for campaign, unit in units:
        hashed = hashlib.blake2b(unit.encode(), key=found.secrets[0], digest_size=16).digest()
        if campaign in numbers and await _is_named(path, numbers[campaign], hashed):
            found.units.add(unit)
    return found


def kind_of(event: Feedback) -> str:
    """Return how a report counts feedback, under the two stages that campaigns have."""
    if event.verb == "void":
        return "voids"
    return "rewards" if event.stage else "signals"


def _match(found: LogContents, feedback: list[Record]) -> None:
    """Count the feedback on decisions that are there, and those of them that are void."""
    made = {(token.campaign, token.number) for token in found.tokens}
    voided = set()
    for record in feedback:
        assert isinstance(record.event, Feedback)
        name, about = found.names[record.campaign], (record.campaign, record.decision)
        found.matched[name, kind_of(record.event)] += about in made
        if about in made and record.event.verb == "void":
            voided.add(about)
    found.voided.update(found.names[campaign] for campaign, _ in voided)


async def _is_named(path: str, campaign: int, unit: bytes) -> bool:
    if path.startswith("postgresql:"):
        return await _is_named_in_postgres(path, campaign, unit)
    with closing(connect(path, write=False)) as connection:
        return bool(
            connection.execute(
                "SELECT (SELECT count(*) FROM personal WHERE campaign = ?1 AND unit = ?2) "
                "+ (SELECT count(*) FROM units WHERE campaign = ?1 AND unit = ?2)",
                (campaign, unit),
            ).get
        )


async def _is_named_in_postgres(dsn: str, campaign: int, unit: bytes) -> bool:
    connection = await asyncpg.connect(dsn)
    try:
        return bool(
            await connection.fetchval(
                "SELECT (SELECT count(*) FROM foretell.personal WHERE campaign = $1 AND unit = $2) "
                "+ (SELECT count(*) FROM foretell.units WHERE campaign = $1 AND unit = $2)",
                campaign,
                unit,
            )
        )
    finally:
        await connection.close()


def _note(found: LogContents, record: Record, configs: dict[int, CampaignConfig]) -> None:
    seq, number, _, event = record
    if isinstance(event, Configured):
        _note_configuration(found, number, configs.get(number), event)
        configs[number] = event.config
    name = found.names.get(number, "")
    if isinstance(event, Decided):
        found.kinds[name, "decisions"] += 1
        found.tokens.add(Token(number, event.action, event.propensity, seq))
        if event.key is None:
            found.anonymous += 1
        else:
            found.times[f"d/{name}/{event.key}"] += 1
    elif isinstance(event, Feedback):
        found.kinds[name, kind_of(event)] += 1
        found.times[f"e/{name}/{event.event_id}"] += 1
    elif isinstance(event, KeyMade) and number == SERVER and event.name != "first":
        found.times[f"k/{event.name}"] += 1
    elif isinstance(event, KeyRevoked):
        found.times[f"kr/{event.id}"] += 1
    elif isinstance(event, SecretMade):
        found.secrets[event.id] = event.secret
        if event.id:
            found.times["s/all"] += 1


def _note_configuration(
    found: LogContents, number: int, old: CampaignConfig | None, event: Configured
) -> None:
    new, name = event.config, event.config.name
    if old is None:
        found.names[number] = name
        found.times[f"c/{name}"] += 1
        return
    for action in new.actions[len(old.actions) :]:
        found.times[f"a/{name}/{action}"] += 1
    for signal in new.signals[len(old.signals) :]:
        found.times[f"g/{name}/{signal}"] += 1
    for action, was, now in zip(new.actions, old.action_status, new.action_status):  # noqa: B905
        if was != now:
            found.times[f"as/{name}/{action}"] += 1
    if event.why == "asked for":
        found.times[f"f/{name}"] += 1
    if old.status != new.status:
        found.times[f"st/{name}"] += 1
    before, after = _noted(old), _noted(new)
    for letter, value in after.items():
        if before[letter] != value:
            found.times[f"{letter}/{name}/{value}"] += 1


def _noted(config: CampaignConfig) -> dict[str, str]:
    """Return what changes are known by, under the letters that their names begin with."""
    return {
        "x": repr(config.explore),
        "p": config.policy,
        "r": repr(config.reward_stage.window),
        "w": repr(config.signal_stage.window),
    }


async def digest_at(log: LogReader, number: int, position: int) -> str:
    """Build a campaign from the log alone, up to a position, and digest it."""
    return (await rebuild(log, number, position)).digest()
