"""Setting campaigns up, changing them, and who may do what."""

from __future__ import annotations

import asyncio
import logging
import math
import secrets

import msgspec

from foretell import protocol
from foretell.service.engine.maintenance import Upkeep
from foretell.service.engine.recovery import before, catch_up, reread, whole
from foretell.service.engine.runtime import SERVER
from foretell.service.model import config as setups
from foretell.service.model.active_campaign import Running
from foretell.service.model.campaign import Campaign
from foretell.service.model.decider import Chooser
from foretell.service.model.decision_id import LAST_SECRET
from foretell.service.model.errors import Conflict, NotFound, Stale
from foretell.service.model.events import (
    AnyEvent,
    Changed,
    Created,
    Erased,
    KeyMade,
    KeyRevoked,
    Refolded,
    SecretMade,
    Setup,
)
from foretell.service.model.keys import key_event, new_key
from foretell.service.model.snapshot import policy_version
from foretell.service.model.timestamps import text

logger = logging.getLogger("foretell.service")


class Administration(Upkeep):
    """What an administrator asks for."""

    def register(self, live: Running) -> None:
        """Let a campaign be found; time does not go back behind the windows it has closed."""
        self.clock.last = max(self.clock.last, live.campaign.as_of)
        live.load = before(self.log, live.number)
        self.running[live.setup.name] = live
        self.numbers[live.number] = live

    async def create(self, new: protocol.NewCampaign) -> protocol.CampaignView:
        """Make a campaign."""
        self.must_write()
        if new.name in self.running:
            raise Conflict(
                f"there is a campaign {new.name!r} already, and names are never reused: "
                f"choose another"
            )
        setup = setups.new_setup(new, secrets.randbits(62))
        number, now = len(self.numbers) + 1, self.clock.now()
        seq = self.log.append(number, Created(now, setup, policy_version()))
        campaign = Campaign(setup)
        campaign.seq, campaign.as_of = seq, now
        live = Running(number, campaign, Chooser(setup.seed), now, seq)
        self.register(live)
        await self.durable()
        return live.view()

    def campaigns(self) -> list[protocol.CampaignView]:
        """List every campaign."""
        self.must_write()
        return [live.view() for live in self.numbers.values()]

    def campaign(self, name: str) -> protocol.CampaignView:
        """Give one campaign."""
        return self.live(name).view()

    async def patch(
        self, name: str, patch: protocol.CampaignPatch, version: int | None = None
    ) -> protocol.CampaignView:
        """Change a campaign; what changes the meaning of its log is read into the model anew."""
        live = self._to_change(name, version)
        setup, anew = setups.patched(live.setup, patch)
        if anew:
            changed = [
                field
                for field in setups.READ_ANEW
                if getattr(setup, field) != getattr(live.setup, field)
            ]
            return await self._refold(live, setup, "changed: " + ", ".join(changed))
        return await self._change(live, setup)

    async def set_status(
        self, name: str, status: protocol.Status, version: int | None = None
    ) -> protocol.CampaignView:
        """Start, pause or stop a campaign; a stopped one stays so."""
        live = self._to_change(name, version)
        if live.setup.status == "stopped" and status != "stopped":
            raise Conflict(f"the campaign {name!r} is stopped, for good: make another")
        return await self._change(live, msgspec.structs.replace(live.setup, status=status))

    async def add_action(
        self, name: str, new: protocol.NewAction, version: int | None = None
    ) -> protocol.CampaignView:
        """Add an action, unexplored; nothing known is touched."""
        live = self._to_change(name, version)
        return await self._change(live, setups.with_action(live.setup, new.action))

    async def patch_action(
        self, name: str, action: str, patch: protocol.ActionPatch, version: int | None = None
    ) -> protocol.CampaignView:
        """Pause, resume or retire an action; its history stays."""
        live = self._to_change(name, version)
        return await self._change(live, setups.with_standing(live.setup, action, patch))

    async def refold(self, name: str, version: int | None = None) -> protocol.CampaignView:
        """Let the policy read the whole log anew, with every correction in its place."""
        live = self._to_change(name, version)
        return await self._refold(live, live.setup, "asked for")

    async def erase(self, name: str, unit: str) -> protocol.Erased:
        """Forget which decisions were a unit's; the decisions themselves stay."""
        live = self.live(name)
        await self.durable()
        now = self.clock.now()
        live.campaign.advance(now, live.load)
        found = self.log.erase(live.number, self.unit(unit))
        live.campaign.seq = self.log.append(live.number, Erased(now, found))
        self.appended(live)
        await self.durable()
        return protocol.Erased(found)

    async def make_key(self, new: protocol.NewKey) -> protocol.KeyMade:
        """Make a key; this is the only moment at which it can be read."""
        self.must_write()
        key = new_key()
        event = key_event(self.clock.now(), key, new.name, tuple(new.scopes))
        self.server_line(event)
        await self.durable()
        return protocol.KeyMade(event.id, event.name, list(event.scopes), text(event.at), key)

    async def revoke_key(self, key_id: str) -> None:
        """Let a key be valid no more; the last one that may do everything stays."""
        self.must_write()
        event = self.keyring.find(key_id)
        if event is None:
            raise NotFound("there is no key with this id: list the keys to see their ids")
        if "admin" in event.scopes and self.keyring.admins() == 1:
            raise Conflict("this is the last key with the scope admin: make another one first")
        self.server_line(KeyRevoked(self.clock.now(), key_id))
        await self.durable()

    async def rotate(self) -> protocol.Rotated:
        """Sign decision ids with a new secret from now on; ids signed by old ones stay valid."""
        self.must_write()
        number = max(self.secrets) + 1
        if number > LAST_SECRET:
            raise Conflict(f"the secret was changed {LAST_SECRET} times, and that is the most")
        event = SecretMade(self.clock.now(), number, secrets.token_bytes(32))
        self.server_line(event)
        await self.durable()
        return protocol.Rotated(number, text(event.at))

    def keys(self) -> list[protocol.KeyView]:
        """List the keys, without their secrets."""
        return self.keyring.views()

    def identify(self, key: str) -> frozenset[protocol.Scope] | None:
        """Give what a key may do; None for a key that is not valid."""
        return self.keyring.scopes(key)

    def server_line(self, event: AnyEvent) -> None:
        """Append a line about the server itself."""
        self.log.append(SERVER, event)
        self.know(event)

    def know(self, event: AnyEvent) -> None:
        """Take in a line about the server itself."""
        if isinstance(event, KeyMade):
            self.keyring.add(event)
        elif isinstance(event, KeyRevoked):
            self.keyring.revoke(event.id)
        elif isinstance(event, SecretMade):
            self.secrets[event.id] = event.secret
            self.signs_since[event.id] = event.at

    def _to_change(self, name: str, version: int | None) -> Running:
        live = self.live(name)
        if version is not None and version != live.version:
            raise Stale(
                f"the campaign {name!r} is at version {live.version}, not {version}: "
                f"read it again, and then change it"
            )
        if live.refolding:
            raise Conflict(f"the campaign {name!r} is reading its log anew: try again soon")
        return live

    async def _change(self, live: Running, setup: Setup) -> protocol.CampaignView:
        if setup == live.setup:
            return live.view()
        now = self.clock.now()
        live.campaign.advance(now, live.load)
        live.version = live.campaign.seq = self.log.append(live.number, Changed(now, setup))
        live.campaign.change(setup)
        self._changed(live)
        await self.durable()
        return live.view()

    async def _refold(self, live: Running, setup: Setup, why: str) -> protocol.CampaignView:
        """Read the log anew beside the running campaign, and put the result in its place."""
        live.refolding = True
        try:
            number, log = live.number, self.log
            upto, as_of = log.head, self.clock.now()
            setup = setups.keeping(live.setup, setup, as_of)
            await self.durable()
            campaign = Campaign(setup)
            for step in reread(log, number, setup, upto, as_of):
                campaign = step
                await asyncio.sleep(0)
                self.must_be_open(log)
            last, left = upto, math.inf
            while 0 < log.committer.committed - last < left:  # lines may come faster than this
                newest = log.committer.committed
                left = newest - last
                for _ in catch_up(campaign, log, number, last, newest):
                    await asyncio.sleep(0)
                    self.must_be_open(log)
                last = newest
            whole(catch_up(campaign, log, number, last))
            self._put(live, campaign, Refolded(as_of, setup, why, upto, as_of, policy_version()))
            await self.durable()
        finally:
            live.refolding = False
        return live.view()

    def refold_now(self, live: Running, why: str) -> None:
        """Read the log anew while nothing else goes on."""
        upto, as_of, setup = self.log.head, self.clock.now(), live.setup
        campaign = whole(reread(self.log, live.number, setup, upto, as_of))
        self._put(live, campaign, Refolded(as_of, setup, why, upto, as_of, policy_version()))

    def _put(self, live: Running, campaign: Campaign, event: Refolded) -> None:
        now = self.clock.now()
        campaign.advance(now, live.load)
        event = msgspec.structs.replace(event, at=now)
        live.version = campaign.seq = self.log.append(live.number, event)
        live.campaign = campaign
        self._changed(live)
        self.keep_snapshots()
        logger.info("%s read its log anew at line %d: %s", live.setup.name, live.version, event.why)

    def _changed(self, live: Running) -> None:
        live.chooser.forget()
        live.look_up()
        self.appended(live)
