"""The image: its steps run in an empty file system, and what they make serves without rights."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import tempfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deploy.image import Image, can_be_made_here
from tests.deploy.tools import ROOT, free_port
from tests.service.server_process import CAMPAIGN, KEY

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not can_be_made_here(), reason="no user namespaces, or no Python 3.11 in /usr with venv"
    ),
]


@pytest.fixture(scope="module")
def image() -> Iterator[Image]:
    folder = Path(tempfile.mkdtemp(prefix="foretell-image-"))
    try:
        folder.chmod(0o755)
        yield Image(folder)
    finally:
        shutil.rmtree(folder)


def answer(image: Image, *command: str, **variables: str) -> tuple[int, str]:
    ran = image.run(*command, **variables)
    said, _ = ran.communicate(timeout=120)
    return ran.returncode, said


def test_the_image_serves_decisions_and_stops_when_it_is_told_to(image: Image) -> None:
    port = free_port()
    here = {"FORETELL_HOST": "127.0.0.1", "FORETELL_PORT": str(port), "FORETELL_ADMIN_KEY": KEY}
    assert image.user == "10001:10001"
    server = image.run(*image.entrypoint, *image.command, **here)
    assert server.stdout is not None
    said = ""
    while f"127.0.0.1:{port}" not in said or "serves" not in said:
        line = server.stdout.readline()
        assert line, said
        said += line
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
    for path, body in (("campaigns", CAMPAIGN), ("campaigns/home-hero/decisions", {})):
        asked = urllib.request.Request(
            f"http://127.0.0.1:{port}/v1/{path}", json.dumps(body).encode(), headers
        )
        with urllib.request.urlopen(asked, timeout=60) as got:  # noqa: S310  (our own server)
            assert got.status == 201
    health = [part.replace(":8000/", f":{port}/") for part in image.health]
    assert answer(image, *health) == (0, "")
    os.kill(server.pid, signal.SIGTERM)
    rest, _ = server.communicate(timeout=120)
    assert server.returncode == 0, said + rest
    assert '"stopped"' in rest, "it logs as JSON"
    assert (image.root / "var/lib/foretell/foretell.db").stat().st_size > 0
    assert answer(image, *health)[0] != 0, "a server that does not answer is not healthy"


def test_nothing_but_the_volume_can_be_written(image: Image) -> None:
    for place in ("/opt/foretell/x", "/x", "/etc/x", "/usr/x"):
        status, said = answer(image, "touch", place)
        assert status != 0, place
        assert "Read-only file system" in said or "Permission denied" in said
    for place in ("/var/lib/foretell/x", "/tmp/x"):  # noqa: S108  (the image's own)
        assert answer(image, "touch", place) == (0, "")


def test_the_process_has_no_capability_and_cannot_get_one(image: Image) -> None:
    _, said = answer(image, "grep", "-E", "Cap(Eff|Prm|Bnd)|NoNewPrivs", "/proc/self/status")
    values = dict(line.split(":\t") for line in said.splitlines())
    assert {values[name] for name in ("CapEff", "CapPrm", "CapBnd")} == {"0" * 16}
    assert values["NoNewPrivs"] == "1"


def test_the_image_holds_what_the_lock_pins_and_nothing_else(image: Image) -> None:
    listing = "import importlib.metadata as m; print(*sorted(d.name for d in m.distributions()))"
    status, said = answer(image, "python", "-c", listing)
    assert status == 0, said
    installed = {name.lower().replace("_", "-") for name in said.split()}
    lock = (ROOT / "requirements-serve.lock").read_text("utf-8")
    pinned = set(re.findall(r"^([a-z0-9-]+)==", lock, flags=re.MULTILINE))
    assert installed - {"foretell"} <= pinned
    assert {"foretell", "apsw", "asyncpg", "uvicorn"} <= installed
