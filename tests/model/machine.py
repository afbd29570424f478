"""A campaign under everything that can happen to it, compared with the reference."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from foretell.policies.state import fingerprint
from foretell.protocol import RewardReport, SignalReport, VoidReport
from foretell.service.model.errors import Unusable
from foretell.service.model.events import Configured, Feedback, Record, moment
from foretell.service.model.snapshot import pack
from foretell.service.model.timestamps import format_timestamp, parse_timestamp
from tests.model.drawn import (
    CHANGES,
    MAX_ACTIONS,
    SIGNALS,
    SILENCES,
    TIMES,
    WINDOWS,
    Sent,
    as_corrected,
    feedback,
)
from tests.model.recorder import recorders
from tests.model.reference import Decision, FeedbackEvent, Reference, is_void
from tests.model.stream import Life, Moment
from tests.service import engine_driver
from tests.service.engine_driver import SECOND, START, Served, release_databases


class LiveModel(RuleBasedStateMachine):
    """Drives an engine and a reference alike, and compares them after every step."""

    policies: tuple[str, ...] = ()
    order_free = corrects = False
    log_engine = "memory"

    def __init__(self) -> None:
        super().__init__()
        self.recorders = recorders()
        self.recorders.__enter__()
        self.folder = Path(tempfile.mkdtemp())
        with mock.patch.dict(engine_driver.__dict__, LOG_ENGINE=[self.log_engine]):
            self.served = Served(self.folder / "a.db").__enter__()
        self.answers: list[str] = []
        self.sent: list[tuple[dict[str, Any], str]] = []
        self.held: list[Sent] = []
        self.action_status: dict[str, str] = {}
        self.duplicates = 0
        self.ids = 0
        self.moments: list[Moment] = []

    def teardown(self) -> None:
        self.served.__exit__()
        self.recorders.__exit__(None, None, None)
        shutil.rmtree(self.folder)
        release_databases()

    @initialize(data=st.data(), signal=SILENCES, reward=SILENCES)
    def create(self, data: st.DataObject, signal: str, reward: str) -> None:
        name = data.draw(st.sampled_from(self.policies))
        default, typical = (-1.0, 0.7) if self.corrects else (0.25, None)
        reward = "corrected" if self.corrects and reward == "unknown" else reward
        windows = sorted((data.draw(WINDOWS), data.draw(WINDOWS)))
        self.served.create(
            actions=["a0", "a1"],
            signals=list(SIGNALS),
            policy=name,
            signal_window=windows[0],
            reward_window=windows[1],
            signal_silence=signal,
            reward_silence=reward,
            default_reward=default,
            typical_delay=typical,
            reward_range=(-1.0, 2.0),
            explore=0.2,
        )
        self.action_status = {"a0": "active", "a1": "active"}
        self.reference = Reference(
            policy=name,
            actions=2,
            signals=3,
            signal_window=round(windows[0] * SECOND),
            reward_window=round(windows[1] * SECOND),
            signal_silence=signal,
            reward_silence=reward,
            default_reward=default,
            typical_delay=typical,
            low=-1.0,
            high=2.0,
        )
        self.first = replace(self.reference)
        self.decide(data.draw(st.integers(1, 4)))

    @property
    def now(self) -> int:
        """The moment of the log up to which everything is folded."""
        return self.served.campaign().as_of

    # --- what a product does -------------------------------------------------------------------

    @precondition(lambda self: "active" in self.action_status.values() and len(self.answers) < 40)
    @rule(count=st.integers(1, 3))
    def decide(self, count: int) -> None:
        for answer in self.served.decide_many(count):
            self.answers.append(answer.decision_id)
            self._happens("decide", int(answer.action[1:]), self._newest(answer.decision_id))
            at = self.moments[-1].at
            self.reference.decisions.append(Decision(at, int(answer.action[1:])))
            assert self.action_status[answer.action] == "active"

    @rule(draft=feedback)
    def send(self, draft: Sent) -> None:
        self._deliver([draft])

    @rule(drafts=st.lists(feedback, min_size=2, max_size=6))
    def send_together(self, drafts: list[Sent]) -> None:
        """Records that are not committed yet are read like others."""
        self._deliver(drafts)

    @rule(drafts=st.lists(feedback, min_size=1, max_size=4))
    def hold_back(self, drafts: list[Sent]) -> None:
        index = len(self.answers)
        self.held += [(draft[0] % index, draft[1]) for draft in drafts]

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def deliver_held(self, data: st.DataObject) -> None:
        order = data.draw(st.permutations(self.held))
        self.held = []
        self._deliver(order)

    @precondition(lambda self: self.sent)
    @rule(index=st.integers(0, 1000), times=st.integers(1, 2))
    def repeat(self, index: int, times: int) -> None:
        before = self.served.digest()
        item, _ = self.sent[index % len(self.sent)]
        found = self.served.batch([item] * times)
        assert [one.status for one in found] == ["duplicate"] * times
        assert self.served.digest() == before
        self.duplicates += times

    @precondition(lambda self: self.sent)
    @rule(index=st.integers(0, 1000))
    def reuse_an_id(self, index: int) -> None:
        before = self.served.digest()
        item, event_id = self.sent[index % len(self.sent)]
        other = "click" if item.get("signal") == "buy" else "buy"
        with pytest.raises(Unusable):
            self.served.signal(item["decision_id"], other, event_id)
        assert self.served.digest() == before

    # --- time and trouble ----------------------------------------------------------------------

    @rule(seconds=st.sampled_from(TIMES))
    def pass_time(self, seconds: float) -> None:
        """Let time pass; log time never goes back."""
        before = self.now
        self.served.pass_time(seconds)
        assert self.now >= before

    @rule(seconds=st.sampled_from([-100.0, -0.3, 30.0]))
    def set_the_wall_clock(self, seconds: float) -> None:
        """Log time goes on with the boot clock, whatever the wall clock says."""
        before = self.now
        self.served.set_wall_clock(seconds)
        assert before <= self.now < before + SECOND or seconds > 0

    @rule(index=st.integers(0, 100), signal=st.booleans(), off=st.sampled_from([-1, 0, 0, 1]))
    def go_to_a_close(self, index: int, signal: bool, off: int) -> None:
        """Go to the microsecond at which a window closes, or one next to it."""
        reference = self.reference
        one = reference.decisions[index % len(reference.decisions)]
        close = reference.closes(one, "signal" if signal else "reward") + off
        self.served.machine.time = max(self.served.machine.time, close)

    @rule(end=st.sampled_from(["close", "crash", "save and crash"]))
    def begin_again(self, end: str) -> None:
        before = self.served.digest()
        now = self.now
        if end == "close":
            self.served.restart()
        else:
            if end != "crash":
                self.served.save_states()
            self.served.crash()
        assert self.now >= now
        if end == "crash":
            assert self.served.digest() == before

    # --- what an administrator does ------------------------------------------------------------

    @rule(index=st.integers(0, 5), status=st.sampled_from(["active", "paused", "retired"]))
    def change_actions(self, index: int, status: str) -> None:
        name = f"a{min(index, len(self.action_status))}"
        others = [one for other, one in self.action_status.items() if other != name]
        if name not in self.action_status:
            if len(self.action_status) < MAX_ACTIONS:
                self.served.add_action(name)
                self.action_status[name] = "active"
                self.reference.actions += 1
                self._happens("grow", self.reference.actions, self._newest_record().recorded_at)
        elif self.action_status[name] != "retired" and "active" in others:
            self.served.set_action(name, status)
            self.action_status[name] = status

    @rule(change=CHANGES)
    def change_the_rules(self, change: dict[str, Any]) -> None:
        """Windows and silence are read into the model by a refit; {} asks for one."""
        change = as_corrected(change) if self.corrects else change
        rules = {
            name: round(value * SECOND) if name.endswith("window") else value
            for name, value in change.items()
        }
        wanted = replace(self.reference, **rules)
        if wanted.reward_window < wanted.signal_window:
            with pytest.raises(Unusable, match="reward_window must be at least the signal_window"):
                self.served.patch(**change)
            return
        if change:
            self.served.patch(**change)
        else:
            self.served.run(self.served.engine.refit("c"))
        if not change or any(getattr(self.reference, name) != rules[name] for name in rules):
            event = self._newest_record().event
            assert isinstance(event, Configured)
            assert event.refit_from is not None
            now = moment(event.refit_from)
            self._happens("refit", rules, now)
            self.reference = self.reference.changed(rules, now)

    # --- the laws ------------------------------------------------------------------------------

    @invariant()
    def the_log_alone_gives_the_same_state(self) -> None:
        if self.action_status:
            live, rebuilt = self.served.campaign(), self.served.rebuilt()
            assert fingerprint(rebuilt.state) == fingerprint(live.state)
            assert list(rebuilt.counters.counts) == list(live.counters.counts)
            assert rebuilt.digest() == live.digest()
            assert pack(rebuilt) == pack(live)

    @invariant()
    def the_policy_knows_what_the_reference_knows(self) -> None:
        if self.action_status and self.order_free:
            expected = self.reference.state(self.now)
            assert self.served.fingerprint() == fingerprint(expected)

    @invariant()
    def a_stream_was_read_as_the_reference_reads_it(self) -> None:
        if self.action_status and not self.order_free:
            life = Life(replace(self.first, decisions=[])).live(self.moments, self.now)
            assert self.served.fingerprint() == fingerprint(life.state)
            assert self.served.report().counts.revisions == life.revisions()

    @invariant()
    def every_history_is_that_of_the_reference(self) -> None:
        now = self.now
        for history, one in zip(self._histories(), self._decisions(), strict=True):
            signal = self.reference.signal(one, now)
            assert history.signal == (None if signal is None else SIGNALS[signal])
            assert history.reward == self.reference.reward(one, now)
            assert history.voided == is_void(one)

    @invariant()
    def the_report_is_that_of_the_reference(self) -> None:
        if not self.action_status:
            return
        now, report = self.now, self.served.report()
        expected = self.reference.counts(now)
        assert {name: getattr(report.counts, name) for name in expected} == expected
        assert report.counts.duplicates == self.duplicates
        assert 0 <= report.counts.revisions <= len(self.answers)
        assert not (self.order_free and report.counts.revisions)
        for row, (seen, paid, total) in zip(
            report.signals, self.reference.signal_rows(now), strict=True
        ):
            assert (row.count, row.rewards) == (seen, paid)
            if paid:
                assert row.theta == pytest.approx(-1.0 + 3.0 * total / paid, abs=1e-8)
        played = [one.action for one in self._decisions()]
        assert [row.decisions for row in report.actions] == [
            played.count(action) for action in range(len(self.action_status))
        ]

    def _histories(self) -> list[Any]:
        return self._histories_of(self.answers)

    def _histories_of(self, ids: list[str]) -> list[Any]:
        async def found() -> list[Any]:
            return [await self.served.engine.history(one) for one in ids]

        return self.served.run(found())

    def _decisions(self) -> list[Decision]:
        return self.reference.decisions if self.action_status else []

    def _happens(self, what: str, body: Any, at: int) -> None:
        self.moments.append(Moment(at, what, body))

    def _newest(self, decision_id: str) -> int:
        """Return when the newest record of a decision was written."""
        records = self._histories_of([decision_id])[0].events
        found = parse_timestamp(records[-1].recorded_at)
        assert found is not None
        return found

    def _newest_record(self) -> Record:
        log = self.served.engine.runtime.log
        return self.served.run(log.configurations(1))[-1]

    # --- delivering ----------------------------------------------------------------------------

    def _deliver(self, drafts: list[Sent]) -> None:
        items, events = [], []
        for index, drawn in drafts:
            round_ = index % len(self.answers)
            item, event = self._item(round_, drawn)
            item["decision_id"] = self.answers[round_]
            if all(event.event_id != event_id for _, event_id in self.sent):
                items.append(item)
                events.append((round_, event))
                self.sent.append((item, event.event_id))
        found = self._alone(items[0]) if len(items) == 1 else self.served.batch(items)
        times = self._times()
        for receipt, (round_, event) in zip(found, events, strict=True):
            event.at = times[event.event_id]
            decision = self.reference.decisions[round_]
            decision.events.append(event)
            self._happens("event", (round_, event), event.at)
            late = self.reference.is_late(decision, event)
            parked = self._is_parked(decision, event, together=events)
            assert receipt.status == ("parked" if parked else "late" if late else "accepted")

    def _times(self) -> dict[str, int]:
        """Return when each event was recorded, by its id."""
        found = self.served.run(self.served.engine.runtime.log.records(0, 1 << 62, 100_000, 1))
        return {
            one.event.event_id: one.recorded_at for one in found if isinstance(one.event, Feedback)
        }

    def _alone(self, item: dict[str, Any]) -> list[Any]:
        more = {name: value for name, value in item.items() if name != "decision_id"}
        engine, decision_id = self.served.engine, item["decision_id"]
        report: Any = RewardReport
        if "signal" in item:
            report = SignalReport
        elif more.get("kind") == "void":
            report = VoidReport
            del more["kind"]
        return [self.served.run(engine.feedback(decision_id, report(**more)))]

    def _is_parked(
        self,
        decision: Decision,
        event: FeedbackEvent,
        together: list[tuple[int, FeedbackEvent]],
    ) -> bool:
        """Return whether a reward is missing; one that came in the same batch is not."""
        own = [one for round_, one in together if self.reference.decisions[round_] is decision]
        return event.kind in {"adjust", "retract"} and all(
            one.kind != "reward" or one.event_id != event.target for one in decision.events + own
        )

    def _item(self, round_: int, drawn: dict[str, Any]) -> tuple[dict[str, Any], FeedbackEvent]:
        if "signal" in drawn:
            self.ids += 1
            event_id = f"s{self.ids}"
            return (
                {"event_id": event_id, "signal": SIGNALS[drawn["signal"]]},
                FeedbackEvent(0, "signal", event_id, signal=drawn["signal"]),
            )
        if drawn["kind"] == "void":
            self.ids += 1
            event_id = f"v{self.ids}"
            return {"event_id": event_id, "kind": "void"}, FeedbackEvent(0, "void", event_id)
        kind, target = drawn["kind"], f"r{round_}-{drawn['name']}"
        item: dict[str, Any] = {"kind": kind}
        event = FeedbackEvent(0, kind, target)
        if kind != "retract":
            item["value"] = event.value = drawn["value"]
        if kind != "reward":
            self.ids += 1
            event.event_id, event.target = f"k{self.ids}", target
            item["target"] = target
        if drawn["occurred"] is not None:
            event.occurred = START + drawn["occurred"] * SECOND
            item["occurred_at"] = format_timestamp(event.occurred)
        item["event_id"] = event.event_id
        return item, event
