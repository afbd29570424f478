"""A decision of the service, the feedback given on it, and the fallback in its place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Generic, Literal, TypeAlias, TypeVar

from msgspec import Struct

from foretell.client.checks import shown
from foretell.client.health import logger
from foretell.errors import InvalidInput
from foretell.protocol import Mode

if TYPE_CHECKING:
    from foretell.client.feedback import FeedbackReporter

EventId = TypeVar("EventId")

DecisionMode: TypeAlias = Mode | Literal["fallback"]
"""How a decision was made; a newer service may have a mode that is not listed here yet."""

Fallback: TypeAlias = str | Mapping[str, str] | Callable[[str, Sequence[str] | None], str]
"""An action, an action for each campaign, or a function of the campaign and the eligible actions.

In a mapping `"*"` is any other campaign. The action is taken as it is: whether it is eligible is
for the caller to see to.
"""
ANY_OTHER = "*"
"""The key of any other campaign in a mapping: no campaign has this name."""


class ServiceDecision(Struct, Generic[EventId], frozen=True, eq=False):
    """What was decided.

    `mode` is how: "policy", "explore", "holdout" or "sticky", or "fallback" when there is no
    decision of the service. A fallback has an action, and neither an id nor anything else: feedback
    on it is dropped. Every other decision can be named by its `id` alone, from any process, for
    ever.
    """

    id: str | None
    action: str
    propensity: float | None
    mode: DecisionMode
    policy: str | None
    reward_due_at: str | None
    _client: FeedbackReporter[EventId]
    _safe: bool = False
    """Whether there was a fallback: then feedback on it raises nothing either."""

    def __repr__(self) -> str:
        """Show what was decided, and not who reports on it."""
        named = zip(self.__struct_fields__, self._decided(), strict=False)
        return f"ServiceDecision({', '.join(f'{name}={value!r}' for name, value in named)})"

    def __eq__(self, other: object) -> bool:
        """Two are equal that say the same, whoever reports on them."""
        return isinstance(other, ServiceDecision) and self._decided() == other._decided()

    def __hash__(self) -> int:
        """Return the hash of what it says."""
        return hash(self._decided())

    def _decided(self) -> tuple[object, ...]:
        return (
            self.id,
            self.action,
            self.propensity,
            self.mode,
            self.policy,
            self.reward_due_at,
        )

    @property
    def safe(self) -> bool:
        """Whether feedback on it raises nothing, because there was a fallback for it."""
        return self._safe

    def signal(
        self,
        name: str,
        *,
        event_id: str | None = None,
        occurred_at: datetime | str | None = None,
    ) -> EventId:
        """Report the signal of this decision."""
        return self._client.signal(self, name, event_id=event_id, occurred_at=occurred_at)

    def reward(
        self,
        value: float,
        *,
        event_id: str | None = None,
        occurred_at: datetime | str | None = None,
    ) -> EventId:
        """Report a reward of this decision."""
        return self._client.reward(self, value, event_id=event_id, occurred_at=occurred_at)

    def void(
        self, *, event_id: str | None = None, occurred_at: datetime | str | None = None
    ) -> EventId:
        """Report that this decision was never shown: nothing reported about it counts."""
        return self._client.void(self, event_id=event_id, occurred_at=occurred_at)


def checked_fallback(fallback: Fallback | None) -> Fallback | None:
    """Return a fallback, or raise InvalidInput if it can be none.

    >>> checked_fallback(5)
    Traceback (most recent call last):
    foretell.errors.InvalidInput: fallback must be an action, a mapping of campaigns to actions or \
a function of (campaign, eligible), got 5
    """
    if fallback is None or callable(fallback) or _is_action(fallback):
        return fallback
    if isinstance(fallback, Mapping) and fallback:
        if all(_is_action(one) for pair in fallback.items() for one in pair):
            return fallback
        raise InvalidInput(
            f"fallback must be an action, or have one for each campaign in a mapping of names, got "
            f"{shown(fallback)}: give each an action, and any other campaign under '*'"
        )
    raise InvalidInput(
        f"fallback must be an action, a mapping of campaigns to actions or a function of "
        f"(campaign, eligible), got {shown(fallback)}"
    )


def fallback_action(
    fallback: Fallback | None, campaign: str, eligible: Sequence[str] | None
) -> str | None:
    """Return the action of a fallback; None: it has none for this campaign.

    >>> fallback_action({"home-hero": "editorial-pick", "*": "first"}, "footer", None)
    'first'
    >>> fallback_action(lambda campaign, eligible: eligible[-1], "home-hero", ["a", "b"])
    'b'
    """
    try:
        if isinstance(fallback, Mapping):
            action = fallback.get(campaign, fallback.get(ANY_OTHER))
        else:
            action = fallback(campaign, eligible) if callable(fallback) else fallback
    except Exception:  # noqa: BLE001 - whatever it raises, a page must not see it
        logger().exception("the fallback for %r failed", campaign)
        return None
    if action is None or _is_action(action):
        return action
    logger().error(
        "the fallback for %r must be the name of an action, got %s", campaign, shown(action)
    )
    return None


def last_resort(eligible: object, last: str | None) -> str:
    """Return what a page can use where a fallback has no action: one that may be shown.

    The first of the eligible actions, else the last that the service gave for the campaign; with
    neither there is none, and it is empty.

    >>> last_resort(["a", "b"], "c"), last_resort(None, "c"), last_resort(5, None)
    ('a', 'c', '')
    """
    first = eligible[0] if isinstance(eligible, Sequence) and eligible else None
    if isinstance(eligible, str) or not _is_action(first):
        return last or ""
    return str(first)


def _is_action(action: object) -> bool:
    return isinstance(action, str) and action != ""
