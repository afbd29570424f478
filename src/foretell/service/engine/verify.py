"""Verification: every campaign is rebuilt from the log alone, and compared with its saved state.

The saved state is the newest one, which a server wrote while it ran.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from msgspec import Struct

from foretell.errors import ForetellError
from foretell.service.engine.replay import configurations_of, rebuild
from foretell.service.log.errors import Damaged, LogClosed
from foretell.service.log.protocol import LogReader, SavedState
from foretell.service.model.events import moment
from foretell.service.model.snapshot import pack, unpack
from foretell.service.model.timestamps import format_timestamp

StateComparison = Literal["same", "differs", "no state", "other version", "archived"]
"""Other version: the state is of another version of foretell, and cannot be compared with."""


class Rebuilt(Struct):
    """A campaign that was rebuilt."""

    campaign: str
    as_of: str
    """The moment of the log up to which it was rebuilt."""
    comparison: StateComparison


class Verification(Struct):
    """What was checked, and everything that is wrong."""

    records: int
    states: int
    campaigns: list[Rebuilt]
    damage: list[str]


async def verify_log(
    log: LogReader, advance: Callable[[int], None] = lambda _: None
) -> Verification:
    """Check all that is stored, and rebuild every campaign.

    `advance` is called with a number of records that are done, twice for each record: when it is
    checked, and when it is folded. Raises `LogClosed` if the log cannot be read now.
    """
    checked = log.check(advance)
    found = Verification(checked.records, checked.states, [], list(checked.damage))
    try:
        numbers = await log.campaigns()
    except LogClosed:
        raise
    except ForetellError as error:
        found.damage.append(f"the campaigns cannot be read: {error}")
        return found
    for number in numbers:
        try:
            found.campaigns.append(await _rebuilt(log, number, advance))
        except LogClosed:
            raise
        except ForetellError as error:
            found.damage.append(f"campaign {number} cannot be built from the log: {error}")
    for one in found.campaigns:
        if one.comparison == "differs":
            found.damage.append(
                f"the campaign {one.campaign!r}, built from the log, "
                f"differs from its state as of {one.as_of}"
            )
    return found


async def _rebuilt(log: LogReader, number: int, advance: Callable[[int], None]) -> Rebuilt:
    _, created = (await configurations_of(log, number))[0]
    name, saved = created.config.name, await _saved_state(log, number)
    comparison: StateComparison
    if any(number in one.campaigns for one in await log.archives()):
        until = log.head() if saved is None else saved.position
        comparison = "archived"
    elif saved is None:
        until = log.head()
        await rebuild(log, number, until, advance)
        comparison = "no state"
    else:
        until = saved.position
        campaign = await rebuild(log, number, until, advance)
        stored = unpack(saved.version, saved.body)
        if stored is None:
            comparison = "other version"
        else:  # packed again: an older foretell knew fewer settings of a campaign
            comparison = "same" if pack(campaign) == pack(stored) else "differs"
    return Rebuilt(name, format_timestamp(moment(until)), comparison)


async def _saved_state(log: LogReader, number: int) -> SavedState | None:
    """Return the newest saved state; None if it is damaged, which was already reported."""
    try:
        return await log.load_state(number)
    except Damaged:
        return None
