"""A call of an operation, ready for a shell."""

from __future__ import annotations

import json
import shlex
from typing import Any

_URL = "http://localhost:8000"
_VALUES = {
    "campaign": "home-hero",
    "action": "sale",
    "decision": "$DECISION",
    "unit": "u1",
    "key_id": "$KEY_ID",
}


def curl(path: str, method: str, operation: dict[str, Any]) -> str:
    """Write the command that calls an operation of the OpenAPI document.

    >>> print(curl("/livez", "get", {"security": []}))
    curl http://localhost:8000/livez
    """
    for name, value in _VALUES.items():
        path = path.replace(f"{{{name}}}", value)
    parts = [f"curl {_URL}{path}"]
    if operation["security"]:
        parts.append('-H "Authorization: Bearer $KEY"')
    content = operation.get("requestBody", {}).get("content", {})
    if "application/json" in content:
        body = json.dumps(content["application/json"]["example"], ensure_ascii=False)
        parts += ["-H 'Content-Type: application/json'", f"-d {shlex.quote(body)}"]
    elif content:
        parts += [f"-H 'Content-Type: {next(iter(content))}'", "--data-binary @foretell-backup.db"]
    needed = "post" if content else "get"
    if method != needed:
        parts.insert(1, f"-X {method.upper()}")
    answer = operation.get("responses", {}).get("200", {}).get("content", {})
    if "application/vnd.sqlite3" in answer:
        parts.append("-o foretell-backup.db")
    return " \\\n  ".join(parts)
