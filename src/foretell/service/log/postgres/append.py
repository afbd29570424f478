"""Drafts become records: of those that claim the same, one is written.

A group is written whole, or not at all because something in it was claimed before. Then those that
have lost are answered, and the rest is sent again; as claims are seldom made twice, most groups
take one statement.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice

from foretell.service.log.errors import Damaged
from foretell.service.log.postgres.claimed import EarlierClaims
from foretell.service.log.postgres.group import Group, Wanted
from foretell.service.log.postgres.own_stream import ClaimedBefore, OwnStream
from foretell.service.log.postgres.writer import WriteJob
from foretell.service.log.protocol import Accepted, Written
from foretell.service.model.events import SLOTS, Decided, Record

CLOSE = 1_000_000 * SLOTS
"""Feedback is stamped after its decision, where another's clock was ahead by less: a second."""

_accepted: Callable[[tuple[Record]], Accepted] = partial(tuple.__new__, Accepted)
"""Makes an answer without the call of its type: this is for every record."""


class Appending:
    """The drafts of some calls, and what becomes of them."""

    def __init__(self, own: OwnStream, jobs: Sequence[WriteJob]) -> None:
        """Begin with nothing answered."""
        self._own = own
        self._jobs = jobs
        self._wanted = [Wanted(draft) for job in jobs for draft in job.drafts]
        self._results: list[Written | Damaged | None] = [None] * len(self._wanted)
        self._earlier = EarlierClaims({}, {})

    async def run(self) -> None:
        """Write all that can be written, and answer every call."""
        while open_ones := [n for n, found in enumerate(self._results) if found is None]:
            await self._write(self._without_rivals(open_ones))
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

    def _without_rivals(self, indices: list[int]) -> list[int]:
        """Return the drafts that claim what no earlier one of them claims."""
        claims_of_all = [claim for index in indices for claim in self._wanted[index].all_claims]
        if len(set(claims_of_all)) == len(claims_of_all):
            return indices  # as nearly always
        claimed: set[object] = set()
        found = []
        for index in indices:
            claims = self._wanted[index].all_claims
            if claimed.isdisjoint(claims):
                found.append(index)
                claimed.update(claims)
        return found

    async def _write(self, indices: list[int]) -> None:
        """Write some drafts, and answer those that have lost."""
        stamps, wanted = self._own.stamps, self._wanted
        head = stamps.head()
        for index in indices:
            if 0 < wanted[index].draft.decision - head < CLOSE:
                stamps.advance(wanted[index].draft.decision + 1)
                head = stamps.head()
        seqs = stamps.begin(len(indices))
        try:
            while indices:
                drafts = [wanted[index] for index in indices]
                group = self._own.prepare(
                    lambda stream, chain, some=drafts, given=seqs: Group(stream, chain, given, some)  # type: ignore[misc]
                )
                try:
                    await self._own.send(group)
                    break
                except ClaimedBefore:
                    self._earlier = await EarlierClaims.find(self._own.connection, drafts)
                    indices = self._answer(indices)
                    stamps.give_back(seqs[len(indices) :])
                    seqs = seqs[: len(indices)]
        finally:
            stamps.settle_all()
        if indices:
            self._accept(indices, group)

    def _accept(self, indices: list[int], group: Group) -> None:
        for index, accepted in zip(indices, map(_accepted, zip(group.records)), strict=True):
            self._results[index] = accepted
        rivals = [n for n, found in enumerate(self._results) if found is None]
        if not rivals:
            return
        for index, record in zip(indices, group.records, strict=True):
            event = record.event
            action = event.action if isinstance(event, Decided) else None
            self._earlier.add(self._wanted[index], record, action)
        self._answer(rivals)

    def _answer(self, indices: list[int]) -> list[int]:
        """Answer the drafts whose claims are known to be made; return the others."""
        for index in indices:
            self._results[index] = self._earlier.answer(self._wanted[index])
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
