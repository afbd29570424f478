"""The service over HTTP: plain ASGI around the engine.

A newcomer reads `routes` (what can be asked for), `endpoint` (the way of a request), `handlers`
(what each operation asks of the engine) and `problems` (the answer when something goes wrong).
"""

from foretell.service.http.app import (
    AccessLogMiddleware,
    ShutdownMiddleware,
    app,
    connection_factory,
    with_middleware,
)
from foretell.service.http.limits import Limits
from foretell.service.http.metrics import Metrics
from foretell.service.http.sign_ins import SignIns

__all__ = [
    "AccessLogMiddleware",
    "Limits",
    "Metrics",
    "ShutdownMiddleware",
    "SignIns",
    "app",
    "connection_factory",
    "with_middleware",
]
