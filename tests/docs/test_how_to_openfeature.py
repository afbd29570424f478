"""docs/how-to/openfeature.md is true: its Python runs against a real server."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.pages import DOCS, code_of, run_python
from tests.service.server_process import KEY, Server

PAGE = DOCS / "how-to" / "openfeature.md"


@pytest.mark.slow
def test_the_code_of_the_page_runs(tmp_path: Path) -> None:
    campaign = {"name": "home-hero", "actions": ["sale", "new"], "signals": ["none", "click"]}
    with Server(tmp_path) as server:
        assert server.ask("POST", "/v1/campaigns", campaign)[0] == 201
        code = "\n".join([*code_of(PAGE, "python"), "api.shutdown()", "print(decision)"])
        code = code.replace("ftk_...", KEY).replace('key="', 'timeout=30, key="')
        said = run_python(server, tmp_path, code)
        assert "SPLIT" in said
        decision = said.splitlines()[-1]
        events = server.ask("GET", f"/v1/decisions/{decision}")[1]["events"][1:]
    assert [one["type"] for one in events] == ["signal", "reward"]
    assert events[1]["event_id"] == "order-88231"
