"""What this layer asks of the engine, and nothing more: `foretell.service.engine` fits it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Literal, Protocol

from msgspec import Raw

from foretell import protocol


class Service(Protocol):
    """A decision service without its wire."""

    def health(self) -> protocol.Health:
        """Return whether the log can be written."""

    def gauges(self) -> Mapping[str, float]:
        """Return the numbers that only the engine knows, by name."""

    def identify(self, bearer: str, /) -> frozenset[protocol.Scope] | None:
        """Return the scopes of a key, None if it is not valid; in constant time."""

    async def decide(
        self, campaign: str, ask: protocol.DecisionRequest, /
    ) -> tuple[protocol.DecisionAnswer, bool]:
        """Decide, and tell whether the decision is new."""

    async def signal(self, decision_id: str, report: protocol.SignalReport, /) -> protocol.Receipt:
        """Take in a signal."""

    async def reward(self, decision_id: str, report: protocol.RewardReport, /) -> protocol.Receipt:
        """Take in a reward or a correction of one."""

    async def batch(self, items: list[Raw], /) -> list[protocol.Receipt]:
        """Take in events, each for itself: a bad one is `rejected`."""

    async def create(self, campaign: protocol.NewCampaign, /) -> protocol.CampaignView:
        """Make a campaign."""

    def campaigns(self) -> list[protocol.CampaignView]:
        """List every campaign."""

    def campaign(self, name: str, /) -> protocol.CampaignView:
        """Show one campaign."""

    async def patch(
        self, name: str, patch: protocol.CampaignPatch, version: int | None, /
    ) -> protocol.CampaignView:
        """Change a campaign."""

    async def set_status(
        self, name: str, status: Literal["running", "paused", "stopped"], version: int | None, /
    ) -> protocol.CampaignView:
        """Start, pause or stop a campaign."""

    async def refit(self, name: str, version: int | None = None, /) -> protocol.CampaignView:
        """Let the policy read the whole log again."""

    async def add_action(
        self, name: str, action: protocol.NewAction, version: int | None, /
    ) -> protocol.CampaignView:
        """Add an action."""

    async def patch_action(
        self, name: str, action: str, patch: protocol.ActionPatch, version: int | None, /
    ) -> protocol.CampaignView:
        """Pause, resume or retire an action."""

    async def history(self, decision_id: str, /) -> protocol.DecisionHistory:
        """Tell all that is known about a decision."""

    async def report(self, name: str, /) -> protocol.CampaignReport:
        """Tell what a campaign has come to."""

    async def timeseries(self, name: str, /) -> protocol.Timeseries:
        """Show a campaign over time."""

    async def delays(self, name: str, /) -> protocol.DelayReport:
        """Show how long signals and rewards take."""

    async def signals(self, name: str, /) -> protocol.SignalTable:
        """Show signals by action."""

    async def changes(self, name: str, /) -> protocol.SignalChanges:
        """Show when signals changed."""

    async def record_page(self, name: str, after: int, limit: int, /) -> protocol.RecordPage:
        """Return lines of the log."""

    def export(self, name: str, /) -> AsyncIterator[protocol.RecordView]:
        """Go through the whole log of a campaign."""

    async def erase(self, name: str, unit: str, /) -> protocol.ErasedUnit:
        """Forget a unit."""

    async def make_key(self, key: protocol.NewKey, /) -> protocol.MadeKey:
        """Make a key."""

    async def revoke_key(self, key: str, /) -> None:
        """Make a key invalid."""

    async def rotate(self) -> protocol.Rotated:
        """Sign decision ids with a new secret."""

    def keys(self) -> list[protocol.KeyView]:
        """List the valid keys."""

    async def backup(self, path: str, /) -> None:
        """Write the whole database to a new file."""

    async def restore(self, path: str, /) -> protocol.Restored:
        """Put the database in a file in place of this one."""
