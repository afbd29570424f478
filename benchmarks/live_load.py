"""A load generator for the service: raw HTTP/1.1 over many connections, in its own process.

Open loop: requests are due at fixed moments, and a latency counts from the moment at which the
request was due, so that a slow answer is felt by all that wait behind it. Closed loop: each
connection sends its next request when the last is answered, which finds the most the server
takes. Called as a program it reads a job from its input and prints what it found, as JSON, and the
CPU seconds that it took itself.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import deque
from typing import Any

import uvloop


class Connection(asyncio.Protocol):
    """One connection that sends one request at a time."""

    def __init__(self) -> None:
        """Wait to be connected."""
        self.transport: Any = None
        self.answered: asyncio.Future[bytes] | None = None
        self._got = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        """Gather an answer until it is whole."""
        self._got += data
        head = self._got.find(b"\r\n\r\n")
        if head < 0:
            return
        start = self._got.lower().find(b"content-length:", 0, head) + 15
        length = int(self._got[start : self._got.find(b"\r\n", start)])
        if len(self._got) < head + 4 + length:
            return
        whole, self._got = bytes(self._got), bytearray()
        if self.answered is not None:
            self.answered.set_result(whole)

    def connection_lost(self, exc: Exception | None) -> None:
        """Fail whoever waits."""
        if self.answered is not None and not self.answered.done():
            self.answered.set_exception(exc or ConnectionError("the server closed"))

    async def ask(self, request: bytes) -> bytes:
        """Send a request and give its answer."""
        self.answered = asyncio.get_running_loop().create_future()
        self.transport.write(request)
        answer = await self.answered
        if not answer.startswith(b"HTTP/1.1 20"):
            raise RuntimeError(answer[:500].decode())
        return answer


def request(path: str, key: str, body: bytes) -> bytes:
    """Write a request."""
    return (
        f"POST {path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {key}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode() + body


async def closed_loop(port: int, count: int, seconds: float, asked: bytes) -> float:
    """Return the requests per second that the server takes from so many connections."""
    connections = await _connect(port, count)
    until = time.perf_counter() + seconds
    done = 0

    async def press(connection: Connection) -> None:
        nonlocal done
        while time.perf_counter() < until:
            await connection.ask(asked)
            done += 1

    begun = time.perf_counter()
    await asyncio.gather(*map(press, connections))
    return done / (time.perf_counter() - begun)


async def open_loop(
    port: int, count: int, rate: float, seconds: float, asked: bytes
) -> list[float]:
    """Return the latencies of requests that are due at a fixed rate, in seconds."""
    connections = await _connect(port, count)
    begun = time.perf_counter() + 0.05
    due = deque(begun + number / rate for number in range(int(rate * seconds)))
    latencies: list[float] = []

    async def serve(connection: Connection) -> None:
        while due:
            moment = due.popleft()
            await _until(moment, 0.0015 if count == 1 else 0.0)
            await connection.ask(asked)
            latencies.append(round(time.perf_counter() - moment, 6))

    await asyncio.gather(*map(serve, connections))
    return latencies


async def both_open_loops(
    ports: list[int], count: int, rate: float, seconds: float, asked: bytes
) -> list[list[float]]:
    """Return the latencies of two servers that are asked in turns, so that both feel the same."""

    async def second() -> list[float]:
        await asyncio.sleep(0.5 / rate)
        return await open_loop(ports[1], count, rate, seconds, asked)

    first = open_loop(ports[0], count, rate, seconds, asked)
    return list(await asyncio.gather(first, second()))


async def many(port: int, count: int, requests: list[bytes]) -> tuple[float, list[dict[str, Any]]]:
    """Send every request once, and return the seconds it took and the answers."""
    connections = await _connect(port, count)
    left = deque(requests)
    answers: list[bytes] = []

    async def press(connection: Connection) -> None:
        while left:
            answers.append(await connection.ask(left.popleft()))

    begun = time.perf_counter()
    await asyncio.gather(*map(press, connections))
    seconds = time.perf_counter() - begun
    return seconds, [json.loads(answer.partition(b"\r\n\r\n")[2]) for answer in answers]


async def _until(moment: float, awake: float) -> None:
    """Wait, the last bit awake: a timer may be a millisecond late, which is no latency."""
    await asyncio.sleep(max(0.0, moment - time.perf_counter() - awake))
    while time.perf_counter() < moment:  # noqa: ASYNC110  (it is the moment that is waited for)
        await asyncio.sleep(0)


async def _connect(port: int, count: int) -> list[Connection]:
    loop = asyncio.get_running_loop()
    made = [await loop.create_connection(Connection, "127.0.0.1", port) for _ in range(count)]
    return [protocol for _, protocol in made]


async def _work(job: dict[str, Any]) -> tuple[Any, float]:
    began = time.process_time()
    found = await _found(job)
    return found, time.process_time() - began


async def _found(job: dict[str, Any]) -> Any:
    asked = request(job["path"], job["key"], json.dumps(job.get("body", {})).encode())
    count = job["connections"]
    if job["kind"] == "both":
        return await both_open_loops(job["ports"], count, job["rate"], job["seconds"], asked)
    port = job["port"]
    if job["kind"] == "closed":
        return await closed_loop(port, count, job["seconds"], asked)
    if job["kind"] == "open":
        return await open_loop(port, count, job["rate"], job["seconds"], asked)
    bodies = [request(job["path"], job["key"], body.encode()) for body in job["bodies"]]
    return await many(port, count, bodies)


if __name__ == "__main__":
    print(json.dumps(uvloop.run(_work(json.load(sys.stdin)))))
