"""A TOML file with settings.

`foretell serve` takes a setting from its flag, else the environment, else this file.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from foretell.errors import InvalidInput, UnknownName
from foretell.service.setting_info import known_settings


def read_settings_file(path: Path) -> dict[str, Any]:
    """Return the settings in a TOML file; every value is checked, also if a flag replaces it."""
    try:
        written = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise InvalidInput(f"there is no settings file {str(path)!r}: check its name") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{str(path)!r} is no TOML file: {error}") from None
    known = known_settings()
    for name in written:
        if name not in known:
            raise UnknownName.of("setting", name, known, where=f"in {str(path)!r}")
    return {
        name: known[name].read(value, f"{name} in {str(path)!r}", strict=True)
        for name, value in written.items()
    }
