"""A batch is cut into what was written, if and only if it is JSON."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest

from foretell.service.model.checks import plain_json
from foretell.service.model.checks.plain_json import cut_events


def test_deep_brackets_must_close_what_was_opened() -> None:
    deep = "[" * 1500 + "{" * 1500
    assert cut_events(f'{{"events": [{deep}{"}" * 1500}{"]" * 1500}]}}'.encode()) is not None
    assert cut_events(f'{{"events": [{deep}{"]" * 1500}{"}" * 1500}]}}'.encode()) is None
    assert cut_events(f'{{"events": [{deep}"{"}" * 1500}{"]" * 1500}"]}}'.encode()) is None


def test_an_event_is_cut_out_as_it_was_written() -> None:
    """With any spaces, and with numbers that no float can hold."""
    events = [rb'{"a" : 1E400, "b":[ 1.0,-0 ]}', b"7", '"é\\ud800"'.encode(), b" [ ] ".strip()]
    body = b' {"events"\t:\r\n[ ' + b" ,\n".join(events) + b"\n] }\n"
    cut = cut_events(body)
    assert cut is not None
    assert [bytes(one) for one in cut] == events


def is_batch(body: bytes) -> bool:
    """Return whether Python's parser takes a body for a batch of at least one event."""

    def no_number(name: str) -> None:
        raise ValueError(name)

    def pairs(found: list[tuple[str, Any]]) -> Any:
        return found if any(name == "events" for name, _ in found) else dict(found)

    try:
        read = json.loads(body.decode(), parse_constant=no_number, object_pairs_hook=pairs)
    except ValueError:
        return False
    if not isinstance(read, list) or len(read) != 1 or not isinstance(read[0], tuple):
        return False
    return isinstance(read[0][1], list) and bool(read[0][1])


def test_what_is_cut_is_a_batch_and_every_batch_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """A byte was changed, left out or put in: a second parser says whether it is a batch still."""
    monkeypatch.setattr(plain_json, "_end_of_brackets", None)  # nothing is that deep
    draw = Random(5)  # noqa: S311  (not for secrets)
    events = ['{"a": [1, -2.5e3, {"b": null}]}', r'"\ud800\""', "[[], {}]", "true", '{"": "]"}']
    taken = 0
    for _ in range(20_000):
        body = bytearray(f'{{"events": [{", ".join(draw.choices(events, k=3))}]}}'.encode())
        place, byte = draw.randrange(len(body)), draw.choice(b' ,:"[]{}\\01eNt\t\xe9')
        change = draw.choice([slice(place, place), slice(place, place + 1)])
        body[change] = draw.choice([b"", bytes([byte])])
        cut = cut_events(bytes(body))
        assert (cut is not None) == is_batch(bytes(body)), bytes(body)
        taken += cut is not None
    assert 2_000 < taken < 18_000
