"""KL-UCB against its formula."""

from __future__ import annotations

import math

import pytest

from foretell.policies import KlUcb
from tests.reference.baselines import ranked, run_with_delay, slow_kl


def test_kl_ucb_is_its_formula() -> None:
    state, _, received = run_with_delay(KlUcb(c=3.0), 80, delay=10)
    level = math.log(81) + 3 * math.log(math.log(81))
    for action, index in enumerate(ranked(state, 80)):
        mine = [reward for _, a, _, reward in received if a == action]
        mean = sum(mine) / len(mine)
        assert len(mine) * slow_kl(mean, index) == pytest.approx(level, rel=1e-6)
