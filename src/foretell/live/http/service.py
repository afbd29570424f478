"""What this layer asks of the engine, and nothing more: `foretell.live.engine.Engine` fits it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Literal, Protocol

from msgspec import Raw

from foretell.live import api


class Service(Protocol):
    """A decision service without its wire."""

    def health(self) -> api.Health:
        """Tell whether the log can be written."""

    def gauges(self) -> Mapping[str, float]:
        """Give the numbers that only the engine knows, by name."""

    def identify(self, bearer: str, /) -> frozenset[api.Scope] | None:
        """Give the scopes of a key, None if it is not valid; in constant time."""

    async def decide(self, campaign: str, ask: api.Ask, /) -> tuple[api.Answer, bool]:
        """Decide, and tell whether the decision is new."""

    async def signal(self, decision_id: str, report: api.SignalReport, /) -> api.Receipt:
        """Take in a signal."""

    async def reward(self, decision_id: str, report: api.RewardReport, /) -> api.Receipt:
        """Take in a reward or a correction of one."""

    async def batch(self, items: list[Raw], /) -> list[api.Receipt]:
        """Take in events, each for itself: a bad one is `rejected`."""

    async def create(self, campaign: api.NewCampaign, /) -> api.CampaignView:
        """Make a campaign."""

    def campaigns(self) -> list[api.CampaignView]:
        """List every campaign."""

    def campaign(self, name: str, /) -> api.CampaignView:
        """Show one campaign."""

    async def patch(
        self, name: str, patch: api.CampaignPatch, version: int | None, /
    ) -> api.CampaignView:
        """Change a campaign."""

    async def set_status(
        self, name: str, status: Literal["running", "paused", "stopped"], version: int | None, /
    ) -> api.CampaignView:
        """Start, pause or stop a campaign."""

    async def refold(self, name: str, version: int | None = None, /) -> api.CampaignView:
        """Let the policy read the whole log anew."""

    async def add_action(
        self, name: str, action: api.NewAction, version: int | None, /
    ) -> api.CampaignView:
        """Add an action."""

    async def patch_action(
        self, name: str, action: str, patch: api.ActionPatch, version: int | None, /
    ) -> api.CampaignView:
        """Pause, resume or retire an action."""

    async def story(self, decision_id: str, /) -> api.Story:
        """Tell all that is known about a decision."""

    async def report(self, name: str, /) -> api.Report:
        """Tell what a campaign has come to."""

    async def timeseries(self, name: str, /) -> api.Timeseries:
        """Show a campaign over time."""

    async def delays(self, name: str, /) -> api.Delays:
        """Show how long signals and rewards take."""

    async def signals(self, name: str, /) -> api.SignalTable:
        """Show signals by action."""

    async def changes(self, name: str, /) -> api.Changes:
        """Show when signals changed."""

    async def log_page(self, name: str, after: int, limit: int, /) -> api.LogPage:
        """Give lines of the log."""

    def export(self, name: str, /) -> AsyncIterator[api.LogLine]:
        """Go through the whole log of a campaign."""

    async def erase(self, name: str, unit: str, /) -> api.Erased:
        """Forget a unit."""

    async def make_key(self, key: api.NewKey, /) -> api.KeyMade:
        """Make a key."""

    async def revoke_key(self, key: str, /) -> None:
        """Make a key invalid."""

    async def rotate(self) -> api.Rotated:
        """Sign decision ids with a new secret."""

    def keys(self) -> list[api.KeyView]:
        """List the valid keys."""

    async def backup(self, path: str, /) -> None:
        """Write the whole database to a new file."""

    async def restore(self, path: str, /) -> api.Restored:
        """Put the database in a file in place of this one."""
