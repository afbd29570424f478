"""Secrets sign decision ids, each in its time: what it signs besides is forged.

An id carries the number of its decision, which is its moment. So whoever has found out a secret
that is retired can make no id that is dated after its retirement.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from foretell.service.model.decision_id import Token, read_decision_id, sign_decision_id
from foretell.service.model.errors import Conflict, NotFound
from foretell.service.model.events import Author
from tests.service.engine_driver import Served


def go_on() -> None:
    """Do nothing in between."""


def token_of(served: Served, decision_id: str) -> Token:
    token = read_decision_id(decision_id, served.engine.runtime.secrets)
    assert token is not None
    return token


def is_404(served: Served, decision_id: str) -> bool:
    """Return whether an id is unknown wherever one can be sent."""
    found = []
    for ask in (
        lambda: served.history(decision_id),
        lambda: served.signal(decision_id, "click"),
        lambda: served.reward(decision_id, 1.0),
        lambda: served.void(decision_id),
    ):
        try:
            ask()
            found.append(False)
        except NotFound as error:
            found.append(error.status == 404 and "one that was withdrawn" in str(error))
    (receipt,) = served.batch([{"decision_id": decision_id, "value": 1.0}])
    found.append(receipt.status == "rejected")
    assert len(set(found)) == 1, found
    return found[0]


def test_an_id_dated_after_the_retirement_of_its_secret_is_404(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db") as served:
        served.create()
        old = served.decide().decision_id
        leaked = served.engine.runtime.secrets[0]
        served.pass_time(1)
        served.run(served.engine.rotate())
        served.pass_time(1)
        new = served.decide().decision_id
        forged = sign_decision_id(token_of(served, new), 0, leaked)
        early = sign_decision_id(token_of(served, old), 1, served.engine.runtime.secrets[1])
        for again in (go_on, served.restart, served.crash):
            again()
            assert is_404(served, forged), "it bears the moment of a decision after the retirement"
            assert is_404(served, early), "no secret signs before it was made"
            assert served.history(old).round == 0
            assert served.history(new).round == 1
        assert len(served.records()) == 3, "nothing of it was stored"


def test_a_secret_can_be_retired_with_its_ids(tmp_path: Path) -> None:
    """After a leak: then no id that it has signed is of use, and its decisions get others."""
    with Served(tmp_path / "a.db") as served:
        served.create()
        old = served.decide(decision_key="k")
        served.signal(old.decision_id, "click")
        leaked = served.engine.runtime.secrets[0]
        guessed = token_of(served, old.decision_id)._replace(number=served.engine.runtime.log.now())
        retired = served.run(served.engine.retire_secret(0, with_ids=True, by=Author("i", "ops")))
        assert (retired.secret, retired.ids_valid) == (0, False)
        assert retired.retired_at is not None
        for again in (go_on, served.restart, served.crash):
            again()
            assert is_404(served, old.decision_id)
            assert is_404(served, sign_decision_id(guessed, 0, leaked))
            same = served.decide(decision_key="k")
            assert same.decision_id != old.decision_id
            assert (same.action, same.propensity) == (old.action, old.propensity)
            assert served.history(same.decision_id).round == 0
            ids = {one.body["decision_id"] for one in served.records() if one.type != "created"}
            assert ids == {same.decision_id}
            served.run(served.engine.rotate())
        assert served.reward(same.decision_id, 1.0) == "accepted"
        assert served.decide(decision_key="k") == same, "once, not with every secret that comes"


def test_secrets_can_be_retired_with_their_ids_one_after_the_other(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db") as served:
        served.create()
        for number in range(3):
            served.decide(decision_key=f"k{number}")
            served.pass_time(1)
            served.run(served.engine.rotate())
        for number in (1, 0, 2):
            served.run(served.engine.retire_secret(number, with_ids=True))
        ids = [served.decide(decision_key=f"k{number}").decision_id for number in range(3)]
        assert [served.history(one).round for one in ids] == [0, 1, 2]
        assert [one.ids_valid for one in served.engine.secrets()] == [False, False, False, True]
        last = served.engine.secrets()[-1]
        assert (last.secret, last.retired_at) == (3, None)


def test_the_secret_that_signs_can_be_retired_alone(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db") as served:
        served.create()
        old = served.decide().decision_id
        assert served.run(served.engine.retire_secret(0, with_ids=False)).ids_valid
        assert [one.secret for one in served.engine.secrets()] == [0, 1]
        assert served.history(old).round == 0
        with pytest.raises(Conflict, match="retired already: the ids that it signed before stay"):
            served.run(served.engine.retire_secret(0, with_ids=False))
        served.run(served.engine.retire_secret(0, with_ids=True))
        with pytest.raises(Conflict, match="retired already, and the ids"):
            served.run(served.engine.retire_secret(0, with_ids=True))
        with pytest.raises(NotFound, match="no secret 7: list the secrets"):
            served.run(served.engine.retire_secret(7, with_ids=True))
        assert is_404(served, old)


def test_units_stay_the_same_whatever_becomes_of_the_secrets(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db") as served:
        served.create(sticky=True, policy="uniform")
        first = served.decide(unit="u").action
        served.run(served.engine.retire_secret(0, with_ids=True))
        for again in (go_on, served.restart):
            again()
            assert {served.decide(unit="u").action for _ in range(8)} == {first}


def test_an_id_has_one_spelling() -> None:
    """Padded, cut, with a space or in the other alphabet of base64, it is none."""
    secrets = {0: b"secret"}
    for number in range(200):
        text = sign_decision_id(Token(1, 2, 0.5, number), 0, secrets[0])
        assert read_decision_id(text, secrets) is not None
        others = [text + end for end in ("=", "==", "====", "\n", "A")]
        others += [f" {text}", text[:-1], f"{text[:-1]}=", f"{text[:-2]}==", f"{text[:-1]}é"]
        others += [text.replace("-", "+"), text.replace("_", "/")]
        assert all(read_decision_id(one, secrets) is None for one in others if one != text)
