"""Sessions of browsers: a random number that the browser has, and of which the log has the digest.

So a session outlives a restart, holds for every process that reads the log, and can be ended;
whoever has read the database, which holds digests alone, can make none. It stands for a key by the
key's id: where the key is not valid any more, the session is not.
"""

from __future__ import annotations

import hashlib
import heapq
import hmac
import math
import re
import secrets

from foretell.service.model.events import SessionClosed, SessionOpened

SESSION_SECONDS = 12 * 3600
"""How long a session is valid."""
_FORMS = b"the forms of a session of foretell"
_SESSION = re.compile(r"[\w-]{43}", re.ASCII)


def new_session() -> str:
    """Make a session that cannot be guessed."""
    return secrets.token_urlsafe(32)


def is_session(text: str) -> bool:
    """Return whether a text has the form of a session, which says nothing about whether it is one.

    >>> is_session(new_session()), is_session("nonsense"), is_session('"' + new_session() + '"')
    (True, False, False)
    """
    return _SESSION.fullmatch(text) is not None


def session_digest(session: str) -> bytes:
    """Return what the log knows a session by."""
    return hashlib.sha256(session.encode("utf-8", "surrogateescape")).digest()


def form_token(session: str) -> str:
    """Return what a form of this session holds, and what no page of another site can know.

    It says nothing about the session.

    >>> form_token("one") == form_token("one"), form_token("one") == form_token("another")
    (True, False)
    """
    return hmac.digest(session.encode("utf-8", "surrogateescape"), _FORMS, "sha256").hex()


class Sessions:
    """The sessions that were opened; a record may come twice, by its writer and by the log."""

    def __init__(self) -> None:
        """Begin without sessions."""
        self._opened: dict[bytes, SessionOpened] = {}
        self._closed: set[bytes] = set()
        self._ends: list[tuple[int, bytes]] = []
        """When each session is over, as a heap: the first one first."""
        self._over = -math.inf
        """What was over at this time is forgotten."""

    def __len__(self) -> int:
        """Count those that are kept."""
        return len(self._opened)

    def add(self, opened: SessionOpened) -> None:
        """Add a session, and forget those that were over when the newest was opened."""
        if opened.digest not in self._opened:
            self._opened[opened.digest] = opened
            heapq.heappush(self._ends, (opened.until, opened.digest))
        self._over = max(self._over, opened.until - SESSION_SECONDS)
        while self._ends[0][0] <= self._over:
            _, over = heapq.heappop(self._ends)
            del self._opened[over]
            self._closed.discard(over)
        if len(self._closed) > len(self._opened):  # some were opened in another process alone
            self._closed &= self._opened.keys()

    def remove(self, closed: SessionClosed) -> None:
        """End a session, for ever."""
        self._closed.add(closed.digest)

    def key_of(self, session: str, now: float) -> str | None:
        """Return the id of the key of a session; None: it is over, or was never opened.

        What is looked up is a digest, so the time taken says nothing about any session.
        """
        digest = session_digest(session)
        found = None if digest in self._closed else self._opened.get(digest)
        return found.key if found is not None and now < found.until else None
