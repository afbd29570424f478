"""Sessions of browsers are in the log: they outlive a restart, and end with their key."""

from __future__ import annotations

from pathlib import Path

import msgspec

from foretell.protocol import NewKey
from foretell.service.model.sessions import SESSION_SECONDS
from tests.service.engine_driver import Served

NOW = 1_000_000_000
UNTIL = NOW + SESSION_SECONDS


def opened(served: Served, key: str | None = None, until: int = UNTIL) -> tuple[str, str]:
    """Sign in with a new key, or with one; return the session and the id of its key."""
    made = served.run(served.engine.make_key(NewKey("web", ["read"]))).key if key is None else key
    caller = served.engine.identify(made)
    assert caller is not None
    return served.run(served.engine.open_session(caller, until)), caller.author.id


def test_a_session_outlives_restart_and_crash_and_ends_with_its_key(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db") as served:
        session, key = opened(served)
        for again in (served.restart, served.crash):
            again()
            caller = served.engine.session_caller(session, NOW)
            assert caller is not None
            assert caller.author.id == key
        served.run(served.engine.revoke_key(key))
        assert served.engine.session_caller(session, NOW) is None
        served.restart()
        assert served.engine.session_caller(session, NOW) is None


def test_a_session_that_was_closed_stays_closed(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db") as served:
        session, _ = opened(served)
        other, _ = opened(served)
        served.run(served.engine.close_session(session))
        for _ in range(2):
            assert served.engine.session_caller(session, NOW) is None
            assert served.engine.session_caller(other, NOW) is not None
            served.restart()


def test_a_session_ends_with_its_time_and_cannot_be_made_up(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db") as served:
        session, key = opened(served)
        find = served.engine.session_caller
        assert find(session, UNTIL - 1) is not None
        assert find(session, UNTIL) is None
        for place in range(len(session)):
            other = "A" if session[place] != "A" else "B"
            assert find(session[:place] + other + session[place + 1 :], NOW) is None
        for forged in ("", "nonsense", "é", key, session[:-1], session + session):
            assert find(forged, NOW) is None


def test_what_the_log_holds_makes_no_session(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db") as served:
        session, key = opened(served)
        records = served.run(served.engine.runtime.log.configurations(0))
        held = [value for one in records for value in msgspec.structs.astuple(one.event)]
        guesses = [one.hex() if isinstance(one, bytes) else str(one) for one in held]
        assert key in guesses
        assert session not in guesses
        for guess in set(guesses):
            assert served.engine.session_caller(guess, NOW) is None
        shown = served.run(served.engine.server_page()).events[-1]
        assert shown.type == "session_opened"
        assert shown.body == {"key": key, "expires_at": "2001-09-09T13:46:40.000000Z"}


def test_sessions_that_are_over_are_forgotten(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db") as served:
        opened(served)
        opened(served, until=UNTIL + SESSION_SECONDS)
        assert len(served.engine.runtime.sessions) == 1
