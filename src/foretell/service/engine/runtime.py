"""What every part of the engine shares: the log, the campaigns, the keys."""

from __future__ import annotations

import asyncio
import hashlib

from foretell.errors import near_miss
from foretell.service.log.errors import LogClosed
from foretell.service.log.protocol import Log
from foretell.service.model.active_campaign import ActiveCampaign
from foretell.service.model.campaign import Campaign
from foretell.service.model.decision_id import Secrets, Token
from foretell.service.model.errors import Forbidden, NotFound
from foretell.service.model.events import (
    SERVER,
    Configured,
    Decided,
    Record,
    SecretMade,
    SecretWithdrawn,
    SessionClosed,
    SessionOpened,
    moment,
    stamp,
)
from foretell.service.model.keys import Caller, Keyring
from foretell.service.model.sessions import Sessions

SECRETS_SECONDS = 1.0
"""Seconds that the fold may lag until secrets are read without it: far fewer than pass between the
record of a secret and the first id that it signs."""
READING_AGAIN = "the log holds other records than before, and is read again"


class Runtime:
    """The state of a running server: all of it is a function of the log."""

    def __init__(self, log: Log) -> None:
        """Begin without campaigns and keys: `recovery` reads them from the log."""
        self.log = log
        self.stopped: str | None = None
        """Why requests are refused, apart from the log; None while they are served."""
        self._counting = asyncio.Lock()
        self._reading_secrets = asyncio.Lock()
        self.clear()

    def clear(self) -> None:
        """Forget all that was read from the log."""
        self.restores = self.log.restores
        """How often the log was replaced before the records that are read now."""
        self.by_name: dict[str, ActiveCampaign] = {}
        self.by_number: dict[int, ActiveCampaign] = {}
        self.keyring = Keyring()
        self.secrets = Secrets()
        self.folded = self._secrets_read = 0
        """Below these seqs the fold, or whoever needs a secret, has read all about the server."""
        self.sessions = Sessions()
        self.long_refit = asyncio.Lock()
        """Held by a refit in a thread: one at a time, as requests share the time with it."""
        self.refits: dict[int, Campaign] = {}
        """For each campaign that is being refit, the state that will take the place of its own."""

    @property
    def replaced(self) -> bool:
        """Whether the log holds other records than those that were read."""
        return self.log.restores != self.restores

    @property
    def unreadable(self) -> str | None:
        """Why what is in memory cannot be shown; None while it can."""
        return self.stopped or (READING_AGAIN if self.replaced else self.log.outdated)

    @property
    def closed(self) -> str | None:
        """Why requests are refused; None while they are served."""
        return self.unreadable or self.log.closed

    def check_open(self) -> None:
        """Refuse everything while the log cannot be written."""
        closed = self.closed
        if closed is not None:
            raise LogClosed(f"the log cannot be written ({closed}): try again soon")

    def check_read(self) -> None:
        """Refuse to show anything while it is being read from the log."""
        unreadable = self.unreadable
        if unreadable is not None:
            raise LogClosed(f"nothing can be read now ({unreadable}): try again soon")

    def latest(self) -> int:
        """Return the later of wall and log time: what is well beyond it is in the future."""
        now = moment(self.log.now())
        return now + max(0, round(self.log.gauges().clock_ahead_seconds * 1e6))

    def find(self, name: str) -> ActiveCampaign:
        """Find a campaign that can be used."""
        self.check_open()
        return self._named(name)

    def look_up(self, name: str) -> ActiveCampaign:
        """Find a campaign to be looked at, also while the log cannot be written."""
        self.check_read()
        return self._named(name)

    def _named(self, name: str) -> ActiveCampaign:
        found = self.by_name.get(name)
        if found is None:
            close = near_miss(name, list(self.by_name))
            advice = f"did you mean {close!r}?" if close else "list the campaigns, or make it first"
            raise NotFound(f"there is no campaign {name!r}: {advice}")
        if found.damage is not None:
            raise found.damage
        return found

    def register(self, active: ActiveCampaign) -> None:
        """Add a campaign."""
        self.by_name[active.config.name] = active
        self.by_number[active.number] = active

    def identify(self, key: str) -> Caller | None:
        """Return who sends a key, and what it may do; None for a key that is not valid."""
        return self._unless_expired(self.keyring.identify(key))

    def caller_of(self, key_id: str) -> Caller | None:
        """Return who uses a key that was shown before; None for one that is not valid any more."""
        return self._unless_expired(self.keyring.caller(key_id))

    def _unless_expired(self, caller: Caller | None) -> Caller | None:
        if caller is not None and caller.expires is not None:
            return caller if self.log.time() < caller.expires else None
        return caller

    def apply_server_event(self, record: Record) -> None:
        """Take a record about the server itself into the keys, secrets and sessions."""
        self.keyring.take(record)
        self.secrets.take(record)
        if isinstance(record.event, SessionOpened):
            self.sessions.add(record.event)
        elif isinstance(record.event, SessionClosed):
            self.sessions.remove(record.event)

    async def write_counts(self, active: ActiveCampaign) -> None:
        """Write down how often something happened to a campaign that leaves no record.

        Raises `LogClosed` where it cannot be written; it is then kept for the next time.
        """
        async with self._counting:  # whoever comes second waits for what the first one writes
            while active.uncounted:
                name, by = active.uncounted.popitem()
                try:
                    await self.log.add_counts(active.number, name, by)
                except LogClosed:
                    active.uncounted[name] = active.uncounted.get(name, 0) + by
                    raise

    async def read_counts(self, active: ActiveCampaign) -> None:
        """Read what others have counted of a campaign too."""
        async with self._counting:
            counts = await self.log.counts(active.number)
        for name, by in active.uncounted.items():
            counts[name] = counts.get(name, 0) + by
        active.counts = counts

    async def write_uses(self) -> None:
        """Write down when keys were last used: now and then, never for a request."""
        keyring = self.keyring
        unwritten, keyring.unwritten = keyring.unwritten, set()
        if unwritten:
            try:
                await self.log.save_uses({one: keyring.last_used[one] for one in unwritten})
            except LogClosed:
                keyring.unwritten |= unwritten

    async def policy_at(self, number: int, version: int) -> str:
        """Return the policy of a version of a campaign's configuration."""
        for record in await self.log.configurations(number):
            if isinstance(record.event, Configured) and record.event.version == version:
                return record.event.config.policy
        return self.by_number[number].config.policy

    def decision_id(self, campaign: int, number: int, decided: Decided) -> str:
        """Return the id of a decision: the same each time, whatever secrets came since."""
        return self.secrets.sign(Token(campaign, decided.action, decided.propensity, number))

    async def know_secrets(self, number: int) -> None:
        """Make sure that the secret is known that signs the id of a decision, if the fold lags."""
        due = number - stamp(round(SECRETS_SECONDS * self.log.time_scale * 1e6))
        if self.log.sharing is not None and due > max(self.folded, self._secrets_read):
            await self._read_secrets(due)

    async def learn_secrets(self, changes: int) -> bool:
        """Read the secrets of other processes; return whether they are others than before.

        `changes` is how often they had changed when an id was not known.
        """
        if self.log.sharing is not None and self.secrets.changes == changes:
            await self._read_secrets(self.log.now())
        return self.secrets.changes != changes

    async def _read_secrets(self, upto: int) -> None:
        """Read what the fold has not, unless somebody else has just done so."""
        async with self._reading_secrets:
            if self._secrets_read >= upto:
                return
            now = self.log.now()
            for record in await self.log.configurations(SERVER, self.folded - 1):
                if isinstance(record.event, SecretMade | SecretWithdrawn):
                    self.apply_server_event(record)
            self._secrets_read = now

    def refuse_other(self, active: ActiveCampaign, own: str | None) -> None:
        """Raise unless a key may see what belongs to a campaign; None: it may see them all."""
        if own is not None and own != active.config.name:
            raise Forbidden(
                f"the key is for the campaign {own!r} alone, and this decision is one of another: "
                f"use a key for that one"
            )

    def campaign_of(self, decision_id: str) -> str | None:
        """Return the campaign of a decision id; None for one that this service does not give."""
        token = self.secrets.read(decision_id)
        active = None if token is None else self.by_number.get(token.campaign)
        return None if active is None else active.config.name

    def unit_hash(self, name: str) -> bytes:
        """Return the keyed hash under which the log knows a unit."""
        return hashlib.blake2b(name.encode(), key=self.secrets[0], digest_size=16).digest()
