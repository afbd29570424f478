"""The events of the log: everything that ever happened, and nothing that can be computed.

Times are whole microseconds of the server's clock since 1970; actions and signals are indices
into the lists of their campaign. An event is written once and never changed: fields are only added,
at the end and with a default.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct

from foretell.protocol import ActionStatus, CampaignStatus, Mode, Scope, Silence


class LogEvent(Struct, array_like=True, frozen=True):
    """What one record of the log says."""

    recorded_at: int


KeptWindows: TypeAlias = tuple[tuple[int, float], ...]
"""Shorter windows of old decisions: those made up to a moment keep one of so many seconds."""


class CampaignConfig(Struct, array_like=True, frozen=True):
    """The configuration of a campaign."""

    name: str
    status: CampaignStatus
    actions: tuple[str, ...]
    action_status: tuple[ActionStatus, ...]
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
    kept_signal_windows: KeptWindows = ()
    kept_reward_windows: KeptWindows = ()


class Created(LogEvent, frozen=True, tag="created"):
    """A campaign was made; `version` is that of the policies, which change with foretell."""

    config: CampaignConfig
    version: str


class Changed(LogEvent, frozen=True, tag="changed"):
    """A campaign has another configuration; what the policy knows stays, and grows if needed."""

    config: CampaignConfig


class Refitted(LogEvent, frozen=True, tag="refit"):
    """The policy has read the whole log again."""

    config: CampaignConfig
    why: str
    upto: int
    """The record up to which it was read in the order of decisions; later ones as they came."""
    as_of: int
    """The moment at which outcomes were taken."""
    version: str


class Decided(LogEvent, frozen=True, tag="decision"):
    """An action was chosen."""

    round: int
    action: int
    propensity: float
    mode: Mode
    eligible: int | bytes
    """The actions that could have been chosen: a number for the first so many, else a bit mask."""
    state: int
    """The record of the log up to which the policy had read when the choice was drawn."""
    key: str | None = None
    request: bytes = b""
    """A digest of the request, so that its key is not used for another one."""

    @property
    def decided_at(self) -> int:
        """When the decision was made, under the name that feedback has for it."""
        return self.recorded_at


class Signalled(LogEvent, frozen=True, tag="signal"):
    """A signal was seen."""

    round: int
    event_id: str
    decided_at: int
    """When its decision was made, according to the decision id."""
    signal: int
    occurred_at: str | None = None
    """As it was sent."""


class Rewarded(LogEvent, frozen=True, tag="reward"):
    """A reward came, or a correction of one."""

    round: int
    event_id: str
    decided_at: int
    kind: Literal["reward", "adjust", "retract"]
    value: float
    target: str | None = None
    occurred_at: str | None = None
    """As it was sent."""
    occurred: int | None = None
    """The same moment in microseconds."""


class Erased(LogEvent, frozen=True, tag="erased"):
    """A unit was erased: its decisions stay, and name nobody."""

    decisions: int


class KeyMade(LogEvent, frozen=True, tag="key"):
    """A key was made; its secret is not here."""

    id: str
    name: str
    scopes: tuple[Scope, ...]
    digest: bytes


class KeyRevoked(LogEvent, frozen=True, tag="revoked"):
    """A key is not valid any more."""

    id: str


class SecretMade(LogEvent, frozen=True, tag="secret"):
    """A new secret signs decision ids from here on; ids signed by old ones stay valid."""

    id: int
    secret: bytes


Feedback: TypeAlias = Signalled | Rewarded
OfDecision: TypeAlias = Decided | Feedback
AnyEvent: TypeAlias = (
    Created
    | Changed
    | Refitted
    | Decided
    | Signalled
    | Rewarded
    | Erased
    | KeyMade
    | KeyRevoked
    | SecretMade
)

encode_event = msgspec.msgpack.Encoder().encode
decode_event = msgspec.msgpack.Decoder(AnyEvent).decode
