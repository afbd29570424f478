"""A machine on which a run is the same each time: its clocks stand, and its secrets are drawn."""

from __future__ import annotations

import random
import secrets
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.service.log.machine import Machine

LONGEST_WAIT_SECONDS = 1000.0


@contextmanager
def fixed_machine(seed: int) -> Iterator[Machine]:
    """Let time pass only when it is told to, and draw all secrets from a seed."""
    rng = random.Random(seed)  # noqa: S311
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(secrets, "token_bytes", rng.randbytes)  # the others draw from these two
        patch.setattr(secrets, "randbits", rng.getrandbits)
        machine = Machine(patch)
        machine.pass_time(rng.uniform(0.0, LONGEST_WAIT_SECONDS))
        yield machine
