"""What every part of the engine shares: the log, the clock, the campaigns, the keys."""

from __future__ import annotations

import hashlib

from foretell.protocol import Scope
from foretell.service.engine.clock import Clock
from foretell.service.engine.replay import decision_loader
from foretell.service.log.record import NO_ROUND
from foretell.service.log.sqlite.log import SqliteLog
from foretell.service.model.active_campaign import ActiveCampaign
from foretell.service.model.decision_id import Token, sign_decision_id
from foretell.service.model.errors import LogClosed, NotFound
from foretell.service.model.events import (
    AnyEvent,
    Changed,
    Created,
    Decided,
    KeyMade,
    KeyRevoked,
    Refitted,
    SecretMade,
)
from foretell.service.model.keys import Keyring

SERVER = 0
"""The campaign number under which the log keeps records about the server itself."""


class Runtime:
    """The state of a running server; the log and the clock change when a log is reopened."""

    def __init__(self, path: str, log: SqliteLog, clock: Clock) -> None:
        """Begin without campaigns and keys: `recovery.load_campaigns` reads them from the log."""
        self.path = path
        self.log = log
        self.clock = clock
        self.closed: str | None = None
        """Why requests are refused; None while they are served."""
        self.clear()

    def clear(self) -> None:
        """Forget all that was read from the log."""
        self.by_name: dict[str, ActiveCampaign] = {}
        self.by_number: dict[int, ActiveCampaign] = {}
        self.keyring = Keyring()
        self.secrets: dict[int, bytes] = {}
        self.signs_since: dict[int, int] = {}
        """The moment from which on each secret signs."""

    def find(self, name: str) -> ActiveCampaign:
        """Find a campaign that can be used."""
        self.check_open()
        found = self.by_name.get(name)
        if found is None:
            raise NotFound(f"there is no campaign {name!r}: list the campaigns, or make it first")
        return found

    def register(self, active: ActiveCampaign) -> None:
        """Add a campaign, and keep the clock from going back before a window that it closed."""
        self.clock.last = max(self.clock.last, active.campaign.as_of)
        active.load = decision_loader(self.log, active.number)
        self.by_name[active.config.name] = active
        self.by_number[active.number] = active

    def identify(self, key: str) -> frozenset[Scope] | None:
        """Return the scopes of a key; None for a key that is not valid."""
        return self.keyring.scopes(key)

    def check_open(self) -> None:
        """Refuse everything while the log cannot be written."""
        if self.closed is not None:
            raise LogClosed(f"the log cannot be written ({self.closed}): try again soon")

    def check_same_log(self, log: SqliteLog) -> None:
        """Refuse to read on in a log that was closed, or replaced by a copy, in the meantime."""
        self.check_open()
        if self.log is not log:
            raise LogClosed("the log was replaced meanwhile: try again")

    async def durable(self) -> None:
        """Wait until everything appended so far is on disk."""
        await self.log.durable()

    def append_server_event(self, event: AnyEvent) -> None:
        """Append a record about the server itself."""
        self.log.append(SERVER, event)
        self.apply_server_event(event)

    def apply_server_event(self, event: AnyEvent) -> None:
        """Take a record about the server itself into the keys and secrets."""
        if isinstance(event, KeyMade):
            self.keyring.add(event)
        elif isinstance(event, KeyRevoked):
            self.keyring.revoke(event.id)
        elif isinstance(event, SecretMade):
            self.secrets[event.id] = event.secret
            self.signs_since[event.id] = event.recorded_at

    def policy_at(self, number: int, seq: int) -> str:
        """Return the policy by which a campaign decided at a record."""
        configs = [
            record.event.config
            for record in self.log.records_about(number, NO_ROUND)
            if record.seq < seq and isinstance(record.event, (Created, Changed, Refitted))
        ]
        return configs[-1].policy

    def decision_id(self, number: int, decided: Decided) -> str:
        """Return the id of a decision: the same each time, whatever secrets came since."""
        token = Token(number, decided.action, decided.propensity, decided.round, decided.decided_at)
        secret_id = max(one for one in self.secrets if self.signs_since[one] <= decided.decided_at)
        return sign_decision_id(token, secret_id, self.secrets[secret_id])

    def unit_hash(self, name: str) -> bytes:
        """Return the keyed hash under which the database knows a unit."""
        return hashlib.blake2b(name.encode(), key=self.secrets[0], digest_size=16).digest()
