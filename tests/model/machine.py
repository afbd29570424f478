"""A campaign under everything that can happen to it, compared with the reference."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from foretell.policies.state import fingerprint
from foretell.protocol import RewardReport, SignalReport
from foretell.service.model.errors import Unusable
from foretell.service.model.snapshot import pack
from foretell.service.model.timestamps import format_timestamp
from tests.model.recorder import recorders
from tests.model.reference import Decision, FeedbackEvent, Reference
from tests.model.stream import Life, Moment
from tests.service.engine_driver import SECOND, START, Served

SIGNALS = ("none", "click", "buy")
SILENCES = st.sampled_from(["default", "unknown"])
WINDOWS = st.sampled_from([0.5, 1.0, 2.0, 3.0])
"""Seconds; a reward window may well be as long as the signal window, or shorter."""
TIMES = [0.000001, 0.004, 0.1, 0.2, 0.2, 0.5, 1.0, 5.0, -0.3, -100.0]
MAX_ACTIONS = 4
CHANGES = st.fixed_dictionaries(
    {},
    optional={
        "signal_window": WINDOWS,
        "reward_window": WINDOWS,
        "signal_silence": SILENCES,
        "reward_silence": SILENCES,
        "default_reward": st.sampled_from([0.25, 1.0]),
    },
)

signals = st.fixed_dictionaries({"signal": st.integers(0, 2)})
rewards = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(["reward", "reward", "adjust", "retract"]),
        "value": st.sampled_from([-3.0, 0.0, 0.3, 1.0, 1.7, 9.0]),
        "name": st.integers(0, 2),
        "occurred": st.none() | st.integers(0, 3),
    }
)
feedback = st.tuples(st.integers(0, 30), signals | rewards)
Sent = tuple[int, dict[str, Any]]


class LiveModel(RuleBasedStateMachine):
    """Drives an engine and a reference alike, and compares them after every step."""

    policies: tuple[str, ...] = ()
    order_free = False

    def __init__(self) -> None:
        super().__init__()
        self.recorders = recorders()
        self.recorders.__enter__()
        self.folder = Path(tempfile.mkdtemp())
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

    @initialize(data=st.data(), signal=SILENCES, reward=SILENCES)
    def create(self, data: st.DataObject, signal: str, reward: str) -> None:
        name = data.draw(st.sampled_from(self.policies))
        windows = data.draw(WINDOWS), data.draw(WINDOWS)
        self.served.create(
            actions=["a0", "a1"],
            signals=list(SIGNALS),
            policy=name,
            signal_window=windows[0],
            reward_window=windows[1],
            signal_silence=signal,
            reward_silence=reward,
            default_reward=0.25,
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
            default_reward=0.25,
            low=-1.0,
            high=2.0,
        )
        self.first = replace(self.reference)
        self.decide(data.draw(st.integers(1, 4)))

    @property
    def now(self) -> int:
        return self.served.engine.runtime.clock.now()

    # --- what a product does -------------------------------------------------------------------

    @precondition(lambda self: "active" in self.action_status.values() and len(self.answers) < 40)
    @rule(count=st.integers(1, 3))
    def decide(self, count: int) -> None:
        for answer in self.served.decide_many(count):
            self.answers.append(answer.decision_id)
            self._happens("decide", int(answer.action[1:]))
            self.reference.decisions.append(Decision(self.now, int(answer.action[1:])))
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
        """Move the machine's clock; the server's never goes back."""
        before = self.now
        self.served.pass_time(seconds)
        assert self.now >= before

    @rule(index=st.integers(0, 100), signal=st.booleans(), off=st.sampled_from([-1, 0, 0, 1]))
    def go_to_a_close(self, index: int, signal: bool, off: int) -> None:
        """Go to the microsecond at which a window closes, or one next to it."""
        reference = self.reference
        one = reference.decisions[index % len(reference.decisions)]
        close = reference.closes(one, "signal" if signal else "reward") + off
        self.served.machine.time = max(self.served.machine.time, close)

    @rule(end=st.sampled_from(["close", "crash", "snapshot and crash"]))
    def begin_again(self, end: str) -> None:
        before = self.served.digest()
        now = self.now
        if end == "close":
            self.served.restart()
        else:
            if end != "crash":
                self.served.engine.maintenance.keep_snapshots()
                self.served.run(self.served.engine.runtime.durable())
            self.served.crash()
        if self.now >= now:
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
                self._happens("grow", self.reference.actions)
        elif self.action_status[name] != "retired" and "active" in others:
            self.served.set_action(name, status)
            self.action_status[name] = status

    @rule(change=CHANGES)
    def change_the_rules(self, change: dict[str, Any]) -> None:
        """Windows and silence are read into the model by a refit; {} asks for one."""
        now = self.now
        if change:
            self.served.patch(**change)
        else:
            self.served.run(self.served.engine.refit("c"))
        rules = {
            name: round(value * SECOND) if name.endswith("window") else value
            for name, value in change.items()
        }
        if not change or any(getattr(self.reference, name) != rules[name] for name in rules):
            self._happens("refit", rules)
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
        async def exported() -> list[Any]:
            return [await self.served.engine.history(one) for one in self.answers]

        return self.served.run(exported())

    def _decisions(self) -> list[Decision]:
        return self.reference.decisions if self.action_status else []

    def _happens(self, what: str, body: Any) -> None:
        self.moments.append(Moment(self.now, what, body))

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
        for receipt, (round_, event) in zip(found, events, strict=True):
            event.at = self.now
            decision = self.reference.decisions[round_]
            decision.events.append(event)
            self._happens("event", (round_, event))
            late = self.reference.is_late(decision, event)
            assert receipt.status == (
                "parked" if self._is_parked(decision, event) else "late" if late else "accepted"
            )

    def _alone(self, item: dict[str, Any]) -> list[Any]:
        more = {name: value for name, value in item.items() if name != "decision_id"}
        engine, decision_id = self.served.engine, item["decision_id"]
        if "signal" in item:
            return [self.served.run(engine.signal(decision_id, SignalReport(**more)))]
        return [self.served.run(engine.reward(decision_id, RewardReport(**more)))]

    def _is_parked(self, decision: Decision, event: FeedbackEvent) -> bool:
        return event.kind in {"adjust", "retract"} and all(
            one.kind != "reward" or one.event_id != event.target for one in decision.events
        )

    def _item(self, round_: int, drawn: dict[str, Any]) -> tuple[dict[str, Any], FeedbackEvent]:
        if "signal" in drawn:
            self.ids += 1
            event_id = f"s{self.ids}"
            return (
                {"event_id": event_id, "signal": SIGNALS[drawn["signal"]]},
                FeedbackEvent(0, "signal", event_id, signal=drawn["signal"]),
            )
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
