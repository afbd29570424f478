"""How long the model is tried: a minute in every run, hours with FORETELL_TORTURE=1."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

TORTURE = os.environ.get("FORETELL_TORTURE") == "1"


def effort(examples: int, steps: int = 30) -> settings:
    """Return settings that draw the same examples each time, or, in a long run, many new ones."""
    return settings(
        max_examples=examples * 100 if TORTURE else examples,
        stateful_step_count=2 * steps if TORTURE else steps,
        derandomize=not TORTURE,
        database=None,
        deadline=None,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
