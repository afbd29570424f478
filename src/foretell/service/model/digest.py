"""The digest of a campaign: two that know the same have the same."""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

import msgspec

from foretell.policies.state import fingerprint
from foretell.service.model.counters import Counters
from foretell.service.model.events import CampaignConfig
from foretell.service.model.running import LastRefit
from foretell.service.model.validity_ledger import ValidityLedger


class LogProgress(NamedTuple):
    """How far a campaign has come with its log."""

    version: int
    decided: int
    cursors: tuple[int, ...]
    passed: tuple[int, ...]
    last_refit: LastRefit


def digest_of(
    config: CampaignConfig,
    progress: LogProgress,
    state: Any,
    counters: Counters,
    ledger: ValidityLedger,
) -> str:
    """Digest all that a saved state of a campaign holds, but for the position."""
    digest = hashlib.sha256(msgspec.msgpack.encode((config, progress)))
    digest.update(fingerprint(state))
    for arrays in (counters.arrays(), ledger.arrays()):
        for name, array in arrays.items():
            digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
            digest.update(array.tobytes())
    return digest.hexdigest()[:32]
