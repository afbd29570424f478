"""A policy in your own process: decide, signal, reward, void.

>>> agent = Agent("nsd-ucrl2", actions=["book-a", "book-b"], signals=["none", "download"], seed=0)
>>> decision = agent.decide()
>>> decision.action in ("book-a", "book-b"), decision.propensity
(True, 0.5)
>>> agent.signal(decision, "download")
>>> agent.reward(decision, 1.0)
"""

from __future__ import annotations

import hashlib
import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np

from foretell.errors import DamagedFile, DecisionError, InvalidInput, UnknownName
from foretell.files import write_whole
from foretell.policies.draw import choices, pick
from foretell.policies.registry import entry, policy, start
from foretell.policies.spec import check_flag
from foretell.policies.state import grow, leaves
from foretell.policies.theta_spec import VALUES_WEIGHT, ThetaSpec, declare
from foretell.policies.verbs import credit, drawn, has, observe, play, unobserve
from foretell.types import Problem, RewardScale, is_whole

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from foretell.policies.spec import Spec
    from foretell.types import Bools

_MAGIC = b"foretell-agent-1\n"


class Decision(NamedTuple):
    """What was decided: its id, the name of the action, and how likely this action was."""

    id: int
    action: str
    propensity: float


class _Open(msgspec.Struct):
    """A decision whose signal or reward is still to come."""

    action: int
    signal: int | None = None
    reward: float | None = None


class _Saved(msgspec.Struct):
    """An agent as it is saved in a file."""

    spec: str
    actions: list[str]
    signals: list[str]
    scale: RewardScale
    horizon: int | None
    seed: int
    draws: int
    decided: int
    open: dict[int, _Open]
    state: dict[str, tuple[str, list[int], bytes]]
    voided: set[int] = set()


