"""The service does what its OpenAPI document says, tried by Schemathesis with all its checks."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

HERE = Path(__file__).parent
KEY = "ftk_the-key-that-tries-everything"
HOOKS = {
    "SCHEMATHESIS_HOOKS": "tests.service.http.schemathesis_hooks",
    "PYTHONPATH": str(HERE.parents[2]),
}
HEADERS = {"Authorization": f"Bearer {KEY}"}


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """A real server with the real engine."""
    command = [sys.executable, "-m", "tests.service.http.live_server", str(tmp_path), KEY]
    with subprocess.Popen(
        command, cwd=HERE.parents[2], stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        port = server.stdout.readline().strip()
        assert port, "the server did not start"
        yield f"http://127.0.0.1:{port}"
        server.terminate()


def known(address: str) -> str:
    """Name a campaign that runs and a decision of it, so that requests get further than 404."""
    path = f"{address}/v1/campaigns/home-hero/decisions"
    made = httpx2.post(path, headers=HEADERS).raise_for_status().json()
    return f'[parameters]\ncampaign = "home-hero"\ndecision = "{made["decision_id"]}"\n'


@pytest.mark.slow
@pytest.mark.parametrize("what", ["anything", "what there is"])
def test_all_checks_of_schemathesis_pass(address: str, tmp_path: Path, what: str) -> None:
    config = tmp_path / "schemathesis.toml"
    rules = (HERE / "schemathesis.toml").read_text("utf-8")
    config.write_text(rules + (known(address) if what == "what there is" else ""), "utf-8")
    result = subprocess.run(
        [
            Path(sys.executable).with_name("schemathesis"),
            f"--config-file={config}",
            "run",
            f"{address}/openapi.json",
            f"--header=Authorization: {HEADERS['Authorization']}",
            "--checks=all",
            "--max-examples=10",
            "--generation-deterministic",
            "--no-color",
        ],
        cwd=tmp_path,
        env=os.environ | HOOKS,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
