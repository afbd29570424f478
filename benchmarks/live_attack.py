"""Strangers without a key: connections that send without end, each in a way of its own.

Called as a program with a port and a number of seconds, it goes on for so long from ten
connections at once, connects again whenever it is cut off, and prints how often that was.
"""

from __future__ import annotations

import asyncio
import sys

import uvloop

CONNECTIONS = 10
_POST = b"POST /v1/campaigns/small/decisions HTTP/1.1\r\nHost: bench\r\n"
_CHUNKED = _POST + b"Transfer-Encoding: chunked\r\n\r\n"
ATTACKS = (
    (_POST, b"X-Header: something\r\n" * 3000),
    (_POST + b"X-Header: ", b"x" * 65536),
    (b"GET /", b"x" * 65536),
    (_CHUNKED + b"0\r\n", b"X-Trailer: something\r\n" * 3000),
    (_CHUNKED + b"2;x=", b"x" * 65536),
)
"""How each begins, and what it then sends for ever."""


async def attack(port: int, seconds: float) -> int:
    """Attack for so long, and return how often a connection was cut off."""
    cut = 0

    async def pour(begin: bytes, part: bytes) -> None:
        nonlocal cut
        while True:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                writer.write(begin)
                while not writer.transport.is_closing():
                    writer.write(part)
                    await writer.drain()
            except ConnectionError:
                pass
            finally:
                writer.transport.abort()
            cut += 1

    chosen = [ATTACKS[number % len(ATTACKS)] for number in range(CONNECTIONS)]
    try:
        async with asyncio.timeout(seconds):
            await asyncio.gather(*(pour(*one) for one in chosen))
    except TimeoutError:
        return cut
    return cut


if __name__ == "__main__":
    print(uvloop.run(attack(int(sys.argv[1]), float(sys.argv[2]))), flush=True)
