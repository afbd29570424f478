"""A recipe for worlds: laws and how they change, theta, rewards, delays, misspecification."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, get_args

import msgspec
import numpy as np

from foretell.errors import InvalidInput, UnknownName
from foretell.types import FARTHEST, Floats, Ints, Problem, RewardScale, is_number, is_whole
from foretell.worlds.changes import Changes, Stationary
from foretell.worlds.delay_arrays import DelayArrays, delay_arrays
from foretell.worlds.delays import Delay, as_delay
from foretell.worlds.drift import Interpolation
from foretell.worlds.knots import FULL, Knots, draw_knots, empty_knots, sudden
from foretell.worlds.matrices import Matrix, Row, read_law, read_row
from foretell.worlds.rewards import BERNOULLI, Bernoulli, RewardFamily, family_code
from foretell.worlds.theta_changes import ConstantTheta, ThetaChanges, ThetaKnots
from foretell.worlds.world import World


def read_tagged(tag: str, plain: Any, union: Any) -> Any:
    """Read one of the structs of a union, told apart by its `tag` field.

    >>> from foretell.worlds.delays import Delay
    >>> read_tagged("family", {"family": "uniform", "low": 0, "high": 9}, Delay)
    UniformDelay(low=0, high=9, lost=0.0)
    """
    kinds = {kind.__struct_config__.tag: kind for kind in get_args(union)}
    if not isinstance(plain, dict) or tag not in plain:
        raise InvalidInput(
            f"cannot read {plain!r}: it must be a table with the key {tag!r}, "
            f"one of {', '.join(repr(kind) for kind in kinds)}"
        )
    if plain[tag] not in kinds:
        raise UnknownName.of(tag, str(plain[tag]), kinds)
    kind = kinds[plain[tag]]
    for field in plain:
        if field != tag and field not in kind.__struct_fields__:
            raise UnknownName.of("field", field, kind.__struct_fields__, f"of {plain[tag]!r}")
    try:
        return msgspec.convert(plain, kind)
    except msgspec.ValidationError as error:
        raise InvalidInput(f"cannot read {plain[tag]!r}: {error}") from None


if TYPE_CHECKING:
    from collections.abc import Sequence

PAIR = 2


@dataclass(frozen=True)
class Scenario:
    """A decision problem that can be drawn: `draw(horizon, rng)` gives a world.

    `law` is p(signal | action), one row per action, `theta` the mean reward of each signal. The
    law is given once, with `changes`, or per segment: `segments=[(0, P0), (3000, P1)]`. `delay`
    is a number of rounds, one of `foretell.delays`, or a list of these, one per signal. With
    `alpha` > 0 the model is misspecified [Vernade2020, Sec. 5]: with that probability a round's
    signal is uniform and its reward has mean `mu[action]`. `theta_changes` lets the meaning of
    signals move, too. Where it is `censored`, only rewards above the lowest are ever
    reported (conversions), each after its delay; that there is none is known when the
    `reward_window`, in rounds, closes, and what comes later is lost.

    >>> paper = Scenario(law=[[0.8, 0.1, 0.1], [0.1, 0.8, 0.1]], theta=[0.8, 0.4, 0.2], delay=500)
    >>> paper.actions, paper.signals
    (2, 3)
    """

    law: Matrix | Sequence[Sequence[float]] | Floats | None = None
    """p(signal given action): one row per action, one column per signal."""
    theta: Row | Sequence[float] | Floats = ()
    """Mean reward of each signal, in natural units."""
    segments: tuple[tuple[int, Matrix], ...] | Sequence[tuple[int, Any]] = ()
    """Pairs of a first round and a law, instead of one law."""
    changes: Changes = Stationary()  # noqa: RUF009  it is frozen
    """How the law changes; by default it never does."""
    rewards: RewardFamily = Bernoulli()  # noqa: RUF009  it is frozen
    """How rewards scatter around their mean."""
    delay: Delay | int | tuple[Delay, ...] | Sequence[Delay | int] = 0
    """Rounds until a reward arrives: a number, one of `foretell.delays`, or one per signal."""
    alpha: float = 0.0
    """Probability that a round is mixed: a uniform signal, and a reward of mean `mu`."""
    mu: Row | Sequence[float] | None = None
    """Mean reward of each action in mixed rounds."""
    theta_changes: ThetaChanges = ConstantTheta()  # noqa: RUF009  it is frozen
    """How theta changes; by default it never does."""
    censored: bool = False
    """Whether only rewards above the lowest are ever reported."""
    reward_window: int | None = None
    """Rounds after which a censored round without a reward is known to have none."""

    def __post_init__(self) -> None:
        """Bring every field into one form, and refuse values that cannot be used."""
        self._set("theta", read_row("theta", self.theta))
        if (self.law is None) == (len(self.segments) == 0):
            raise InvalidInput("give a scenario either a law or segments: exactly one of the two")
        if self.law is not None:
            self._set("law", read_law(self.law, len(self.theta)))
            self._set("segments", ())
        else:
            self._set("segments", self._checked_segments())
        delay = self.delay
        if isinstance(delay, (list, tuple)):
            self._set("delay", tuple(as_delay(one) for one in delay))
        else:
            self._set("delay", as_delay(delay))  # type: ignore[arg-type]
        self._check_parts()
        self._check_means()
        self._check_mixture()
        self._check_censored()
        Problem(self.actions, self.signals)
        if isinstance(self.changes, Interpolation):
            for _, law in self.changes.towards:
                read_law(law, self.signals)
        if isinstance(self.delay, tuple) and len(self.delay) != self.signals:
            raise InvalidInput(
                f"delays per signal need one for each of the {self.signals} signals, "
                f"got {len(self.delay)}"
            )

    def _set(self, field: str, value: object) -> None:
        object.__setattr__(self, field, value)

    def _checked_segments(self) -> tuple[tuple[int, Matrix], ...]:
        if not isinstance(self.changes, Stationary):
            raise InvalidInput(
                "segments say how the law changes already: give segments or changes, not both"
            )
        given: list[Any] = list(self.segments)
        if any(
            not hasattr(one, "__len__") or len(one) != PAIR or not is_whole(one[0]) for one in given
        ):
            raise InvalidInput(
                "segments must be pairs of a round and a law: for instance [(0, P0), (3000, P1)]"
            )
        segments = tuple((int(first), read_law(law, len(self.theta))) for first, law in given)
        firsts = [first for first, _ in segments]
        if firsts[0] != 0 or firsts != sorted(set(firsts)):
            raise InvalidInput(f"segments must start at round 0 and increase, got rounds {firsts}")
        if len({len(law) for _, law in segments}) > 1:
            raise InvalidInput("all segments need the same number of actions")
        return segments

    def _check_parts(self) -> None:
        for name, part, kinds in (
            ("changes", self.changes, get_args(Changes)),
            ("rewards", self.rewards, get_args(RewardFamily)),
            ("theta_changes", self.theta_changes, get_args(ThetaChanges)),
        ):
            if not isinstance(part, kinds):
                raise InvalidInput(
                    f"{name} must be one of {', '.join(kind.__name__ for kind in kinds)}, "
                    f"got {part!r}: see docs/core.md"
                )

    def _check_means(self) -> None:
        scale = self.scale
        stops = [(f"theta at round {stop}", means) for stop, means in self.theta_changes.stops()]
        for name, means in (
            ("theta", self.theta),
            ("mu", () if self.mu is None else self.mu),
            *stops,
        ):
            outside = [m for m in means if not np.isfinite(m) or self._outside(m)]
            if outside:
                where = (
                    f"[{scale.low}, {scale.high}]"
                    if scale.kind == "bounded"
                    else f"within {FARTHEST:.0f} standard deviations of the centre {scale.low}"
                )
                raise InvalidInput(
                    f"{name} must lie in the range of the rewards, {where}, got {outside[0]}: "
                    f"correct it or declare another range with rewards="
                )

        self.theta_changes.check_fit(self.signals, scale)

    def _outside(self, mean: float) -> bool:
        scale = self.scale
        if scale.kind == "bounded":
            return not scale.low <= mean <= scale.high
        return abs(mean - scale.low) > FARTHEST * scale.width

    def _check_mixture(self) -> None:
        if not is_number(self.alpha) or not 0.0 <= self.alpha <= 1.0:
            raise InvalidInput(f"alpha is a probability, in [0, 1], got {self.alpha!r}")
        if self.mu is not None:
            self._set("mu", read_row("mu", self.mu))
        given = 0 if self.mu is None else len(self.mu)
        if (self.alpha > 0.0 or self.mu is not None) and given != self.actions:
            raise InvalidInput(
                f"a misspecified scenario (alpha > 0) needs mu, one mean per action, "
                f"got {given or 'none'} for {self.actions} actions"
            )

    def _check_censored(self) -> None:
        if self.censored and self.scale.kind != "bounded":
            raise InvalidInput(
                "a censored scenario needs bounded rewards, as silence is the lowest of them: "
                "leave censored out, or declare others with rewards="
            )
        if self.censored != (self.reward_window is not None):
            raise InvalidInput(
                f"a censored scenario needs a reward_window, and no other has one, got "
                f"censored={self.censored!r} and reward_window={self.reward_window!r}"
            )
        if self.censored and (not is_whole(self.reward_window) or self.reward_window < 1):  # type: ignore[operator]
            raise InvalidInput(
                f"reward_window must be at least 1 round, got {self.reward_window!r}"
            )

    @cached_property
    def first_law(self) -> Floats:
        """(actions, signals): the law of round 0."""
        return np.array(self.law if self.law is not None else self.segments[0][1], np.float64)

    @property
    def actions(self) -> int:
        """How many actions there are."""
        return len(self.first_law)

    @property
    def signals(self) -> int:
        """How many signals there are."""
        return len(self.theta)

    @cached_property
    def scale(self) -> RewardScale:
        """How rewards are measured."""
        return self.rewards.scale()

    @cached_property
    def _delays(self) -> DelayArrays:
        one_each = self.delay if isinstance(self.delay, tuple) else (self.delay,) * self.signals
        return delay_arrays(one_each)  # type: ignore[arg-type]

    def check(self, horizon: int) -> None:
        """Refuse what is no horizon, and changes that do not fit; some may come after it."""
        if not is_whole(horizon) or horizon < 1:
            raise InvalidInput(f"the horizon must be a whole number of rounds, got {horizon!r}")
        self.changes.check(self.actions)
        self.theta_changes.check()

    def draw(self, horizon: int, rng: np.random.Generator) -> World:
        """Draw one world of this many rounds."""
        self.check(horizon)
        theta = self.draw_theta(horizon, rng)
        rule = self.rule(horizon)
        if isinstance(rule, Knots):
            return self._alone(rule, theta)
        begun = rng.bit_generator.state
        room = self.changes.room(horizon)
        while True:
            knots = empty_knots(room, self.actions, self.signals)
            end = draw_knots(rule, horizon, rng, knots, 0)
            if end != FULL:
                return self._alone(Knots._make(array[:end] for array in knots), theta)
            rng.bit_generator.state = begun
            room *= 2

    def rule(self, horizon: int) -> Any:
        """Return the knots of every world, or the rule of `draw_knots` that draws them."""
        mu = np.array(self.mu if self.mu is not None else [self.scale.low] * self.actions)
        if not self.segments:
            return self.changes.rule(self.first_law, mu, horizon)
        reached = [(first, law) for first, law in self.segments if first < horizon]
        rounds = [first for first, _ in reached]
        laws = np.array([law for _, law in reached])
        return sudden(rounds, laws, np.tile(mu, (len(rounds), 1)))

    def draw_theta(self, horizon: int, rng: np.random.Generator) -> ThetaKnots:
        """Draw the thetas of one world, and leave its stream as it is: the laws do not notice."""
        begun = rng.bit_generator.state
        own = np.random.default_rng(rng.integers(2**63))
        rng.bit_generator.state = begun
        return self.theta_changes.draw(np.array(self.theta), self.scale, horizon, own)

    def _alone(self, knots: Knots, theta: ThetaKnots) -> World:
        return self.world(knots, theta, np.zeros(1, np.int64), np.array([knots.rounds.size]))

    def world(self, knots: Knots, theta: ThetaKnots, first: Ints, end: Ints) -> World:
        """Return the worlds of runs that have these knots: run i those from first[i] to end[i]."""
        scale = self.scale
        kind, concentration = family_code(self.rewards)
        return World(
            theta=theta._replace(values=(theta.values - scale.low) / scale.width),
            first=first,
            end=end,
            rounds=knots.rounds,
            laws=knots.laws,
            mus=(knots.mus - scale.low) / scale.width,
            drifts=knots.drifts,
            alpha=float(self.alpha),
            width=scale.width,
            reward_kind=kind,
            concentration=float(concentration),
            delays=self._delays,
            reward_window=int(self.reward_window or 0),
            plain=kind == BERNOULLI and self.alpha == 0.0 and self._delays.all_constant,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the scenario as plain lists, numbers and dictionaries; `from_dict` reads it."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        return plain

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Scenario:
        """Make a scenario from plain data, as a file holds it."""
        known = [field.name for field in dataclasses.fields(cls)]
        for field in plain:
            if field not in known:
                raise UnknownName.of("field", field, known, "of a scenario")
        fields = dict(plain)
        if "changes" in fields:
            fields["changes"] = read_tagged("pattern", fields["changes"], Changes)
        if "theta_changes" in fields:
            fields["theta_changes"] = read_tagged("pattern", fields["theta_changes"], ThetaChanges)
        if "rewards" in fields:
            fields["rewards"] = read_tagged("family", fields["rewards"], RewardFamily)
        delay = fields.get("delay")
        if isinstance(delay, dict):
            fields["delay"] = read_tagged("family", delay, Delay)
        elif isinstance(delay, (list, tuple)):
            fields["delay"] = [
                read_tagged("family", one, Delay) if isinstance(one, dict) else one for one in delay
            ]
        return cls(**fields)

    def _repr_html_(self) -> str:
        from foretell.worlds.scenario_table import scenario_html

        return scenario_html(self)

    def problem(
        self,
        horizon: int | None = None,
        changes: tuple[int, ...] = (),
        theta_changes: tuple[int, ...] = (),
    ) -> Problem:
        """Return what a policy is told about it."""
        kind = self.scale.kind
        return Problem(self.actions, self.signals, kind, horizon, changes, theta_changes)
