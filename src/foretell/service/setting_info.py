"""Settings as people meet them: as flags, as variables, and in a table of the docs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, get_args, get_type_hints

import msgspec
from msgspec import Meta

from foretell.errors import InvalidInput
from foretell.service.settings import Settings

ENV_PREFIX = "FORETELL"
"""In the environment a setting is called this, an underscore, and its name, all in capitals."""


class SettingInfo(NamedTuple):
    """One setting, as people meet it."""

    name: str
    kind: Any
    default: Any
    must_be: str
    description: str

    @property
    def flag(self) -> str:
        """Its flag."""
        return "--" + self.name.replace("_", "-")

    @property
    def variable(self) -> str:
        """Its name in the environment."""
        return f"{ENV_PREFIX}_{self.name.upper()}"

    @property
    def default_text(self) -> str:
        """Its default, as it would be written."""
        if self.default is None:
            return "none"
        if isinstance(self.default, bool):
            return str(self.default).lower()
        return f"{self.default:g}" if isinstance(self.default, float) else str(self.default)

    @property
    def is_switch(self) -> bool:
        """Whether its flag alone switches it on."""
        return isinstance(self.default, bool)

    @property
    def form(self) -> str:
        """The form of its values in a few signs: INTEGER, NUMBER, TEXT, or the choices."""
        parts = list(_parts(self.kind))
        choices = [part for part in parts if isinstance(part, str)]
        kinds = {int: "INTEGER", float: "NUMBER"}
        return "|".join(choices) or next((kinds[part] for part in parts if part in kinds), "TEXT")

    def read(self, value: Any, source: str, *, strict: bool) -> Any:
        """Return a value, or raise InvalidInput; unless `strict`, a number may be a text."""
        try:
            return msgspec.convert(value, self.kind, strict=strict)
        except msgspec.ValidationError:
            raise InvalidInput(f"{source} must be {self.must_be}, got {value!r}") from None


def known_settings() -> dict[str, SettingInfo]:
    """Return every setting by its name."""
    hints = get_type_hints(Settings, include_extras=True)
    return {
        field.name: SettingInfo(
            field.name, hints[field.name], field.default, *_words(hints[field.name])
        )
        for field in msgspec.structs.fields(Settings)
    }


def _words(kind: Any) -> tuple[str, str]:
    meta = next(part for part in _parts(kind) if isinstance(part, Meta))
    return (meta.extra or {})["must_be"], meta.description or ""


def _parts(kind: Any) -> Iterator[Any]:
    for part in (*getattr(kind, "__metadata__", ()), *get_args(kind)):
        yield part
        yield from _parts(part)


def settings_markdown() -> str:
    """Return every setting as a table."""
    rows = ["| flag | variable | default | what |", "|---|---|---|---|"]
    rows += [
        f"| `{one.flag}` | `{one.variable}` | `{one.default_text}` | {one.description} |"
        for one in known_settings().values()
    ]
    return "\n".join(rows) + "\n"
