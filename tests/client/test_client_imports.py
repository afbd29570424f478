"""The client is light: neither NumPy nor, until one is made, the HTTP library."""

from __future__ import annotations

import subprocess
import sys

import pytest

LIGHT = """
import sys
{imports}
print(",".join(sorted({{"numpy", "httpx2", "sqlite3", "foretell.policies"}} & set(sys.modules))))
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
    ("imports", "loaded"),
    [
        ("import foretell", ""),
        ("import foretell.client", "sqlite3"),
        ("from foretell import Client, AsyncClient", "sqlite3"),
        ("from foretell import Client; Client('http://localhost:1').close()", "httpx2,sqlite3"),
    ],
)
def test_importing_the_client_loads_nothing_heavy(imports: str, loaded: str) -> None:
    assert python(LIGHT.format(imports=imports)) == loaded


def test_a_missing_extra_is_named() -> None:
    assert "pip install 'foretell[client]'" in python(NO_EXTRA)
