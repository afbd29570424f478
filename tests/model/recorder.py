"""Policies that do nothing but write down what is delivered to them, in its order."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple
from unittest import mock

import numpy as np

from foretell.policies import registry
from foretell.policies.registry import register
from foretell.policies.spec import Spec
from foretell.policies.verbs import begin, choose, credit, observe, play, uncredit
from foretell.types import GRAIN, Bools, Ints, Problem

ROOM = 1000
VERBS = ("play", "observe", "credit", "uncredit")


class Recorded(NamedTuple):
    """(ROOM, 5): the verb, round, action, signal and reward of every call."""

    calls: Ints
    made: Ints


class RecordedCorrectable(NamedTuple):
    """The same, of a policy that can take a reward back."""

    calls: Ints
    made: Ints


with mock.patch.dict(registry._entries):

    @register("recorder", stream=True)
    @dataclass(frozen=True)
    class Recorder(Spec):
        """Writes down a stream."""

    @register("recorder-correctable", stream=True)
    @dataclass(frozen=True)
    class RecorderCorrectable(Spec):
        """Writes down a stream, and what is taken back."""

    ENTRIES = {name: registry._entries[name] for name in (Recorder.name, RecorderCorrectable.name)}


@contextmanager
def recorders() -> Iterator[None]:
    """Let campaigns use these policies."""
    with mock.patch.dict(registry._entries, ENTRIES):
        yield


def heard(state: Any) -> list[tuple[str, int, int, int, float]]:
    """Return what was delivered to a recorder: verb, round, action, signal, reward."""
    rows = state.calls[: int(state.made[0])].tolist()
    return [(VERBS[row[0]], row[1], row[2], row[3], row[4] / GRAIN) for row in rows]


def _write(state: Any, *row: float) -> None:
    index = int(state.made[0])
    state.calls[index, : len(row)] = row
    state.made[0] += 1


@begin.register(Recorder)
def _begin(spec: Recorder, problem: Problem) -> Recorded:
    return Recorded(np.zeros((ROOM, 5), np.int64), np.zeros(1, np.int64))


@begin.register(RecorderCorrectable)
def _begin_correctable(spec: RecorderCorrectable, problem: Problem) -> RecordedCorrectable:
    return RecordedCorrectable(np.zeros((ROOM, 5), np.int64), np.zeros(1, np.int64))


def _choose(state: Any, t: int, eligible: Bools, rng: np.random.Generator) -> int:
    return int(rng.choice(np.flatnonzero(eligible)))


def _play(state: Any, t: int, action: int) -> None:
    _write(state, 0, t, action)


def _observe(state: Any, t: int, action: int, signal: int) -> None:
    _write(state, 1, t, action, signal)


def _credit(state: Any, t: int, action: int, signal: int, reward: float) -> None:
    _write(state, 2, t, action, signal, round(reward * GRAIN))


def _uncredit(state: Any, t: int, action: int, signal: int, reward: float) -> None:
    _write(state, 3, t, action, signal, round(reward * GRAIN))


for _kind in (Recorded, RecordedCorrectable):
    choose.register(_kind, _choose)
    play.register(_kind, _play)
    observe.register(_kind, _observe)
    credit.register(_kind, _credit)
uncredit.register(RecordedCorrectable, _uncredit)
