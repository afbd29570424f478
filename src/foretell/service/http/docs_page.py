"""The OpenAPI document as a page to read: no script, nothing loaded from anywhere.

The template is `pages/templates/api.html`. What it is given is plain text, in which a word between
backticks is code, or the name of a type where types are shown.
"""

from __future__ import annotations

import json
import shlex
from typing import Any

from foretell.pages import render

_URL = "http://localhost:8000"
_VALUES = {
    "campaign": "home-hero",
    "action": "sale",
    "decision": "$DECISION",
    "unit": "u1",
    "key_id": "$KEY_ID",
}
_LIMITS = {
    "minLength": "not empty",
    "maxLength": "at most {} characters",
    "minItems": "at least {}",
    "maxItems": "at most {}",
    "minimum": "≥ {}",
    "exclusiveMinimum": "> {}",
    "maximum": "≤ {}",
    "pattern": "matches `{}`",
}


def render_docs(document: dict[str, Any]) -> str:
    """Return the page that shows an OpenAPI document."""
    groups: dict[str, list[dict[str, Any]]] = {tag["name"]: [] for tag in document["tags"]}
    url = _URL + document["servers"][0]["url"].rstrip("/")
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            command = curl(path, method, operation, url)
            shown = {"path": path, "method": method, "curl": command, **operation}
            groups[operation["tags"][0]].append(shown)
    return render(
        "api.html",
        info=document["info"],
        groups=groups,
        types=document["components"]["schemas"],
        type_text=type_text,
        limits_text=limits_text,
    )


def curl(path: str, method: str, operation: dict[str, Any], url: str = _URL) -> str:
    """Return the shell command that calls an operation of the OpenAPI document.

    >>> print(curl("/livez", "get", {"security": []}))
    curl http://localhost:8000/livez
    """
    for name, value in _VALUES.items():
        path = path.replace(f"{{{name}}}", value)
    parts = [f"curl {url}{path}"]
    if operation["security"]:
        parts.append('-H "Authorization: Bearer $KEY"')
    content = operation.get("requestBody", {}).get("content", {})
    if "application/json" in content:
        body = json.dumps(content["application/json"]["example"], ensure_ascii=False)
        parts += ["-H 'Content-Type: application/json'", f"-d {shlex.quote(body)}"]
    elif content:
        parts += [f"-H 'Content-Type: {next(iter(content))}'", "--data-binary @foretell-backup.db"]
    default_method = "post" if content else "get"
    if method != default_method:
        parts.insert(1, f"-X {method.upper()}")
    answer = operation.get("responses", {}).get("200", {}).get("content", {})
    if "application/vnd.sqlite3" in answer:
        parts.append("-o foretell-backup.db")
    return " \\\n  ".join(parts)


def type_text(schema: dict[str, Any]) -> str:
    """Return in words what a value may be, with names of types between backticks.

    >>> type_text({"type": "array", "items": {"$ref": "#/components/schemas/Receipt"}})
    'list of `Receipt`'
    >>> type_text({"anyOf": [{"enum": ["a", "b"]}, {"type": "null"}]})
    '"a" | "b" | null'
    """
    text = str(schema.get("type", "anything"))
    if "$ref" in schema:
        text = f"`{schema['$ref'].rpartition('/')[2]}`"
    elif "anyOf" in schema:
        text = " | ".join(dict.fromkeys(type_text(one) for one in schema["anyOf"]))
    elif "enum" in schema:
        text = " | ".join(f'"{one}"' for one in schema["enum"])
    elif text == "array":
        text = f"list of {type_text(schema['items'])}"
    elif isinstance(schema.get("additionalProperties"), dict):
        text = f"object of {type_text(schema['additionalProperties'])}"
    return text


def limits_text(schema: dict[str, Any]) -> str:
    """Return in words what a value is, and which limits it has to keep.

    >>> limits_text({"type": "array", "minItems": 2, "items": {"maxLength": 9}})
    'at least 2; each: at most 9 characters'
    >>> limits_text({"type": "integer", "minimum": 0, "description": "How many. Default: `100`."})
    'How many. Default: `100`. (≥ 0)'
    """
    text, limits = schema.get("description", ""), _limits(schema)
    return f"{text} ({limits})" if text and limits else text or limits


def _limits(schema: dict[str, Any]) -> str:
    texts = [text.format(schema[key]) for key, text in _LIMITS.items() if key in schema]
    texts += [_limits(one) for one in schema.get("anyOf", ()) if "type" in one]
    if isinstance(schema.get("items"), dict) and (each := _limits(schema["items"])):
        texts.append(f"each: {each}")
    return "; ".join(text for text in texts if text)
