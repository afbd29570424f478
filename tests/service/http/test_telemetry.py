"""OpenTelemetry: requests are spans of their callers' traces, and metrics are those of /metrics."""

from __future__ import annotations

import asyncio
import gzip
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, cast

import httpx2
import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind

from foretell.service.engine import Engine
from foretell.service.http import Metrics, app
from foretell.service.http.metric_catalogue import CATALOGUE
from foretell.service.http.telemetry import DURATION, Telemetry
from tests.service.http.conftest import CAMPAIGN
from tests.service.http.fake_engine import KEYS, FakeEngine
from tests.service.server_process import CAMPAIGN as HERO
from tests.service.server_process import Server

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = "00f067aa0ba902b7"


class Traced:
    """What was recorded of some requests to a service."""

    def __init__(self) -> None:
        self.exporter, self.reader = InMemorySpanExporter(), InMemoryMetricReader()
        self.statuses: list[int] = []
        self.metrics: dict[str, Any] = {}
        asyncio.run(self._run())

    @property
    def spans(self) -> list[ReadableSpan]:
        return list(self.exporter.get_finished_spans())

    async def _run(self) -> None:
        engine, telemetry = FakeEngine(), Telemetry(self.exporter, self.reader)
        metrics = Metrics(engine)
        web = telemetry.wrap(app(cast("Engine", engine), metrics=metrics), metrics)
        headers = {
            "Authorization": f"Bearer {KEYS['admin']}",
            "traceparent": f"00-{TRACE}-{PARENT}-01",
        }
        transport = httpx2.ASGITransport(cast("Any", web))
        async with httpx2.AsyncClient(
            transport=transport, base_url="http://here", headers=headers
        ) as client:
            asked = [
                await client.post("/v1/campaigns", json=CAMPAIGN),
                await client.post("/v1/campaigns/hero/decisions"),
                await client.request("STRANGE", "/nowhere"),
            ]
            engine.open = False
            asked.append(await client.post("/v1/campaigns/hero/decisions"))
        self.statuses = [answer.status_code for answer in asked]
        data = await asyncio.to_thread(self.reader.get_metrics_data)
        assert data is not None
        (of_resource,) = data.resource_metrics
        (of_scope,) = of_resource.scope_metrics
        self.metrics = {one.name: list(one.data.data_points) for one in of_scope.metrics}
        await telemetry.close()


@pytest.fixture(scope="module")
def traced() -> Traced:
    return Traced()


def test_each_request_is_a_span_of_its_callers_trace(traced: Traced) -> None:
    assert traced.statuses == [201, 201, 404, 503]
    names = [span.name for span in traced.spans]
    assert names == ["create_campaign", "decide", "none", "decide"]
    for span, status in zip(traced.spans, traced.statuses, strict=True):
        attributes = span.attributes or {}
        assert attributes["http.response.status_code"] == status
        assert attributes.get("foretell.campaign") == ("hero" if span.name == "decide" else None)
        method = "_OTHER" if status == 404 else "POST"
        assert attributes["http.request.method"] == method
        assert span.kind is SpanKind.SERVER
        assert span.status.is_ok == (status < 500)
        assert span.parent is not None
        assert f"{span.parent.trace_id:x}" == TRACE
        assert f"{span.parent.span_id:016x}" == PARENT
        assert span.resource.attributes["service.name"] == "foretell"


def test_no_span_holds_a_key_or_an_address_that_may_name_a_unit(traced: Traced) -> None:
    for span in traced.spans:
        text = span.to_json()
        assert KEYS["admin"] not in text
        assert "/v1/" not in text


def test_the_metrics_are_those_of_prometheus(traced: Traced) -> None:
    of_the_engine = {one.name for one in CATALOGUE if one.gauge} - {"foretell_queued_records"}
    expected = {one.name for one in CATALOGUE if one.kind != "histogram"} - of_the_engine
    sent = {name for name, points in traced.metrics.items() if points}
    silent = {name for name in expected if name.endswith(("windows", "timestamp_seconds"))}
    assert expected - silent <= sent
    (decided,) = traced.metrics["foretell_decisions_total"]
    assert decided.value == 1
    assert dict(decided.attributes) == {"campaign": "hero", "mode": "policy"}
    assert sum(point.count for point in traced.metrics[DURATION]) == 4


class Collector(ThreadingHTTPServer):
    """A collector on this machine, which keeps what it is sent."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Collect)
        self.spans: list[str] = []
        self.metrics: set[str] = set()

    def take(self, path: str, body: bytes) -> None:
        if path == "/v1/traces":
            traces = ExportTraceServiceRequest.FromString(body)
            for resource in traces.resource_spans:
                for scope in resource.scope_spans:
                    self.spans += [span.name for span in scope.spans]
        elif path == "/v1/metrics":
            measured = ExportMetricsServiceRequest.FromString(body)
            for of_resource in measured.resource_metrics:
                for of_scope in of_resource.scope_metrics:
                    self.metrics |= {metric.name for metric in of_scope.metrics}


class _Collect(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        cast("Collector", self.server).take(self.path, body)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def collector() -> Iterator[Collector]:
    with Collector() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.slow
def test_a_server_sends_what_it_has_before_it_ends(tmp_path: Path) -> None:
    with collector() as found:
        where = f"http://127.0.0.1:{found.server_address[1]}"
        with Server(tmp_path, "--telemetry", OTEL_EXPORTER_OTLP_ENDPOINT=where) as server:
            assert server.ask("POST", "/v1/campaigns", HERO)[0] == 201
            assert server.ask("POST", "/v1/campaigns/home-hero/decisions")[0] == 201
            assert server.stop() == 0
    assert found.spans == ["create_campaign", "decide"]
    assert {"foretell_decisions_total", "foretell_database_bytes", DURATION} <= found.metrics


@pytest.mark.slow
def test_a_server_serves_and_ends_without_its_collector(tmp_path: Path) -> None:
    nowhere = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_BSP_SCHEDULE_DELAY": "10"}
    with Server(tmp_path, "--telemetry", **nowhere) as server:
        assert server.ask("POST", "/v1/campaigns", HERO)[0] == 201
        assert server.stop() == 0


def test_a_server_without_telemetry_does_not_load_it() -> None:
    code = (
        "import sys, foretell.service.server\n"
        "assert not [name for name in sys.modules if name.startswith('opentelemetry')]"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
