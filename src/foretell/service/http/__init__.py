"""The service over HTTP: plain ASGI around the engine.

A newcomer reads `table` (what can be asked for), `endpoint` (the way of a request) and `refusal`
(what a client is told when something goes wrong).
"""

from foretell.service.http.app import app
from foretell.service.http.limits import Limits

__all__ = ["Limits", "app"]
