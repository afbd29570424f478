"""Setting campaigns up, changing them, and who may do what."""

from __future__ import annotations

import asyncio
import logging
import math
import secrets

import msgspec

from foretell import protocol
from foretell.service.engine.maintenance import Upkeep
from foretell.service.engine.recovery import before, catch_up, refit_from_log, whole
from foretell.service.engine.runtime import SERVER
from foretell.service.model import config as config_rules
from foretell.service.model.active_campaign import ActiveCampaign
from foretell.service.model.campaign import Campaign
from foretell.service.model.decider import Decider
from foretell.service.model.decision_id import LAST_SECRET
from foretell.service.model.errors import Conflict, NotFound, Stale
from foretell.service.model.events import (
    AnyEvent,
    CampaignConfig,
    Changed,
    Created,
    Erased,
    KeyMade,
    KeyRevoked,
    Refitted,
    SecretMade,
)
from foretell.service.model.keys import key_event, new_key
from foretell.service.model.snapshot import policy_version
from foretell.service.model.timestamps import text

logger = logging.getLogger("foretell.service")


class Administration(Upkeep):
    """What an administrator asks for."""

    def register(self, active: ActiveCampaign) -> None:
        """Let a campaign be found; time does not go back behind the windows it has closed."""
        self.clock.last = max(self.clock.last, active.campaign.as_of)
        active.load = before(self.log, active.number)
        self.by_name[active.config.name] = active
        self.by_number[active.number] = active

    async def create(self, new: protocol.NewCampaign) -> protocol.CampaignView:
        """Make a campaign."""
        self.must_write()
        if new.name in self.by_name:
            raise Conflict(
                f"there is a campaign {new.name!r} already, and names are never reused: "
                f"choose another"
            )
        config = config_rules.new_config(new, secrets.randbits(62))
        number, now = len(self.by_number) + 1, self.clock.now()
        seq = self.log.append(number, Created(now, config, policy_version()))
        campaign = Campaign(config)
        campaign.seq, campaign.as_of = seq, now
        active = ActiveCampaign(number, campaign, Decider(config.seed), now, seq)
        self.register(active)
        await self.durable()
        return active.view()

    def campaigns(self) -> list[protocol.CampaignView]:
        """List every campaign."""
        self.must_write()
        return [active.view() for active in self.by_number.values()]

    def campaign(self, name: str) -> protocol.CampaignView:
        """Return one campaign."""
        return self.find(name).view()

    async def patch(
        self, name: str, patch: protocol.CampaignPatch, version: int | None = None
    ) -> protocol.CampaignView:
        """Change a campaign; what changes the meaning of its log is a refit."""
        active = self._to_change(name, version)
        config, needs_refit = config_rules.patched(active.config, patch)
        if needs_refit:
            changed = [
                field
                for field in config_rules.REFIT_FIELDS
                if getattr(config, field) != getattr(active.config, field)
            ]
            return await self._refit(active, config, "changed: " + ", ".join(changed))
        return await self._change(active, config)

    async def set_status(
        self, name: str, status: protocol.CampaignStatus, version: int | None = None
    ) -> protocol.CampaignView:
        """Start, pause or stop a campaign; a stopped one stays so."""
        active = self._to_change(name, version)
        if active.config.status == "stopped" and status != "stopped":
            raise Conflict(f"the campaign {name!r} is stopped, for good: make another")
        return await self._change(active, msgspec.structs.replace(active.config, status=status))

    async def add_action(
        self, name: str, new: protocol.NewAction, version: int | None = None
    ) -> protocol.CampaignView:
        """Add an action, unexplored; nothing known is touched."""
        active = self._to_change(name, version)
        return await self._change(active, config_rules.with_action(active.config, new.action))

    async def patch_action(
        self, name: str, action: str, patch: protocol.ActionPatch, version: int | None = None
    ) -> protocol.CampaignView:
        """Pause, resume or retire an action; its history stays."""
        active = self._to_change(name, version)
        return await self._change(
            active, config_rules.with_action_status(active.config, action, patch)
        )

    async def refit(self, name: str, version: int | None = None) -> protocol.CampaignView:
        """Let the policy read the whole log again, with every correction in its place."""
        active = self._to_change(name, version)
        return await self._refit(active, active.config, "asked for")

    async def erase(self, name: str, unit: str) -> protocol.ErasedUnit:
        """Forget which decisions were a unit's; the decisions themselves stay."""
        active = self.find(name)
        await self.durable()
        now = self.clock.now()
        active.campaign.advance(now, active.load)
        found = self.log.erase(active.number, self.unit(unit))
        active.campaign.seq = self.log.append(active.number, Erased(now, found))
        self.appended(active)
        await self.durable()
        return protocol.ErasedUnit(found)

    async def make_key(self, new: protocol.NewKey) -> protocol.MadeKey:
        """Make a key; this is the only moment at which it can be read."""
        self.must_write()
        key = new_key()
        event = key_event(self.clock.now(), key, new.name, tuple(new.scopes))
        self.append_server_record(event)
        await self.durable()
        return protocol.MadeKey(
            event.id, event.name, list(event.scopes), text(event.recorded_at), key
        )

    async def revoke_key(self, key_id: str) -> None:
        """Let a key be valid no more; the last one that may do everything stays."""
        self.must_write()
        event = self.keyring.find(key_id)
        if event is None:
            raise NotFound("there is no key with this id: list the keys to see their ids")
        if "admin" in event.scopes and self.keyring.admins() == 1:
            raise Conflict("this is the last key with the scope admin: make another one first")
        self.append_server_record(KeyRevoked(self.clock.now(), key_id))
        await self.durable()

    async def rotate(self) -> protocol.Rotated:
        """Sign decision ids with a new secret from now on; ids signed by old ones stay valid."""
        self.must_write()
        number = max(self.secrets) + 1
        if number > LAST_SECRET:
            raise Conflict(f"the secret was changed {LAST_SECRET} times, and that is the most")
        event = SecretMade(self.clock.now(), number, secrets.token_bytes(32))
        self.append_server_record(event)
        await self.durable()
        return protocol.Rotated(number, text(event.recorded_at))

    def keys(self) -> list[protocol.KeyView]:
        """List the keys, without their secrets."""
        return self.keyring.views()

    def identify(self, key: str) -> frozenset[protocol.Scope] | None:
        """Return what a key may do; None for a key that is not valid."""
        return self.keyring.scopes(key)

    def append_server_record(self, event: AnyEvent) -> None:
        """Append a record about the server itself."""
        self.log.append(SERVER, event)
        self.know(event)

    def know(self, event: AnyEvent) -> None:
        """Take in a record about the server itself."""
        if isinstance(event, KeyMade):
            self.keyring.add(event)
        elif isinstance(event, KeyRevoked):
            self.keyring.revoke(event.id)
        elif isinstance(event, SecretMade):
            self.secrets[event.id] = event.secret
            self.signs_since[event.id] = event.recorded_at

    def _to_change(self, name: str, version: int | None) -> ActiveCampaign:
        active = self.find(name)
        if version is not None and version != active.version:
            raise Stale(
                f"the campaign {name!r} is at version {active.version}, not {version}: "
                f"read it again, and then change it"
            )
        if active.refitting:
            raise Conflict(f"the campaign {name!r} is being refit to its log: try again soon")
        return active

    async def _change(
        self, active: ActiveCampaign, config: CampaignConfig
    ) -> protocol.CampaignView:
        if config == active.config:
            return active.view()
        now = self.clock.now()
        active.campaign.advance(now, active.load)
        active.version = active.campaign.seq = self.log.append(active.number, Changed(now, config))
        active.campaign.change(config)
        self._changed(active)
        await self.durable()
        return active.view()

    async def _refit(
        self, active: ActiveCampaign, config: CampaignConfig, why: str
    ) -> protocol.CampaignView:
        """Read the whole log beside the running campaign, and put the result in its place."""
        active.refitting = True
        try:
            number, log = active.number, self.log
            upto, as_of = log.head, self.clock.now()
            config = config_rules.keeping(active.config, config, as_of)
            await self.durable()
            campaign = Campaign(config)
            for step in refit_from_log(log, number, config, upto, as_of):
                campaign = step
                await asyncio.sleep(0)
                self.must_be_open(log)
            last, left = upto, math.inf
            while 0 < log.committer.committed - last < left:  # records may come faster than this
                newest = log.committer.committed
                left = newest - last
                for _ in catch_up(campaign, log, number, last, newest):
                    await asyncio.sleep(0)
                    self.must_be_open(log)
                last = newest
            whole(catch_up(campaign, log, number, last))
            self._put(active, campaign, Refitted(as_of, config, why, upto, as_of, policy_version()))
            await self.durable()
        finally:
            active.refitting = False
        return active.view()

    def refit_now(self, active: ActiveCampaign, why: str) -> None:
        """Read the whole log while nothing else goes on."""
        upto, as_of, config = self.log.head, self.clock.now(), active.config
        campaign = whole(refit_from_log(self.log, active.number, config, upto, as_of))
        self._put(active, campaign, Refitted(as_of, config, why, upto, as_of, policy_version()))

    def _put(self, active: ActiveCampaign, campaign: Campaign, event: Refitted) -> None:
        now = self.clock.now()
        campaign.advance(now, active.load)
        event = msgspec.structs.replace(event, recorded_at=now)
        active.version = campaign.seq = self.log.append(active.number, event)
        active.campaign = campaign
        self._changed(active)
        self.keep_snapshots()
        logger.info("%s was refit at record %d: %s", active.config.name, active.version, event.why)

    def _changed(self, active: ActiveCampaign) -> None:
        active.decider.forget()
        active.look_up()
        self.appended(active)
