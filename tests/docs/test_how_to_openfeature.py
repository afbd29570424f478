"""docs/how-to/openfeature.md is true: its Python runs against a real server."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.service.server_process import KEY, Server, environment

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "openfeature.md"


@pytest.mark.slow
def test_the_code_of_the_page_runs(tmp_path: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), flags=re.DOTALL)
    campaign = {"name": "home-hero", "actions": ["sale", "new"], "signals": ["none", "click"]}
    with Server(tmp_path) as server:
        assert server.ask("POST", "/v1/campaigns", campaign)[0] == 201
        code = "\n".join([*blocks, "api.shutdown()", "print(decision)"])
        code = code.replace("http://localhost:8000", server.url).replace("ftk_...", KEY)
        code = code.replace('key="', 'timeout=30, key="')
        ran = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
            env=environment(),
            timeout=120,
        )
        assert ran.returncode == 0, ran.stderr
        assert "SPLIT" in ran.stdout
        decision = ran.stdout.splitlines()[-1]
        events = server.ask("GET", f"/v1/decisions/{decision}")[1]["events"][1:]
    assert [one["type"] for one in events] == ["signal", "reward"]
    assert events[1]["event_id"] == "order-88231"
