"""Which stream has written a record, and the chains of several streams whose records are mixed."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence

from foretell.service.log.chain import START, KeptLink, verified
from foretell.service.log.record import StoredRow
from foretell.service.log.stream_row import StreamRow
from foretell.service.model.events import SLOTS, Record


class Owners:
    """Which stream has written a record: the one that had its slot then."""

    def __init__(self, streams: Sequence[StreamRow]) -> None:
        """Sort streams by their slots, and by when they were opened."""
        self._by_slot: dict[int, list[StreamRow]] = {}
        for stream in sorted(streams, key=lambda one: one.first):
            self._by_slot.setdefault(stream.slot, []).append(stream)
        self._last: int | None = min((one.stream for one in streams), default=None)

    def owner(self, seq: int) -> int | None:
        """Return the stream of a record, asked for in order.

        A record that no stream can have written breaks the chain of the one before it.
        """
        streams = self._by_slot.get(seq % SLOTS, [])
        index = bisect_right(streams, seq, key=lambda one: one.first) - 1
        if index >= 0:
            self._last = streams[index].stream
        return self._last


def verify_streams(
    rows: Sequence[StoredRow],
    owners: Owners,
    streams: Mapping[int, StreamRow],
    starts: Mapping[int, KeptLink],
    kept: Mapping[int, dict[int, bytes]],
    after: int,
    end: int | None,
) -> list[Record]:
    """Return the records after a seq, in order; raise `Damaged` where a chain is broken.

    `starts` has the last link of each stream before the rows, `kept` those among them by stream and
    seq; `end` is the seq at which the rows were cut, None where they reach the end of the log.
    """
    by_stream: dict[int, list[StoredRow]] = {number: [] for number in streams}
    for row in rows:
        owner = owners.owner(row.seq)
        if owner in by_stream and row.seq > starts.get(owner, START).seq:
            by_stream[owner].append(row)
    found: list[Record] = []
    for number, own in by_stream.items():
        whole = end is None or streams[number].last <= end
        link = streams[number].link if whole else None
        start = starts.get(number, START)
        found += [
            record
            for record in verified(own, start, kept.get(number, {}), link)
            if record.seq > after
        ]
    return sorted(found)
