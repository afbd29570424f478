"""Administration: campaigns and their actions, keys, and the secrets that sign decision ids."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable

import msgspec

from foretell import protocol
from foretell.service.engine.fold import Fold
from foretell.service.engine.refit import refit, version_key
from foretell.service.engine.runtime import Runtime
from foretell.service.log.protocol import Accepted, Draft, Duplicate
from foretell.service.model import config as config_rules
from foretell.service.model.active_campaign import ActiveCampaign
from foretell.service.model.decision_id import LAST_SECRET
from foretell.service.model.errors import Conflict, NotFound, Stale
from foretell.service.model.events import (
    SERVER,
    AnyEvent,
    CampaignConfig,
    Configured,
    Erased,
    KeyRevoked,
    Record,
    SecretMade,
)
from foretell.service.model.keys import key_event, new_key
from foretell.service.model.snapshot import state_version
from foretell.service.model.timestamps import format_timestamp

Change = Callable[[CampaignConfig], CampaignConfig]


class Admin:
    """What an administrator asks for."""

    def __init__(self, runtime: Runtime, fold: Fold) -> None:
        """Write configurations to the log, and wait until they are in force."""
        self.runtime = runtime
        self.fold = fold

    async def create(self, new: protocol.NewCampaign) -> protocol.CampaignView:
        """Make a campaign; of two with the same name, or number, the log takes the first."""
        self.runtime.check_open()
        config = config_rules.new_config(new, secrets.randbits(62))
        event = Configured(1, config, "created", state_version(config))
        number = max(self.runtime.by_number, default=SERVER) + 1
        while True:
            claims = (
                (SERVER, b"name:" + new.name.encode()),
                (SERVER, b"number:%d" % number),
                (number, version_key(1)),
            )
            (written,) = await self.runtime.log.append([Draft(number, event, claims=claims)])
            if isinstance(written, Accepted):
                await self.fold.reached(written.record.seq + 1)
                return self.runtime.by_number[number].view()
            earlier = written.earlier
            assert isinstance(earlier, Record)  # noqa: S101  (only decisions are for units)
            assert isinstance(earlier.event, Configured)  # noqa: S101  (they have such keys)
            if earlier.event.config.name == new.name:
                raise Conflict(
                    f"there is a campaign {new.name!r} already, and names are never reused: "
                    f"choose another",
                    field="name",
                )
            number += 1

    def campaigns(self) -> list[protocol.CampaignView]:
        """List every campaign."""
        self.runtime.check_read()
        return [active.view() for active in self.runtime.by_number.values()]

    def campaign(self, name: str) -> protocol.CampaignView:
        """Return one campaign."""
        return self.runtime.look_up(name).view()

    async def patch(
        self, name: str, patch: protocol.CampaignPatch, version: int | None = None
    ) -> protocol.CampaignView:
        """Change a campaign; what changes the meaning of its log is a refit."""
        active = self._to_change(name, version)
        config, fields = config_rules.patched(active.config, patch)
        if fields:
            return await self._refit(active, config, "changed: " + ", ".join(fields))
        return await self._change(name, version, lambda old: config_rules.patched(old, patch)[0])

    async def set_status(
        self, name: str, status: protocol.CampaignStatus, version: int | None = None
    ) -> protocol.CampaignView:
        """Start, pause or stop a campaign; a stopped one stays so."""

        def with_status(config: CampaignConfig) -> CampaignConfig:
            if config.status == "stopped" and status != "stopped":
                raise Conflict(f"the campaign {name!r} is stopped, for good: make another")
            return msgspec.structs.replace(config, status=status)

        return await self._change(name, version, with_status)

    async def add_action(
        self, name: str, new: protocol.NewAction, version: int | None = None
    ) -> protocol.CampaignView:
        """Add an action, unexplored; nothing known is touched."""
        return await self._change(
            name, version, lambda config: config_rules.with_action(config, new.action)
        )

    async def patch_action(
        self, name: str, action: str, patch: protocol.ActionPatch, version: int | None = None
    ) -> protocol.CampaignView:
        """Pause, resume or retire an action; its history stays."""
        return await self._change(
            name, version, lambda config: config_rules.with_action_status(config, action, patch)
        )

    async def refit(self, name: str, version: int | None = None) -> protocol.CampaignView:
        """Let the policy read the whole log again, in the order of decisions."""
        active = self._to_change(name, version)
        return await self._refit(active, active.config, "asked for")

    async def erase(self, name: str, unit: str) -> protocol.ErasedUnit:
        """Forget which decisions belong to a unit; the decisions themselves stay."""
        active = self.runtime.find(name)
        found = await self.runtime.log.erase(active.number, self.runtime.unit_hash(unit))
        await self.runtime.log.append([Draft(active.number, Erased(found))])
        return protocol.ErasedUnit(found)

    async def make_key(self, new: protocol.NewKey) -> protocol.MadeKey:
        """Make a key; only this answer shows it."""
        self.runtime.check_open()
        key = new_key()
        event = key_event(key, new.name, tuple(new.scopes))
        record = await self.append_server_event(event)
        return protocol.MadeKey(
            event.id, event.name, list(event.scopes), format_timestamp(record.recorded_at), key
        )

    async def revoke_key(self, key_id: str) -> None:
        """Revoke a key; the last one that may do everything cannot be revoked."""
        self.runtime.check_open()
        event = self.runtime.keyring.find(key_id)
        if event is None:
            raise NotFound("there is no key with this id: list the keys to see their ids")
        if "admin" in event.scopes and self.runtime.keyring.admins() == 1:
            raise Conflict("this is the last key with the scope admin: make another one first")
        await self.append_server_event(KeyRevoked(key_id))

    async def rotate(self) -> protocol.Rotated:
        """Sign decision ids with a new secret from now on; ids signed by old ones stay valid."""
        self.runtime.check_open()
        number = max(self.runtime.secrets) + 1
        if number > LAST_SECRET:
            raise Conflict(f"the secret was changed {LAST_SECRET} times, and that is the most")
        record = await self.append_server_event(SecretMade(number, secrets.token_bytes(32)))
        return protocol.Rotated(number, format_timestamp(record.recorded_at))

    async def append_server_event(self, event: AnyEvent) -> Record:
        """Append a record about the server itself, and let it be in force at once.

        Also if nobody waits for it any more: an id that is given after it is signed by its secret.
        """
        appending = asyncio.create_task(self._append_server_event(event))
        try:
            return await asyncio.shield(appending)
        except asyncio.CancelledError:
            appending.add_done_callback(asyncio.Task.exception)  # read: asyncio would complain
            raise

    async def _append_server_event(self, event: AnyEvent) -> Record:
        claims = ((SERVER, b"secret:%d" % event.id),) if isinstance(event, SecretMade) else ()
        (written,) = await self.runtime.log.append([Draft(SERVER, event, claims=claims)])
        if not isinstance(written, Accepted):
            raise Conflict("the secret was changed by somebody else just now: look, and try again")
        self.runtime.apply_server_event(written.record)
        return written.record

    def keys(self) -> list[protocol.KeyView]:
        """List the keys, without their secrets."""
        return self.runtime.keyring.views()

    def _to_change(self, name: str, version: int | None) -> ActiveCampaign:
        active = self.runtime.find(name)
        if version is not None and version != active.version:
            raise Stale(
                f"the campaign {name!r} is at version {active.version}, not {version}: "
                f"read it again, and then change it"
            )
        if active.refitting:
            raise Conflict(f"the campaign {name!r} is being refit to its log: try again soon")
        return active

    async def _change(
        self, name: str, version: int | None, change: Change
    ) -> protocol.CampaignView:
        """Set the next version of a configuration; if somebody was faster, change theirs."""
        while True:
            active = self._to_change(name, version)
            config = change(active.config)
            if config == active.config:
                return active.view()
            number, following = active.number, active.version + 1
            event = Configured(following, config, "changed", state_version(config))
            draft = Draft(number, event, claims=((number, version_key(following)),))
            (written,) = await self.runtime.log.append([draft])
            record = written.earlier if isinstance(written, Duplicate) else written.record  # type: ignore[union-attr]
            await self.fold.reached(record.seq + 1)
            if isinstance(written, Accepted):
                return active.view()

    async def _refit(
        self, active: ActiveCampaign, config: CampaignConfig, why: str
    ) -> protocol.CampaignView:
        if not await refit(self.runtime, self.fold, active, config, why):
            raise Conflict(
                f"the campaign {active.config.name!r} was changed while it was refit to its log: "
                f"look at it, and try again"
            )
        return active.view()
