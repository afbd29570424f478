"""The events of the log: everything that ever happened, and nothing that can be computed.

A record of the log is an event with its `seq`, the one number that is its place in the log, its
time and its identity: microseconds since 1970 times 2048, plus the slot of the stream that wrote
it. Actions and signals are indices into the lists of their campaign, stages into those of its
configuration. An event is written once and never changed: fields are only added, at the end and
with a default.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

import msgspec
from msgspec import Struct

from foretell.protocol import ActionStatus, CampaignStatus, Mode, RewardSilence, Scope, Silence

SLOTS = 2048
"""Streams that may write in the same microsecond, each under a slot of its own."""
SERVER = 0
"""The campaign number under which the log keeps records about the server itself."""
MODES: tuple[Mode, ...] = ("policy", "explore", "holdout", "sticky")
"""How a decision may be made; the log holds the index."""
FeedbackVerb: TypeAlias = Literal["observed", "adjust", "retract", "void"]
FEEDBACK_VERBS: tuple[FeedbackVerb, ...] = ("observed", "adjust", "retract", "void")
"""What feedback may do; the log holds the index."""
OBSERVED, ADJUST, RETRACT, VOID = range(4)


def stamp(microseconds: int, slot: int = 0) -> int:
    """Return the seq of a moment: that of its first record.

    >>> moment(stamp(1_700_000_000_000_000))
    1700000000000000
    """
    return microseconds * SLOTS + slot


def moment(seq: int) -> int:
    """Return the microseconds of a seq."""
    return seq // SLOTS


class LogEvent(Struct, array_like=True, frozen=True):
    """What one record of the log says."""


class Author(Struct, array_like=True, frozen=True):
    """The key that changed something: what it is known by, not its secret."""

    id: str
    name: str


KeptWindows: TypeAlias = tuple[tuple[int, float], ...]
"""Shorter windows of old decisions: those made up to a moment keep one of so many seconds."""


class Stage(Struct, array_like=True, frozen=True):
    """A step at which something is observed of a decision: a signal, or the reward."""

    name: str
    window: float
    """Seconds after which silence becomes an outcome."""
    silence: RewardSilence
    default: float
    """What silence becomes: the index of a signal, or a reward."""
    kept_windows: KeptWindows = ()


class ImportedHistory(Struct, array_like=True, frozen=True):
    """An earlier log that the policy of a campaign reads before the campaign's own decisions."""

    id: str
    parts: int
    decisions: int
    rewards: int
    """Decisions whose reward is known."""
    first: int | None
    """The time of its first decision in microseconds; None where no times are known."""
    last: int | None
    actions: int
    """Actions that the campaign had: each was equally likely where a row does not say how much."""
    observed: bytes
    """The actions with a signal in it, as a bit mask."""
    paid: bytes
    """The actions with a reward in it, as a bit mask."""


class CampaignConfig(Struct, array_like=True, frozen=True):
    """The configuration of a campaign; the last of its stages is the reward."""

    name: str
    status: CampaignStatus
    actions: tuple[str, ...]
    action_status: tuple[ActionStatus, ...]
    signals: tuple[str, ...]
    policy: str
    stages: tuple[Stage, ...]
    reward_range: tuple[float, float]
    explore: float
    holdout: float
    sticky: bool
    seed: int
    signals_ordered: bool = True
    """Whether the policy may use that signals are listed weakest first."""
    signal_values: dict[str, float] = {}
    """The mean rewards expected after signals, by name, where they are known."""
    signal_values_weight: float = 10.0
    """Rewards of each signal that these count as."""
    reward_name: str = ""
    """What a reward is called in sentences; empty: a reward."""
    typical_delay: float | dict[str, float] | None = None
    """The mean delay of a reward in seconds, of all signals or of each by its name."""
    history: tuple[ImportedHistory, ...] = ()
    """The earlier logs that its policy knows."""

    @property
    def ended(self) -> bool:
        """Whether it is stopped for good."""
        return self.status in ("stopped", "hidden")

    @property
    def signal_silence(self) -> Silence:
        """What silence means at the early signal; only that of a reward can be corrected for."""
        return "unknown" if self.signal_stage.silence == "unknown" else "default"

    @property
    def signal_stage(self) -> Stage:
        """The early signal."""
        return self.stages[0]

    @property
    def reward_stage(self) -> Stage:
        """The reward."""
        return self.stages[-1]


class Evidence(Struct, array_like=True, frozen=True):
    """What was known against the signal of a campaign before a refit."""

    within: float
    pooled: float
    """The largest evidence so far, as logarithms: among actions in one period, and over time."""
    doubtful_at: int
    misleading_at: int
    moves_at: int
    """When it reached each verdict, in microseconds; −1: never."""


class Configured(LogEvent, frozen=True, tag=0):
    """A campaign has a new configuration; version 1 makes the campaign.

    Where `refit_from` is set, the policy has read the whole log again: its state here is the refit
    as of that seq, and the records since then as they came.
    """

    version: int
    """How many configurations the campaign has had, this one included."""
    config: CampaignConfig
    why: str
    state_version: str
    """The version of the states of its policy."""
    refit_from: int | None = None
    by: Author | None = None
    """The key that asked for it; None: the server itself, or a command on its database."""
    evidence: Evidence | None = None
    """With a refit: evidence from before that still holds."""


