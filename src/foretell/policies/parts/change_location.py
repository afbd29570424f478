"""Where did the law of a stream most likely change, given that it did?"""

from __future__ import annotations

import math

from foretell.kernel import kernel
from foretell.policies.parts.prefix_grid import WIDTH, PrefixGrid, grid_before
from foretell.policies.parts.signal_change_test import LogGammas, log_gamma


@kernel
def likeliest_split(grid: PrefixGrid, stream: int, gammas: LogGammas) -> tuple[int, int, int]:
    """Give the split with the largest statistic, and the level and place of its totals.

    The statistic is that of `signal_change_test`; what all splits share is left out.
    """
    length = grid.length[stream]
    signals = grid.total.shape[1]
    best = -math.inf
    best_moment, best_level, best_place = 0, 0, 0
    moment, level = grid_before(length, length, 0)
    while moment > 0:
        place = (moment >> level) % WIDTH
        mixture = -log_gamma(gammas.whole, moment, 0.5 * signals)
        mixture -= log_gamma(gammas.whole, length - moment, 0.5 * signals)
        for signal in range(signals):
            before = grid.kept[stream, level, place, signal]
            mixture += log_gamma(gammas.half, before, 0.5)
            mixture += log_gamma(gammas.half, grid.total[stream, signal] - before, 0.5)
        mixture -= math.log(moment * (moment + 1.0))
        if mixture > best:
            best = mixture
            best_moment, best_level, best_place = moment, level, place
        moment, level = grid_before(length, moment, level)
    return best_moment, best_level, best_place
