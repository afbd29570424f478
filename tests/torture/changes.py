"""What administrators do meanwhile: configurations, keys, secrets, copies and restores."""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from foretell.policies.registry import policy as read_policy
from tests.torture.verbs import Body, Refused, Service

if TYPE_CHECKING:
    from tests.torture.book import Book
    from tests.torture.traffic import Traffic

CAMPAIGNS: dict[str, Body] = {
    "stream": {
        "name": "stream",
        "actions": ["a", "b", "c"],
        "signals": ["click", "buy"],
        "policy": "nsd-adaptive",
        "signal_window": 0.1,
        "reward_window": 0.3,
        "explore": 0.05,
    },
    "free": {
        "name": "free",
        "actions": ["a", "b"],
        "signals": ["low", "high"],
        "policy": "ucb",
        "signal_silence": "unknown",
        "reward_silence": "unknown",
        "signal_window": 0.15,
        "reward_window": 0.5,
    },
    "sticky": {
        "name": "sticky",
        "actions": ["a", "b", "c", "d"],
        "signals": ["click"],
        "policy": "sw-ts",
        "signal_window": 0.05,
        "reward_window": 0.1,
        "holdout": 0.1,
        "sticky": True,
    },
}
CHANGED = tuple(CAMPAIGNS)
"""Campaigns whose configuration is changed."""
CAMPAIGNS["plain"] = {
    "name": "plain",
    "actions": ["a", "b"],
    "signals": ["click", "buy"],
    "policy": "nsd-kl-glr",
    "signal_window": 0.1,
    "reward_window": 0.3,
}
POLICIES = ("sw-ts(window={})", "sw-ucb(window={})", "nsd-ucrl2(window={})")
SIGNALS = {
    "plain": ("click", "buy"),
    "stream": ("click", "buy"),
    "free": ("low", "high"),
    "sticky": ("click",),
}
Change = Callable[[Service, str], Awaitable[None]]
MOST_SIGNALS, MOST_SECRETS = 6, 60
_copies = itertools.count()


