"""Verification: every campaign is rebuilt from the log alone, and compared with its snapshot.

The snapshot is the newest one, which a server wrote while it ran.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

from msgspec import Struct

from foretell.errors import DamagedFile, ForetellError
from foretell.service.engine.replay import (
    RECORDS_PER_STEP,
    decision_loader,
    rebuild,
    run_to_end,
)
from foretell.service.log.record import NO_ROUND
from foretell.service.log.sqlite.campaign_reader import (
    CampaignReader,
    last_campaign,
    last_seq,
    open_campaign_reader,
)
from foretell.service.log.sqlite.check import check_database
from foretell.service.model.campaign import Campaign
from foretell.service.model.errors import Damaged
from foretell.service.model.events import Created
from foretell.service.model.snapshot import pack, unpack

SnapshotComparison = Literal["same", "differs", "no snapshot", "other policies"]
"""Other policies: the snapshot is of another version of foretell, and cannot be compared with."""


class Rebuilt(Struct):
    """A campaign that was rebuilt."""

    campaign: str
    record: int
    """The record up to which it was rebuilt."""
    comparison: SnapshotComparison


class Verification(Struct):
    """What was checked, and everything that is wrong."""

    records: int
    snapshots: int
    campaigns: list[Rebuilt]
    damage: list[str]


def verify_database(path: str, advance: Callable[[int], None] = lambda _: None) -> Verification:
    """Check all that is stored, and rebuild every campaign.

    `advance` is called with a number of records that are done, twice for each record: when it is
    checked, and when it is folded.
    """
    try:
        checked = check_database(path, lambda: advance(RECORDS_PER_STEP))
    except DamagedFile as error:
        return Verification(0, 0, [], [str(error)])
    found = Verification(checked.records, checked.snapshots, [], checked.damage)
    for number in range(1, last_campaign(path) + 1):
        try:
            with open_campaign_reader(path, number) as log:
                found.campaigns.append(_rebuilt(log, advance))
        except ForetellError as error:
            found.damage.append(f"campaign {number} cannot be built from the log: {error}")
    for one in found.campaigns:
        if one.comparison == "differs":
            found.damage.append(
                f"the campaign {one.campaign!r}, built from the log, "
                f"differs from its snapshot at record {one.record}"
            )
    return found


def count_steps(path: str) -> int:
    """Return about how many records `advance` will count; 0 where they cannot be counted."""
    try:
        return 2 * last_seq(path)
    except DamagedFile:
        return 0


def _rebuilt(log: CampaignReader, advance: Callable[[int], None]) -> Rebuilt:
    number, created = log.campaign, log.records_about(log.campaign, NO_ROUND)[0].event
    assert isinstance(created, Created)  # noqa: S101  (the first record of every campaign)
    name = created.config.name
    body = _snapshot(log)
    kept = None if body is None else unpack(body)
    if kept is None:
        run_to_end(_counted(rebuild(log, number), advance))
        return Rebuilt(name, log.head, "no snapshot" if body is None else "other policies")
    log.head = kept.seq
    campaign = run_to_end(_counted(rebuild(log, number), advance))
    campaign.advance(kept.as_of, decision_loader(log, number))
    return Rebuilt(name, kept.seq, "same" if pack(campaign) == pack(kept) else "differs")


def _snapshot(log: CampaignReader) -> bytes | None:
    """Return the newest snapshot; None if it is damaged, which was already reported."""
    try:
        found = log.snapshot(log.campaign)
    except Damaged:
        return None
    return None if found is None else found[1]


def _counted(steps: Iterator[Campaign], advance: Callable[[int], None]) -> Iterator[Campaign]:
    for step in steps:
        advance(RECORDS_PER_STEP)
        yield step
