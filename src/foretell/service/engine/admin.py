"""Administration of campaigns and their actions."""

from __future__ import annotations

import secrets
from collections.abc import Callable

import msgspec

from foretell import protocol
from foretell.service.engine.fold import Fold
from foretell.service.engine.refit import refit, version_key
from foretell.service.engine.runtime import Runtime
from foretell.service.log.protocol import Accepted, Draft, Duplicate
from foretell.service.model.action_changes import with_action, with_action_status
from foretell.service.model.active_campaign import ActiveCampaign
from foretell.service.model.config import new_config, patched, refuse_stopped
from foretell.service.model.errors import Conflict, Stale
from foretell.service.model.events import (
    SERVER,
    Author,
    CampaignConfig,
    Configured,
    Erased,
    Record,
)
from foretell.service.model.snapshot import state_version

Change = Callable[[CampaignConfig], CampaignConfig]


class Admin:
    """What an administrator asks for."""

    def __init__(self, runtime: Runtime, fold: Fold) -> None:
        """Write configurations to the log, and wait until they are in force."""
        self.runtime = runtime
        self.fold = fold

    async def create(
        self, new: protocol.NewCampaign, by: Author | None = None
    ) -> protocol.CampaignView:
        """Make a campaign; of two with the same name, or number, the log takes the first."""
        self.runtime.check_open()
        config = new_config(new, secrets.randbits(62))
        event = Configured(1, config, "created", state_version(config), by=by)
        number = max(self.runtime.by_number, default=SERVER) + 1
        while True:
            claims = (
                (SERVER, b"name:" + new.name.encode()),
                (SERVER, b"number:%d" % number),
                (number, version_key(1)),
            )
            (written,) = await self.runtime.log.append([Draft(number, event, claims=claims)])
            if isinstance(written, Accepted):
                await self._in_force(written.record)
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
        self,
        name: str,
        patch: protocol.CampaignPatch,
        version: int | None = None,
        by: Author | None = None,
    ) -> protocol.CampaignView:
        """Change a campaign; what changes the meaning of its log is a refit."""
        active = self._to_change(name, version)
        config, fields = patched(active.config, patch)
        if fields:
            return await self._refit(active, config, "changed: " + ", ".join(fields), by)
        return await self._change(name, version, lambda old: patched(old, patch)[0], by)

    async def set_status(
        self,
        name: str,
        status: protocol.CampaignStatus,
        version: int | None = None,
        by: Author | None = None,
    ) -> protocol.CampaignView:
        """Start, pause or stop a campaign; a stopped one stays so."""

        def with_status(config: CampaignConfig) -> CampaignConfig:
            if config.status == "stopped" and status != "stopped":
                raise Conflict(f"the campaign {name!r} is stopped, for good: make another")
            return msgspec.structs.replace(config, status=status)

        return await self._change(name, version, with_status, by, at_once=True)

    async def add_action(
        self,
        name: str,
        new: protocol.NewAction,
        version: int | None = None,
        by: Author | None = None,
    ) -> protocol.CampaignView:
        """Add an action, unexplored; nothing known is touched."""
        return await self._change(name, version, lambda config: with_action(config, new.action), by)

    async def patch_action(
        self,
        name: str,
        action: str,
        patch: protocol.ActionPatch,
        version: int | None = None,
        by: Author | None = None,
    ) -> protocol.CampaignView:
        """Pause, resume or retire an action; its history stays."""

        def with_status(config: CampaignConfig) -> CampaignConfig:
            return with_action_status(config, action, patch)

        return await self._change(name, version, with_status, by, at_once=True)

    async def refit(
        self, name: str, version: int | None = None, by: Author | None = None
    ) -> protocol.CampaignView:
        """Let the policy read the whole log again, in the order of decisions."""
        active = self._to_change(name, version)
        refuse_stopped(active.config)
        return await self._refit(active, active.config, "asked for", by)

    async def erase(self, name: str, unit: str, by: Author | None = None) -> protocol.ErasedUnit:
        """Forget which decisions belong to a unit; the decisions themselves stay."""
        active = self.runtime.find(name)
        found = await self.runtime.log.erase(active.number, self.runtime.unit_hash(unit))
        await self.runtime.log.append([Draft(active.number, Erased(found, by))])
        return protocol.ErasedUnit(found)

    def _to_change(
        self, name: str, version: int | None, *, at_once: bool = False
    ) -> ActiveCampaign:
        active = self.runtime.find(name)
        if version is not None and version != active.version:
            raise Stale(
                f"the campaign {name!r} is at version {active.version}, not {version}: "
                f"read it again, and then change it"
            )
        if active.refitting and not at_once:
            raise Conflict(
                f"the campaign {name!r} is being refit to its log: try again soon (a campaign or "
                f"an action can be started, paused or stopped meanwhile)"
            )
        return active

    async def _change(
        self,
        name: str,
        version: int | None,
        change: Change,
        by: Author | None,
        *,
        at_once: bool = False,
    ) -> protocol.CampaignView:
        """Set the next version of a configuration; if somebody was faster, change theirs.

        A refit that is under way ends without effect where the change is to be made at once:
        nobody who sees harm waits until a long log is read.
        """
        while True:
            active = self._to_change(name, version, at_once=at_once)
            config = change(active.config)
            if config == active.config:
                return active.view()
            number, following = active.number, active.version + 1
            event = Configured(following, config, "changed", state_version(config), by=by)
            draft = Draft(number, event, claims=((number, version_key(following)),))
            (written,) = await self.runtime.log.append([draft])
            record = written.earlier if isinstance(written, Duplicate) else written.record  # type: ignore[union-attr]
            await self._in_force(record)
            if isinstance(written, Accepted):
                return active.view()

    async def _in_force(self, record: Record) -> None:
        """Wait until a change is in force here, and wherever else the log is written."""
        await self.fold.reached(record.seq + 1)
        await self.runtime.log.seen_by_all(record.seq + 1)

    async def _refit(
        self, active: ActiveCampaign, config: CampaignConfig, why: str, by: Author | None
    ) -> protocol.CampaignView:
        if not await refit(self.runtime, self.fold, active, config, why, by):
            raise Conflict(
                f"the campaign {active.config.name!r} was changed while it was refit to its log: "
                f"look at it, and try again"
            )
        return active.view()
