"""A unit is stored as a keyed hash, and can be erased; relaxed durability is the same API."""

from __future__ import annotations

import secrets
from pathlib import Path

import msgspec
import pytest

from foretell.service.log.open import back_up_log
from tests.service.engine_driver import Served, database_of

UNIT = "jane.doe@example.org"
CONTEXT = "likes-long-novels"


def stored(served: Served) -> bytes:
    """Return every byte that is kept."""
    if served.memory is not None:
        return msgspec.msgpack.encode(served.memory.content)
    if served.log_engine == "postgres":
        copy = served.path.with_name(f"{secrets.token_hex(4)}.copy")
        back_up_log(database_of(served.path), str(copy))
        return copy.read_bytes()
    return b"".join(path.read_bytes() for path in sorted(served.path.parent.iterdir()))


def test_a_unit_is_stored_as_a_keyed_hash_and_can_be_erased(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db") as served:
        served.create(sticky=True, policy="uniform")
        ids = [served.decide(unit=UNIT, context={"about": CONTEXT}).decision_id for _ in range(3)]
        kept = served.decide(unit="somebody-else", context={"about": "kept-as-it-is"})
        token = served.engine.runtime.unit_hash(UNIT)
        before = stored(served)
        assert UNIT.encode() not in before
        assert token in before
        assert CONTEXT.encode() in before
        assert served.history(ids[0]).context == {"about": CONTEXT}
        digest = served.digest()

        assert served.run(served.engine.erase("c", UNIT)).decisions == 3
        running = stored(served)
        assert token not in running
        assert CONTEXT.encode() not in running, "not in the journal either"
        assert served.history(ids[0]).context is None
        assert served.history(kept.decision_id).context == {"about": "kept-as-it-is"}
        assert served.digest() == digest, "the decisions stay"
        assert served.report().counts.decisions == 4
        assert served.records()[-1].type == "erased"
        assert served.decide(unit=UNIT).mode == "policy", "it is a new unit now"
        assert served.run(served.engine.erase("c", UNIT)).decisions == 1
        assert served.run(served.engine.erase("c", UNIT)).decisions == 0
        found = served.verify()
        assert found.damage == []
        assert found.records >= 9
    after = stored(served)
    assert UNIT.encode() not in after
    assert token not in after
    assert CONTEXT.encode() not in after
    assert b"kept-as-it-is" in after


def test_the_state_after_an_erasure_is_what_its_log_folds_to(tmp_path: Path) -> None:
    """Windows close until the erasure, as they do when it is read again."""
    with Served(tmp_path / "a.db") as served:
        for name in ("c", "other"):
            served.create(name)
        served.decide(unit=UNIT)
        served.pass_time(1e6)
        served.run(served.engine.erase("c", UNIT))
        served.save_states()
        found = served.verify()
        assert found.damage == []
        assert {one.comparison for one in found.campaigns} == {"same"}


def test_nobody_can_guess_who_asked(tmp_path: Path) -> None:
    """The digest by which a repeated request is known stays when a unit is erased."""
    digests = set()
    for name in ("a.db", "b.db"):
        with Served(tmp_path / name) as served:
            served.create()
            served.decide(unit=UNIT, decision_key="k")
            log = served.engine.runtime.log
            (decision,) = served.run(log.decisions_after(1, 0, 1))
            digests.add(decision.decided.request)
    assert len(digests) == 2


def test_a_hash_is_that_of_one_database(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db") as one, Served(tmp_path / "b.db") as other:
        assert one.engine.runtime.unit_hash(UNIT) != other.engine.runtime.unit_hash(UNIT)
        token = one.engine.runtime.unit_hash(UNIT)
        one.restart()
        assert one.engine.runtime.unit_hash(UNIT) == token


def test_erasing_is_of_one_campaign(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db") as served:
        served.create("c")
        served.create("d")
        for name in ("c", "d"):
            one = served.decide(name, unit=UNIT, context={"about": name}).decision_id
        served.run(served.engine.erase("c", UNIT))
        assert served.history(one).context == {"about": "d"}


@pytest.mark.parametrize("durability", ["full", "relaxed"])
def test_relaxed_durability_keeps_the_api(tmp_path: Path, durability: str) -> None:
    with Served(tmp_path / "a.db", durability=durability) as served:
        served.create(policy="nsd-adaptive", signal_window=1.0, reward_window=2.0)
        ids = [answer.decision_id for answer in served.decide_many(100)]
        again = served.decide(decision_key="k")
        assert served.decide(decision_key="k") == again
        for one in ids[:50]:
            assert served.signal(one, "buy", f"s{one}") == "accepted"
            assert served.reward(one, 1.0, f"r{one}") == "accepted"
        assert served.reward(ids[0], 1.0, f"r{ids[0]}") == "duplicate"
        served.pass_time(2.0)
        assert served.reward(ids[60], 1.0) == "late"
        assert served.history(ids[0]).reward == 1.0
        assert served.report().signals[2].theta == 1.0
        digest = served.digest()
        served.crash()
        assert served.digest() == digest == served.rebuilt().digest()
        served.restart()
        assert served.digest() == digest
        assert served.verify().damage == []