class Decided(LogEvent, frozen=True, tag=1, gc=False):
    """An action was chosen. The seq of the record is the number of the decision."""

    config: int
    """The version of the configuration under which it was made."""
    action: int
    propensity: float
    mode_index: int
    eligible: int | bytes
    """The actions that could have been chosen: a number for the first so many, else a bit mask."""
    nonce: int
    """The random number from which the choice was drawn."""
    state: int
    """The position in the log of the state from which the choice was drawn."""
    key: str | None = None
    request: bytes = b""
    """A digest of the request, so that its key is not used for another one."""
    first: int = 0
    """For a sticky unit, the decision that first gave it this action; else 0."""
    features: bytes = b""
    """What the policy used of the context, for policies that use any."""

    @property
    def mode(self) -> Mode:
        """How it was chosen."""
        return MODES[self.mode_index]


class Feedback(LogEvent, frozen=True, tag=2, gc=False):
    """Something was observed of a decision, or corrected, or the decision was never shown."""

    config: int
    event_id: str
    stage: int
    verb_index: int
    value: float
    """The index of a signal, or a reward; 0 where there is none."""
    target: str | None = None
    """The `event_id` of the reward that a correction changes."""
    occurred: int | None = None
    """When it happened, as the client says, in microseconds."""

    @property
    def verb(self) -> FeedbackVerb:
        """What it does."""
        return FEEDBACK_VERBS[self.verb_index]


class Erased(LogEvent, frozen=True, tag=3):
    """A unit was erased: its decisions stay, and name nobody."""

    decisions: int
    by: Author | None = None


class KeyMade(LogEvent, frozen=True, tag=4):
    """A key was made; its secret is not here."""

    id: str
    name: str
    scopes: tuple[Scope, ...]
    digest: bytes
    campaign: str | None = None
    """The one campaign that it is for; None: all of them."""
    expires: int | None = None
    """The moment from which on it is not valid, in microseconds of log time."""
    by: Author | None = None


class KeyRevoked(LogEvent, frozen=True, tag=5):
    """A key is not valid any more."""

    id: str
    by: Author | None = None


class SecretMade(LogEvent, frozen=True, tag=6):
    """A new secret signs the ids of decisions from here on; the one before it is retired."""

    id: int
    secret: bytes
    by: Author | None = None
    begins: int = 0
    """The seq from which on it signs, where that is later: when every process knows it."""


class SecretWithdrawn(LogEvent, frozen=True, tag=7):
    """The ids that a secret has signed are not valid any more: a later one signs new ones."""

    id: int
    by: Author | None = None


class Imported(LogEvent, frozen=True, tag=8):
    """A part of an earlier log. It changes nothing until a configuration lists its history."""

    id: str
    """The id of its history."""
    part: int
    decisions: int
    rewards: int
    """Decisions whose reward is known."""
    first: int | None
    """The earliest time of a decision in it, in microseconds; None where no times are known."""
    last: int | None
    rows: bytes
    """Its decisions, packed by `imported_rows`."""
    ends: bool
    """Whether it is the last part."""
    by: Author | None = None


class SessionOpened(LogEvent, frozen=True, tag=9):
    """A browser was signed in with a key; what it holds to prove it is not here."""

    digest: bytes
    """That of the session, which the browser alone has."""
    key: str
    """The id of the key that was shown."""
    until: int
    """Seconds of the wall clock since 1970 from which on it is not valid."""


class SessionClosed(LogEvent, frozen=True, tag=10):
    """A browser was signed out."""

    digest: bytes


AnyEvent: TypeAlias = (
    Configured
    | Decided
    | Feedback
    | Erased
    | KeyMade
    | KeyRevoked
    | SecretMade
    | SecretWithdrawn
    | Imported
    | SessionOpened
    | SessionClosed
)

encode_event = msgspec.msgpack.Encoder().encode
decode_event = msgspec.msgpack.Decoder(AnyEvent).decode


class Record(NamedTuple):
    """One entry of the log."""

    seq: int
    campaign: int
    decision: int
    """The number of the decision that it is about (its own seq for a decision), else 0."""
    event: AnyEvent

    @property
    def recorded_at(self) -> int:
        """When it was recorded, in microseconds of log time."""
        return self.seq // SLOTS


class DecisionRecords(NamedTuple):
    """All records of one decision, in log order."""

    number: int
    rank: int
    """Its round t: how many decisions of its campaign come before it."""
    decided: Decided
    feedback: list[Record]

    @property
    def decided_at(self) -> int:
        """When it was made, in microseconds of log time."""
        return self.number // SLOTS

    def before(self, seq: int) -> DecisionRecords:
        """Return the records below a seq."""
        if not self.feedback or self.feedback[-1].seq < seq:
            return self
        return self._replace(feedback=[one for one in self.feedback if one.seq < seq])
