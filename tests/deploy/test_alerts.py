"""Alerts fire when they should, never on a quiet service; dashboards ask for what there is."""

from __future__ import annotations

import json
import re
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from foretell.service.http.metric_catalogue import CATALOGUE
from tests.deploy.tools import DEPLOY, run
from tests.service.server_process import CAMPAIGN, Server

RULES = DEPLOY / "prometheus" / "alerts.yaml"
MONITORING = (DEPLOY.parent / "docs" / "how-to" / "monitor.md").read_text("utf-8")
MEASURED = re.compile(r"\b(?:foretell|process)_[a-z_]+")
HISTOGRAM = ("_bucket", "_sum", "_count")


def rules() -> list[dict[str, Any]]:
    (group,) = yaml.safe_load(RULES.read_text("utf-8"))["groups"]
    found: list[dict[str, Any]] = group["rules"]
    return found


def known_metrics() -> set[str]:
    """Return the name of every series that a server has."""
    page = (DEPLOY.parent / "docs" / "reference" / "metrics.md").read_text("utf-8")
    process = set(re.findall(r"^\| `(process_\w+)`", page, flags=re.MULTILINE))
    names = {one.name for one in CATALOGUE if one.kind != "histogram"}
    histograms = {
        one.name + end for one in CATALOGUE if one.kind == "histogram" for end in HISTOGRAM
    }
    return process | names | histograms


def test_every_alert_fires_when_it_should_and_not_on_a_busy_service() -> None:
    assert run("promtool", "check", "rules", str(RULES)).returncode == 0
    checked = run("promtool", "test", "rules", str(DEPLOY / "prometheus" / "alerts_test.yaml"))
    assert checked.returncode == 0, checked.stdout
    tested = (DEPLOY / "prometheus" / "alerts_test.yaml").read_text("utf-8")
    for rule in rules():
        assert f'ALERTS{{alertname="{rule["alert"]}"' in tested
        assert set(rule["annotations"]) == {"summary", "action"}


def test_the_configuration_of_prometheus_is_one() -> None:
    config = str(DEPLOY / "prometheus" / "prometheus.yaml")
    checked = run("promtool", "check", "config", "--lint=all", "--lint-fatal", config)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def scrape(server: Server) -> dict[str, float]:
    """Return every sample of a server, as Prometheus would name it."""
    with urllib.request.urlopen(f"{server.url}/metrics") as answer:  # noqa: S310  (our own server)
        text = answer.read().decode()
    found = {"up{job='foretell',instance='one'}": 1.0}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = {"job": "foretell", "instance": "one", **sample.labels}
            listed = ",".join(f"{name}='{value}'" for name, value in labels.items())
            found[f"{sample.name}{{{listed}}}"] = sample.value
    return found


@pytest.mark.slow
def test_no_alert_fires_on_a_quiet_service(tmp_path: Path) -> None:
    """Two scrapes of a real server, which is asked for nothing, go on like this for two hours."""
    with Server(tmp_path) as server:
        server.ask("POST", "/v1/campaigns", CAMPAIGN)
        for _ in range(5):
            server.ask("POST", "/v1/campaigns/home-hero/decisions")
        scrape(server)
        first = scrape(server)
        time.sleep(0.5)
        second = scrape(server)
    assert len(first) > 100
    series = [
        {"series": name, "values": f"{value}{second.get(name, value) - value:+}x480"}
        for name, value in first.items()
    ]
    times = ("1m", "10m", "1h", "2h")
    nothing = [{"expr": "ALERTS", "eval_time": at, "exp_samples": []} for at in times]
    test = {
        "rule_files": [str(RULES)],
        "evaluation_interval": "15s",
        "tests": [{"interval": "15s", "input_series": series, "promql_expr_test": nothing}],
    }
    (tmp_path / "quiet.yaml").write_text(json.dumps(test))
    checked = run("promtool", "test", "rules", str(tmp_path / "quiet.yaml"))
    assert checked.returncode == 0, checked.stdout


def dashboard_queries() -> list[str]:
    page = json.loads((DEPLOY / "grafana.json").read_text("utf-8"))
    variables = [
        one["query"]["query"] for one in page["templating"]["list"] if one["name"] == "campaign"
    ]
    found = [target["expr"] for panel in page["panels"] for target in panel.get("targets", [])]
    assert len(found) > 15
    return found + [re.sub(r"label_values\((\w+), \w+\)", r"\1", one) for one in variables]


def test_every_query_of_the_dashboard_is_one(tmp_path: Path) -> None:
    records = [
        {
            "record": f"dashboard:{number}",
            "expr": query.replace("$campaign", ".*").replace("$__rate_interval", "5m"),
        }
        for number, query in enumerate(dashboard_queries())
    ]
    file = tmp_path / "dashboard.yaml"
    file.write_text(json.dumps({"groups": [{"name": "dashboard", "rules": records}]}))
    checked = run("promtool", "check", "rules", str(file))
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_the_dashboard_and_the_alerts_ask_for_metrics_that_there_are() -> None:
    known = known_metrics()
    for query in [*dashboard_queries(), *(rule["expr"] for rule in rules())]:
        assert set(MEASURED.findall(query)) <= known, query


def test_the_dashboard_lays_its_panels_side_by_side() -> None:
    page = json.loads((DEPLOY / "grafana.json").read_text("utf-8"))
    taken: set[tuple[int, int]] = set()
    for panel in page["panels"]:
        at = panel["gridPos"]
        cells = {(at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"])}
        assert taken.isdisjoint(cells), panel["title"]
        assert at["x"] + at["w"] <= 24
        taken |= cells
    assert len({panel["id"] for panel in page["panels"]}) == len(page["panels"])


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule["alert"])
def test_the_page_on_monitoring_explains_an_alert(rule: dict[str, Any]) -> None:
    assert f"`{rule['alert']}`" in MONITORING
