"""What every part of the engine shares: the log, the clock, the campaigns that run."""

from __future__ import annotations

import hashlib

from foretell.service.engine.clock import Clock
from foretell.service.log.record import NO_ROUND
from foretell.service.log.sqlite.log import Log
from foretell.service.model.active_campaign import Running
from foretell.service.model.decision_id import Token, sign
from foretell.service.model.errors import LogClosed, NotFound
from foretell.service.model.events import Changed, Created, Decided, Refolded
from foretell.service.model.keys import Keyring

SERVER = 0
"""The number under which the log keeps lines about the server itself."""


class Core:
    """The campaigns of a server, by name and by number."""

    log: Log
    clock: Clock

    def __init__(self) -> None:
        """Know nothing yet."""
        self.running: dict[str, Running] = {}
        self.numbers: dict[int, Running] = {}
        self.keyring = Keyring()
        self.secrets: dict[int, bytes] = {}
        self.signs_since: dict[int, int] = {}
        """The moment from which on each secret signs."""
        self.closed: str | None = None

    def live(self, name: str) -> Running:
        """Find a campaign that can be used."""
        self.must_write()
        found = self.running.get(name)
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

    def appended(self, live: Running) -> None:
        """Note that a campaign has a new line."""
        live.dirty = True

    def policy_at(self, number: int, seq: int) -> str:
        """Give the policy by which a campaign decided at a line."""
        setups = [
            line.event.setup
            for line in self.log.about(number, NO_ROUND)
            if line.seq < seq and isinstance(line.event, (Created, Changed, Refolded))
        ]
        return setups[-1].policy

    def id_of(self, number: int, decided: Decided) -> str:
        """Give the id by which a decision of a campaign is known outside, since it was made."""
        token = Token(number, decided.action, decided.propensity, decided.round, decided.at)
        secret_id = max(one for one in self.secrets if self.signs_since[one] <= decided.at)
        return sign(token, secret_id, self.secrets[secret_id])

    def unit(self, name: str) -> bytes:
        """Give what stands for a unit in the database: a keyed hash."""
        return hashlib.blake2b(name.encode(), key=self.secrets[0], digest_size=16).digest()
