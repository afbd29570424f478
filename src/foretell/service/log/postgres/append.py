"""Drafts become records: of those that claim the same, one is written.

A group is written whole, or not at all because something in it was claimed before. Then those that
have lost are answered, and the rest is sent again; as claims are seldom made twice, most groups
take one statement.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import islice

from foretell.service.log.errors import Damaged
from foretell.service.log.postgres.claimed import EarlierClaims
from foretell.service.log.postgres.group import Group, Wanted
from foretell.service.log.postgres.own_stream import ClaimedBefore, OwnStream
from foretell.service.log.postgres.writer import WriteJob
from foretell.service.log.protocol import Accepted, Written
from foretell.service.model.events import SLOTS

CLOSE = 1_000_000 * SLOTS
"""Feedback is stamped after its decision, where another's clock was ahead by less: a second."""


class Appending:
    """The drafts of some calls, and what becomes of them."""

    def __init__(self, own: OwnStream, jobs: Sequence[WriteJob]) -> None:
        """Begin with nothing answered."""
        self._own = own
        self._jobs = jobs
        self._drafts = [draft for job in jobs for draft in job.drafts]
        self._results: list[Written | Damaged | None] = [None] * len(self._drafts)
        self._earlier = EarlierClaims({}, {})

    async def run(self) -> None:
        """Write all that can be written, and answer every call."""
        while open_ones := [n for n, found in enumerate(self._results) if found is None]:
            await self._write(open_ones)
        results = iter(self._results)
        for job in self._jobs:
            answer = list(islice(results, len(job.drafts)))
            damage = next((one for one in answer if isinstance(one, Damaged)), None)
            if job.done.done():
                continue
            if damage is None:
                job.done.set_result(answer)
            else:
                job.done.set_exception(damage)

    def _wanted(self, indices: list[int]) -> Wanted:
        return Wanted([self._drafts[index] for index in indices])

    def _without_rivals(self, indices: list[int]) -> list[int]:
        """Return the drafts that claim what no earlier one of them claims."""
        claimed: set[object] = set()
        found = []
        for index in indices:
            wanted = self._wanted([index])
            claims = {*wanted.claims, *wanted.unit_keys}
            if claimed.isdisjoint(claims):
                found.append(index)
                claimed |= claims
        return found

    async def _write(self, indices: list[int]) -> None:
        """Write some drafts, and answer those that have lost."""
        wanted = self._wanted(indices)
        if wanted.are_rivals:
            indices = self._without_rivals(indices)
            wanted = self._wanted(indices)
        stamps = self._own.stamps
        head = stamps.head()
        for draft in wanted.drafts:
            if 0 < draft.decision - head < CLOSE:
                stamps.advance(draft.decision + 1)
                head = stamps.head()
        seqs = stamps.begin(len(indices))
        try:
            while indices:
                group = self._own.prepare(partial(Group, seqs=seqs, wanted=wanted))
                try:
                    await self._own.send(group)
                    break
                except ClaimedBefore:
                    self._earlier = await EarlierClaims.find(self._own.connection, wanted)
                    indices = self._answer(indices)
                    wanted = self._wanted(indices)
                    stamps.give_back(seqs[len(indices) :])
                    seqs = seqs[: len(indices)]
        finally:
            stamps.settle_all()
        if indices:
            self._accept(indices, group)

    def _accept(self, indices: list[int], group: Group) -> None:
        for index, record in zip(indices, group.records, strict=True):
            self._results[index] = Accepted(record)
        rivals = [n for n, found in enumerate(self._results) if found is None]
        if not rivals:
            return
        for index, record in zip(indices, group.records, strict=True):
            self._earlier.add(self._drafts[index], record)
        self._answer(rivals)

    def _answer(self, indices: list[int]) -> list[int]:
        """Answer the drafts whose claims are known to be made; return the others."""
        for index in indices:
            self._results[index] = self._earlier.answer(self._drafts[index])
        left = [index for index in indices if self._results[index] is None]
        return self._without_damaged(left)

    def _without_damaged(self, indices: list[int]) -> list[int]:
        """Leave out calls of which a draft has met damage: nothing of them is written."""
        index, left = 0, set(indices)
        for job in self._jobs:
            own = range(index, index + len(job.drafts))
            index = own.stop
            damage = next((one for n in own if isinstance(one := self._results[n], Damaged)), None)
            for n in own if damage is not None else ():
                if n in left:
                    self._results[n] = damage
                    left.discard(n)
        return sorted(left)


async def append_jobs(own: OwnStream, jobs: Sequence[WriteJob]) -> None:
    """Write the drafts of some calls, and answer each."""
    await Appending(own, jobs).run()
