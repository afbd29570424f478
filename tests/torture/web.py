"""The crash loop once more, against the real thing: `foretell serve`, over HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import msgspec

from tests.torture.crash import RESTORED, Nursery, alive, gone, nursery
from tests.torture.examine import Totals, examine
from tests.torture.server import KEY, Start, serve_arguments
from tests.torture.traffic import Traffic
from tests.torture.verbs import Body, NoAnswer, Refused

ADDRESS = re.compile(r"http://[0-9.]+:[0-9]+(?=\s)")
MANY_RECORDS = 2500
"""A database with more records is done with, so that checks stay quick."""
FRESH = 10
"""Every so many servers one starts on its own, with all that Python and imports take."""
STARTS = 0.25
"""The share of servers that are killed while they start."""
REFIT_SECONDS = 30.0
"""Seconds after which nobody waits for a refit any more."""


class Web:
    """A server behind its address, asked as all others are."""

    def __init__(self, url: str) -> None:
        self.client = httpx2.AsyncClient(
            base_url=url, headers={"authorization": f"Bearer {KEY}"}, timeout=30.0
        )

    async def call(self, verb: str, body: Body) -> Any:
        """Ask the server."""
        method, path, media, sent = request_of(verb, body)
        headers = {"content-type": media} if sent else {}
        try:
            response = await self.client.request(method, path, content=sent, headers=headers)
            if verb in ("patch", "refit") and response.status_code == 202:
                await self._refitted(f"/v1/campaigns/{body['campaign']}")
        except httpx2.TransportError:
            raise NoAnswer from None
        return answer_of(verb, body, response.status_code, response.content)

    async def _refitted(self, campaign: str) -> None:
        """Wait until a refit is in force: its 202 promised nothing yet."""
        until = time.monotonic() + REFIT_SECONDS
        while time.monotonic() < until:
            seen = await self.client.get(campaign)
            if seen.status_code != 200:
                break
            refit = seen.json()["refit"]
            if refit is None:
                return
            if refit["status"] == "failed":
                raise Refused(409, refit["detail"])
            await asyncio.sleep(0.002)
        raise NoAnswer  # whether it came into force is not known


def request_of(verb: str, body: Body) -> tuple[str, str, str, bytes]:
    """Return the method, the path, the media type and the content of a request."""
    if verb == "restore":
        return "POST", "/v1/restore", "application/vnd.sqlite3", Path(body["copy"]).read_bytes()
    method, path, sent = _request(verb, body)
    content = b"" if sent is None else msgspec.json.encode(sent)
    return method, f"/v1{path}", "application/json", content


def _request(verb: str, body: Body) -> tuple[str, str, Body | None]:  # noqa: C901, PLR0911, PLR0912
    campaign = f"/campaigns/{body.get('campaign')}"
    match verb:
        case "decide":
            return "POST", f"{campaign}/decisions", body["ask"]
        case "signal" | "reward" | "void":
            return "POST", f"/decisions/{body['id']}/{verb}", body["report"]
        case "batch":
            return "POST", "/events/batch", body
        case "create":
            return "POST", "/campaigns", body
        case "campaign":
            return "GET", campaign, None
        case "add_action":
            return "POST", f"{campaign}/actions", {"action": body["action"]}
        case "set_action":
            return "PATCH", f"{campaign}/actions/{body['action']}", {"status": body["status"]}
        case "patch" | "add_signal":
            return "PATCH", campaign, body["patch"]
        case "status":
            return "POST", f"{campaign}/{body['status']}", None
        case "refit":
            return "POST", f"{campaign}/refit", None
        case "key":
            return "POST", "/keys", {"name": body["name"], "scopes": ["read"]}
        case "revoke":
            return "DELETE", f"/keys/{body['id']}", None
        case "rotate":
            return "POST", "/secrets", None
        case "erase":
            return "DELETE", f"{campaign}/units/{body['unit']}", None
        case "report":
            return "GET", f"{campaign}/report", None
        case "backup":
            return "GET", "/backup", None
    raise ValueError(verb)


def answer_of(verb: str, body: Body, status: int, content: bytes) -> Any:  # noqa: PLR0911
    """Return an answer as the load keeps it, or raise `Refused`."""
    if verb == "backup" and status == 200:
        Path(body["target"]).write_bytes(content)
        return None
    try:
        answer: Any = msgspec.json.decode(content) if content else None
    except msgspec.DecodeError:
        raise NoAnswer from None  # it was cut off
    if status >= 300:
        raise Refused(status, answer["detail"])
    match verb:
        case "decide":
            new = status == 201
            return {"decision_id": answer["decision_id"], "action": answer["action"], "new": new}
        case "signal" | "reward" | "void":
            return answer["status"]
        case "batch":
            return [receipt["status"] for receipt in answer["results"]]
        case "key":
            return answer["id"]
        case "campaign" | "report":
            return answer
    return None


class Served:
    """A process of `foretell serve`."""

    def __init__(self, pid: int, path: Path, process: asyncio.subprocess.Process | None) -> None:
        self.pid = pid
        self.printed, self.said = path.with_suffix(".printed"), path.with_suffix(".said")
        self._process = process

    @classmethod
    async def start(cls, path: Path, servers: Nursery | None) -> Served:
        """Start one, forked from a process that has it loaded or on its own; wait for neither."""
        if servers is not None:
            return cls(await servers.start(Start(str(path), str(path), serve=True)), path, None)
        with (
            path.with_suffix(".printed").open("wb") as out,
            path.with_suffix(".said").open("wb") as err,
        ):
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "foretell", *serve_arguments(str(path))),
                stdout=out,
                stderr=err,
                env={**os.environ, "FORETELL_ADMIN_KEY": KEY},
                cwd=path.parent,
            )
        return cls(process.pid, path, process)

    async def ready(self) -> Web:
        """Wait until it listens."""
        ended = False
        while not ended:
            ended = not self._alive()
            if self.printed.exists() and (found := ADDRESS.search(self.printed.read_text())):
                return Web(found[0])
            await asyncio.sleep(0.005)
        raise AssertionError(f"foretell serve did not start: {self.said.read_text()}")

    def _alive(self) -> bool:
        return alive(self.pid) if self._process is None else self._process.returncode is None

    async def kill(self) -> None:
        """Kill it, and wait until it is gone."""
        if self._process is None:
            await gone(self.pid)
        else:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()
        self.printed.unlink(missing_ok=True)


async def run(
    folder: Path, seed: int, kills: int, tell: Callable[[Totals], None] = lambda _: None
) -> Totals:
    """Kill a server again and again, and check at each start what the one before has left."""
    rng = random.Random(seed)  # noqa: S311
    totals = Totals()
    async with nursery() as servers:
        while totals.kills < kills and not totals.violations:
            path = folder / f"web-{totals.databases}.db"
            traffic = Traffic(rng, folder)
            records = 0
            while totals.kills < kills and records < MANY_RECORDS and not totals.violations:
                fresh = totals.kills % FRESH == 0
                death = "start" if rng.random() < STARTS else "load"
                served = await Served.start(path, None if fresh else servers)
                if death == "start":
                    await asyncio.sleep(rng.uniform(0.3, 1.0) if fresh else rng.uniform(0, 0.15))
                else:
                    records = await _life(served, path, traffic, rng, totals)
                await served.kill()
                totals.kills += 1
                totals.by_kind[f"{death}, {'started' if fresh else 'forked'}"] += 1
                totals.violations += traffic.failures
                traffic.failures.clear()
                tell(totals)
            served = await Served.start(path, servers)
            records = await _checked(await served.ready(), path, traffic, totals)
            await served.kill()
            traffic.changes.forget_copy()
            totals.add(traffic.book, records)
    return totals


async def _checked(web: Web, path: Path, traffic: Traffic, totals: Totals) -> int:
    try:
        return (await examine(str(path), traffic.book, web, totals)).records
    finally:
        await web.client.aclose()


async def _life(
    served: Served, path: Path, traffic: Traffic, rng: random.Random, totals: Totals
) -> int:
    """Check what is there, then load the server until it is killed."""
    records = await _checked(await served.ready(), path, traffic, totals)
    web = await served.ready()

    async def load() -> None:
        with contextlib.suppress(NoAnswer):
            await traffic.set_up(web)
            await traffic.resend(web)
            await traffic.changes.restore_or_copy(web, RESTORED)
            await traffic.run(web, 2000)

    task = asyncio.create_task(load())
    if rng.random() < 0.3:
        await asyncio.wait([task], timeout=rng.uniform(0.0, 0.3))
    else:
        last = traffic.number + rng.randint(5, 120)
        while traffic.number < last and not task.done():  # noqa: ASYNC110  (nothing tells of it)
            await asyncio.sleep(0.002)
    await served.kill()
    await task
    await web.client.aclose()
    return records
