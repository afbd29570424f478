"""Sessions are forgotten when they are over; to add one costs the same however many there are."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import cast

from foretell.service.model.events import SessionClosed, SessionOpened
from foretell.service.model.sessions import SESSION_SECONDS, Sessions, new_session, session_digest


class SlowSessions:
    """All that was opened and closed, looked through each time."""

    def __init__(self) -> None:
        self.opened: list[SessionOpened] = []
        self.closed: set[bytes] = set()

    def key_of(self, session: str, now: float) -> str | None:
        digest = session_digest(session)
        over = max(one.until for one in self.opened) - SESSION_SECONDS
        for one in self.opened:
            if one.digest == digest and max(now, over) < one.until and digest not in self.closed:
                return one.key
        return None


def test_sessions_are_those_that_a_slow_search_finds() -> None:
    """Clocks may be turned, and records come twice and out of order."""
    for seed in range(40):
        draw = Random(seed)  # noqa: S311  (not for secrets)
        fast, slow = Sessions(), SlowSessions()
        held: dict[str, SessionOpened] = {}
        for number in range(60):
            now = number * SESSION_SECONDS // 20
            if held and draw.random() < 0.4:
                session = draw.choice(list(held))
                opened = held[session]
                if draw.random() < 0.5:
                    fast.remove(SessionClosed(opened.digest))
                    slow.closed.add(opened.digest)
            else:
                session = new_session()
                until = now + SESSION_SECONDS + draw.randint(-5000, 5000)
                opened = SessionOpened(session_digest(session), f"key {number % 3}", until)
                held[session] = opened
            fast.add(opened)
            slow.opened.append(opened)
            for one in held:
                assert fast.key_of(one, now) == slow.key_of(one, now)
            assert len(fast) == len({one for one in held if slow_until(slow, held[one])})


def slow_until(slow: SlowSessions, opened: SessionOpened) -> bool:
    """Return whether a session was not over when the newest was opened."""
    return opened.until > max(one.until for one in slow.opened) - SESSION_SECONDS


def test_a_session_is_added_without_a_look_at_the_others() -> None:
    looks: Counter[str] = Counter()

    class Watched:
        """A session that counts who asks when it is over."""

        key = "key"

        def __init__(self, number: int) -> None:
            self.digest = b"%d" % number

        @property
        def until(self) -> int:
            looks["until"] += 1
            return 10**9 + int(self.digest)

    sessions = Sessions()
    for number in range(500):
        sessions.add(cast("SessionOpened", Watched(number)))
    assert len(sessions) == 500
    assert looks["until"] < 5 * 500


def test_nothing_is_kept_of_sessions_that_are_over() -> None:
    sessions = Sessions()
    for number in range(200):
        opened = SessionOpened(b"%d" % number, "key", number * SESSION_SECONDS)
        sessions.add(opened)
        sessions.remove(SessionClosed(opened.digest))
        sessions.remove(SessionClosed(b"of another process %d" % number))
    assert len(sessions) == 1
    assert len(sessions._closed) <= 3
    assert len(sessions._ends) == 1
