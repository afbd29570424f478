"""OpenTelemetry: a span for each request, and the metrics, sent where OTEL_… variables say.

It is off unless `--telemetry` is set, and then wraps the application; nothing is imported and no
request does anything for it before. Metrics are those of `/metrics`, read when they are sent.
"""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from functools import partial
from importlib.metadata import version
from time import monotonic, perf_counter

from opentelemetry.metrics import CallbackOptions, Meter, Observation
from opentelemetry.propagate import extract
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import MetricReader, PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.trace import SpanKind, Status, StatusCode
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from foretell.service.http.endpoint import CLIENT_GONE
from foretell.service.http.metric_catalogue import CATALOGUE
from foretell.service.http.metrics import Metrics

NAME = "foretell"
KEPT_SECONDS = 1.0
"""Metrics that were taken are sent for so long."""
TAKE_SECONDS = 10.0
"""Seconds that the sender waits for a busy event loop."""
CLOSE_SECONDS = 3.0
"""Seconds that the end of a server waits for its collector."""
METHODS = frozenset({"GET", "HEAD", "POST", "PATCH", "DELETE", "OPTIONS"})
"""Those that are told by name: a stranger may send any."""
DURATION = "http.server.request.duration"
"""The histogram of OpenTelemetry's own conventions: histograms cannot be read, only recorded."""


class Telemetry:
    """Providers of spans and metrics; `close` sends what has not been sent."""

    def __init__(self, spans: SpanExporter, metrics: MetricReader) -> None:
        """Send spans and metrics with these; `over_http` makes those of a server."""
        about = Resource.create({"service.name": NAME, "service.version": version("foretell")})
        self._tracers = TracerProvider(resource=about, shutdown_on_exit=False)
        self._tracers.add_span_processor(BatchSpanProcessor(spans))
        self._meters = MeterProvider([metrics], about, shutdown_on_exit=False)
        self.tracer = self._tracers.get_tracer(NAME, version("foretell"))
        self.meter = self._meters.get_meter(NAME, version("foretell"))

    @classmethod
    def over_http(cls) -> Telemetry:
        """Send to the collector that OTEL_EXPORTER_OTLP_ENDPOINT names, else to this machine's."""
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

        return cls(OTLPSpanExporter(), PeriodicExportingMetricReader(OTLPMetricExporter()))

    def wrap(self, web: ASGIApp, metrics: Metrics) -> ASGIApp:
        """Return an application whose requests are traced, and whose metrics are sent."""
        return TelemetryMiddleware(web, metrics, self)

    async def close(self) -> None:
        """Send what is left, for some seconds at most, and stop.

        The event loop goes on meanwhile, because metrics are taken there. A collector that does
        not answer holds up a thread of its own, which ends with the process.
        """
        loop, sent = asyncio.get_running_loop(), asyncio.Event()

        def work() -> None:
            self._tracers.shutdown()
            self._meters.shutdown()
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(sent.set)

        threading.Thread(target=work, name="telemetry", daemon=True).start()
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_SECONDS):
                await sent.wait()


class TelemetryMiddleware:
    """Makes a span of every request, in the trace that its caller names."""

    def __init__(self, inner: ASGIApp, metrics: Metrics, telemetry: Telemetry) -> None:
        """Trace what `inner` answers, and send these metrics."""
        self._inner = inner
        self._tracer = telemetry.tracer
        self._duration = telemetry.meter.create_histogram(
            DURATION, "s", "Seconds until a request was answered."
        )
        _send_metrics(_Snapshot(metrics), telemetry.meter)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        began, status = perf_counter(), CLIENT_GONE

        async def note_and_send(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        parent = extract(
            {name.decode(): value.decode("latin-1") for name, value in scope["headers"]}
        )
        with self._tracer.start_as_current_span(
            "none",
            parent,
            SpanKind.SERVER,
            record_exception=False,  # it may quote the request
        ) as span:
            try:
                await self._inner(scope, receive, note_and_send)
            finally:
                operation = getattr(scope.get("operation"), "name", "none")
                method = scope["method"]
                about = {
                    "http.request.method": method if method in METHODS else "_OTHER",
                    "http.response.status_code": status,
                    "foretell.operation": operation,
                }
                self._duration.record(perf_counter() - began, about)
                span.update_name(operation)
                span.set_attributes(about)
                if (campaign := scope.get("path_params", {}).get("campaign")) is not None:
                    span.set_attribute("foretell.campaign", campaign)
                if status >= 500:
                    span.set_status(Status(StatusCode.ERROR))


class _Snapshot:
    """The metrics at a moment, taken in the event loop that counts them, for another thread."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._loop = asyncio.get_running_loop()
        self._taken = -KEPT_SECONDS
        self._samples: dict[str, list[Observation]] = {}

    def read(self, name: str, _options: CallbackOptions) -> list[Observation]:
        """Return the samples of one metric; all that are sent together are of one moment."""
        if monotonic() - self._taken >= KEPT_SECONDS:
            taking = asyncio.run_coroutine_threadsafe(self._take(), self._loop)
            self._samples, self._taken = taking.result(TAKE_SECONDS), monotonic()
        return self._samples.get(name, [])

    async def _take(self) -> dict[str, list[Observation]]:
        found: dict[str, list[Observation]] = {}
        for family in self._metrics.collect():
            for sample in family.samples:
                found.setdefault(sample.name, []).append(Observation(sample.value, sample.labels))
        return found


def _send_metrics(snapshot: _Snapshot, meter: Meter) -> None:
    """Let every metric of the catalogue be read whenever metrics are sent."""
    for metric in CATALOGUE:
        read = [partial(snapshot.read, metric.name)]
        if metric.kind == "counter":
            meter.create_observable_counter(metric.name, read, description=metric.about)
        elif metric.kind == "gauge":
            meter.create_observable_gauge(metric.name, read, description=metric.about)
