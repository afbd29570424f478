"""A JSON schema as a line of text, for people."""

from __future__ import annotations

import re
from html import escape
from typing import Any

_LIMITS = {
    "minLength": "not empty",
    "maxLength": "at most {} characters",
    "minItems": "at least {}",
    "maxItems": "at most {}",
    "minimum": "≥ {}",
    "exclusiveMinimum": "> {}",
    "maximum": "≤ {}",
    "pattern": "matches {}",
}


def prose(text: str) -> str:
    """Write text with words between backticks as HTML.

    >>> prose("a `b` <c>")
    'a <code>b</code> &lt;c&gt;'
    """
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", escape(text))


def shape(schema: dict[str, Any]) -> str:
    """Say in HTML what a value may be: its type, linked where it has a name.

    >>> shape({"type": "array", "items": {"type": "integer"}})
    'list of integer'
    >>> shape({"anyOf": [{"enum": ["a", "b"]}, {"type": "null"}]})
    '"a" | "b" | null'
    """
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f'<a href="#type-{name}">{name}</a>'
    said = str(schema.get("type", "anything"))
    if "anyOf" in schema:
        said = " | ".join(dict.fromkeys(shape(one) for one in schema["anyOf"]))
    elif "enum" in schema:
        said = " | ".join(f'"{escape(str(one))}"' for one in schema["enum"])
    elif "prefixItems" in schema:
        said = f"[{', '.join(shape(one) for one in schema['prefixItems'])}]"
    elif said == "array":
        said = f"list of {shape(schema['items'])}"
    elif isinstance(schema.get("additionalProperties"), dict):
        said = f"object of {shape(schema['additionalProperties'])}"
    return said


def limits(schema: dict[str, Any]) -> str:
    """Say in HTML which limits a value has to keep.

    >>> limits({"type": "array", "minItems": 2, "items": {"maxLength": 9}})
    'at least 2; each: at most 9 characters'
    """
    said = [
        text.format(f"<code>{escape(schema[key])}</code>" if key == "pattern" else schema[key])
        for key, text in _LIMITS.items()
        if key in schema and "prefixItems" not in schema
    ]
    if "description" in schema:
        said.append(prose(schema["description"]))
    said += [limits(one) for one in schema.get("anyOf", ()) if "type" in one]
    if isinstance(schema.get("items"), dict) and (each := limits(schema["items"])):
        said.append(f"each: {each}")
    return "; ".join(part for part in said if part)
