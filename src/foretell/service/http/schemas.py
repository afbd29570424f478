"""JSON schemas of the types of the API, written so that generators of clients read them right.

A field is described by the text under it in its struct. What generators misread is written in
another way: a default makes a field required for some of them, a tuple stops others.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import msgspec

from foretell import protocol
from foretell.field_texts import field_texts
from foretell.protocol.fields import PATTERN_END
from foretell.service.http.operation import Operation

_REF = "#/components/schemas/{name}"
_SAME_FIELDS: dict[type, type] = {
    protocol.CampaignPatch: protocol.NewCampaign,
    protocol.CampaignView: protocol.NewCampaign,
    protocol.SignalReport: protocol.FeedbackItem,
    protocol.RewardReport: protocol.FeedbackItem,
    protocol.VoidReport: protocol.FeedbackItem,
}
"""Structs whose fields mean what those of another struct mean, where they do not say otherwise."""


class Schemas:
    """The JSON schema of every type that the table of operations names."""

    def __init__(self, operations: Iterable[Operation]) -> None:
        """Make all of them: `components` has them by name."""
        kinds: set[Any] = {protocol.ProblemDetails, protocol.FeedbackItem}
        for one in operations:
            kinds |= {one.request, *(answer.kind for answer in one.answers)}
        ordered = sorted(kinds - {None, bytes, dict}, key=lambda kind: kind.__name__)
        _, made = msgspec.json.schema_components(ordered, ref_template=_REF)
        self.components = {
            name: _described(getattr(protocol, name), schema) for name, schema in made.items()
        }
        events = self.components["EventBatch"]["properties"]["events"]
        events["items"] = reference(protocol.FeedbackItem)

    def of(self, kind: Any) -> dict[str, Any]:
        """Return the schema of a body."""
        if kind is None or kind is bytes:
            return {"type": "string", "format": "binary"}
        return {"type": "object"} if kind is dict else reference(kind)


def reference(kind: type) -> dict[str, Any]:
    """Return where the schema of a struct is."""
    return {"$ref": _REF.format(name=kind.__name__)}


def query_fields(kind: type[msgspec.Struct]) -> dict[str, dict[str, Any]]:
    """Return the schema and the description of each parameter of a query."""
    schema = _described(kind, msgspec.json.schema(kind)["$defs"][kind.__name__])
    return {
        name: {"description": field.pop("description"), "schema": field}
        for name, field in schema["properties"].items()
    }


def portable(schema: Any) -> Any:
    """Return a schema without what some generator cannot read, all of its parts included.

    A default is said in the description: a value that is always there is what it means to some.

    >>> portable({"type": "array", "prefixItems": [{"type": "number"}] * 2, "items": False})
    {'type': 'array', 'items': {'type': 'number'}}
    >>> portable({"type": "string", "default": "ndjson"})
    {'type': 'string', 'description': 'Default: `ndjson`.'}
    """
    if isinstance(schema, list):
        return [portable(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    made = {name: portable(part) for name, part in schema.items()}
    if "pattern" in made:
        made["pattern"] = made["pattern"].removesuffix(PATTERN_END)
    if "prefixItems" in made:
        made["items"] = made.pop("prefixItems")[0]
    if (default := made.pop("default", None)) not in (None, "", {}, []):
        shown = default if isinstance(default, str) else json.dumps(default)
        made["description"] = f"{made.get('description', '')} Default: `{shown}`.".strip()
    return made


def _described(kind: type[msgspec.Struct], schema: dict[str, Any]) -> dict[str, Any]:
    """Describe the fields of a struct, and say which of them are always there.

    An answer that does not leave out its defaults has all of its fields.
    """
    config = kind.__struct_config__
    texts = field_texts(_SAME_FIELDS.get(kind, kind)) | field_texts(kind)
    wire_names = dict(zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True))
    for field, name in wire_names.items():
        schema["properties"][name]["description"] = texts.get(field, "")
    if not issubclass(kind, protocol.RequestBody) and not config.omit_defaults:
        schema["required"] = list(wire_names.values())
    return dict(portable(schema))
