"""One live run: the world of the lab's run, played against a campaign of a server."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from foretell.protocol import DecisionAnswer, FeedbackItem
from foretell.protocol.fields import SILENT
from foretell.sim.streams import NOISE_STREAM, random_stream
from foretell.traffic.batcher import EventBatcher, FeedbackQueue
from foretell.traffic.pace import Pace, Timing, choose_timing
from foretell.traffic.plan import Plan
from foretell.traffic.probe import probe, run_together
from foretell.traffic.service import ReportingService, WrongAnswer, reward_due
from foretell.traffic.truth_plan import TruthFinding, TruthPlan
from foretell.traffic.truths import EARLY_SHARE, true_values
from foretell.worlds.delays import NEVER
from foretell.worlds.world import answer, before_round_zero, move_to


class Traffic:
    """The traffic of a plan; it holds what is finished at any moment."""

    def __init__(self, plan: Plan) -> None:
        """Prepare; nothing is sent yet."""
        self.plan = plan
        self.runs: list[LiveRun] = []
        self.timing = Timing(1.0, 0.0, 1.0, 1.0)
        self.seconds = 0.0

    async def drive(self, service: ReportingService, advance: Callable[[int], None]) -> None:
        """Play every run; `advance` is called after each round."""
        begun = time.monotonic()
        plan, batcher = self.plan, EventBatcher(service)
        self.timing = choose_timing(plan, await probe(service, batcher, plan))
        waiting = iter(range(plan.runs))
        workers = min(plan.parallel, plan.runs)

        async def some_runs(worker: int) -> None:
            # Workers start a part of a round apart, so that requests do not come all at once.
            await asyncio.sleep(
                self.timing.round_length / self.timing.clock_rate * worker / workers
            )
            for number in waiting:
                player = RunPlayer(service, batcher, plan, self.timing, number)
                self.runs.append(await player.play(advance))
                self.seconds = time.monotonic() - begun

        await run_together(some_runs(worker) for worker in range(workers))


FAULTS_STREAM = 1000
"""The kind of random stream that draws what goes wrong; the lab has none of it."""


@dataclass
class LiveRun:
    """The result of one run."""

    number: int
    campaign: str
    regret: float = 0.0
    dues: list[float] = field(default_factory=list)
    """By round: when its reward window closes by the server's clock."""
    sent: dict[str, set[str | None]] = field(
        default_factory=lambda: {"signals": set(), "rewards": set()}
    )
    """The ids of the signals and of the rewards that were sent."""
    retried: int = 0
    """Decisions that were asked for twice."""
    answers: dict[str, int] = field(default_factory=dict)
    """How many events got each status."""
    held: set[str | None] = field(default_factory=set)
    """The ids of the events that were held back until their window was over."""
    tardy: dict[str, int] = field(default_factory=lambda: {"signals": 0, "rewards": 0})
    """How many came after their window and were not meant to."""
    miscounts: list[str] = field(default_factory=list)
    """What the server has counted otherwise than it was sent, a sentence each."""
    finding: TruthFinding | None = None
    """What the server said in the end, where a truth was planted."""

    def take(self, events: list[FeedbackItem], statuses: list[str]) -> None:
        """Count what was sent and what the server said to it."""
        for event, status in zip(events, statuses, strict=True):
            kind = "rewards" if event.signal is None else "signals"
            self.sent[kind].add(event.event_id)
            self.answers[status] = self.answers.get(status, 0) + 1
            self.tardy[kind] += status == "late" and event.event_id not in self.held


