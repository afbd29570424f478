"""Snapshots: a campaign as bytes, as of a record, so that a start need not read the whole log."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct

from foretell.policies.state import leaves
from foretell.service.model.campaign import Campaign
from foretell.service.model.delivered import LastRefit
from foretell.service.model.events import CampaignConfig

Packed = tuple[str, list[int], bytes]


class Snapshot(Struct, array_like=True):
    """All that a campaign knows."""

    version: str
    config: CampaignConfig
    seq: int
    cursors: tuple[int, ...]
    refit: LastRefit
    state: dict[str, Packed]
    counters: dict[str, Packed]


FOLD_MODULES = ("campaign", "capabilities", "counters", "delivered", "outcome", "prefetch")
"""The modules that compute a state from a log."""
CURSORS = (
    "as_of",
    "decided",
    "signal_cursor",
    "reward_cursor",
    "signal_next",
    "reward_next",
)


def pack(campaign: Campaign) -> bytes:
    """Return a campaign as bytes."""
    return msgspec.msgpack.encode(
        Snapshot(
            policy_version(),
            campaign.config,
            campaign.seq,
            tuple(getattr(campaign, name) for name in CURSORS),
            campaign.refit,
            {name: _packed(value) for name, value in leaves(campaign.state)},
            {name: _packed(value) for name, value in campaign.counters.arrays().items()},
        )
    )


def unpack(body: bytes) -> Campaign | None:
    """Return the campaign; None where it was packed by policies of another version."""
    snapshot = msgspec.msgpack.decode(body, type=Snapshot)
    if snapshot.version != policy_version():
        return None
    campaign = Campaign(snapshot.config)
    campaign.seq, campaign.refit = snapshot.seq, snapshot.refit
    for name, value in zip(CURSORS, snapshot.cursors, strict=True):
        setattr(campaign, name, value)
    for name, value in leaves(campaign.state):
        if isinstance(value, np.ndarray):
            value[...] = _unpacked(snapshot.state[name])
    campaign.counters.restore({name: _unpacked(one) for name, one in snapshot.counters.items()})
    return campaign


def digest(body: bytes) -> bytes:
    """Return the digest by which a stored snapshot is checked."""
    return hashlib.sha256(body).digest()


@cache
def policy_version() -> str:
    """Digest the source of the policies and of the model, which define what a state means."""
    here = Path(__file__).parent
    package = here.parents[1]
    sources = [
        *sorted((package / "policies").rglob("*.py")),
        package / "types.py",
        *(here / f"{name}.py" for name in FOLD_MODULES),
    ]
    digested = hashlib.sha256()
    for source in sources:
        digested.update(source.name.encode() + b"\0" + source.read_bytes())
    return digested.hexdigest()[:16]


def _packed(value: Any) -> Packed:
    array = np.ascontiguousarray(value)
    return array.dtype.str, list(np.shape(value)), array.tobytes()


def _unpacked(packed: Packed) -> Any:
    kind, shape, data = packed
    return np.frombuffer(data, kind).reshape(shape)
