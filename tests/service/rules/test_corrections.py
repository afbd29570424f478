"""Corrections name what they correct, and are right in any order, resent any number of times.

The exceptions, and there are no others: of two corrections of one reward without `occurred_at` the
one that came last counts, and a policy that reads a stream comes to the same after a refit.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foretell.service.model.errors import Unusable
from tests.service.engine_driver import Served

EARLIER, LATER = "2023-11-14T09:00:00Z", "2023-11-14T10:00:00Z"
FACTS: list[dict[str, Any]] = [
    {"signal": "buy", "event_id": "s1"},
    {"signal": "buy", "event_id": "s2"},
    {"value": 0.25, "event_id": "r1"},
    {"value": 0.125, "event_id": "r2"},
    {"kind": "adjust", "value": 0.5, "target": "r1", "event_id": "a1", "occurred_at": LATER},
    {"kind": "retract", "target": "r1", "event_id": "x1", "occurred_at": EARLIER},
    {"kind": "adjust", "value": 0.75, "target": "r1", "event_id": "a0", "occurred_at": LATER},
    {"kind": "retract", "target": "r2", "occurred_at": EARLIER},
    {"kind": "adjust", "value": 0.0625, "target": "r2", "occurred_at": LATER},
    {"kind": "adjust", "value": 0.25, "target": "never", "event_id": "a9", "occurred_at": LATER},
]
"""About one decision; the corrections of r2 have no ids of their own."""
TOTAL = 0.5 + 0.0625


@pytest.mark.parametrize("kind", ["adjust", "retract"])
@pytest.mark.parametrize("more", [{}, {"event_id": "k"}, {"occurred_at": EARLIER}])
def test_a_correction_without_its_target_is_refused(
    tmp_path: Path, kind: str, more: dict[str, str]
) -> None:
    with Served(tmp_path / "a.db") as served:
        served.create()
        one = served.decide().decision_id
        served.reward(one, 1.0, "r")
        with pytest.raises(Unusable, match="needs the target: the event_id of the reward") as sent:
            served.reward(one, 0.5, kind=kind, **more)
        assert sent.value.status == 422
        (receipt,) = served.batch([{"decision_id": one, "value": 0.5, "kind": kind, **more}])
        assert receipt.status == "rejected"
        assert receipt.detail == str(sent.value)
        assert [record.type for record in served.records()] == ["created", "decision", "reward"]


def test_a_correction_resent_byte_for_byte_does_not_count_again(tmp_path: Path) -> None:
    """Without an id of its own and after another one: once that undid the other."""
    with Served(tmp_path / "a.db") as served:
        served.create(reward_silence="unknown", signal_silence="unknown")
        one, other = (served.decide().decision_id for _ in range(2))
        served.signal(one, "buy")
        served.reward(one, 1.0, "r")
        first: dict[str, Any] = {"kind": "adjust", "target": "r"}
        assert served.reward(one, 0.25, **first) == "accepted"
        assert served.reward(one, 0.75, "second", **first) == "accepted"
        for again in (served.restart, served.crash, lambda: served.pass_time(1e7)):
            again()
            assert served.reward(one, 0.25, **first) == "duplicate"
            assert served.history(one).reward == 0.75
        assert served.reward(one, 0.5, **first) == "late", "another value is another correction"
        assert served.history(one).reward == 0.5
        assert served.reward(other, 0.25, **first) == "parked", "and so is another decision"


def _send(served: Served, decision: str, facts: list[dict[str, Any]]) -> None:
    for fact in facts:
        (receipt,) = served.batch([{"decision_id": decision, **fact}])
        assert receipt.status in {"accepted", "late", "parked", "duplicate"}, receipt


STEPS = ("restart", "crash", "refit", "wait", "save")


def _step(served: Served, step: str) -> None:
    if step == "refit":
        served.run(served.engine.refit("c"))
    elif step == "wait":
        served.pass_time(0.6)
    elif step == "save":
        served.save_states()
    else:
        getattr(served, step)()


@pytest.mark.statistics
@pytest.mark.parametrize("policy", ["nsd-kl", "nsd-adaptive"])
@settings(max_examples=12)
@given(data=st.data())
def test_facts_come_to_the_same_in_any_order_and_however_often(
    policy: str, data: st.DataObject
) -> None:
    order = data.draw(st.permutations(FACTS))
    sent = [order[at] for at in data.draw(st.lists(st.integers(0, len(FACTS) - 1), max_size=6))]
    steps = data.draw(st.lists(st.sampled_from(STEPS), max_size=4))
    places = [data.draw(st.integers(0, len(order))) for _ in steps]
    found = []
    with TemporaryDirectory() as folder:
        for name, facts in (("plain", FACTS), ("drawn", order)):
            between = list(zip(steps, places, strict=True)) if name == "drawn" else []
            with Served(Path(folder) / f"{name}.db", compiled=False) as served:
                served.create(
                    policy=policy, signal_silence="unknown", signal_window=1.0, reward_window=1.0
                )
                one = served.decide(eligible=["a"]).decision_id
                for at, fact in enumerate(facts):
                    for step in (step for step, place in between if place == at):
                        _step(served, step)
                    _send(served, one, [fact])
                _send(served, one, sent if name == "drawn" else [])
                served.pass_time(2.0)
                served.run(served.engine.refit("c"))
                told = served.history(one)
                assert (told.signal, told.reward) == ("buy", TOTAL)
                counts = served.report().counts
                assert (counts.signals, counts.rewards, counts.parked) == (2, 8, 1)
                assert served.digest() == served.rebuilt().digest()
                found.append(served.fingerprint())
    assert found[0] == found[1]