class RunPlayer:
    """Plays the rounds of one run."""

    def __init__(
        self,
        service: ReportingService,
        batcher: EventBatcher,
        plan: Plan,
        timing: Timing,
        number: int,
    ) -> None:
        """Prepare a run; its campaign is made when it is played."""
        self.service, self.batcher, self.plan, self.timing = service, batcher, plan, timing
        self.run = LiveRun(number, f"{plan.label}-{number}")
        self.chance = random_stream(plan.seed, number, FAULTS_STREAM)
        self.faults = plan.channel()
        self.queue = FeedbackQueue(self.faults, self.chance)
        self.signals = plan.signal_names()

    async def play(self, advance: Callable[[int], None]) -> LiveRun:
        """Play every round, and check that the server has counted each event once.

        `advance` is called after each round.
        """
        plan, timing, run = self.plan, self.timing, self.run
        await self.service.create(
            plan.campaign(run.campaign, timing.signal_window, timing.reward_window)
        )
        names = plan.action_names()
        world = plan.world(run.number)
        noise = random_stream(plan.seed, run.number, NOISE_STREAM)
        law = before_round_zero(world)
        pace, on_time = Pace(timing), True
        for t in range(plan.horizon):
            await pace.wait(after_window=plan.silence == "default" or not on_time)
            decision = await self._decide(t)
            due = reward_due(decision)
            pace.decided(timing.decided_at(due))
            run.dues.append(due)
            if decision.action not in names:
                raise WrongAnswer(f"the server chose {decision.action!r}, which is no action")
            action = names.index(decision.action)
            move_to(world, law, t)
            signal, reward, delay = answer(world, law, action, noise)
            run.regret += float(law.gaps[action])
            on_time = self._queue_signal(t, decision, self.signals[signal])
            self._queue_reward(t, decision, reward, delay)
            events = self.queue.due(t, timing.decided_at(due))
            run.take(events, await self.batcher.send(events))
            advance(1)
        if isinstance(plan, TruthPlan):
            values = true_values(world, law).tolist()
            report, validity = await self.service.verdict(run.campaign)
            run.finding = TruthFinding(run.campaign, report, validity, values)
        await self._check_counts()
        return run

    async def _decide(self, t: int) -> DecisionAnswer:
        decision = await self.service.decide(self.run.campaign, f"round-{t}")
        if self.faults.twice(self.chance):
            self.run.retried += 1
            again = await self.service.decide(self.run.campaign, f"round-{t}")
            if again != decision:
                raise WrongAnswer(
                    f"asked twice with one decision_key the server gave two decisions: "
                    f"{decision.decision_id} and {again.decision_id}"
                )
        return decision

    def _queue_signal(self, t: int, decision: DecisionAnswer, signal: str) -> bool:
        """Queue the signal to be sent at once, after its window, or never; silence is not sent.

        Return whether it is sent at once. If not, its window has to pass before the next
        round, so that a policy that waits for it misses no signal of other rounds.
        """
        fate = self.faults.fate(self.chance)
        event = FeedbackItem(decision.decision_id, f"signal-{t}", signal=signal)
        if signal == SILENT or fate == "lost":
            return False
        if fate == "late":
            self._hold(self.timing.signal_due(reward_due(decision)), event)
            return False
        self.queue.after_round(t, event)
        return True

    def _queue_reward(self, t: int, decision: DecisionAnswer, reward: float, delay: int) -> None:
        """Queue the reward to be sent with its delay, within its window, after it, or never."""
        fate = self.faults.fate(self.chance)
        early = int(self.chance.integers(int(EARLY_SHARE * self.plan.window) + 1))
        silent = self.plan.silence == "default" and reward == 0.0
        comes = t + (early if self.plan.silence == "default" else delay)
        stopped = self.plan.stops_at is not None and comes >= self.plan.stops_at
        if silent or stopped or fate == "lost" or delay == NEVER:
            return
        scale = self.plan.scenario.scale
        event = FeedbackItem(
            decision.decision_id, f"reward-{t}", value=scale.low + scale.width * reward
        )
        if fate == "late":
            self._hold(reward_due(decision), event)
        else:
            self.queue.after_round(comes, event)

    def _hold(self, until: float, event: FeedbackItem) -> None:
        self.run.held.add(event.event_id)
        self.queue.after_moment(until, event)

    async def _check_counts(self) -> None:
        counts = await self.service.counts(self.run.campaign)
        for what, expected in (
            ("decisions", self.plan.horizon),
            ("signals", len(self.run.sent["signals"])),
            ("rewards", len(self.run.sent["rewards"])),
        ):
            counted = getattr(counts, what)
            if counted != expected:
                self.run.miscounts.append(
                    f"the server counts {counted} {what} in {self.run.campaign}, "
                    f"and {expected} were sent"
                )
