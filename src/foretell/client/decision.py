"""A decision of the service, the feedback given on it, and the fallback in its place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

if TYPE_CHECKING:
    from foretell.client.feedback import FeedbackReporter

EventId = TypeVar("EventId")

Fallback: TypeAlias = str | Mapping[str, str] | Callable[[str, Sequence[str] | None], str]
"""An action, an action for each campaign, or a function of the campaign and the eligible actions.

It is taken as it is: whether its action is eligible is for the caller to see to.
"""


@dataclass(frozen=True, slots=True)
class ServiceDecision(Generic[EventId]):
    """What was decided.

    `mode` is how: "policy", "explore", "holdout" or "sticky", or "fallback" when the service
    gave no answer. A fallback has an action, and neither an id nor anything else: feedback on it
    is dropped. Every other decision can be named by its `id` alone, from any process, for ever.
    """

    id: str | None
    action: str
    propensity: float | None
    mode: str
    policy: str | None
    reward_due_at: str | None
    _client: FeedbackReporter[EventId] = field(repr=False, compare=False)

    def signal(
        self,
        name: str,
        *,
        event_id: str | None = None,
        occurred_at: datetime | str | None = None,
    ) -> EventId:
        """Report the signal of this decision."""
        return self._client.signal(self.id, name, event_id=event_id, occurred_at=occurred_at)

    def reward(
        self,
        value: float,
        *,
        event_id: str | None = None,
        occurred_at: datetime | str | None = None,
    ) -> EventId:
        """Report a reward of this decision."""
        return self._client.reward(self.id, value, event_id=event_id, occurred_at=occurred_at)

    def void(
        self, *, event_id: str | None = None, occurred_at: datetime | str | None = None
    ) -> EventId:
        """Report that this decision was never shown: nothing counts that is said about it."""
        return self._client.void(self.id, event_id=event_id, occurred_at=occurred_at)


def fallback_action(
    fallback: Fallback | None, campaign: str, eligible: Sequence[str] | None
) -> str | None:
    """Return the action of a fallback; None: it has none for this campaign.

    >>> fallback_action({"home-hero": "editorial-pick"}, "home-hero", None)
    'editorial-pick'
    >>> fallback_action(lambda campaign, eligible: eligible[-1], "home-hero", ["a", "b"])
    'b'
    """
    if fallback is None or isinstance(fallback, str):
        return fallback
    if isinstance(fallback, Mapping):
        return fallback.get(campaign)
    return fallback(campaign, eligible)
