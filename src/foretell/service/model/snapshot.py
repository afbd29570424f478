"""Saved states: a campaign as bytes, at a position, so that a start need not read the whole log."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
from msgspec import Struct

from foretell.policies.registry import entry, policy
from foretell.policies.state import leaves
from foretell.service.model.campaign import FOLD_VERSION, Campaign
from foretell.service.model.events import SLOTS, CampaignConfig
from foretell.service.model.running import LastRefit
from foretell.types import Ints

GRID = 100_000 * SLOTS
"""States are saved and compared at positions that are whole multiples of so much: of 100 ms."""
Packed = tuple[str, list[int], bytes]


class Snapshot(Struct, array_like=True):
    """All that a campaign knows."""

    config: CampaignConfig
    version: int
    position: int
    decided: int
    cursors: list[int]
    passed: list[int]
    last_refit: LastRefit
    state: dict[str, Packed]
    counters: dict[str, list[Packed]]
    ledger: dict[str, Packed]


def next_on_grid(position: int) -> int:
    """Return the first position at which a state may be saved.

    >>> next_on_grid(1) == next_on_grid(GRID) == GRID
    True
    """
    return -(-position // GRID) * GRID


def state_version(config: CampaignConfig) -> str:
    """Return the version of the states of a campaign: that of the fold and that of its policy."""
    known = entry(policy(config.policy))
    return f"{FOLD_VERSION}/{known.name}/{known.version}"


def pack(campaign: Campaign) -> bytes:
    """Return a campaign as bytes."""
    return msgspec.msgpack.encode(
        Snapshot(
            campaign.config,
            campaign.version,
            campaign.position,
            campaign.decided,
            campaign.cursors,
            campaign.passed,
            campaign.last_refit,
            {name: _packed(value) for name, value in leaves(campaign.state)},
            {name: _packed_counts(one) for name, one in campaign.counters.arrays().items()},
            {name: _packed(one) for name, one in campaign.ledger.arrays().items()},
        )
    )


def unpack(version: str, body: bytes) -> Campaign | None:
    """Return the campaign of a state; None if other versions of fold or policy have packed it."""
    if not version.startswith(f"{FOLD_VERSION}/"):  # its bytes may be in another form
        return None
    snapshot = msgspec.msgpack.decode(body, type=Snapshot)
    if version != state_version(snapshot.config):
        return None
    campaign = Campaign(snapshot.config)
    for name in ("version", "position", "decided", "cursors", "passed", "last_refit"):
        setattr(campaign, name, getattr(snapshot, name))
    for name, value in leaves(campaign.state):
        if isinstance(value, np.ndarray):
            value[...] = _unpacked(snapshot.state[name])
    counters = {name: _unpacked_counts(one) for name, one in snapshot.counters.items()}
    campaign.counters.restore(counters)
    campaign.ledger.restore({name: _unpacked(one) for name, one in snapshot.ledger.items()})
    return campaign


def _packed_counts(counts: Ints) -> list[Packed]:
    """Pack counts; of a table with several numbers in each cell, each kind of number apart."""
    columns = [counts] if counts.ndim < 3 else list(np.moveaxis(counts, -1, 0))
    return [_packed(_narrow(column)) for column in columns]


def _unpacked_counts(columns: list[Packed]) -> Ints:
    arrays = [_unpacked(column).astype(np.int64) for column in columns]
    return arrays[0] if len(arrays) == 1 else np.stack(arrays, axis=-1)


def _narrow(counts: Ints) -> Ints:
    """Return counts as the smallest whole numbers that can hold them all."""
    low, high = (int(counts.min()), int(counts.max())) if counts.size else (0, 0)
    kinds = (np.int8, np.int16, np.int32, np.int64)
    kind = next(one for one in kinds if np.iinfo(one).min <= low and high <= np.iinfo(one).max)
    return counts.astype(kind)


def _packed(value: Any) -> Packed:
    array = np.ascontiguousarray(value)
    return array.dtype.str, list(np.shape(value)), array.tobytes()


def _unpacked(packed: Packed) -> Any:
    kind, shape, data = packed
    return np.frombuffer(data, kind).reshape(shape)
