"""What a database holds, read apart from the server: its records, and the states they lead to."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from foretell.service.engine.replay import decision_loader, rebuild, run_to_end
from foretell.service.engine.runtime import SERVER
from foretell.service.log.record import Record
from foretell.service.log.sqlite.connection import connect
from foretell.service.log.sqlite.reader import LogReader
from foretell.service.model.decision_id import Token
from foretell.service.model.events import (
    CampaignConfig,
    Changed,
    Created,
    Decided,
    Feedback,
    KeyMade,
    Refitted,
    Rewarded,
    SecretMade,
    Signalled,
)


@contextmanager
def read_only(path: str) -> Iterator[LogReader]:
    """Open a log to be read, also while a server writes it."""
    reader = connect(path, write=False)
    try:
        yield LogReader(reader)
    finally:
        reader.close()


@dataclass
class LogContents:
    """What a log holds, by the names that the load's book gives to things."""

    records: int = 0
    times: Counter[str] = field(default_factory=Counter)
    anonymous: int = 0
    """Decisions without a key."""
    tokens: set[Token] = field(default_factory=set)
    secrets: dict[int, bytes] = field(default_factory=dict)
    kinds: Counter[tuple[str, type]] = field(default_factory=Counter)
    """Records by campaign and kind."""
    matched: Counter[tuple[str, type]] = field(default_factory=Counter)
    """Feedback by campaign and kind, of decisions that are there."""
    rounds: list[str] = field(default_factory=list)
    """What is wrong with the numbers of decisions."""
    units: set[str] = field(default_factory=set)
    """Units that are still named, of those asked about."""
    names: dict[int, str] = field(default_factory=dict)
    """Campaigns by number."""


def found_in(log: LogReader, units: list[tuple[str, str]]) -> LogContents:
    """Read every record, each against its checksum and the chain."""
    found = LogContents()
    configs: dict[int, CampaignConfig] = {}
    decided: Counter[int] = Counter()
    feedback: list[tuple[int, Feedback]] = []
    for stored in log.scan(0):
        found.records += 1
        _note(found, stored, configs)
        if isinstance(stored.event, Decided):
            if stored.event.round != decided[stored.campaign]:
                found.rounds.append(f"record {stored.seq} has round {stored.event.round}")
            decided[stored.campaign] += 1
        elif isinstance(stored.event, (Signalled, Rewarded)):
            feedback.append((stored.campaign, stored.event))
    made = {(token.campaign, token.round, token.decided_at) for token in found.tokens}
    for number, event in feedback:
        found.matched[found.names[number], type(event)] += (
            number,
            event.round,
            event.decided_at,
        ) in made
    numbers = {name: number for number, name in found.names.items()}
    for campaign, unit in units:
        hashed = hashlib.blake2b(unit.encode(), key=found.secrets[0], digest_size=16).digest()
        if campaign in numbers and any(log.decisions_of_unit(numbers[campaign], hashed)):
            found.units.add(unit)
    return found


def _note(found: LogContents, stored: Record, configs: dict[int, CampaignConfig]) -> None:  # noqa: C901
    _, number, event = stored
    if isinstance(event, Created):
        found.names[number] = event.config.name
        found.times[f"c/{event.config.name}"] += 1
        configs[number] = event.config
    name = found.names.get(number, "")
    found.kinds[name, type(event)] += 1
    if isinstance(event, Decided):
        found.tokens.add(
            Token(number, event.action, event.propensity, event.round, event.recorded_at)
        )
        if event.key is None:
            found.anonymous += 1
        else:
            found.times[f"d/{name}/{event.key}"] += 1
    elif isinstance(event, (Signalled, Rewarded)):
        found.times[f"e/{name}/{event.event_id}"] += 1
    elif isinstance(event, (Changed, Refitted)):
        old, new = configs[number], event.config
        for action in new.actions[len(old.actions) :]:
            found.times[f"a/{name}/{action}"] += 1
        if old.explore != new.explore:
            found.times[f"x/{name}/{new.explore!r}"] += 1
        if old.reward_window != new.reward_window:
            found.times[f"r/{name}/{new.reward_window!r}"] += 1
        configs[number] = new
    elif isinstance(event, KeyMade) and number == SERVER and event.name != "first":
        found.times[f"k/{event.name}"] += 1
    elif isinstance(event, SecretMade):
        found.secrets[event.id] = event.secret


def end_refit(log: LogReader, number: int, as_of: int) -> str:
    """Build a campaign from the log alone, let windows close up to a moment, and digest it."""
    campaign = run_to_end(rebuild(log, number))
    campaign.advance(as_of, decision_loader(log, number))
    return campaign.digest()
