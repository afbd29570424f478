"""When a verdict on the signal will be possible: the day on which two actions have rewards enough.

Where silence becomes a reward, a decision settles when its window closes, so the day is known as
soon as the decisions are made. Before that it is guessed from their pace.
"""

from __future__ import annotations

import numpy as np

from foretell.service.model.stretches import DECISIONS, VOIDS
from foretell.service.reports.campaign_copy import CampaignCopy
from foretell.stats.verdict import ENOUGH

TOO_FAR = 10 * 365 * 86_400_000_000
"""Microseconds beyond which no day is named."""


def enough_by(copy: CampaignCopy) -> tuple[int, bool] | None:
    """Return the moment, and whether it is sure; None where nothing can be said."""
    stretches, now = copy.counters.stretches, copy.as_of
    traffic = stretches.traffic[: len(stretches)].sum(axis=1)
    waits = copy.rules.stages[-1].waits
    counted = traffic[..., DECISIONS] - traffic[..., VOIDS] if waits else traffic[..., 3]
    so_far = counted.cumsum(axis=0)
    found = []
    for action in range(counted.shape[1]):
        made = int(so_far[-1, action]) if len(so_far) else 0
        if waits and made >= ENOUGH:
            stretch = int(np.searchsorted(so_far[:, action], ENOUGH))
            end = min(stretches.begin(stretch + 1), stretches.last)
            found.append((max(now, copy.rules.due(-1, end)), True))
        elif made:
            pace = (now - stretches.first) / made
            at = now + round((ENOUGH - made) * pace)
            found.append((copy.rules.due(-1, at) if waits else at, False))
    if len(found) < 2:
        return None
    first, second = sorted(found)[:2]
    return (second[0], first[1] and second[1]) if second[0] - now < TOO_FAR else None
