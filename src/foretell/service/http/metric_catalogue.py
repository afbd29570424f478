"""Every metric of the service: its name, what kind it is, its labels, and what it says.

The help text in `/metrics` and the table in docs/reference/metrics.md are made from here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

Kind = Literal["counter", "gauge", "histogram"]
Family = CounterMetricFamily | GaugeMetricFamily | HistogramMetricFamily
_FAMILIES: dict[Kind, type[Family]] = {
    "counter": CounterMetricFamily,
    "gauge": GaugeMetricFamily,
    "histogram": HistogramMetricFamily,
}


class MetricInfo(NamedTuple):
    """One metric, under the name that its samples have."""

    name: str
    kind: Kind
    about: str
    labels: tuple[str, ...] = ()
    gauge: str = ""
    """The name of the engine's number that it shows; empty where it is counted elsewhere."""

    def family(self, samples: Iterable[tuple[tuple[str, ...], float]] = ()) -> Family:
        """Return the metric with samples, each with the values of its labels."""
        found = _FAMILIES[self.kind](self.name, self.about, labels=self.labels)
        if not isinstance(found, HistogramMetricFamily):
            for values, value in samples:
                found.add_metric(values, value)
        return found


def _engine(name: str, kind: Kind, about: str, gauge: str = "") -> MetricInfo:
    return MetricInfo(f"foretell_{name}", kind, about, gauge=gauge or name)


REQUESTS = MetricInfo(
    "foretell_requests_total",
    "counter",
    "Requests that were answered, by operation and status. The operation none is an address that "
    "is not known, or a request refused before it was read; 499 is a client that went away.",
    ("operation", "status"),
)
REQUEST_SECONDS = MetricInfo(
    "foretell_request_seconds",
    "histogram",
    "Seconds from the first line of a request until its answer was ready, the disk included.",
    ("operation",),
)
DECISIONS = MetricInfo(
    "foretell_decisions_total",
    "counter",
    "New decisions of this process, by campaign and mode: policy, explore, holdout, sticky. A "
    "decision that is answered again is not counted again.",
    ("campaign", "mode"),
)
FEEDBACK = MetricInfo(
    "foretell_feedback_total",
    "counter",
    "Signals, rewards, corrections and voids that this process answered, by campaign and verdict: "
    "accepted, duplicate, late, parked, rejected; those of a batch one by one. Events that name no "
    "decision of ours have the campaign none.",
    ("campaign", "verdict"),
)
OPEN_WINDOWS = MetricInfo(
    "foretell_open_windows",
    "gauge",
    "Decisions whose window is still open, by campaign and stage: signal, reward. Where silence "
    "means nothing, no window is open.",
    ("campaign", "stage"),
)
PARKED = MetricInfo(
    "foretell_parked_events",
    "gauge",
    "Events that wait for a reward or a decision that has not come, by campaign.",
    ("campaign",),
)
LAST_EVENT = MetricInfo(
    "foretell_last_event_timestamp_seconds",
    "gauge",
    "When the last decision, signal and reward of a campaign was recorded, in log time as seconds "
    "since 1970; absent where none ever was.",
    ("campaign", "kind"),
)
OVERDUE = MetricInfo(
    "foretell_overdue",
    "gauge",
    "1 while signals or rewards of a running campaign have stopped: none came though, by its own "
    "decisions and delays, some were surely due; else 0. Looked at every 15 seconds or less often.",
    ("campaign", "kind"),
)
CAMPAIGNS = MetricInfo("foretell_campaigns", "gauge", "Campaigns, by status.", ("status",))
BUILD_INFO = MetricInfo(
    "foretell_build_info",
    "gauge",
    "Always 1; its labels say which version of foretell and of Python runs.",
    ("version", "python"),
)
ENGINE_METRICS = (
    _engine(
        "log_head_timestamp_seconds",
        "gauge",
        "The time of the log's head, in seconds since 1970: all before it is on disk.",
        "log_head_seconds",
    ),
    _engine(
        "log_closed",
        "gauge",
        "1 while the log cannot be written and every request is refused, else 0.",
    ),
    _engine("queued_records", "gauge", "Records that wait for the next commit."),
    _engine("commits_total", "counter", "Commits of this process.", "commits"),
    _engine(
        "commit_seconds_total",
        "counter",
        "Seconds that this process has waited for the disk in these commits.",
        "commit_seconds",
    ),
    _engine(
        "clock_ahead_seconds",
        "gauge",
        "Seconds that the machine's clock is ahead of log time, while a jump of it is not "
        "followed; negative while it is behind.",
    ),
    _engine(
        "fold_lag_seconds",
        "gauge",
        "Seconds of log time that the states of the campaigns are behind the head of the log.",
    ),
    _engine(
        "tail_lag_seconds",
        "gauge",
        "Seconds of log time that the complete part of the log, which can be folded, is behind its "
        "head: other servers may still write below it. 0 on SQLite.",
    ),
    _engine(
        "state_age_seconds",
        "gauge",
        "Seconds of log time since the oldest saved state that has new records.",
    ),
    _engine(
        "damage",
        "gauge",
        "Different kinds of damage found since the start; 0 is what it should be.",
    ),
    _engine(
        "database_bytes",
        "gauge",
        "Bytes that the database takes, indexes and journal too; measured every 15 seconds.",
    ),
    _engine("deciders", "gauge", "Servers that write this log, this one included."),
)
CATALOGUE = (
    BUILD_INFO,
    REQUESTS,
    REQUEST_SECONDS,
    CAMPAIGNS,
    DECISIONS,
    FEEDBACK,
    OPEN_WINDOWS,
    PARKED,
    LAST_EVENT,
    OVERDUE,
    *ENGINE_METRICS,
)


def engine_families(gauges: Mapping[str, float]) -> list[Family]:
    """Return the metrics of the engine's numbers, those that it has."""
    return [
        metric.family([((), gauges[metric.gauge])])
        for metric in ENGINE_METRICS
        if metric.gauge in gauges
    ]


def metrics_markdown() -> str:
    """Return every metric as a table."""
    rows = ["| metric | kind | labels | what it is |", "|---|---|---|---|"]
    rows += [
        f"| `{one.name}` | {one.kind} | {', '.join(f'`{name}`' for name in one.labels)} "
        f"| {one.about} |"
        for one in CATALOGUE
    ]
    return "\n".join(rows) + "\n"
