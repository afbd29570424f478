"""Metrics for Prometheus: the counts of this layer and the numbers of the engine.

The counts are plain integers, since one event loop counts them: a locked counter costs several
times as much, on every request. They become metrics when somebody looks.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from math import inf
from typing import get_args

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from foretell import protocol

_BOUNDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
_NAMES = (*map(str, _BOUNDS), "+Inf")


class _Latency:
    """Requests of one operation: by how long they took, and by their status."""

    def __init__(self) -> None:
        self.counts = [0] * len(_NAMES)
        self.seconds = 0.0
        self.statuses: defaultdict[int, int] = defaultdict(int)

    def done(self, status: int, seconds: float) -> None:
        self.statuses[status] += 1
        self.counts[bisect_left(_BOUNDS, seconds)] += 1
        self.seconds += seconds


class Metrics(Collector):
    """The metrics of one app, in a registry of its own."""

    def __init__(self, gauges: Callable[[], Mapping[str, float]]) -> None:
        """Start every count at zero; `gauges` gives the engine's numbers."""
        self._gauges = gauges
        self._operations: defaultdict[str, _Latency] = defaultdict(_Latency)
        self.decisions = dict.fromkeys(get_args(protocol.Mode), 0)
        self.feedback = dict.fromkeys(get_args(protocol.ReceiptStatus), 0)
        self._registry = CollectorRegistry()
        self._registry.register(self)

    def done(self, operation: str) -> Callable[[int, float], None]:
        """Return a function that counts a request of an operation by its status and seconds."""
        return self._operations[operation].done

    def quantiles(self, operation: str, shares: Sequence[float]) -> list[float | None]:
        """Return the seconds within which these shares of an operation's requests were answered.

        Each is the upper bound of its bucket; None where there was no request.
        """
        counts = list(accumulate(self._operations[operation].counts))
        bounds = (*_BOUNDS, inf)
        if not counts[-1]:
            return [None] * len(shares)
        return [bounds[bisect_left(counts, share * counts[-1])] for share in shares]

    def text(self) -> bytes:
        """Write everything down in Prometheus' text format."""
        return generate_latest(self._registry)

    def describe(self) -> Iterable[Metric]:
        """Describe nothing: metrics are known once they are collected."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """Make metrics of the counts."""
        requests = CounterMetricFamily(
            "foretell_requests", "Requests by operation and status.", labels=["operation", "status"]
        )
        seconds = HistogramMetricFamily(
            "foretell_request_seconds",
            "Seconds until the answer was ready, by operation.",
            labels=["operation"],
        )
        for name, one in self._operations.items():
            for status, count in one.statuses.items():
                requests.add_metric([name, str(status)], count)
            buckets = list(zip(_NAMES, accumulate(one.counts), strict=True))
            seconds.add_metric([name], buckets, one.seconds)
        yield requests
        yield seconds
        yield _counter("decisions", "Decisions by mode.", "mode", self.decisions)
        yield _counter("feedback", "Events by verdict.", "verdict", self.feedback)
        for name, value in sorted(self._gauges().items()):
            yield GaugeMetricFamily(f"foretell_{name}", "A number of the engine.", value)


def _counter(name: str, about: str, label: str, counts: Mapping[str, int]) -> Metric:
    family = CounterMetricFamily(f"foretell_{name}", about, labels=[label])
    for value, count in counts.items():
        family.add_metric([value], count)
    return family
