"""How a state is shown: a sign, a word and a kind, so that no colour is needed."""

from __future__ import annotations

from typing import NamedTuple, get_args

from foretell import protocol


class Shown(NamedTuple):
    """A state as a page shows it."""

    kind: str
    """How it is drawn: good, open, bad or still."""
    sign: str
    word: str


_GOOD, _OPEN, _BAD, _STILL = ("good", "✓"), ("open", "◔"), ("bad", "✗"), ("still", "‖")
_KINDS = {
    "rewards stopped": _BAD,
    "signals stopped": _BAD,
    "traffic stopped": _BAD,
    "misleading signal": _BAD,
    "holdout ahead": _BAD,
    "doubtful signal": _OPEN,
    "draft": _STILL,
    "paused": _STILL,
    "stopped": _STILL,
    "quiet": _OPEN,
    "rebuilding": _OPEN,
    "learning": _OPEN,
    "healthy": _GOOD,
    "undecided": _GOOD,
    "valid": _GOOD,
    "doubtful": _OPEN,
    "misleading": _BAD,
    "too early": _OPEN,
    "nothing found": _OPEN,
    "damaged": _BAD,
}
_WORDS = {"undecided": "Healthy, undecided", "nothing found": "Nothing found yet"}
_ORDER = {status: index for index, status in enumerate(get_args(protocol.ReportStatus))}


def shown(status: str) -> Shown:
    """Return how a status of a campaign, or a verdict on its signal, is shown.

    >>> shown("rewards stopped")
    Shown(kind='bad', sign='✗', word='Rewards stopped')
    """
    return Shown(*_KINDS[status], _WORDS.get(status, status.capitalize()))


def shown_verdict(found: protocol.ValidityReport) -> Shown:
    """Return how the verdict on a signal is shown; valid is one that could have been refuted."""
    unseen = found.verdict == "valid" and found.detectable is None
    return shown("nothing found" if unseen else found.verdict)


def urgency(status: str) -> int:
    """Return the place of a status among all: what needs somebody comes first."""
    return _ORDER.get(status, -1)


def needs_somebody(status: str) -> bool:
    """Return whether a status is an alert."""
    return _KINDS[status] == _BAD
