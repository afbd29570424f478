"""The examples for Flask, FastAPI, Celery and TypeScript run, each against a real server."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.node_tools import PINNED, node_modules, run_tool
from tests.service.server_process import KEY, Server, environment

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
TYPESCRIPT = EXAMPLES / "typescript"
CAMPAIGN = {
    "name": "home-hero",
    "actions": ["editorial-pick", "sale"],
    "signals": ["none", "click"],
    "reward_range": [0, 100],
}
PATIENCE = 60
"""Seconds for what takes one or two."""
RESEND_SECONDS = 20


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("server")) as running:
        assert running.ask("POST", "/v1/campaigns", CAMPAIGN)[0] == 201
        yield running


@contextmanager
def started(server: Server, folder: Path, *command: str, **more: str) -> Iterator[str]:
    """Run a program beside the service until the block ends; yield where it says it is."""
    settings = {"FORETELL_URL": server.url, "FORETELL_KEY": KEY, "PYTHONPATH": str(EXAMPLES)} | more
    printed = folder / "printed"
    with printed.open("w") as output:
        program = subprocess.Popen(
            command, cwd=folder, stdout=output, stderr=output, env=environment(**settings)
        )
    try:
        end = time.monotonic() + PATIENCE
        while not (found := re.search(r"(http://127\S+)|ready\.", printed.read_text("utf-8"))):
            assert program.poll() is None, printed.read_text("utf-8")
            assert time.monotonic() < end, printed.read_text("utf-8")
            time.sleep(0.05)
        yield found[1] or ""
    finally:
        program.terminate()
        program.wait(PATIENCE)


def ask(url: str, body: Any = None, form: Any = None) -> tuple[int, Any]:
    """Ask a shop, with JSON or a form."""
    content = json.dumps(body) if body is not None else urllib.parse.urlencode(form or {})
    kind = "application/json" if body is not None else "application/x-www-form-urlencoded"
    sent = content.encode() if body is not None or form is not None else None
    request = urllib.request.Request(url, sent, {"Content-Type": kind})  # noqa: S310  (our own)
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:  # noqa: S310
            status, text = answer.status, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            status, text = error.code, error.read()
    return status, json.loads(text) if text else None


def wait_for_events(server: Server, decision: str, *events: str) -> None:
    """Wait until the log has these events about a decision, and no others."""
    end = time.monotonic() + PATIENCE
    while True:
        history = server.ask("GET", f"/v1/decisions/{decision}")[1]
        found = [one["event_id"] for one in history["events"][1:]]
        if found == list(events):
            return
        assert time.monotonic() < end, found
        time.sleep(0.05)


@pytest.mark.slow
@pytest.mark.parametrize("framework", ["flask", "fastapi"])
def test_a_web_framework(server: Server, tmp_path: Path, framework: str) -> None:
    here = Path(sys.executable).parent
    program = ["flask", "--app", "flask_app", "run"]
    if framework == "fastapi":
        program = ["uvicorn", "fastapi_app:app"]
    command = [str(here / program[0]), *program[1:], "--port", "0"]
    with started(server, tmp_path, *command) as shop:
        status, shown = ask(f"{shop}/hero?visitor=u1")
        assert (status, shown["hero"] in CAMPAIGN["actions"]) == (200, True)
        decision = shown["decision"]
        fields = {"decision": decision}
        sent = "form" if framework == "flask" else "body"
        order = f"{framework}-1"
        for _ in range(2):
            assert ask(f"{shop}/click", **{sent: fields})[0] == 204
            assert ask(f"{shop}/orders/{order}", **{sent: {**fields, "amount": 12.5}})[0] == 204
        wait_for_events(server, decision, f"click-{decision[-40:]}", f"order-{order}")


@pytest.mark.slow
def test_a_celery_worker(server: Server, tmp_path: Path) -> None:
    """The broker is a folder; the worker is a real one, with a process for its tasks."""
    (tmp_path / "celeryconfig.py").write_text(
        "broker_url = 'filesystem://'\n"
        f"broker_transport_options = {{'data_folder_in': {str(tmp_path / 'queue')!r}, "
        f"'data_folder_out': {str(tmp_path / 'queue')!r}, 'polling_interval': 0.05}}\n",
        "utf-8",
    )
    (tmp_path / "queue").mkdir()
    (tmp_path / "send.py").write_text(
        "import sys\n"
        "from celery_app import app, report_order\n"
        "app.config_from_object('celeryconfig')\n"
        "report_order.delay(sys.argv[1], '88231', 12.5)\n"
        "report_order.delay(sys.argv[1], '88231', 12.5)\n",
        "utf-8",
    )
    made = server.ask("POST", "/v1/campaigns/home-hero/decisions", {})[1]["decision_id"]
    celery = [sys.executable, "-m", "celery", "--app", "celery_app", "--config", "celeryconfig"]
    command = [*celery, "worker", "--concurrency", "1", "--loglevel", "INFO", "--without-mingle"]
    with started(server, tmp_path, *command, "--without-gossip", CELERY_BROKER_URL="filesystem://"):
        paths = os.pathsep.join((str(EXAMPLES), str(tmp_path)))
        begun = time.monotonic()
        sent = begun - RESEND_SECONDS
        while (tmp_path / "printed").read_text("utf-8").count("succeeded in") < 2:
            assert time.monotonic() < begun + 2 * PATIENCE
            if time.monotonic() - sent >= RESEND_SECONDS:  # a broker of files may lose a task
                subprocess.run(
                    [sys.executable, "send.py", made],
                    cwd=tmp_path,
                    check=True,
                    timeout=PATIENCE,
                    env=environment(PYTHONPATH=paths, CELERY_BROKER_URL="filesystem://"),
                )
                sent = time.monotonic()
            time.sleep(0.05)
    wait_for_events(server, made, "order-88231")


def test_the_typescript_example_has_the_versions_that_are_tested() -> None:
    example = json.loads((TYPESCRIPT / "package.json").read_text("utf-8"))
    locked = json.loads((PINNED / "package-lock.json").read_text("utf-8"))["packages"]
    for name, version in (example["dependencies"] | example["devDependencies"]).items():
        assert locked[f"node_modules/{name}"]["version"] == version
    assert [name for name, one in locked.items() if "resolved" in one] == []


@pytest.mark.slow
def test_the_typescript_example(server: Server, tmp_path: Path) -> None:
    shop_folder = tmp_path / "shop"
    shutil.copytree(TYPESCRIPT, shop_folder)
    (shop_folder / "node_modules").symlink_to(node_modules())
    generate = ["openapi-typescript", f"{server.url}/openapi.json", "-o", "src/foretell.ts"]
    for tool, *arguments in (generate, ["tsc"]):
        made = run_tool(tool, *arguments, cwd=shop_folder)
        assert made.returncode == 0, made.stdout + made.stderr
    with started(server, shop_folder, "node", "dist/server.js", PORT="0") as shop:
        _, shown = ask(f"{shop}/hero?visitor=u1")
        assert shown["action"] in CAMPAIGN["actions"]
        decision = shown["decision"]
        assert ask(f"{shop}/click", {"decision": decision})[1]["status"] == "accepted"
        order = {"decision": decision, "order": "ts-1", "amount": 12.5}
        lost = {**order, "decision": "nobody's", "order": "ts-2"}
        _, receipts = ask(f"{shop}/orders", [order, order, lost])
        assert [one["status"] for one in receipts] == ["accepted", "duplicate", "rejected"]
        wait_for_events(server, decision, f"click-{decision[-40:]}", "order-ts-1")
        shares = ask(f"{shop}/shares")[1]
        assert set(shares) == set(CAMPAIGN["actions"])
        status, problem = ask(f"{shop}/click", {"decision": "nobody's"})
        assert (status, "decision" in problem["detail"]) == (422, True)
    with started(server, shop_folder, "node", "dist/server.js", PORT="0", FORETELL_KEY="") as shop:
        assert ask(f"{shop}/hero")[1] == {"action": "editorial-pick", "decision": None}
