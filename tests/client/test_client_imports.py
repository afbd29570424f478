"""The client is light: neither NumPy nor, until one is made, the HTTP library."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType

import pytest

from foretell import client, protocol

LIGHT = """
import sys
{imports}
heavy = {{"numpy", "httpx2", "sqlite3", "ssl", "asyncio", "logging", "email", "socket",
          "urllib.parse", "foretell.policies", "foretell.protocol.curves"}}
print(",".join(sorted(heavy & set(sys.modules))))
"""
NO_EXTRA = """
import sys
sys.modules["httpx2"] = None
import foretell
try:
    foretell.Client("http://localhost:1")
except foretell.ForetellError as error:
    print(error)
"""


def python(program: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout.strip()


@pytest.mark.parametrize(
    "imports", ["import foretell", "import foretell.client", "from foretell import Client"]
)
def test_importing_the_client_loads_nothing_heavy(imports: str) -> None:
    assert python(LIGHT.format(imports=imports)) == ""


def test_a_client_without_feedback_needs_no_outbox() -> None:
    made = "from foretell import Client; Client('http://localhost:1').close()"
    loaded = python(LIGHT.format(imports=made)).split(",")
    assert "httpx2" in loaded
    assert not {"numpy", "sqlite3", "foretell.policies", "foretell.protocol.curves"} & {*loaded}


@pytest.mark.parametrize("name", [*client.__all__, *protocol.__all__])
def test_every_public_name_is_there(name: str) -> None:
    home = client if name in client.__all__ else protocol
    assert getattr(home, name) is not None


@pytest.mark.parametrize("home", [client, protocol])
def test_a_name_that_is_not_there_is_an_attribute_error(home: ModuleType) -> None:
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        home.Nothing  # noqa: B018


def test_a_missing_extra_is_named() -> None:
    assert "pip install 'foretell[client]'" in python(NO_EXTRA)
