"""The work for one event does not grow with the events before it; a limit there is none.

Once a decision took 1,000 events at most, because each was compared with all before it. What is
counted here is work, not time: lines of ours that are run, and records that are read.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import pytest

from foretell.service.model import decision_cache, parking
from tests.service.engine_driver import Served

EVENTS = 2000
PER_BATCH = 50
TIMES = 3
"""How much more events about one decision may cost than events about as many."""


class Work(NamedTuple):
    """What was done."""

    lines: int
    """Lines of the service that were run."""
    read: int
    """Records that were read."""


def work_of(served: Served, reports: list[dict[str, Any]]) -> Work:
    """Send events, and count what is done until all of them are folded."""
    log: Any = served.engine.runtime.log
    lines, read = [0], [0]
    readers = {
        name: getattr(log, name)
        for name in ("decisions", "decisions_after", "decided", "by_key", "count_about")
    }

    def counting(reader: Any) -> Any:
        async def read_and_count(*arguments: Any) -> Any:
            found = await reader(*arguments)
            if not isinstance(found, int):  # what is counted is not read
                read[0] += sum(1 + len(getattr(one, "feedback", ())) for one in found)
            return found

        return read_and_count

    def count(frame: FrameType, event: str, _: object) -> Any:
        lines[0] += event == "line"
        return count if "/foretell/service/" in frame.f_code.co_filename else None

    for name, reader in readers.items():
        setattr(log, name, counting(reader))
    before = sys.gettrace()
    sys.settrace(count)
    try:
        for first in range(0, len(reports), PER_BATCH):
            served.batch(reports[first : first + PER_BATCH])
        served.run(served.engine.settled())
    finally:
        sys.settrace(before)
        for name in readers:
            delattr(log, name)
    return Work(lines[0], read[0])


def reports_about(ids: list[str], kind: str) -> list[dict[str, Any]]:
    """Return events about decisions, in turn."""
    reports: list[dict[str, Any]] = []
    for number in range(EVENTS):
        report: dict[str, Any] = {"decision_id": ids[number % len(ids)], "event_id": f"e{number}"}
        if kind == "signals":
            report["signal"] = "click"
        elif kind == "rewards":
            report["value"] = 0.25
        elif kind == "corrections":
            report |= {"value": 0.5, "kind": "adjust", "target": f"e{number // 2}"}
        else:
            report |= {"value": 0.5, "kind": "adjust", "target": f"never-{number}"}
        if kind == "corrections" and number % 2 == 0:
            report = {"decision_id": report["decision_id"], "event_id": f"e{number}", "value": 1.0}
        reports.append(report)
    return reports


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["signals", "rewards", "corrections", "parked"])
@pytest.mark.parametrize("policy", ["nsd-kl", "nsd-adaptive"])
def test_events_about_one_decision_cost_as_much_as_about_many(
    tmp_path: Path, kind: str, policy: str
) -> None:
    found = []
    for decisions in (EVENTS, 1):
        with Served(tmp_path / f"{decisions}.db", compiled=False) as served:
            served.create(policy=policy)
            ids = [one.decision_id for one in served.decide_many(decisions)]
            served.run(served.engine.settled())
            found.append(work_of(served, reports_about(ids, kind)))
            counts = served.report().counts
            assert counts.signals + counts.rewards == EVENTS, "there is no limit"
            assert counts.parked == 0 or kind != "signals"
    many, one = found
    assert one.lines < TIMES * many.lines
    assert one.read <= many.read + 1


@pytest.mark.slow
def test_a_decision_is_read_once_per_eviction(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With events about one decision, the cache may be as small as can be."""
    monkeypatch.setattr(decision_cache, "MAX_DECISIONS", 200)
    with Served(tmp_path / "a.db", compiled=False) as served:
        served.create(policy="nsd-kl")
        first = served.decide().decision_id
        served.decide_many(500)
        served.run(served.engine.settled())
        found = work_of(served, reports_about([first], "rewards"))
        assert found.read <= 64 + 1, "once, and what is read ahead with it"
        assert served.digest() == served.rebuilt().digest()


