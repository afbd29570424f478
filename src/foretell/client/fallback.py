"""What is done when the service gives no answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

Fallback: TypeAlias = str | Mapping[str, str] | Callable[[str, Sequence[str] | None], str]
"""An action, an action for each campaign, or a function of the campaign and the eligible actions.

It is taken as it is given: whether its action is eligible is for the caller to see to.
"""


def action_of(
    fallback: Fallback | None, campaign: str, eligible: Sequence[str] | None
) -> str | None:
    """Return the action of a fallback; None: it has none for this campaign.

    >>> action_of({"home-hero": "editorial-pick"}, "home-hero", None)
    'editorial-pick'
    >>> action_of(lambda campaign, eligible: eligible[-1], "home-hero", ["a", "b"])
    'b'
    """
    if fallback is None or isinstance(fallback, str):
        return fallback
    if isinstance(fallback, Mapping):
        return fallback.get(campaign)
    return fallback(campaign, eligible)
