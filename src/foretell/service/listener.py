"""The socket at which a server listens, and its address."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager

from foretell.errors import InvalidInput
from foretell.service.settings import Settings


def bound_socket(settings: Settings) -> socket.socket:
    """Take the port before the database is opened; nobody can connect until it is read."""
    with port_errors_explained(settings):
        family, kind, protocol, _, address = socket.getaddrinfo(
            settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
        except OSError:
            listener.close()
            raise
    return listener


@contextmanager
def port_errors_explained(settings: Settings) -> Iterator[None]:
    """Raise what keeps a server from its port as one sentence."""
    try:
        yield
    except (OSError, UnicodeError) as error:  # the latter: a name that no host can have
        reason = getattr(error, "strerror", None) or error
        raise InvalidInput(
            f"cannot listen at {settings.host} port {settings.port} "
            f"({reason}): choose another with --host and --port"
        ) from None


def url_of(host: str, listener: socket.socket) -> str:
    """Return an address at which the server can be reached from this machine."""
    port = listener.getsockname()[1]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104  (it is replaced)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
