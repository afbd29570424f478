"""What comes after its window is stored, answered late, and replaces the default."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from foretell.policies.state import fingerprint
from foretell.protocol import CampaignPatch
from foretell.service.log.protocol import Draft, Written
from tests.model.recorder import heard, recorders
from tests.service.engine_driver import Served

WINDOWS: dict[str, Any] = {"signal_window": 1.0, "reward_window": 2.0}
UNDOING = ["ucb", "kl-ucb", "nsd-kl", "nsd-ucrl2(window=9)", "nsd-psrl", "ts", "sw-ucb"]
READING = ["nsd-adaptive", "nsd-kl-glr", "d-ucb", "d-ts", "glr-kl-ucb", "metabio", "exp3s"]


def run_campaign(served: Served, policy: str, *, late: bool, name: str) -> None:
    """Decide five times, and report the same after the windows or before."""
    served.create(name, policy=policy, **WINDOWS)
    ids = [served.decide(name, eligible=["ab"[t % 2]]).decision_id for t in range(5)]
    if late:
        served.pass_time(2.0)
    for one in ids[::2]:
        expected = "late" if late else "accepted"
        assert served.signal(one, "buy") == expected
        assert served.reward(one, 0.75) == expected
    served.pass_time(2.0)


@pytest.mark.parametrize("policy", UNDOING)
def test_policies_that_can_undo_apply_what_is_late_at_once(tmp_path: Path, policy: str) -> None:
    with Served(tmp_path / "a.db") as served:
        run_campaign(served, policy, late=True, name="late")
        run_campaign(served, policy, late=False, name="timely")
        assert served.fingerprint("late") == served.fingerprint("timely")
        counts = served.report("late").counts
        assert (counts.late, counts.revisions) == (6, 0)


@pytest.mark.parametrize("policy", READING)
def test_what_a_stream_policy_has_read_stays_read_until_a_refit(
    tmp_path: Path, policy: str
) -> None:
    with Served(tmp_path / "a.db") as served:
        served.create(policy=policy, **WINDOWS)
        ids = [served.decide(eligible=["ab"[t % 2]]).decision_id for t in range(6)]
        served.pass_time(2.0)
        read = served.fingerprint()
        for one in ids[:3]:
            assert served.signal(one, "buy") == "late"
            assert served.reward(one, 0.75) == "late"
        assert served.fingerprint() == read
        assert served.report().counts.revisions == 3
        assert served.history(ids[0]).signal == "buy", "the outcome changes at once"
        assert served.report().signals[2].theta == 0.75
        digest = served.digest()
        served.restart()
        assert served.digest() == digest == served.rebuilt().digest()
        served.crash()
        assert served.digest() == digest
        served.run(served.engine.refit("c"))
        assert served.report().counts.revisions == 0
        assert served.fingerprint() != read
        refitted = served.digest()
        served.restart()
        assert served.digest() == refitted == served.rebuilt().digest()


def test_a_refit_delivers_to_a_stream_policy_what_came_too_late(
    tmp_path: Path,
) -> None:
    with recorders(), Served(tmp_path / "a.db") as served:
        run_campaign(served, "recorder", late=True, name="late")
        served.run(served.engine.refit("late"))
        run_campaign(served, "recorder", late=False, name="timely")
        served.run(served.engine.refit("timely"))
        assert heard(served.state("late")) == heard(served.state("timely"))


def test_late_rewards_are_delivered_to_a_stream_policy_that_can_undo_them(tmp_path: Path) -> None:
    with recorders(), Served(tmp_path / "a.db") as served:
        served.create(policy="recorder-correctable", **WINDOWS)
        one = served.decide(eligible=["a"]).decision_id
        served.pass_time(2.0)
        served.reward(one, 0.5)
        delivered = heard(served.state())
        assert delivered == [
            ("play", 0, 0, 0, 0.0),
            ("observe", 0, 0, 0, 0.0),
            ("credit", 0, 0, 0, 0.0),
            ("uncredit", 0, 0, 0, 0.0),
            ("credit", 0, 0, 0, 0.5),
        ]
        assert served.report().counts.revisions == 0


@pytest.mark.parametrize("silence", ["default", "unknown"])
def test_a_stream_is_read_in_the_order_of_decisions(tmp_path: Path, silence: str) -> None:
    with recorders(), Served(tmp_path / "a.db") as served:
        served.create(
            policy="recorder", signals=["none", "click"], signal_silence=silence, **WINDOWS
        )
        ids = [served.decide(eligible=["a"]).decision_id for _ in range(6)]
        for t in (3, 1, 5, 0):
            served.signal(ids[t], "click")
        read = [t for verb, t, *_ in heard(served.state()) if verb == "observe"]
        assert read == ([] if silence == "default" else [0, 1]), "2 has not come, so 3 waits"
        served.pass_time(1.0)
        delivered = [
            (t, signal) for verb, t, _, signal, _ in heard(served.state()) if verb == "observe"
        ]
        assert delivered == (
            [(0, 1), (1, 1), (2, 0), (3, 1), (4, 0), (5, 1)]
            if silence == "default"
            else [(0, 1), (1, 1), (3, 1), (5, 1)]
        ), "it waits for the signal window at most"


def test_a_reward_waits_for_its_signal(tmp_path: Path) -> None:
    with recorders(), Served(tmp_path / "a.db") as served:
        served.create(
            policy="recorder", signal_silence="unknown", reward_silence="unknown", **WINDOWS
        )
        ids = [served.decide(eligible=["a"]).decision_id for _ in range(2)]
        served.reward(ids[1], 0.5)
        served.signal(ids[1], "buy")
        assert {verb for verb, *_ in heard(served.state())} == {"play"}
        served.signal(ids[0], "click")
        assert heard(served.state())[2:] == [
            ("observe", 0, 0, 0, 0.0),
            ("observe", 1, 0, 1, 0.0),
            ("credit", 1, 0, 1, 0.5),
        ]


def test_refunds_months_later_reach_the_model(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db") as served:
        served.create(policy="nsd-kl", **WINDOWS)
        one = served.decide().decision_id
        served.signal(one, "buy")
        served.reward(one, 1.0, "order")
        served.pass_time(2.0)
        paid = fingerprint(served.state())
        served.pass_time(90 * 86400.0)
        served.restart()
        assert served.reward(one, None, "refund", kind="retract", target="order") == "late"
        assert served.fingerprint() != paid
        assert served.report().signals[2].theta == 0.0


def test_a_receipt_goes_by_the_configuration_that_its_record_names(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db") as served:
        served.create(signal_window=100.0, reward_window=1000.0)
        decision = served.decide().decision_id
        served.pass_time(5.0)
        log = served.engine.runtime.log
        append = log.append

        async def change_before_the_answer(drafts: Sequence[Draft]) -> list[Written]:
            written = await append(drafts)
            with mock.patch.object(log, "append", append):
                await served.engine.patch("c", CampaignPatch(signal_window=1.0))
            return written

        with mock.patch.object(log, "append", change_before_the_answer):
            assert served.signal(decision, "click") == "accepted"
        assert served.signal(decision, "buy") == "late"
