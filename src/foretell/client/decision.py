"""A decision, and the feedback that is given on it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from foretell.client.feedback import Feedback

Kept = TypeVar("Kept")


@dataclass(frozen=True, slots=True)
class Decision(Generic[Kept]):
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
    _client: Feedback[Kept] = field(repr=False, compare=False)

    def signal(
        self,
        name: str,
        *,
        event_id: str | None = None,
        occurred_at: datetime | str | None = None,
    ) -> Kept:
        """Report the signal of this decision."""
        return self._client.signal(self.id, name, event_id=event_id, occurred_at=occurred_at)

    def reward(
        self,
        value: float,
        *,
        event_id: str | None = None,
        occurred_at: datetime | str | None = None,
    ) -> Kept:
        """Report a reward of this decision."""
        return self._client.reward(self.id, value, event_id=event_id, occurred_at=occurred_at)
