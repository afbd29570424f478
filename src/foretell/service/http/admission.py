"""Who is let in: a share of the requests in flight for each key, and budgets a second.

The fewer places are left, the smaller the share of a key where others are served too: so a few
keys, however much they send and however slowly, leave places for the rest.

A budget is a bucket that fills at its rate, up to what a second brings. A request is let in while
there is something in it, and then takes what it takes: one that takes more leaves a debt, and the
next waits until it is paid. So a budget holds on average, however large one request is.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from time import monotonic

from foretell.service.http.limits import Limits
from foretell.service.http.responses import encode
from foretell.service.model.errors import OverBudget, Overloaded
from foretell.service.model.keys import Caller

CROWDED = 2
"""Where others are served too, a key has at most so many times the places that are left."""
MAX_HELD_BYTES = 64 << 20
"""Bytes of bodies that are not whole yet, of all requests but those of administrators."""


class Bucket:
    """What is left of a budget."""

    __slots__ = ("_at", "_left", "_rate", "_what")

    def __init__(self, rate: float, what: str) -> None:
        """Begin full, with what a second brings, and with one at the least."""
        self._rate = rate
        self._what = what
        self._left = max(rate, 1.0)
        self._at = float("-inf")

    def check(self, now: float) -> None:
        """Raise OverBudget unless there is one left, of whatever it is."""
        self._left = min(max(self._rate, 1.0), self._left + (now - self._at) * self._rate)
        self._at = now
        if self._left < 1:
            seconds = ceil((1 - self._left) / self._rate)
            raise OverBudget(
                f"the key has used up its {self._what}, {self._rate:g} a second: "
                f"send the same again in {seconds} s, or ask for a larger budget",
                seconds,
            )

    def take(self, amount: int) -> None:
        """Take something out, more than there is if need be."""
        self._left -= amount


class HeldBytes:
    """The bytes of all bodies that are not whole yet."""

    __slots__ = ("size",)

    def __init__(self) -> None:
        """Begin with none."""
        self.size = 0


class KeyUse:
    """What the requests of one key take."""

    __slots__ = ("_held", "bytes", "context", "in_flight", "requests")

    def __init__(self, limits: Limits, held: HeldBytes) -> None:
        """Begin with full budgets, where there are any."""
        self._held = held
        self.in_flight = 0
        self.requests = _bucket(limits.key_requests, "requests")
        self.bytes = _bucket(limits.key_bytes, "bytes of bodies")
        self.context = _bucket(limits.key_context, "bytes of stored context")

    def take(self, size: int) -> None:
        """Take the bytes of a part of a body, whatever becomes of it."""
        if self.bytes is not None:
            self.bytes.take(size)

    def hold(self, size: int) -> None:
        """Hold a part of a body that is not whole yet, or raise; less than 0 gives it back."""
        self._held.size += size
        if size > 0 and self._held.size > MAX_HELD_BYTES:
            raise Overloaded("too many bodies are being sent slowly: try again soon")


def _bucket(rate: float | None, what: str) -> Bucket | None:
    return None if rate is None else Bucket(rate, what)


class Admission:
    """The requests in flight, altogether and of each key."""

    def __init__(self, limits: Limits, clock: Callable[[], float] = monotonic) -> None:
        """Begin with none; `clock` is what budgets fill by."""
        self._limits = limits
        self._clock = clock
        self._in_flight = 0
        self._held = HeldBytes()
        self._of_key: dict[str, KeyUse] = {}
        self.has_budgets = any((limits.key_requests, limits.key_bytes, limits.key_context))

    def enter(self, caller: Caller) -> KeyUse:
        """Let a request of a key in, or raise; whoever is let in must leave."""
        use = self._of_key.get(caller.author.id)
        if use is None:
            use = self._of_key[caller.author.id] = KeyUse(self._limits, self._held)
        if use.in_flight >= self._limits.in_flight_per_key:
            raise Overloaded(
                f"{use.in_flight} requests of this key are being served, and no more are at once: "
                f"try again soon"
            )
        if self._in_flight >= self._limits.in_flight:
            raise Overloaded("too many requests are being served: try again soon")
        left = self._limits.in_flight - self._in_flight
        if use.in_flight >= CROWDED * left and use.in_flight < self._in_flight:
            raise Overloaded(
                f"{use.in_flight} requests of this key are being served, and {left} places are "
                f"left for all others: try again soon"
            )
        if self.has_budgets:
            self._check_budgets(use)
        use.in_flight += 1
        self._in_flight += 1
        return use

    def leave(self, use: KeyUse) -> None:
        """Let a request out."""
        use.in_flight -= 1
        self._in_flight -= 1

    def _check_budgets(self, use: KeyUse) -> None:
        now = self._clock()
        if use.bytes is not None:
            use.bytes.check(now)
        if use.requests is not None:
            use.requests.check(now)
            use.requests.take(1)

    def take_context(self, use: KeyUse, context: object) -> None:
        """Take the bytes that a context will be stored with, or raise."""
        if use.context is not None and context is not None:
            use.context.check(self._clock())
            use.context.take(len(encode(context)))
