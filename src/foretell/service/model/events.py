"""The lines of the log: everything that ever happened, and nothing that can be computed.

Times are whole microseconds of the server's clock since 1970; actions and signals are numbers,
as their campaign lists them. An event is written once and never changed: fields are only added,
at the end and with a default.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct

from foretell.protocol import ActionStatus, Mode, Scope, Silence, Status


class Event(Struct, array_like=True, frozen=True):
    """One line of the log."""

    at: int


Kept: TypeAlias = tuple[tuple[int, float], ...]
"""Windows that were shorter once: decisions made up to this moment keep one of so many seconds."""


class Setup(Struct, array_like=True, frozen=True):
    """How a campaign is set."""

    name: str
    status: Status
    actions: tuple[str, ...]
    standing: tuple[ActionStatus, ...]
    signals: tuple[str, ...]
    policy: str
    signal_window: float
    reward_window: float
    default_reward: float
    reward_range: tuple[float, float]
    signal_silence: Silence
    reward_silence: Silence
    explore: float
    holdout: float
    sticky: bool
    seed: int
    kept_signal_windows: Kept = ()
    kept_reward_windows: Kept = ()


class Created(Event, frozen=True, tag="created"):
    """A campaign was made; `version` is that of the policies, which change with foretell."""

    setup: Setup
    version: str


class Changed(Event, frozen=True, tag="changed"):
    """A campaign is set otherwise; what the policy knows stays, and grows where it must."""

    setup: Setup


class Refolded(Event, frozen=True, tag="refolded"):
    """The policy reads the whole log anew, as it stands at this line."""

    setup: Setup
    why: str
    upto: int
    """It was read anew up to this line, in the order of decisions; from there on as it came."""
    as_of: int
    """And as things stood at this moment."""
    version: str


class Decided(Event, frozen=True, tag="decision"):
    """An action was chosen."""

    round: int
    action: int
    propensity: float
    mode: Mode
    eligible: int | bytes
    """The actions that could have been chosen: the first so many, or their bits."""
    state: int
    """The line of the log up to which the policy had read when the choice was drawn."""
    key: str | None = None
    request: bytes = b""
    """A digest of what was asked, so that a key is not used for something else."""

    @property
    def made(self) -> int:
        """When the decision was made, as lines about it call it."""
        return self.at


class Signalled(Event, frozen=True, tag="signal"):
    """A signal was seen."""

    round: int
    event_id: str
    made: int
    """When its decision was made, by the decision's own id."""
    signal: int
    occurred_at: str | None = None
    """As it was sent."""


class Rewarded(Event, frozen=True, tag="reward"):
    """A reward came, or a correction of one."""

    round: int
    event_id: str
    made: int
    kind: Literal["reward", "adjust", "retract"]
    value: float
    target: str | None = None
    occurred_at: str | None = None
    """As it was sent."""
    occurred: int | None = None
    """The same moment in microseconds."""


class Erased(Event, frozen=True, tag="erased"):
    """A unit was erased: its decisions stay, and name nobody."""

    decisions: int


class KeyMade(Event, frozen=True, tag="key"):
    """A key was made; its secret is not here."""

    id: str
    name: str
    scopes: tuple[Scope, ...]
    digest: bytes


class KeyRevoked(Event, frozen=True, tag="revoked"):
    """A key is not valid any more."""

    id: str


class SecretMade(Event, frozen=True, tag="secret"):
    """A new secret signs decision ids from here on; ids signed by old ones stay valid."""

    id: int
    secret: bytes


Feedback: TypeAlias = Signalled | Rewarded
OfDecision: TypeAlias = Decided | Feedback
AnyEvent: TypeAlias = (
    Created
    | Changed
    | Refolded
    | Decided
    | Signalled
    | Rewarded
    | Erased
    | KeyMade
    | KeyRevoked
    | SecretMade
)

encode = msgspec.msgpack.Encoder().encode
decode = msgspec.msgpack.Decoder(AnyEvent).decode
