"""Since when each action has the signals that it has."""

from __future__ import annotations

import numpy as np

from foretell.service.model.stretches import Stretches
from foretell.stats.change_points import change_points
from foretell.types import Ints


def last_changes(stretches: Stretches) -> Ints:
    """Return the stretch of the last change of each action's signals; 0 where there was none."""
    counts = stretches.cells[: len(stretches), ..., 0]
    actions = counts.shape[1]
    found = [max(change_points(counts[:, one], actions), default=0) for one in range(actions)]
    return np.array(found, np.int64)
