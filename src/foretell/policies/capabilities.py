"""What a policy can do, found out by trying it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foretell.policies.registry import start
from foretell.policies.state import fingerprint
from foretell.policies.verbs import observe, play

if TYPE_CHECKING:
    from foretell.policies.spec import Spec
    from foretell.types import Problem


def learns_from_signals(spec: Spec, problem: Problem) -> bool:
    """Return whether a signal changes what the policy knows.

    >>> from foretell.policies import NsdUcrl2, Ucb
    >>> from foretell.types import Problem
    >>> learns_from_signals(NsdUcrl2(), Problem(2, 2)), learns_from_signals(Ucb(), Problem(2, 2))
    (True, False)
    """
    state = start(spec, problem)
    play(state, 0, 0)
    before = fingerprint(state)
    observe(state, 0, 0, 1)
    return fingerprint(state) != before
