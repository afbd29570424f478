"""A reader of one campaign, up to one record, on a connection of its own.

A server may be writing to the same database: records that come later are not seen.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import apsw

from foretell.errors import DamagedFile
from foretell.service.log.record import STORED_COLUMNS, Record, event_of
from foretell.service.log.sqlite.connection import connect
from foretell.service.log.sqlite.reader import LogReader


class CampaignReader(LogReader):
    """The records of one campaign, up to `head`."""

    def __init__(self, reader: apsw.Connection, campaign: int) -> None:
        """Read up to the newest record."""
        super().__init__(reader)
        self.campaign = campaign

    def scan(self, after: int = 0, upto: int | None = None) -> Iterator[Record]:
        """Read the campaign's records after one in order, without checking the chain.

        The chain links the records of all campaigns: `check.check_database` reads them all.
        """
        last = self.head if upto is None else min(upto, self.head)
        for row in self.reader.execute(
            f"SELECT {STORED_COLUMNS} FROM events WHERE campaign = ? AND seq > ? AND seq <= ? "
            "ORDER BY seq",
            (self.campaign, after, last),
        ):
            yield Record(row[0], row[1], event_of(row))

    def _read(self, where: str, bindings: tuple[Any, ...], before: int | None) -> list[Record]:
        end = self.head + 1
        return super()._read(where, bindings, end if before is None else min(before, end))


@contextmanager
def open_campaign_reader(path: str, campaign: int) -> Iterator[CampaignReader]:
    """Open a reader of a campaign; an error of the driver is raised as damage."""
    reader = connect(path, write=False)
    try:
        yield CampaignReader(reader, campaign)
    except apsw.Error as error:
        raise DamagedFile(f"the records of campaign {campaign} cannot be read: {error}") from None
    finally:
        reader.close()


def last_campaign(path: str) -> int:
    """Return the number of the newest campaign, 0 where there is none."""
    with open_campaign_reader(path, 0) as log:
        return log.reader.execute("SELECT ifnull(max(campaign), 0) FROM events").get


def last_seq(path: str) -> int:
    """Return the number of the newest record, 0 where there is none."""
    with open_campaign_reader(path, 0) as log:
        return log.head
