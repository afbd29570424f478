"""The OpenAPI document as a page to read: no script, nothing loaded from anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib.resources import files
from typing import Any

from foretell.service.http.curl import curl
from foretell.service.http.shape import limits, prose, shape

Json = dict[str, Any]


def render(document: Json) -> str:
    """Write the page."""
    style = files(__package__).joinpath("page.css").read_text("utf-8")
    info, types = document["info"], document["components"]["schemas"]
    calls: dict[str, list[tuple[str, str, Json]]] = {tag["name"]: [] for tag in document["tags"]}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            calls[operation["tags"][0]].append((path, method, operation))
    operations = "".join(
        f"<h2>{group}</h2>{''.join(_operation(*one, types) for one in listed)}"
        for group, listed in calls.items()
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{info['title']}: API</title><style>{style}</style></head><body>"
        f"{_contents(calls)}<main><h1>{info['title']} <small>{info['version']}</small></h1>"
        f"<p>{prose(info['description'])}</p>"
        "<p>Examples use <code>$KEY</code>, a key with the scope named, and "
        "<code>$DECISION</code>, the <code>decision_id</code> of a decision. "
        '<a href="/openapi.json">openapi.json</a> says the same to machines.</p>'
        f'{operations}<h2 id="types">Types</h2>{_types(types)}'
        "</main></body></html>"
    )


def _types(types: Json) -> str:
    return "".join(_type(name, types[name]) for name in sorted(types))


def _contents(calls: dict[str, list[tuple[str, str, Json]]]) -> str:
    groups = "".join(
        f"<b>{group}</b>"
        + "".join(f'<a href="#{one["operationId"]}">{one["operationId"]}</a>' for *_, one in listed)
        for group, listed in calls.items()
    )
    return f'<nav aria-label="Operations">{groups}<b><a href="#types">Types</a></b></nav>'


def _operation(path: str, method: str, operation: Json, types: Json) -> str:
    scopes = [scope for one in operation["security"] for scope in one["key"]]
    needs = f"scope <b>{scopes[0]}</b>" if scopes else "no key"
    shown = escape(path).replace("{", "<i>{").replace("}", "}</i>")
    return (
        f'<section id="{operation["operationId"]}"><h3><span class="{method}">{method.upper()}'
        f"</span> <code>{shown}</code> <small>{needs}</small></h3>"
        f"<p>{prose(operation['summary'])}</p>"
        f"{_parameters(operation['parameters'])}{_body(operation, types)}"
        f"<pre><code>{escape(curl(path, method, operation))}</code></pre>"
        f"{_answers(operation['responses'])}</section>"
    )


def _parameters(parameters: list[Json]) -> str:
    rows = [
        (
            f"<code>{one['name']}</code>",
            one["in"],
            shape(one["schema"]),
            f"{prose(one.get('description', ''))} {_limits(one['schema'])}",
        )
        for one in parameters
    ]
    return _table(("parameter", "in", "type", "what"), rows)


def _body(operation: Json, types: Json) -> str:
    body = operation.get("requestBody")
    if body is None:
        return ""
    kinds = " or ".join(
        f"{shape(one['schema'])} as <code>{media}</code>" for media, one in body["content"].items()
    )
    said = f"<p><b>Body{'' if body['required'] else ', optional'}:</b> {kinds}</p>"
    named = [one["schema"]["$ref"] for one in body["content"].values() if "$ref" in one["schema"]]
    return said + "".join(_fields(types[ref.rpartition("/")[2]]) for ref in named)


def _answers(responses: Json) -> str:
    heads = ("status", "what", "body", "headers")
    good: list[tuple[str, ...]] = []
    bad: list[tuple[str, ...]] = []
    for status, answer in sorted(responses.items()):
        bodies = dict.fromkeys(
            shape(one["schema"]) if "$ref" in one["schema"] else f"<code>{media}</code>"
            for media, one in answer.get("content", {}).items()
        )
        headers = ", ".join(f"<code>{name}</code>" for name in answer["headers"])
        mark = f'<b class="s{status[0]}">{status}</b>'
        row = (mark, prose(answer["description"]), ", ".join(bodies), headers)
        (good if status < "300" else bad).append(row)
    statuses = " ".join(sorted(status for status in responses if status >= "300"))
    problems = f"<details><summary>Problems: {statuses}</summary>{_table(heads, bad)}</details>"
    return _table(heads, good) + problems


def _type(name: str, schema: Json) -> str:
    about = prose(schema.get("description", ""))
    return f'<section id="type-{name}"><h3>{name}</h3><p>{about}</p>{_fields(schema)}</section>'


def _fields(schema: Json) -> str:
    required = schema.get("required", ())
    rows = [
        (f"<code>{name}</code>{' *' if name in required else ''}", shape(one), _limits(one))
        for name, one in schema["properties"].items()
    ]
    return _table(("field (* needed)", "type", "what"), rows)


def _limits(schema: Json) -> str:
    default = schema.get("default")
    said = f"default <code>{escape(str(default))}</code>" if default is not None else ""
    return "; ".join(part for part in (limits(schema), said) if part)


def _table(heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    if not rows:
        return ""
    head = "".join(f'<th scope="col">{one}</th>' for one in heads)
    body = "".join(f"<tr>{''.join(f'<td>{one}</td>' for one in row)}</tr>" for row in rows)
    return f"<div><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
