"""Who may ask for what: the keys of the service, and the secrets that sign decision ids."""

from __future__ import annotations

import asyncio
import secrets
from contextlib import suppress

import msgspec

from foretell import protocol
from foretell.service.engine.runtime import Runtime
from foretell.service.log.errors import LogClosed
from foretell.service.log.protocol import Accepted, Draft, Duplicate, LogReader
from foretell.service.model.decision_id import LAST_SECRET, Secrets
from foretell.service.model.errors import Conflict, NotFound, Unusable
from foretell.service.model.events import (
    SERVER,
    AnyEvent,
    Author,
    KeyMade,
    KeyRevoked,
    Record,
    SecretMade,
    SecretWithdrawn,
    SessionClosed,
    SessionOpened,
    moment,
    stamp,
)
from foretell.service.model.keys import Caller, Keyring, is_lasting_admin, key_event, new_key
from foretell.service.model.sessions import new_session, session_digest
from foretell.service.model.timestamps import format_timestamp, parse_timestamp


class Access:
    """Keys and secrets: each change is a record about the server itself."""

    def __init__(self, runtime: Runtime) -> None:
        """Write to the runtime's log."""
        self.runtime = runtime

    async def make_key(self, new: protocol.NewKey, by: Author | None = None) -> protocol.MadeKey:
        """Make a key; only this answer shows it."""
        self.runtime.check_open()
        if new.campaign is not None and new.campaign not in self.runtime.by_name:
            raise Unusable(
                f"there is no campaign {new.campaign!r} for a key to be for: make it first, or "
                f"leave campaign out for a key for all of them",
                field="campaign",
            )
        key, expires = new_key(), self._expiry(new.expires_at)
        event = key_event(key, new.name, tuple(new.scopes), new.campaign, expires, by)
        record = await self._append_server_event(event)
        view = self.runtime.keyring.view(event, record.recorded_at)
        return protocol.MadeKey(**msgspec.structs.asdict(view), key=key)

    def _expiry(self, written: str | None) -> int | None:
        """Return the moment from which on a key is not valid."""
        if written is None:
            return None
        expires, now = parse_timestamp(written), moment(self.runtime.log.now())
        if expires is None:
            raise Unusable(
                f"expires_at must be a time with its zone, got {written!r}: "
                f"write it as in 2026-01-31T12:00:00Z, or leave it out",
                field="expires_at",
            )
        if expires <= now:
            raise Unusable(
                f"expires_at must lie in the future, got {written!r} at "
                f"{format_timestamp(now)}: give a later time, or leave it out",
                field="expires_at",
            )
        return expires

    async def revoke_key(self, key_id: str, by: Author | None = None) -> None:
        """Revoke a key; the last one that may do everything cannot be revoked."""
        self.runtime.check_open()
        event = self.runtime.keyring.find(key_id)
        if event is None:
            raise NotFound("there is no key with this id: list the keys to see their ids")
        if is_lasting_admin(event) and self.runtime.keyring.admins() == 1:
            raise Conflict(
                "this is the last key with the scope admin that is for all campaigns and does "
                "not expire: make another one first"
            )
        await self._append_server_event(KeyRevoked(key_id, by))

    def keys(self) -> list[protocol.KeyView]:
        """List the valid keys, without their secrets."""
        self.runtime.check_read()
        return self.runtime.keyring.views(moment(self.runtime.log.now()))

    async def open_session(self, caller: Caller, until: int) -> str:
        """Sign a browser in whose user has shown a key, until a time of the wall clock.

        While the log is closed, the session holds in this process alone: whoever looks for what is
        wrong must be able to look.
        """
        session = new_session()
        opened = SessionOpened(session_digest(session), caller.author.id, until)
        try:
            self.runtime.check_open()
            await self._append_server_event(opened)
        except LogClosed:
            self.runtime.sessions.add(opened)
        return session

    async def close_session(self, session: str) -> None:
        """Sign a browser out: its session is not valid any more."""
        closed = SessionClosed(session_digest(session))
        self.runtime.sessions.remove(closed)
        with suppress(LogClosed):
            await self._append_server_event(closed)

    def session_caller(self, session: str, now: float) -> Caller | None:
        """Return whose session this is; None: it is over, its key is not valid, or it is forged."""
        key = self.runtime.sessions.key_of(session, now)
        return None if key is None else self.runtime.caller_of(key)

    async def first_start(self, admin_key: str | None) -> str | None:
        """Make the first secret and the first key, where there are none; return that key."""
        if not self.runtime.secrets:
            await self._append_unless_another(SecretMade(0, secrets.token_bytes(32)), b"secret:0")
        records = await self.runtime.log.configurations(SERVER)
        if any(isinstance(record.event, KeyMade) for record in records):
            return None
        key = admin_key or new_key()
        made = await self._append_unless_another(key_event(key, "first", ("admin",)), b"first key")
        return key if made else None

    async def _append_unless_another(self, event: AnyEvent, key: bytes) -> bool:
        """Append what there is once, unless another process that starts has done so."""
        (written,) = await self.runtime.log.append([Draft(SERVER, event, claims=((SERVER, key),))])
        record = written.earlier if isinstance(written, Duplicate) else written.record  # type: ignore[union-attr]
        self.runtime.apply_server_event(record)
        return isinstance(written, Accepted)

    async def rotate(self, by: Author | None = None) -> protocol.Rotated:
        """Sign decision ids with a new secret from now on, and retire the one before it.

        Ids that it has signed stay valid; one that is dated after its retirement is forged.
        """
        self.runtime.check_open()
        event = await self._next_secret(by)
        await self._append_server_event(event)
        since = self.runtime.secrets.since[event.id]
        return protocol.Rotated(event.id, format_timestamp(moment(since)))

    async def retire_secret(
        self, number: int, *, with_ids: bool, by: Author | None = None
    ) -> protocol.SecretView:
        """Let a secret sign no more; `with_ids`: and let no id be valid that it has signed.

        The ids of its decisions are then signed by another one: who asks again gets those.
        """
        self.runtime.check_open()
        known = self.runtime.secrets
        if number not in known:
            raise NotFound(f"there is no secret {number}: list the secrets to see their numbers")
        newest = max(known)
        if number in known.withdrawn or (number != newest and not with_ids):
            raise Conflict(
                f"the secret {number} is retired already"
                + (
                    ", and the ids that it has signed are not valid: retire another one"
                    if number in known.withdrawn
                    else ": the ids that it signed before stay valid, unless it is retired "
                    "with its ids"
                )
            )
        if number == newest:
            await self._append_server_event(await self._next_secret(by))
        if with_ids:
            await self._append_server_event(SecretWithdrawn(number, by))
        return self.secrets()[number]

    def secrets(self) -> list[protocol.SecretView]:
        """List the secrets that sign decision ids, without the secrets themselves."""
        self.runtime.check_read()
        return secret_views(self.runtime.secrets)

    async def _next_secret(self, by: Author | None) -> SecretMade:
        """Draft a secret; where other processes sign too, it begins when all of them know it."""
        number = max(self.runtime.secrets) + 1
        if number > LAST_SECRET:
            raise Conflict(f"the secret was changed {LAST_SECRET} times, and that is the most")
        log, begins = self.runtime.log, 0
        seconds = await log.propagation_seconds()
        if seconds:
            begins = log.now() + stamp(round(seconds * log.time_scale * 1e6))
        return SecretMade(number, secrets.token_bytes(32), by, begins)

    async def _append_server_event(self, event: AnyEvent) -> Record:
        """Append a record about the server itself, and let it be in force at once.

        Also if nobody waits for it any more: an id that is given after it is signed by its secret.
        """
        appending = asyncio.create_task(self._append_and_apply(event))
        try:
            return await asyncio.shield(appending)
        except asyncio.CancelledError:
            appending.add_done_callback(asyncio.Task.exception)  # read: asyncio would complain
            raise

    async def _append_and_apply(self, event: AnyEvent) -> Record:
        claims = ((SERVER, b"secret:%d" % event.id),) if isinstance(event, SecretMade) else ()
        (written,) = await self.runtime.log.append([Draft(SERVER, event, claims=claims)])
        if not isinstance(written, Accepted):
            raise Conflict("the secret was changed by somebody else just now: look, and try again")
        self.runtime.apply_server_event(written.record)
        await self.runtime.log.seen_by_all(written.record.seq + 1)
        return written.record


async def stored_keys(log: LogReader, now: int) -> list[protocol.KeyView]:
    """Return the keys that are valid at a moment, or at the end of a log if that is later."""
    keyring = Keyring()
    for record in await log.configurations(SERVER):
        keyring.take(record)
    keyring.last_used.update(await log.uses())
    return keyring.views(max(now, moment(log.head())))


async def stored_secrets(log: LogReader) -> list[protocol.SecretView]:
    """Return the secrets of a log, without the secrets themselves."""
    secrets_read = Secrets()
    for record in await log.configurations(SERVER):
        secrets_read.take(record)
    return secret_views(secrets_read)


def secret_views(known: Secrets) -> list[protocol.SecretView]:
    """Return what may be told of secrets: since when each signs, and until when."""
    since = [format_timestamp(moment(seq)) for seq in known.since]
    return [
        protocol.SecretView(number, begun, retired, number not in known.withdrawn)
        for number, (begun, retired) in enumerate(zip(since, [*since[1:], None], strict=True))
    ]
