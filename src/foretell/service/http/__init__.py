"""The service over HTTP: plain ASGI around the engine.

A newcomer reads `routes` (what can be asked for), `endpoint` (the way of a request), `handlers`
(what each operation asks of the engine) and `problems` (the answer when something goes wrong).
"""

from foretell.service.http.app import ShutdownMiddleware, app
from foretell.service.http.bodies import Limits

__all__ = ["Limits", "ShutdownMiddleware", "app"]
