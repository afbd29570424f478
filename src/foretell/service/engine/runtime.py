"""What every part of the engine shares: the log, the clock, the campaigns that run."""

from __future__ import annotations

import hashlib

from foretell.service.engine.clock import Clock
from foretell.service.log.record import NO_ROUND
from foretell.service.log.sqlite.log import Log
from foretell.service.model.active_campaign import ActiveCampaign
from foretell.service.model.decision_id import Token, sign
from foretell.service.model.errors import LogClosed, NotFound
from foretell.service.model.events import Changed, Created, Decided, Refitted
from foretell.service.model.keys import Keyring

SERVER = 0
"""The number under which the log keeps records about the server itself."""


class Core:
    """The campaigns of a server, by name and by number."""

    log: Log
    clock: Clock

    def __init__(self) -> None:
        """Know nothing yet."""
        self.by_name: dict[str, ActiveCampaign] = {}
        self.by_number: dict[int, ActiveCampaign] = {}
        self.keyring = Keyring()
        self.secrets: dict[int, bytes] = {}
        self.signs_since: dict[int, int] = {}
        """The moment from which on each secret signs."""
        self.closed: str | None = None

    def find(self, name: str) -> ActiveCampaign:
        """Find a campaign that can be used."""
        self.must_write()
        found = self.by_name.get(name)
        if found is None:
            raise NotFound(f"there is no campaign {name!r}: list the campaigns, or make it first")
        return found

    def must_write(self) -> None:
        """Refuse everything while the log cannot be written."""
        if self.closed is not None:
            raise LogClosed(f"the log cannot be written ({self.closed}): try again soon")

    def must_be_open(self, log: Log) -> None:
        """Refuse to read on in a log that was closed, or replaced by a copy, meanwhile."""
        self.must_write()
        if self.log is not log:
            raise LogClosed("the log was replaced meanwhile: try again")

    async def durable(self) -> None:
        """Wait until everything so far is on disk."""
        await self.log.durable()

    def appended(self, active: ActiveCampaign) -> None:
        """Note that a campaign has a new record."""
        active.dirty = True

    def policy_at(self, number: int, seq: int) -> str:
        """Return the policy by which a campaign decided at a record."""
        setups = [
            record.event.config
            for record in self.log.about(number, NO_ROUND)
            if record.seq < seq and isinstance(record.event, (Created, Changed, Refitted))
        ]
        return setups[-1].policy

    def id_of(self, number: int, decided: Decided) -> str:
        """Return the id by which a decision of a campaign is known outside, since it was made."""
        token = Token(
            number, decided.action, decided.propensity, decided.round, decided.recorded_at
        )
        secret_id = max(one for one in self.secrets if self.signs_since[one] <= decided.recorded_at)
        return sign(token, secret_id, self.secrets[secret_id])

    def unit(self, name: str) -> bytes:
        """Return what stands for a unit in the database: a keyed hash."""
        return hashlib.blake2b(name.encode(), key=self.secrets[0], digest_size=16).digest()
