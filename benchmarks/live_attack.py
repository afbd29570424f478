"""Strangers without a key: connections that send without end, each in a way of its own.

Called as a program with a port and a number of seconds, it goes on for so long from ten
connections at once, connects again whenever it is cut off, and prints how often that was.
"""

from __future__ import annotations

import socket
import sys
import time
from concurrent.futures import ThreadPoolExecutor

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


def attack(port: int, seconds: float) -> int:
    """Attack for so long, and return how often a connection was cut off."""
    end = time.monotonic() + seconds

    def pour(number: int) -> int:
        begin, part = ATTACKS[number % len(ATTACKS)]
        cut = 0
        while (left := end - time.monotonic()) > 0:
            try:
                with socket.create_connection(("127.0.0.1", port), left) as connection:
                    connection.sendall(begin)
                    while time.monotonic() < end:
                        connection.sendall(part)
            except TimeoutError:
                break
            except OSError:
                cut += 1
        return cut

    with ThreadPoolExecutor(CONNECTIONS) as threads:
        return sum(threads.map(pour, range(CONNECTIONS)))


if __name__ == "__main__":
    print(attack(int(sys.argv[1]), float(sys.argv[2])), flush=True)
