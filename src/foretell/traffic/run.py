"""One live run: the world of the lab's run, played against a campaign of a server."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from foretell.sim.streams import NOISE_STREAM, random_stream
from foretell.traffic.batcher import Post
from foretell.traffic.feedback_queue import Mail
from foretell.traffic.pace import Pace, Timing
from foretell.traffic.plan import SILENT, Plan
from foretell.traffic.service import Decision, Event, Service, WrongAnswer
from foretell.worlds.delays import NEVER
from foretell.worlds.world import answer, before_round_zero, move_to

FAULTS = 1000
"""The kind of random stream that draws what goes wrong; the lab has none of it."""
EARLY_SHARE = 0.8
"""Where silence is a default, rewards come within this part of their window."""


@dataclass
class LiveRun:
    """What became of one run."""

    number: int
    campaign: str
    regret: float = 0.0
    dues: list[float] = field(default_factory=list)
    """By round: when its reward window closes by the server's clock."""
    sent: dict[str, set[str]] = field(default_factory=lambda: {"signals": set(), "rewards": set()})
    """The ids of the signals and of the rewards that went out."""
    retried: int = 0
    """Decisions that were asked for twice."""
    answers: dict[str, int] = field(default_factory=dict)
    """How many events were answered so."""
    held: set[str] = field(default_factory=set)
    """The ids of the events that were held back until their window was over."""
    tardy: dict[str, int] = field(default_factory=lambda: {"signals": 0, "rewards": 0})
    """How many came after their window and were not meant to."""
    miscounts: list[str] = field(default_factory=list)
    """What the server has counted otherwise than it was sent, a sentence each."""

    def take(self, events: list[Event], statuses: list[str]) -> None:
        """Count what went out and what the server said to it."""
        for event, status in zip(events, statuses, strict=True):
            kind = "rewards" if event.signal is None else "signals"
            self.sent[kind].add(event.event_id)
            self.answers[status] = self.answers.get(status, 0) + 1
            self.tardy[kind] += status == "late" and event.event_id not in self.held


class Player:
    """Plays the rounds of one run."""

    def __init__(
        self, service: Service, post: Post, plan: Plan, timing: Timing, number: int
    ) -> None:
        """Prepare a run; its campaign is made when it is played."""
        self.service, self.post, self.plan, self.timing = service, post, plan, timing
        self.run = LiveRun(number, f"{plan.label}-{number}")
        self.chance = random_stream(plan.seed, number, FAULTS)
        self.faults = plan.channel()
        self.mail = Mail(self.faults, self.chance)
        self.signals = plan.signal_names()

    async def play(self, advance: Callable[[int], None]) -> LiveRun:
        """Play every round, and check that the server has counted each event once.

        `advance` is told of each round that is played.
        """
        plan, timing, run = self.plan, self.timing, self.run
        await self.service.create(
            plan.campaign(run.campaign, timing.signal_window, timing.reward_window)
        )
        names = plan.action_names()
        world = plan.world(run.number)
        noise = random_stream(plan.seed, run.number, NOISE_STREAM)
        law = before_round_zero(world)
        pace, heard = Pace(timing), True
        for t in range(plan.horizon):
            await pace.wait(after_window=plan.silence == "default" or not heard)
            decision = await self._decide(t)
            pace.decided(timing.made(decision.due))
            run.dues.append(decision.due)
            if decision.action not in names:
                raise WrongAnswer(f"the server chose {decision.action!r}, which is no action")
            action = names.index(decision.action)
            move_to(world, law, t)
            signal, reward, delay = answer(world, law, action, noise)
            run.regret += float(law.gaps[action])
            heard = self._write_signal(t, decision, self.signals[signal])
            self._write_reward(t, decision, reward, delay)
            events = self.mail.due(t, timing.made(decision.due))
            run.take(events, await self.post.send(events))
            advance(1)
        await self._check_counts()
        return run

    async def _decide(self, t: int) -> Decision:
        decision = await self.service.decide(self.run.campaign, f"round-{t}")
        if self.faults.twice(self.chance):
            self.run.retried += 1
            again = await self.service.decide(self.run.campaign, f"round-{t}")
            if again != decision:
                raise WrongAnswer(
                    f"asked twice with one decision_key the server gave two decisions: "
                    f"{decision.id} and {again.id}"
                )
        return decision

    def _write_signal(self, t: int, decision: Decision, signal: str) -> bool:
        """Report the signal at once, after its window, or never; silence is not reported.

        Tells whether it is reported at once. If not, its window has to pass before the next
        round, so that a policy that waits for it misses no signal of other rounds.
        """
        fate = self.faults.fate(self.chance)
        event = Event(decision.id, f"signal-{t}", signal=signal)
        if signal == SILENT or fate == "lost":
            return False
        if fate == "late":
            self._hold(self.timing.signal_due(decision.due), event)
            return False
        self.mail.after_round(t, event)
        return True

    def _write_reward(self, t: int, decision: Decision, reward: float, delay: int) -> None:
        """Report the reward with its delay, within its window, after it, or never."""
        fate = self.faults.fate(self.chance)
        early = int(self.chance.integers(int(EARLY_SHARE * self.plan.window) + 1))
        silent = self.plan.silence == "default" and reward == 0.0
        if silent or fate == "lost" or delay == NEVER:
            return
        scale = self.plan.scenario.scale
        event = Event(decision.id, f"reward-{t}", value=scale.low + scale.width * reward)
        if fate == "late":
            self._hold(decision.due, event)
        else:
            self.mail.after_round(t + (early if self.plan.silence == "default" else delay), event)

    def _hold(self, until: float, event: Event) -> None:
        self.run.held.add(event.event_id)
        self.mail.from_moment(until, event)

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
