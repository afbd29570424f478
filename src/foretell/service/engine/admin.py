"""Administration of campaigns and their actions."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable

import msgspec

from foretell import protocol
from foretell.errors import ForetellError
from foretell.service.engine.fold import Fold
from foretell.service.engine.refit import refit, version_key
from foretell.service.engine.runtime import Runtime
from foretell.service.engine.turns import in_thread_if_large
from foretell.service.log.errors import said_outside
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

logger = logging.getLogger("foretell.service")

Change = Callable[[CampaignConfig], CampaignConfig]


class Admin:
    """What an administrator asks for."""

    def __init__(self, runtime: Runtime, fold: Fold) -> None:
        """Write configurations to the log, and wait until they are in force."""
        self.runtime = runtime
        self.fold = fold
        self._under_way: set[asyncio.Task[None]] = set()

    async def create(
        self, new: protocol.NewCampaign, by: Author | None = None
    ) -> protocol.CampaignView:
        """Make a campaign; of two with the same name, or number, the log takes the first."""
        self.runtime.check_open()
        config = await in_thread_if_large(
            len(new.actions) * len(new.signals), new_config, new, secrets.randbits(62)
        )
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
            assert isinstance(written, Duplicate)  # noqa: S101  (no unit, and never archived)
            earlier = written.earlier
            assert isinstance(earlier.event, Configured)  # noqa: S101  (they have such keys)
            if earlier.event.config.name == new.name:
                raise Conflict(
                    f"there is a campaign {new.name!r} already, and names are never reused: "
                    f"choose another",
                    field="name",
                )
            number += 1

    def campaigns(self, *, hidden: bool = False) -> list[protocol.CampaignView]:
        """List the campaigns; with `hidden` those too that are hidden."""
        self.runtime.check_read()
        listed = self.runtime.by_number.values()
        return [one.view() for one in listed if hidden or one.config.status != "hidden"]

    def campaign(self, name: str) -> protocol.CampaignView:
        """Return one campaign."""
        return self.runtime.look_up(name).view()

    async def patch(
        self,
        name: str,
        patch: protocol.CampaignPatch,
        version: int | None = None,
        by: Author | None = None,
        *,
        wait: bool = True,
    ) -> protocol.CampaignView:
        """Change a campaign; what changes the meaning of its log is a refit.

        Without `wait` a refit goes on after the answer, and the campaign says how far it is.
        """
        active = self._to_change(name, version)
        _, fields = patched(active.config, patch)
        if fields:
            why = "changed: " + ", ".join(fields)
            return await self._refit(active, lambda old: patched(old, patch)[0], why, by, wait=wait)
        return await self._change(name, version, lambda old: patched(old, patch)[0], by)

    async def set_status(
        self,
        name: str,
        status: protocol.CampaignStatus,
        version: int | None = None,
        by: Author | None = None,
    ) -> protocol.CampaignView:
        """Start, pause, stop or hide a campaign; a stopped or hidden one never runs again."""

        def with_status(config: CampaignConfig) -> CampaignConfig:
            if config.ended and status not in ("stopped", "hidden"):
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
        self,
        name: str,
        version: int | None = None,
        by: Author | None = None,
        *,
        wait: bool = True,
    ) -> protocol.CampaignView:
        """Let the policy read the whole log again, in the order of decisions.

        Without `wait` it goes on after the answer, and the campaign says how far it is.
        """
        active = self._to_change(name, version)
        return await self._refit(active, _unless_stopped, "asked for", by, wait=wait)

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
        self, active: ActiveCampaign, change: Change, why: str, by: Author | None, *, wait: bool
    ) -> protocol.CampaignView:
        """Begin to refit a campaign to a changed configuration; wait until it is in force, or not.

        Raises at once where the change itself cannot be made.
        """
        change(active.config)
        active.refitting, active.refit_share, active.refit_why = True, 0.0, why  # from now on
        task = asyncio.create_task(self._refit_until_done(active, change, why, by))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        if wait:
            await asyncio.shield(task)
        else:
            task.add_done_callback(_note_failure)
        return active.view()

    async def _refit_until_done(
        self, active: ActiveCampaign, change: Change, why: str, by: Author | None
    ) -> None:
        """Refit; if the configuration was changed meanwhile, begin again with that one."""
        try:
            while not await refit(self.runtime, self.fold, active, change(active.config), why, by):
                active.refitting = True
        except BaseException as error:
            active.refitting = False
            active.refit_failure = said_outside(error) or "the server stopped meanwhile"
            raise

    async def stop(self) -> None:
        """End the refits under way; the old states stay in force."""
        for task in list(self._under_way):
            task.cancel()
        await asyncio.gather(*self._under_way, return_exceptions=True)


def _unless_stopped(config: CampaignConfig) -> CampaignConfig:
    """Return a configuration as it is; refuse one that is not changed any more."""
    refuse_stopped(config)
    return config


def _note_failure(task: asyncio.Task[None]) -> None:
    """Log why a refit that nobody waits for has failed; the campaign says it, too."""
    error = None if task.cancelled() else task.exception()
    if isinstance(error, ForetellError):
        logger.warning("a refit has failed: %s", error)
    elif error is not None:
        logger.error("a refit has failed", exc_info=error)
