"""Administration: campaigns and their actions, keys, and the secrets that sign decision ids."""

from __future__ import annotations

import secrets

import msgspec

from foretell import protocol
from foretell.service.engine.maintenance import Maintenance
from foretell.service.engine.refit import refit_while_serving
from foretell.service.engine.runtime import Runtime
from foretell.service.model import config as config_rules
from foretell.service.model.active_campaign import ActiveCampaign
from foretell.service.model.campaign import Campaign
from foretell.service.model.decider import Decider
from foretell.service.model.decision_id import LAST_SECRET
from foretell.service.model.errors import Conflict, NotFound, Stale
from foretell.service.model.events import (
    CampaignConfig,
    Changed,
    Created,
    Erased,
    KeyRevoked,
    SecretMade,
)
from foretell.service.model.keys import key_event, new_key
from foretell.service.model.snapshot import policy_version
from foretell.service.model.timestamps import format_timestamp


class Admin:
    """What an administrator asks for."""

    def __init__(self, runtime: Runtime, maintenance: Maintenance) -> None:
        """Change what the runtime holds; after a refit snapshots are kept."""
        self.runtime = runtime
        self.maintenance = maintenance

    async def create(self, new: protocol.NewCampaign) -> protocol.CampaignView:
        """Make a campaign."""
        self.runtime.check_open()
        if new.name in self.runtime.by_name:
            raise Conflict(
                f"there is a campaign {new.name!r} already, and names are never reused: "
                f"choose another"
            )
        config = config_rules.new_config(new, secrets.randbits(62))
        number, now = len(self.runtime.by_number) + 1, self.runtime.clock.now()
        seq = self.runtime.log.append(number, Created(now, config, policy_version()))
        campaign = Campaign(config)
        campaign.seq, campaign.as_of = seq, now
        active = ActiveCampaign(number, campaign, Decider(config.seed), now, seq)
        self.runtime.register(active)
        await self.runtime.durable()
        return active.view()

    def campaigns(self) -> list[protocol.CampaignView]:
        """List every campaign."""
        self.runtime.check_open()
        return [active.view() for active in self.runtime.by_number.values()]

    def campaign(self, name: str) -> protocol.CampaignView:
        """Return one campaign."""
        return self.runtime.find(name).view()

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
        """Let the policy read the whole log again, in the order of decisions."""
        active = self._to_change(name, version)
        return await self._refit(active, active.config, "asked for")

    async def erase(self, name: str, unit: str) -> protocol.ErasedUnit:
        """Forget which decisions belong to a unit; the decisions themselves stay."""
        active = self.runtime.find(name)
        await self.runtime.durable()
        now = self.runtime.clock.now()
        active.campaign.advance(now, active.load)
        found = self.runtime.log.erase(active.number, self.runtime.unit_hash(unit))
        active.campaign.seq = self.runtime.log.append(active.number, Erased(now, found))
        active.dirty = True
        await self.runtime.durable()
        return protocol.ErasedUnit(found)

    async def make_key(self, new: protocol.NewKey) -> protocol.MadeKey:
        """Make a key; only this answer shows it."""
        self.runtime.check_open()
        key = new_key()
        event = key_event(self.runtime.clock.now(), key, new.name, tuple(new.scopes))
        self.runtime.append_server_event(event)
        await self.runtime.durable()
        return protocol.MadeKey(
            event.id, event.name, list(event.scopes), format_timestamp(event.recorded_at), key
        )

    async def revoke_key(self, key_id: str) -> None:
        """Revoke a key; the last one that may do everything cannot be revoked."""
        self.runtime.check_open()
        event = self.runtime.keyring.find(key_id)
        if event is None:
            raise NotFound("there is no key with this id: list the keys to see their ids")
        if "admin" in event.scopes and self.runtime.keyring.admins() == 1:
            raise Conflict("this is the last key with the scope admin: make another one first")
        self.runtime.append_server_event(KeyRevoked(self.runtime.clock.now(), key_id))
        await self.runtime.durable()

    async def rotate(self) -> protocol.Rotated:
        """Sign decision ids with a new secret from now on; ids signed by old ones stay valid."""
        self.runtime.check_open()
        number = max(self.runtime.secrets) + 1
        if number > LAST_SECRET:
            raise Conflict(f"the secret was changed {LAST_SECRET} times, and that is the most")
        event = SecretMade(self.runtime.clock.now(), number, secrets.token_bytes(32))
        self.runtime.append_server_event(event)
        await self.runtime.durable()
        return protocol.Rotated(number, format_timestamp(event.recorded_at))

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
        self, active: ActiveCampaign, config: CampaignConfig
    ) -> protocol.CampaignView:
        if config == active.config:
            return active.view()
        now = self.runtime.clock.now()
        active.campaign.advance(now, active.load)
        seq = self.runtime.log.append(active.number, Changed(now, config))
        active.version = active.campaign.seq = seq
        active.campaign.change(config)
        active.config_changed()
        active.dirty = True
        await self.runtime.durable()
        return active.view()

    async def _refit(
        self, active: ActiveCampaign, config: CampaignConfig, why: str
    ) -> protocol.CampaignView:
        await refit_while_serving(self.runtime, self.maintenance, active, config, why)
        return active.view()