class Changes:
    """Changes of everything that can be changed, while others decide and report."""

    def __init__(self, traffic: Traffic, folder: Path | None) -> None:
        """Draw from the traffic's generator, and note in its book."""
        self.traffic = traffic
        self.copy: tuple[Path, Book] | None = None
        """The last copy that was taken, and what it must hold."""
        self.folder = folder
        self._deck: list[Change] = []

    async def one(self, service: Service) -> None:
        """Change something; each kind has its turn before any has its next."""
        rng = self.traffic.rng
        if not self._deck:
            self._deck = [
                *(self._explore, self._reward_window, self._signal_window, self._policy),
                *(self._action, self._signal, self._key, self._pause, self._action_status),
                *(self._revoke, self._rotate, self._refit, self._erase, self.back_up),
            ]
            rng.shuffle(self._deck)
        await self._deck.pop()(service, rng.choice(CHANGED))

    async def _explore(self, service: Service, campaign: str) -> None:
        explore = self.traffic.number / 1e6
        await self._patch(service, campaign, {"explore": explore}, f"x/{campaign}/{explore!r}")

    async def _reward_window(self, service: Service, campaign: str) -> None:
        window = 0.2 + self.traffic.number / 1e5
        await self._patch(service, campaign, {"reward_window": window}, f"r/{campaign}/{window!r}")

    async def _signal_window(self, service: Service, campaign: str) -> None:
        window = 0.02 + self.traffic.number / 1e6
        await self._patch(service, campaign, {"signal_window": window}, f"w/{campaign}/{window!r}")

    async def _policy(self, service: Service, campaign: str) -> None:
        drawn = self.traffic.rng.choice(POLICIES).format(self.traffic.number + 100)
        policy = str(read_policy(drawn))
        await self._patch(service, campaign, {"policy": policy}, f"p/{campaign}/{policy}")

    async def _patch(self, service: Service, campaign: str, patch: Body, name: str) -> None:
        await self.traffic.send(service, "patch", {"campaign": campaign, "patch": patch}, name)

    async def _action(self, service: Service, campaign: str) -> None:
        action = f"action-{self.traffic.number}"
        body: Body = {"campaign": campaign, "action": action}
        await self.traffic.send(service, "add_action", body, f"a/{campaign}/{action}")

    async def _action_status(self, service: Service, campaign: str) -> None:
        """Pause the first action, and let it go on."""
        for status in ("paused", "active"):
            body = {"campaign": campaign, "action": "a", "status": status}
            await self.traffic.send(service, "set_action", body, f"as/{campaign}/a")

    async def _signal(self, service: Service, campaign: str) -> None:
        """Add a signal after those there are; somebody else may be faster."""
        try:
            known = (await service.call("campaign", {"campaign": campaign}))["signals"]
        except Refused:
            return
        if len(known) < MOST_SIGNALS:
            signal = f"signal-{self.traffic.number}"
            body = {"campaign": campaign, "patch": {"signals": [*known, signal]}}
            name = f"g/{campaign}/{signal}"
            await self.traffic.send(service, "add_signal", body, name, contended=True)

    async def _pause(self, service: Service, campaign: str) -> None:
        for status in ("pause", "start"):
            await self.set_status(service, campaign, status)

    async def set_status(self, service: Service, campaign: str, status: str) -> None:
        """Pause a campaign, or let it go on."""
        body = {"campaign": campaign, "status": status}
        await self.traffic.send(service, "status", body, f"st/{campaign}")

    async def _refit(self, service: Service, campaign: str) -> None:
        await self.traffic.send(service, "refit", {"campaign": campaign}, f"f/{campaign}")

    async def _key(self, service: Service, _: str) -> None:
        name = f"key-{self.traffic.number}"
        made = await self.traffic.send(service, "key", {"name": name}, f"k/{name}")
        if made is not None:
            self.traffic.book.keys.append(made)

    async def _revoke(self, service: Service, _: str) -> None:
        if not self.traffic.book.keys:
            await self._key(service, "")
        if self.traffic.book.keys:
            key = self.traffic.book.keys.pop()
            await self.traffic.send(service, "revoke", {"id": key}, f"kr/{key}")

    async def _rotate(self, service: Service, _: str) -> None:
        item = self.traffic.book.items.get("s/all")
        if item is None or item.sent < MOST_SECRETS:
            await self.traffic.send(service, "rotate", {}, "s/all")

    async def _erase(self, service: Service, campaign: str) -> None:
        unit = f"gone-{self.traffic.number}"
        ask = {"unit": unit, "context": {"secret": unit}}
        await self.traffic.send(
            service, "decide", {"campaign": campaign, "ask": ask}, f"?{self.traffic.number}"
        )
        body = {"campaign": campaign, "unit": unit}
        await self.traffic.send(service, "erase", body, f"u/{campaign}/{unit}")

    async def back_up(self, service: Service, _: str = "") -> None:
        """Take a copy while others go on."""
        if self.folder is None:
            return
        target = self.folder / f"copy-{next(_copies)}.db"
        book = self.traffic.book.copied()
        try:
            await service.call("backup", {"target": str(target)})
        except Refused as refused:
            if refused.status not in {503, 507}:  # the log is closed, or there is no room
                self.traffic.failures.append(f"failed: backup: {refused.status} {refused}")
            return
        self.traffic.book.done["backup"] += 1
        book.end_copy(self.traffic.book)
        self.forget_copy()
        self.copy = target, book

    async def restore_or_copy(self, service: Service, share: float) -> None:
        """Restore the last copy now and then, or take another; at first there is none."""
        drawn = self.traffic.rng.random()
        if self.copy is None or share <= drawn < 2 * share:
            await self.back_up(service)
        elif drawn < share:
            await self.restore(service)

    async def restore(self, service: Service) -> None:
        """Put the last copy in place of the log; nobody else may be asking for anything."""
        if self.copy is None:
            return
        target, book = self.copy
        self.traffic.book.restoring = book
        try:
            await service.call("restore", {"copy": str(target)})
        except Refused as refused:
            if refused.status == 503:
                return  # it may have been put in place
            self.traffic.book.restoring = None
            self.traffic.failures.append(f"failed: restore: {refused.status} {refused}")
        else:
            self.traffic.book.done["restore"] += 1
            self.traffic.failures += self.traffic.book.become(book)

    def forget_copy(self) -> None:
        """Remove the last copy."""
        if self.copy is not None:
            with suppress(FileNotFoundError):
                self.copy[0].unlink()
            self.copy = None