class Agent:
    """One policy, one decision at a time, with names for actions and signals.

    Signals and rewards come in any order, whenever they come; a reward that comes before its
    signal waits for it, and a decision that was never shown is voided. Rewards lie in
    `reward_range`, or, with `reward_sigma`, are Gaussian with that standard deviation. The same
    seed and the same calls give the same decisions.

    Signals are listed weakest first, which a policy that learns theta uses before there are
    rewards: `signals_ordered=False` says that they are not. `signal_values` says what a reward is
    on average after a signal, by name, and counts as `signal_values_weight` rewards of each. What
    the policy's own text declares stays.

    The propensity of a decision is exact for the draw that was made. An index policy draws among
    its ties. A sampling policy draws `draws` choices, plays one of them, and its share among
    them is its propensity.
    """

    def __init__(
        self,
        policy_spec: str | Spec,
        actions: Sequence[str],
        signals: Sequence[str],
        *,
        seed: int | None = None,
        reward_range: tuple[float, float] = (0.0, 1.0),
        reward_sigma: float | None = None,
        signals_ordered: bool = True,
        signal_values: Mapping[str, float] | None = None,
        signal_values_weight: float = VALUES_WEIGHT,
        horizon: int | None = None,
        draws: int = 100,
    ) -> None:
        """Begin with nothing known; without a seed one is drawn."""
        self.spec = policy(policy_spec)
        if entry(self.spec).lab_only:
            raise InvalidInput(
                f"{self.spec.name} needs what nobody knows outside a simulation: "
                f"use it in foretell.simulate, and here another policy"
            )
        if not is_whole(draws) or draws < 1:
            raise InvalidInput(f"draws must be at least 1, got {draws!r}")
        if seed is not None and (not is_whole(seed) or not 0 <= seed < 2**128):
            raise InvalidInput(
                f"a seed must be a whole number from 0 to 2**128 - 1, got {seed!r}: "
                f"leave it out to have one drawn"
            )
        self.actions = _names("action", actions)
        self.signals = _names("signal", signals)
        self.scale = (
            RewardScale("bounded", float(reward_range[0]), float(reward_range[1]))
            if reward_sigma is None
            else RewardScale.gaussian(float(reward_sigma))
        )
        check_flag("signals_ordered", signals_ordered)
        self.spec = declare(
            self.spec,
            ordered=signals_ordered,
            values=self._values(signal_values or {}),
            weight=signal_values_weight,
        )
        self.horizon = horizon
        self.seed = secrets.randbits(63) if seed is None else seed
        self.draws = draws
        self.decided = 0
        self._open: dict[int, _Open] = {}
        self._voided: set[int] = set()
        self._state = start(self.spec, self._problem())

    def decide(self, eligible: Sequence[str] | None = None) -> Decision:
        """Choose an action, among the eligible ones where some are named."""
        mask = self._mask(eligible)
        t = self.decided
        rng = np.random.Generator(np.random.Philox(key=self.seed, counter=[0, t, 0, 0]))
        shares = choices(self._state, t, mask, rng, self.draws).shares
        action = pick(shares, rng)
        play(self._state, t, action)
        if has(drawn, self._state):
            drawn(self._state, t, action, float(shares[action]))
        self._open[t] = _Open(action)
        self.decided += 1
        return Decision(t, self.actions[action], float(shares[action]))

    def signal(self, decision: Decision | int, signal: str) -> None:
        """Report the signal of a decision, given by itself or by its id."""
        if self._is_void(decision):
            return
        t, opened = self._find(decision)
        if opened.signal is not None:
            raise DecisionError(
                f"decision {t} has the signal {self.signals[opened.signal]!r} already: "
                f"a decision has one signal"
            )
        opened.signal = _index_of("signal", signal, self.signals)
        observe(self._state, t, opened.action, opened.signal)
        self._credit_if_complete(t, opened)

    def reward(self, decision: Decision | int, reward: float) -> None:
        """Report the reward of a decision, given by itself or by its id."""
        if self._is_void(decision):
            return
        t, opened = self._find(decision)
        if opened.reward is not None:
            raise DecisionError(
                f"decision {t} has a reward already, which waits for its signal: "
                f"a decision has one reward"
            )
        opened.reward = self.scale.unit(reward)
        self._credit_if_complete(t, opened)

    def void(self, decision: Decision | int) -> None:
        """Report that a decision was never shown: nothing reported about it counts.

        A signal that the policy has learned is taken back where it can undo that, and its play
        stays played. A decision that has its signal and its reward is closed, and stays as it is.
        """
        if self._is_void(decision):
            return
        t, opened = self._find(decision)
        undoes = has(unobserve, self._state) and not entry(self.spec).stream
        if opened.signal is not None and undoes:
            unobserve(self._state, t, opened.action, opened.signal)
        del self._open[t]
        self._voided.add(t)

    def add_action(self, name: str) -> None:
        """Add an action while running: it is unexplored, and nothing known is touched."""
        known = len(self.actions)
        self.actions = _names("action", [*self.actions, name])
        self._state = grow(self.spec, self._state, known, self._problem())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all that the agent knows to one file, whole or not at all."""
        saved = _Saved(
            spec=str(self.spec),
            actions=self.actions,
            signals=self.signals,
            scale=self.scale,
            horizon=self.horizon,
            seed=self.seed,
            draws=self.draws,
            decided=self.decided,
            open=self._open,
            state={name: _packed(value) for name, value in leaves(self._state)},
            voided=self._voided,
        )
        body = msgspec.msgpack.encode(saved)
        write_whole(path, lambda file: file.write(_MAGIC + hashlib.sha256(body).digest() + body))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Agent:
        """Read an agent that `save` wrote; it goes on exactly where that one stopped."""
        if not Path(path).is_file():
            raise InvalidInput(f"there is no file {os.fspath(path)!r} to load: check its name")
        content = Path(path).read_bytes()
        digest, body = content[len(_MAGIC) :][:32], content[len(_MAGIC) + 32 :]
        if not content.startswith(_MAGIC) or hashlib.sha256(body).digest() != digest:
            raise DamagedFile(
                f"{os.fspath(path)!r} is damaged or is no saved agent: restore it from a copy"
            )
        saved = msgspec.msgpack.decode(body, type=_Saved)
        gaussian = saved.scale.kind == "gaussian"
        agent = cls(
            saved.spec,
            saved.actions,
            saved.signals,
            seed=saved.seed,
            reward_range=(saved.scale.low, saved.scale.high),
            reward_sigma=saved.scale.width if gaussian else None,
            horizon=saved.horizon,
            draws=saved.draws,
        )
        agent.decided = saved.decided
        agent._open, agent._voided = saved.open, saved.voided
        for name, value in leaves(agent._state):
            if saved.state.get(name, ("", [], b""))[:2] != _packed(value)[:2]:
                raise DamagedFile(
                    f"{os.fspath(path)!r} was saved by a version in which {agent.spec.name} "
                    f"knew other things ({name}): load it with that version"
                )
            if isinstance(value, np.ndarray):
                kind, shape, data = saved.state[name]
                value[...] = np.frombuffer(data, kind).reshape(shape)
        return agent

    def _values(self, given: Mapping[str, float]) -> tuple[float | None, ...]:
        """Return the declared value of every signal, in the unit of policies."""
        for name in given:
            _index_of("signal", name, self.signals)
        if given and not isinstance(self.spec, ThetaSpec):
            raise InvalidInput(
                f"signal_values mean nothing to {self.spec.name}, which does not learn what "
                f"follows on a signal: leave them out, or choose another policy"
            )
        return tuple(
            self.scale.unit(given[name]) if name in given else None for name in self.signals
        )

    def _problem(self) -> Problem:
        return Problem(len(self.actions), len(self.signals), self.scale.kind, self.horizon)

    def _mask(self, eligible: Sequence[str] | None) -> Bools:
        if eligible is None:
            return np.ones(len(self.actions), np.bool_)
        mask = np.zeros(len(self.actions), np.bool_)
        for name in [eligible] if isinstance(eligible, str) else eligible:
            mask[_index_of("action", name, self.actions)] = True
        if not mask.any():
            raise InvalidInput("no action is eligible: name at least one, or leave eligible out")
        return mask

    def _is_void(self, decision: Decision | int) -> bool:
        return (decision.id if isinstance(decision, Decision) else decision) in self._voided

    def _find(self, decision: Decision | int) -> tuple[int, _Open]:
        t = decision.id if isinstance(decision, Decision) else decision
        opened = self._open.get(t)
        if opened is None:
            why = (
                "it has its signal and its reward already"
                if isinstance(t, int) and 0 <= t < self.decided
                else "it was never made"
            )
            raise DecisionError(f"there is no open decision {t!r}: {why}")
        return t, opened

    def _credit_if_complete(self, t: int, opened: _Open) -> None:
        if opened.signal is not None and opened.reward is not None:
            credit(self._state, t, opened.action, opened.signal, opened.reward)
            del self._open[t]


def _names(kind: str, names: Sequence[str]) -> list[str]:
    listed = list(names)
    if isinstance(names, str) or any(not isinstance(name, str) or not name for name in listed):
        raise InvalidInput(f"{kind}s must be a list of names, got {names!r}")
    for name in listed:
        if listed.count(name) > 1:
            raise InvalidInput(f"each {kind} needs a name of its own, got {name!r} twice")
    return listed


def _index_of(kind: str, name: str, names: list[str]) -> int:
    if name not in names:
        raise UnknownName.of(kind, str(name), names)
    return names.index(name)


def _packed(value: Any) -> tuple[str, list[int], bytes]:
    array = np.asarray(value)
    return array.dtype.str, list(array.shape), array.tobytes()
