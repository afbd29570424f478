"""Connections to a service that are kept, and the HTTP/1.1 that is spoken over them.

A decision takes a tenth of a millisecond of the client's processor so, and five times as much with
a library that can do everything. What this cannot do is left to the library: proxies, and bodies
that are files or are read part by part.
"""

from __future__ import annotations

import math
import re
import select
import socket
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from foretell.client.backoff import RetryBudget
from foretell.client.calls import ApiCall, HttpReply
from foretell.client.replies import ReplyBody, tls
from foretell.client.resolver import is_address, resolved

if TYPE_CHECKING:
    from foretell.client.address import ServiceAddress

MAX_IDLE = 20
"""Connections that are kept while nobody uses them."""
MAX_HEAD_BYTES = 1 << 16
MAX_WRITE_BYTES = 16 * 1024
"""Bytes that are written at once: the time is looked at before each write."""
READ_BYTES = 1 << 16
TIMEOUT_SLACK = 0.001
"""Seconds by which the socket's timeout may be off: each that is set is a call of the system."""
NO_BODY = frozenset({204, 304})
NO_ANSWER = "the answer is not one of HTTP/1.1"
CUT_OFF = "the service closed the connection before its answer was whole"


class KeptConnection:
    """One connection, which sends one request at a time."""

    def __init__(self, opened: socket.socket) -> None:
        """Use a socket that is connected."""
        self._socket = opened
        self._timeout = math.inf
        """That of the socket, once it is set."""
        self._poll = _reading(opened)
        self._got = b""
        """What has come and is not read yet."""
        self.keeps = True
        """Whether another request may be sent."""

    def send(self, request: bytes, budget: RetryBudget) -> HttpReply:
        """Send a request, and return the answer that has come whole."""
        self.keeps = False
        try:
            self._write(request, budget)
        except (BrokenPipeError, ConnectionResetError):  # it may have answered before
            self._got = self._receive(budget)
            if not self._got:
                raise
        version, status, headers = self._read_head(budget)
        while status < 200:  # it says that it goes on
            version, status, headers = self._read_head(budget)
        body = b"" if status in NO_BODY else self._read_body(headers, budget)
        closes = "close" in headers.get("connection", "")
        self.keeps = version == "http/1.1" and not closes and not self._got
        content_type, retry_after = headers.get("content-type", ""), headers.get("retry-after", "")
        return HttpReply(status, body, content_type.strip(), retry_after.strip())

    def is_idle(self) -> bool:
        """Return whether nothing has come since the last answer: not even the end."""
        if self._poll is not None:
            return not self._poll.poll(0)
        return not select.select([self._socket], [], [], 0)[0]

    def close(self) -> None:
        """Close, also while another thread waits for an answer."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _set_timeout(self, budget: RetryBudget) -> None:
        """Let the next read or write take no longer than what is left."""
        left = budget.left_or_raise()
        if not -TIMEOUT_SLACK < left - self._timeout < TIMEOUT_SLACK:
            self._timeout = max(left, TIMEOUT_SLACK)
            self._socket.settimeout(self._timeout)

    def _write(self, request: bytes, budget: RetryBudget) -> None:
        rest = request if len(request) <= MAX_WRITE_BYTES else memoryview(request)
        while rest:
            self._set_timeout(budget)
            rest = rest[self._socket.send(rest[:MAX_WRITE_BYTES]) :]

    def _receive(self, budget: RetryBudget) -> bytes:
        """Wait for more, and return it; nothing is the end."""
        self._set_timeout(budget)
        return self._socket.recv(READ_BYTES)

    def _read_until(self, mark: bytes, budget: RetryBudget) -> bytes:
        """Read up to a mark, which is not part of what is returned."""
        while (end := self._got.find(mark)) < 0:
            if len(self._got) > MAX_HEAD_BYTES:
                raise ValueError(NO_ANSWER)
            part = self._receive(budget)
            if not part:
                raise ConnectionError(CUT_OFF)
            self._got += part
        found, self._got = self._got[:end], self._got[end + len(mark) :]
        return found

    def _read_exactly(self, size: int, budget: RetryBudget) -> bytes:
        found, self._got = self._got[:size], self._got[size:]
        if len(found) == size:
            return found
        gathered = bytearray(found)
        while len(gathered) < size:
            part = self._receive(budget)
            if not part:
                raise ConnectionError(CUT_OFF)
            gathered += part
        self._got = bytes(gathered[size:])
        return bytes(gathered[:size])

    def _read_head(self, budget: RetryBudget) -> tuple[str, int, dict[str, str]]:
        """Return the version, the status and the headers, in lower case; the last of each name."""
        text = self._read_until(b"\r\n\r\n", budget).decode("latin-1").lower()
        first, *lines = text.split("\r\n")
        version, status = first[:8], first[9:12]
        if not version.startswith("http/1.") or not status.isdecimal():
            raise ValueError(NO_ANSWER)
        try:
            return version, int(status), dict([line.split(":", 1) for line in lines])
        except ValueError as error:
            raise ValueError("the answer has a header without a value") from error

    def _read_body(self, headers: dict[str, str], budget: RetryBudget) -> bytes:
        if "chunked" in headers.get("transfer-encoding", ""):
            return self._read_chunks(budget)
        length = headers.get("content-length")
        if length is None:
            return self._read_to_end(budget)
        if not length.strip().isdecimal():
            raise ValueError("the answer does not say how long it is")
        size = int(length)
        ReplyBody.check(size)
        return self._read_exactly(size, budget)

    def _read_chunks(self, budget: RetryBudget) -> bytes:
        body = ReplyBody()
        while size := _chunk_size(self._read_until(b"\r\n", budget)):
            ReplyBody.check(len(body) + size)
            body.add(self._read_exactly(size, budget))
            self._read_until(b"\r\n", budget)
        while self._read_until(b"\r\n", budget):  # what comes after the body is not used
            pass
        return bytes(body)

    def _read_to_end(self, budget: RetryBudget) -> bytes:
        body = ReplyBody(self._got)
        while part := self._receive(budget):
            body.add(part)
        self._got = b"at its end"
        return bytes(body)


def _reading(opened: socket.socket) -> select.poll | None:
    """Return what looks whether something has come; None on systems without it."""
    if not hasattr(select, "poll"):
        return None
    looks = select.poll()
    looks.register(opened, select.POLLIN)
    return looks


def _chunk_size(line: bytes) -> int:
    size = line.partition(b";")[0].strip()
    if not re.fullmatch(rb"[0-9a-fA-F]{1,16}", size):
        raise ValueError("the answer does not say how long a part of it is")
    return int(size, 16)


def _lines(headers: Mapping[str, str]) -> str:
    """Return headers as they are sent."""
    return "".join(f"{name}: {value}\r\n" for name, value in headers.items())


class KeptConnections:
    """The connections to one service; any thread may use them."""

    def __init__(self, address: ServiceAddress) -> None:
        """Connect when first asked."""
        import httpx2

        url = httpx2.URL(address.url)
        self._host = url.raw_host.decode("ascii")
        self._secure = url.scheme == "https"
        self._port = url.port or (443 if self._secure else 80)
        self._path = url.raw_path.decode("ascii").rstrip("/")
        self._headers = {"Host": url.netloc.decode("ascii"), **address.headers}
        self._lines = _lines(self._headers)
        """Those headers as they are sent, for the many calls that have no others."""
        self._idle: list[KeptConnection] = []
        self._used: set[KeptConnection] = set()
        self.closed = False

    def send(self, call: ApiCall, budget: RetryBudget) -> HttpReply:
        """Send a call with a body that is at hand; raise what goes wrong on the network."""
        request = self._request(call)
        connection = self._kept() or self._connect(budget)
        self._used.add(connection)
        try:
            return connection.send(request, budget)
        finally:
            self._used.discard(connection)
            if connection.keeps and not self.closed and len(self._idle) < MAX_IDLE:
                self._idle.append(connection)
            else:
                connection.close()

    def close(self) -> None:
        """Close every connection, those too over which somebody waits for an answer."""
        self.closed = True
        for connection in (*self._used, *self._idle):
            connection.close()
        self._idle.clear()

    def _request(self, call: ApiCall) -> bytes:
        assert isinstance(call.body, bytes)  # noqa: S101  (others go through the library)
        lines = _lines({**self._headers, **call.headers}) if call.headers else self._lines
        head = (
            f"{call.method} {self._path}{call.path} HTTP/1.1\r\n"
            f"{lines}Content-Length: {len(call.body)}\r\n\r\n"
        )
        return head.encode("ascii") + call.body

    def _kept(self) -> KeptConnection | None:
        """Return a connection that is still open, if there is one."""
        while True:
            try:
                connection = self._idle.pop()
            except IndexError:
                return None
            if connection.is_idle():
                return connection
            connection.close()

    def _connect(self, budget: RetryBudget) -> KeptConnection:
        """Connect to the first address of the host that answers; they share the time."""
        known = is_address(self._host)
        hosts = [self._host] if known else resolved(self._host, self._port, budget.left())
        failed: OSError = ConnectionError("the host has no address")
        for tried, host in enumerate(hosts):
            try:
                seconds = budget.left() / (len(hosts) - tried)
                return KeptConnection(self._opened(host, seconds, budget))
            except OSError as error:
                failed = error
        raise failed

    def _opened(self, host: str, seconds: float, budget: RetryBudget) -> socket.socket:
        opened = socket.create_connection((host, self._port), timeout=seconds)
        try:
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._secure:
                opened.settimeout(budget.left())
                return tls().wrap_socket(opened, server_hostname=self._host)
        except BaseException:
            opened.close()
            raise
        return opened
