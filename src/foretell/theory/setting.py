"""What the theorems are told about a problem: its sizes, not its laws.

The symbols of [Vernade2020] and their words here: T horizon, K actions, S signals, Gamma_T
switches, D delay, delta the error probability of each failure event.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from foretell.errors import InvalidInput

Constants: TypeAlias = Literal["literal", "tight"]
"""`literal`: radii and proof as printed, corrected. `tight`: every free gain taken."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The sizes on which every bound depends.

    >>> Setting(horizon=8000, actions=4, signals=3, switches=3, delay=500)
    Setting(horizon=8000, actions=4, signals=3, switches=3, delay=500, delta=0.1,
            constants='literal')
    """

    horizon: int
    actions: int
    signals: int
    switches: int = 0
    delay: int = 0
    delta: float = 0.1
    constants: Constants = "literal"

    def __post_init__(self) -> None:
        """Refuse sizes for which the theorems say nothing."""
        check_whole("actions", self.actions, 2, "with fewer there is nothing to choose")
        check_whole("signals", self.signals, 2, "with fewer a signal says nothing")
        check_whole("horizon", self.horizon, self.actions, "each action is played once first")
        check_whole("switches", self.switches, 0, "give 0 for a law that never changes")
        check_whole("delay", self.delay, 0, "give 0 for rewards seen before the next round")
        if self.switches >= self.horizon:
            raise InvalidInput(
                f"switches must be fewer than the horizon of {self.horizon} rounds, "
                f"got {self.switches}: the law changes at most once a round"
            )
        check_share("delta", self.delta, "the usual choice is 0.1")
        if self.constants not in get_args(Constants):
            raise InvalidInput(
                f"constants must be 'literal' or 'tight', got {self.constants!r}: "
                f"'literal' is the paper's radius"
            )


def check_whole(name: str, value: object, least: int, advice: str) -> None:
    """Refuse what is no whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidInput(f"{name} must be a whole number, got {value!r}: {advice}")
    if value < least:
        raise InvalidInput(f"{name} must be at least {least}, got {value}: {advice}")


def check_share(name: str, value: object, advice: str) -> None:
    """Refuse what is no number in (0, 1]."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0.0 < value <= 1.0:
        raise InvalidInput(f"{name} must lie in (0, 1], got {value!r}: {advice}")


def effective_window(setting: Setting, window: int) -> int:
    """Return min(W, T): a window longer than the horizon never forgets.

    >>> effective_window(Setting(horizon=100, actions=2, signals=2), 1000)
    100
    """
    if isinstance(window, bool) or not isinstance(window, int):
        raise InvalidInput(
            f"window must be a whole number of rounds, got {window!r}: leave it out for no window"
        )
    if window < 1:
        raise InvalidInput(
            f"window must be at least 1 round, got {window}: leave it out for no window"
        )
    return min(window, setting.horizon)
