"""The crash loop once more, against the real thing: `foretell serve`, over HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import msgspec

from tests.torture.crash import RESTORED
from tests.torture.examine import Totals, examine
from tests.torture.traffic import Traffic
from tests.torture.verbs import Body, NoAnswer, Refused

KEY = "ftk_torture-torture-torture-torture"
ADDRESS = re.compile(r"http://[0-9.]+:[0-9]+")


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
        except httpx2.TransportError:
            raise NoAnswer from None
        return answer_of(verb, body, response.status_code, response.content)


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

    def __init__(self, process: asyncio.subprocess.Process, said: Path) -> None:
        self.process = process
        self.said = said
        """What it wrote to standard error."""

    @classmethod
    async def start(cls, path: Path) -> Served:
        """Start one, without waiting for it."""
        said = path.with_suffix(".said")
        with said.open("wb") as file:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "foretell", "serve", "--db", str(path), "--port", "0"),
                stdout=asyncio.subprocess.PIPE,
                stderr=file,
                env={**os.environ, "FORETELL_ADMIN_KEY": KEY},
                cwd=path.parent,
            )
        return cls(process, said)

    async def ready(self) -> Web:
        """Wait until it listens."""
        assert self.process.stdout is not None
        while line := (await self.process.stdout.readline()).decode():
            if found := ADDRESS.search(line):
                return Web(found[0])
        raise AssertionError(f"foretell serve did not start: {self.said.read_text()}")

    async def kill(self) -> None:
        """Kill it, and wait until it is gone."""
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        assert self.process.stdout is not None
        await self.process.stdout.read()
        await self.process.wait()


async def run(
    folder: Path, seed: int, kills: int, tell: Callable[[Totals], None] = lambda _: None
) -> Totals:
    """Kill a server again and again, a third of the times while it starts."""
    rng = random.Random(seed)  # noqa: S311
    totals = Totals()
    while totals.kills < kills:
        path = folder / f"web-{totals.databases}.db"
        traffic = Traffic(rng, folder)
        records = 0
        while totals.kills < kills and records < 3000:
            starts = rng.random() < 0.3
            await _life(path, traffic, rng, starts=starts)
            totals.kills += 1
            totals.by_kind["start" if starts else "time"] += 1
            served = await Served.start(path)
            web = await served.ready()
            try:
                records = (await examine(str(path), traffic.book, web, totals)).records
            finally:
                await web.client.aclose()
                await served.kill()
            totals.violations += traffic.failures
            traffic.failures.clear()
            tell(totals)
        totals.add(traffic.book, records)
    return totals


async def _life(path: Path, traffic: Traffic, rng: random.Random, *, starts: bool) -> None:
    served = await Served.start(path)
    if starts:
        await asyncio.sleep(rng.uniform(0.3, 1.0))
        await served.kill()
        return
    web = await served.ready()

    async def load() -> None:
        with contextlib.suppress(NoAnswer):
            await traffic.set_up(web)
            await traffic.resend(web)
            if rng.random() < RESTORED:
                await traffic.changes.restore(web)
            await traffic.run(web, 2000)

    task = asyncio.create_task(load())
    await asyncio.wait([task], timeout=rng.uniform(0.1, 0.8))
    await served.kill()
    await task
    await web.client.aclose()