def test_what_comes_before_a_window_closes_reads_no_decision(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It only counts: its decision is read when its window closes, with all that came."""
    monkeypatch.setattr(decision_cache, "MAX_DECISIONS", 200)
    with Served(tmp_path / "a.db", compiled=False) as served:
        served.create(policy="nsd-kl")
        ids = [one.decision_id for one in served.decide_many(500)][:200]
        served.run(served.engine.settled())
        for kind in ("signals", "rewards"):
            reports = [
                one | {"event_id": f"{kind}{n}"}
                for n, one in enumerate(reports_about(ids, kind)[:200])
            ]
            assert work_of(served, reports).read == 0
        counts = served.report().counts
        assert (counts.signals, counts.rewards, counts.parked) == (200, 200, 0)
        assert served.digest() == served.rebuilt().digest()


@pytest.fixture
def little_at_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """Serve a campaign that has few decisions at hand."""
    monkeypatch.setattr(decision_cache, "MAX_DECISIONS", 200)
    with Served(tmp_path / "a.db", compiled=False) as served:
        served.create(policy="nsd-kl")
        yield served


def no_windows_next(served: Served) -> str:
    """Return a decision that no window waits for next."""
    return served.decide_many(2)[1].decision_id


def test_a_correction_that_waits_is_found_by_its_reward(little_at_hand: Served) -> None:
    served = little_at_hand
    one = no_windows_next(served)
    served.reward(one, 0.5, "k", kind="adjust", target="r")
    served.decide_many(500)
    assert served.report().counts.parked == 1
    served.reward(one, 1.0, "r")
    assert served.report().counts.parked == 0
    assert served.digest() == served.rebuilt().digest()


def test_a_receipt_adds_up_rewards_that_were_not_read(little_at_hand: Served) -> None:
    served = little_at_hand
    one = no_windows_next(served)
    served.decide_many(500)
    for number, clipped in enumerate((False, True, True)):
        served.run(served.engine.settled())
        report = {"decision_id": one, "event_id": f"r{number}", "value": 0.75}
        (receipt,) = served.batch([report])
        assert (receipt.status, receipt.clipped) == ("accepted", clipped)


def test_what_is_refused_reads_its_decision_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is written of it, so that no fold brings the decision to hand."""
    monkeypatch.setattr(decision_cache, "MAX_DECISIONS", 200)
    monkeypatch.setattr(parking, "PARKED_PER_DECISION", 300)
    with Served(tmp_path / "a.db", compiled=False) as served:
        served.create(policy="nsd-kl", signal_silence="unknown", reward_silence="unknown")
        first = served.decide().decision_id
        served.batch(reports_about([first], "parked")[:300])
        served.decide_many(500)
        token = served.engine.runtime.secrets.read(first)
        assert token is not None
        assert not served.campaign().knows(token.number), "or nothing is tried here"
        found = work_of(served, reports_about([first], "parked")[300:1300])
        assert served.report().counts.parked == 300
        assert found.read <= 300 + 1 + 2, "once, and not for each batch"


def test_a_full_campaign_reads_no_decision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many decisions its events are about, and however much is known of each."""
    monkeypatch.setattr(decision_cache, "MAX_DECISIONS", 200)
    monkeypatch.setattr(parking, "PARKED_PER_CAMPAIGN", 300)
    with Served(tmp_path / "a.db", compiled=False) as served:
        served.create(policy="nsd-kl", signal_silence="unknown", reward_silence="unknown")
        ids = [one.decision_id for one in served.decide_many(300)]
        served.batch(reports_about(ids, "parked")[:300])
        served.decide_many(500)
        served.campaign()
        found = work_of(served, reports_about(ids, "parked")[300:1300])
        assert served.report().counts.parked == 300
        assert found.read <= 1000, "whether each is in the log, and nothing about it"
