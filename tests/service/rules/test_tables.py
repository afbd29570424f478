"""A table of choices is kept because it was dear to make, not because the machine was busy."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from foretell.service.model import decider
from tests.service.rules.served import Served


def test_an_interruption_does_not_make_a_table_dear(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a burst would go to one action, for twenty times as long as the machine was busy."""
    write = decider.Decider._write
    interrupted: list[bool] = []

    def interruptible(self: decider.Decider, *arguments: Any) -> Any:
        if not interrupted:
            interrupted.append(True)
            time.sleep(0.1)
        return write(self, *arguments)

    with Served(tmp_path / "a.db") as served:
        served.create(actions=["a", "b", "c", "d"], policy="nsd-kl")
        for action in "abcd":
            one = served.decide(eligible=[action]).decision_id
            served.signal(one, "click")
        served.pass_time(1e6)
        monkeypatch.setattr(decider.Decider, "_write", interruptible)
        monkeypatch.setattr(decider, "CHEAP_SECONDS", 0.01)
        found = Counter(answer.action for answer in served.decide_many(200))
        states = [record.body["state"] for record in served.records() if record.type == "decision"][
            -200:
        ]
        assert interrupted
        assert max(found.values()) < 100, found
        assert len(set(states)) == 200
