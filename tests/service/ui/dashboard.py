"""A dashboard on an engine in memory, for tests that need no browser."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from html import unescape
from typing import Any

from anyio.from_thread import BlockingPortal
from starlette.testclient import TestClient

from foretell import protocol
from foretell.service.engine import Engine
from foretell.service.http import Limits, Metrics, app
from foretell.service.log.memory import MemoryLog
from foretell.service.ui import Site, ui_routes

KEY = "ftk_the-admin-key-of-the-tests"
CAMPAIGN = {"name": "hero", "actions": ["a", "b"], "signals": ["none", "click"], "explore": 0.1}


class Dashboard:
    """A service with its dashboard, and a browser without a screen that keeps cookies."""

    def __init__(self, portal: BlockingPortal, log: MemoryLog | None = None) -> None:
        self.portal = portal
        self.log = log or MemoryLog()
        self.engine = portal.call(self._open)
        limits, metrics = Limits(), Metrics(self.engine)
        pages = ui_routes(Site(self.engine, limits, metrics))
        self.client = TestClient(app(self.engine, limits, metrics, pages), follow_redirects=False)
        self.client.portal = portal

    async def _open(self) -> Engine:
        return await Engine.open(self.log, admin_key=KEY, compiled=False)

    def close(self) -> None:
        self.portal.call(self.engine.close)

    def api(self, method: str, path: str, body: Any = None) -> Any:
        """Ask the API with the admin key; return what it answers."""
        headers = {"Authorization": f"Bearer {KEY}"}
        answer = self.client.request(method, f"/v1{path}", json=body, headers=headers)
        return answer.json() if answer.content else None

    def make_key(self, *scopes: protocol.Scope, campaign: str | None = None) -> protocol.MadeKey:
        name = "-".join((*scopes, campaign or "all"))
        new = protocol.NewKey(name, list(scopes), campaign)
        return self.portal.call(self.engine.make_key, new)

    def sign_in(self, key: str = KEY, **headers: str) -> Any:
        return self.client.post("/ui/sign-in", data={"key": key}, headers=headers)

    def get(self, path: str) -> Any:
        return self.client.get(path)

    def token(self, path: str) -> str:
        """Return the token that the forms of a page hold."""
        found = re.search(r'name="token" value="([0-9a-f]+)"', self.get(path).text)
        assert found, "the page has no form"
        return found[1]

    def post(self, path: str, **fields: str) -> Any:
        """Send the form of a page, as the page would."""
        return self.client.post(path, data={"token": self.token("/ui"), **fields})


async def fill(engine: Engine) -> None:
    """Let the campaign decide, and report all that comes of it."""
    for number in range(80):
        decided, _ = await engine.decide("hero", protocol.DecisionRequest())
        signal = protocol.SignalReport("click" if number % 3 else "none")
        await engine.feedback(decided.decision_id, signal)
        await engine.feedback(decided.decision_id, protocol.RewardReport(float(number % 2)))


def wait_until(condition: Callable[[], Any]) -> None:
    """Wait for what goes on in the background."""
    until = time.monotonic() + 120.0
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


def words(page: str) -> str:
    """Return what a page says, without its markup and its data."""
    without_data = re.sub(r"(?s)<script.*?</script>", " ", page)
    return re.sub(r"[ \n\t]+", " ", unescape(re.sub(r"<[^>]+>", " ", without_data)))
