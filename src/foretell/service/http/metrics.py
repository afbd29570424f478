"""Metrics for Prometheus: the counts of this layer and the numbers of the engine.

The counts are plain integers, since one event loop counts them: a locked counter costs several
times as much, on every request. They become metrics when somebody looks, and from memory alone.
"""

from __future__ import annotations

import asyncio
import platform
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.metadata import version
from itertools import accumulate
from math import inf
from typing import Protocol, get_args

from prometheus_client import ProcessCollector, generate_latest
from prometheus_client.core import HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from foretell import protocol
from foretell.service.engine.measurements import CampaignNumbers
from foretell.service.http import metric_catalogue as catalogue

_BOUNDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
_NAMES = (*map(str, _BOUNDS), "+Inf")
MOST_CAMPAIGNS = 100
"""So many campaigns have a label of their own; the rest are counted together."""
OTHER, NONE = "other", "none"
"""The label of all other campaigns, and that of events about no campaign that is known."""
Labelled = dict[tuple[str, ...], float]


class MetricSource(Protocol):
    """What is measured besides requests: an engine."""

    def gauges(self) -> Mapping[str, float]:
        """Return the numbers of the service as a whole."""

    def campaign_numbers(self) -> Sequence[CampaignNumbers]:
        """Return those of each campaign."""

    def unread_feedback(self) -> int:
        """Return how many events were rejected that name no decision of ours."""


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


class _One(Collector):
    """One metric as it is, for what writes metrics down."""

    def __init__(self, metric: Metric) -> None:
        self._metric = metric

    def collect(self) -> Iterator[Metric]:
        yield self._metric


class Metrics:
    """The metrics of one app."""

    def __init__(self, source: MetricSource) -> None:
        """Start every count at zero."""
        self._source = source
        self._operations: defaultdict[str, _Latency] = defaultdict(_Latency)
        self.decisions: defaultdict[tuple[str, str], int] = defaultdict(int)
        """New decisions, by campaign and mode."""
        self.unreadable_feedback = 0
        """Reports that were refused before the engine saw them."""
        self._labels: dict[str, str] = {OTHER: OTHER, NONE: OTHER}
        """The label of each campaign that has been seen: it stays while the process lives."""
        self._process = ProcessCollector(registry=None)

    def done(self, operation: str) -> Callable[[int, float], None]:
        """Return a function that counts a request of an operation by its status and seconds."""
        return self._operations[operation].done

    @property
    def feedback(self) -> Counter[str]:
        """What was answered about feedback, by verdict."""
        total = Counter({"rejected": self.unreadable_feedback + self._source.unread_feedback()})
        for campaign in self._source.campaign_numbers():
            total.update(campaign.feedback)
        return total

    def quantiles(self, operation: str, shares: Sequence[float]) -> list[float | None]:
        """Return the seconds within which these shares of an operation's requests were answered.

        Each is the upper bound of its bucket; None where there was no request.
        """
        counts = list(accumulate(self._operations[operation].counts))
        bounds = (*_BOUNDS, inf)
        if not counts[-1]:
            return [None] * len(shares)
        return [bounds[bisect_left(counts, share * counts[-1])] for share in shares]

    async def text(self) -> bytes:
        """Write everything down in Prometheus' text format; other requests get their turns."""
        parts = []
        for metric in self.collect():
            parts.append(generate_latest(_One(metric)))
            await asyncio.sleep(0)
        return b"".join(parts)

    def collect(self) -> Iterator[Metric]:
        """Make metrics of the counts, one after the other."""
        about = (version("foretell"), platform.python_version())
        yield catalogue.BUILD_INFO.family([(about, 1)])
        yield from self._requests()
        yield from self._campaigns(self._source.campaign_numbers())
        yield from catalogue.engine_families(self._source.gauges())
        yield from self._process.collect()

    def _requests(self) -> Iterator[Metric]:
        yield catalogue.REQUESTS.family(
            ((name, str(status)), count)
            for name, one in self._operations.items()
            for status, count in one.statuses.items()
        )
        seconds = catalogue.REQUEST_SECONDS.family()
        assert isinstance(seconds, HistogramMetricFamily)  # noqa: S101  (the catalogue says so)
        for name, one in self._operations.items():
            buckets = list(zip(_NAMES, accumulate(one.counts), strict=True))
            seconds.add_metric([name], buckets, one.seconds)
        yield seconds

    def _campaigns(self, campaigns: Sequence[CampaignNumbers]) -> Iterator[Metric]:
        for one in sorted(campaigns, key=lambda one: one.status != "running"):
            self._label(one.name)
        statuses = Counter(one.status for one in campaigns)
        yield catalogue.CAMPAIGNS.family(
            ((status,), statuses[status]) for status in get_args(protocol.CampaignStatus)
        )
        yield catalogue.DECISIONS.family(
            self._sum(((name, mode), count) for (name, mode), count in self.decisions.items())
        )
        feedback = self._sum(
            ((one.name, verdict), count)
            for one in campaigns
            for verdict, count in one.feedback.items()
        )
        unread = self.unreadable_feedback + self._source.unread_feedback()
        yield catalogue.FEEDBACK.family([*feedback, ((NONE, "rejected"), unread)])
        yield catalogue.OPEN_WINDOWS.family(
            self._sum(
                ((one.name, stage), count)
                for one in campaigns
                for stage, count in one.open_windows.items()
            )
        )
        yield catalogue.PARKED.family(self._sum(((one.name,), one.parked) for one in campaigns))
        yield catalogue.LAST_EVENT.family(
            self._combine(
                (((one.name, kind), at) for one in campaigns for kind, at in one.latest.items()),
                max,
            )
        )
        yield catalogue.OVERDUE.family(
            self._combine(
                (
                    ((one.name, kind), float(late))
                    for one in campaigns
                    for kind, late in one.overdue._asdict().items()
                ),
                max,
            )
        )

    def _label(self, campaign: str) -> str:
        """Return the label of a campaign: its name, while there is room for another."""
        room = len(self._labels) < MOST_CAMPAIGNS + 2
        return self._labels.setdefault(campaign, campaign if room else OTHER)

    def _sum(
        self, samples: Iterable[tuple[tuple[str, ...], float]]
    ) -> Iterable[tuple[tuple[str, ...], float]]:
        return self._combine(samples, lambda one, more: one + more)

    def _combine(
        self,
        samples: Iterable[tuple[tuple[str, ...], float]],
        combine: Callable[[float, float], float],
    ) -> Iterable[tuple[tuple[str, ...], float]]:
        """Put samples with the same labels together, once each campaign has its label."""
        found: Labelled = {}
        for (name, *rest), value in samples:
            labels = (self._label(name), *rest)
            found[labels] = combine(found[labels], value) if labels in found else value
        return found.items()
