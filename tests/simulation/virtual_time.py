"""Time that passes only when a simulation says so: the machine's clocks, and an event loop.

While nothing is ready to run, the loop goes to the moment of the next timer at once. Threads are
simulated too: what would run in one runs in the loop's own, a while later.
"""

from __future__ import annotations

import asyncio
import os
import random
import secrets
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import ModuleType
from typing import Any
from unittest import mock

from foretell.service.log import clock

SECOND = 1_000_000
START = 1_700_000_000 * SECOND
"""What the wall clock reads at the beginning."""


class VirtualTime:
    """The clocks of a machine, under the names that the module `time` has for them."""

    CLOCK_BOOTTIME = 7
    CLOCK_MONOTONIC = 1

    def __init__(self, rng: random.Random) -> None:
        """Begin with a machine that has just been switched on."""
        self.rng = rng
        self.now = 0
        """Microseconds since the simulation began; nothing sets it back."""
        self.wall_ahead = START
        """How far the wall clock is ahead of that."""
        self.boots = 0
        self._booted = 0

    @property
    def boot_id(self) -> str:
        """The name of this boot of the machine."""
        return f"boot-{self.boots}"

    def reboot(self) -> None:
        """Begin another boot, whose clock begins at zero."""
        self.boots += 1
        self._booted = self.now

    def advance(self, microseconds: int) -> None:
        """Let time pass."""
        self.now += max(0, microseconds)

    def time_ns(self) -> int:
        """Return what the wall clock reads."""
        return (self.now + self.wall_ahead) * 1000

    def time(self) -> float:
        """Return what the wall clock reads."""
        return self.time_ns() / 1e9

    def clock_gettime_ns(self, _clock: int) -> int:
        """Return what the boot clock reads."""
        return (self.now - self._booted) * 1000

    def monotonic(self) -> float:
        """Return a time that only passes."""
        return self.now / SECOND

    def monotonic_ns(self) -> int:
        """Return a time that only passes."""
        return self.now * 1000

    def perf_counter(self) -> float:
        """Return the same; now and then much work was done since."""
        if self.rng.random() < 0.02:
            self.advance(self.rng.randrange(5000))
        return self.now / SECOND

    thread_time = process_time = perf_counter

    def __getattr__(self, name: str) -> Any:
        """Return what reads no clock, such as `gmtime`, as it is."""
        return getattr(time, name)

    def sleep(self, seconds: float) -> None:
        """Let time pass for everybody."""
        self.advance(round(seconds * SECOND))


class VirtualLoop(asyncio.BaseEventLoop):
    """An event loop on virtual time, which waits for nothing outside of it."""

    def __init__(self, virtual: VirtualTime) -> None:
        """Begin with nothing to do."""
        super().__init__()
        self.virtual = virtual
        self._selector = self
        self._last_call = 0.0

    def time(self) -> float:
        """Return the virtual time in seconds."""
        return self.virtual.now / SECOND

    def select(self, timeout: float | None) -> list[Any]:
        """Go to the next timer."""
        if timeout is None:
            raise AssertionError("everybody waits, and nothing will happen any more")
        if timeout > 0:
            self.virtual.advance(int(timeout * SECOND) + 1)
        return []

    def _process_events(self, event_list: list[Any]) -> None:
        """Do nothing: there is nothing outside."""

    def _write_to_self(self) -> None:
        """Do nothing: the loop never sleeps."""

    def call_soon_threadsafe(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Any = None
    ) -> asyncio.TimerHandle:
        """Call from another thread: a while later, and in the order of the calls."""
        wait = self.virtual.rng.choice((0.0, 0.0, 0.0001, 0.002))
        self._last_call = max(self.time() + wait, self._last_call + 1e-6)
        return self.call_at(self._last_call, callback, *args, context=context)

    def run_in_executor(  # type: ignore[override]
        self, executor: Any, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        """Run something in another thread: it begins and ends at one moment, a while later."""
        future = self.create_future()

        def run() -> None:
            if future.cancelled():
                return
            try:
                result = func(*args)
            except BaseException as error:  # noqa: BLE001  (whoever waits for it gets it)
                future.set_exception(error)
            else:
                future.set_result(result)

        self.call_later(self.virtual.rng.choice((0.0, 0.001, 0.02)), run)
        return future


@contextmanager
def on_virtual_time(virtual: VirtualTime) -> Iterator[None]:
    """Let the service read these clocks, and draw what it draws at random from their generator."""
    rng = virtual.rng
    drawn: dict[tuple[ModuleType, str], Any] = {
        (secrets, "token_bytes"): lambda count=32: rng.randbytes(count),
        (secrets, "token_hex"): lambda count=32: rng.randbytes(count).hex(),
        (secrets, "token_urlsafe"): lambda count=32: rng.randbytes(count).hex(),
        (secrets, "randbits"): rng.getrandbits,
        (os, "urandom"): rng.randbytes,
        (clock, "_boot_id"): lambda: virtual.boot_id,
    }
    with ExitStack() as patches:
        for (module, name), value in drawn.items():
            patches.enter_context(mock.patch.object(module, name, value))
        for module, name, virtual_name in _readings():
            value = getattr(virtual, virtual_name) if virtual_name else virtual
            patches.enter_context(mock.patch.object(module, name, value))
        yield


def _readings() -> list[tuple[ModuleType, str, str]]:
    """Return where the service reads a clock: by the module, or by a function of it."""
    real = {id(time): ""}
    for name in ("perf_counter", "thread_time", "monotonic", "time_ns", "time", "sleep"):
        real[id(getattr(time, name))] = name
    return [
        (module, name, real[id(value)])
        for module_name, module in sorted(sys.modules.items())
        if module_name.startswith("foretell.service")
        for name, value in sorted(vars(module).items())
        if id(value) in real
    ]
