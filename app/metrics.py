"""Figures about the daemon, in Prometheus' form.

Purpose: `Metrics`: counters and histograms the other modules add to, and gauges read when somebody asks. Knows: names,
units, buckets. Does not know: how the figures come about. Adding costs microseconds; `text` belongs off the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, get_args

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from app.context import ContextReport
from app.device_metrics import device_families
from app.device_reading import read_device
from app.executor import BoundedExecutor
from app.protocol_errors import Code
from app.voices import VoiceModel, names_of
from engines.contract import End

_SHORT: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
_TTFA: Final = (0.02, 0.04, 0.06, 0.08, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0, 2.0, 5.0, 15.0)
_RTF: Final = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0, 1.5, 3.0)
CONTINUITY_MS: Final = (0, 50, 100)
"""An utterance is continuous within so much if its worst gap is no longer."""
REASONS: Final = (*get_args(Code), "origin", "full", "idle_socket", "dead_peer")
"""Why something was refused: an error's code, or what happens to a socket without one."""
RELOADS: Final = ("done", "refused")
_POOL: Final = {
    "active": "Tasks running",
    "waiting": "Tasks waiting",
    "completed": "Tasks that ran, in all",
    "refused": "Tasks refused, in all",
    "expired": "Tasks that were too late, in all",
    "busy_s": "Run time in all, seconds",
    "longest_wait_s": "Longest wait, seconds",
}
"""What is told of `ExecutorStatistics`."""
_ENGINE: Final = {
    "slots": "Utterances it can speak at once",
    "speaking": "Utterances in slots",
    "waiting": "Utterances waiting for a slot",
    "step_ms": "Talker time of a frame, moving average, seconds",
    "codec_call_ms": "Codec time of a call, moving average, seconds",
    "codec_frame_ms": "Codec time a frame adds, moving average, seconds",
    "busy_s": "Age of the longest piece of work under way, seconds",
    "real_time_streams": "Utterances it holds in real time, by what it costs now",
    "runaways_retried": "Utterances that ran away unheard and were begun again, since the start",
    "runaways_ended": "Utterances that ran away and were ended, since the start",
}
"""What is told of `EngineStatistics`."""


class Metrics:
    """All figures of one daemon."""

    def __init__(self) -> None:
        self.registry: Final = CollectorRegistry()
        here = self.registry
        self._contexts = Counter("speakd_contexts", "Contexts that ended, by outcome", ["outcome"], registry=here)
        self._ttfa = Histogram("speakd_ttfa_seconds", "First text to first block", registry=here, buckets=_TTFA)
        self._rtf = Histogram("speakd_rtf", "Computing time over sound", registry=here, buckets=_RTF)
        self._gaps = Histogram("speakd_block_gap_seconds", "Between blocks", registry=here, buckets=_SHORT)
        self._underruns = Counter("speakd_underruns", "Gaps a listener heard", registry=here)
        self._underrun_s = Counter("speakd_underrun_seconds", "Length of these gaps", registry=here)
        self._continuous = Counter(
            "speakd_continuous_contexts", "Contexts with sound whose worst gap is within", ["within_ms"], registry=here
        )
        self._audible = Counter("speakd_audible_contexts", "Contexts with sound", registry=here)
        self._audio_s = Counter("speakd_audio_seconds", "Sound that was sent", registry=here)
        self._refusals = Counter("speakd_refusals", "Messages and sockets refused", ["reason"], registry=here)
        self._lag = Histogram("speakd_loop_lag_seconds", "How late the loop is", registry=here, buckets=_SHORT)
        self._rings = Gauge("speakd_ring_seconds", "Sound that waits for listeners", ["which"], registry=here)
        self._reloads = Counter("speakd_reloads", "Configuration reloads", ["result"], registry=here)
        outcomes = [end.value for end in End]
        within = [str(ms) for ms in CONTINUITY_MS]
        for counter, values in (
            (self._contexts, outcomes), (self._continuous, within), (self._refusals, REASONS), (self._reloads, RELOADS),
        ):  # fmt: skip
            for value in values:  # there from the start: of a counter that appears as 1, `increase` sees nothing
                counter.labels(value)

    def context_ended(self, report: ContextReport) -> None:
        """Account for a context."""
        self._contexts.labels(report.outcome.value).inc()
        heard = report.listening
        if report.first_audio_ms is not None and heard.audio_s:
            self._ttfa.observe(report.first_audio_ms / 1000)
            self._audible.inc()
            for within_ms in CONTINUITY_MS:
                self._continuous.labels(str(within_ms)).inc(1000 * heard.worst_gap_s <= within_ms)
        if heard.audio_s and report.outcome is not End.CANCELLED:
            self._rtf.observe(report.engine_ms / (1000 * heard.audio_s))
        for gap_s in heard.block_gaps_s:
            self._gaps.observe(gap_s)
        self._underruns.inc(heard.underruns)
        self._underrun_s.inc(heard.gap_s)
        self._audio_s.inc(heard.audio_s)

    def refused(self, reason: str) -> None:
        """A message, a context or a socket was refused."""
        self._refusals.labels(reason).inc()

    def loop_was_late(self, late_s: float) -> None:
        """A sample of the loop's lag."""
        self._lag.observe(late_s)

    def rings_hold(self, levels_s: Sequence[float]) -> None:
        """How much sound waits in each ring."""
        self._rings.labels("sum").set(sum(levels_s))
        self._rings.labels("largest").set(max(levels_s, default=0.0))

    def reloaded(self, result: str) -> None:
        """A SIGHUP was answered: "done" or "refused"."""
        self._reloads.labels(result).inc()

    def watch(self, name: str, help_text: str, value: Callable[[], float]) -> None:
        """A gauge whose value is asked for when it is wanted."""
        Gauge(name, help_text, registry=self.registry).set_function(value)

    def watch_parts(self, pools: Iterable[BoundedExecutor], models: Callable[[], Iterable[VoiceModel]]) -> None:
        """Gauges of pools, engines and the device."""
        self.registry.register(_Parts(tuple(pools), models))

    def text(self) -> bytes:
        """All figures."""
        return generate_latest(self.registry)


class _Parts(Collector):
    """Reads what other parts count for themselves."""

    def __init__(self, pools: tuple[BoundedExecutor, ...], models: Callable[[], Iterable[VoiceModel]]) -> None:
        self._pools = pools
        self._models = models

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """A snapshot."""
        yield from self._of_pools()
        yield from self._of_engines()
        yield from device_families(read_device())

    def _of_pools(self) -> Iterable[GaugeMetricFamily]:
        return _gauges("speakd_executor", _POOL, "pool", [(pool.name, pool.statistics()) for pool in self._pools])

    def _of_engines(self) -> Iterable[GaugeMetricFamily]:
        snapshots = [(name, model.engine.statistics()) for name, model in names_of(self._models())]
        yield from _gauges("speakd_engine", _ENGINE, "model", snapshots)
        info = GaugeMetricFamily("speakd_engine_info", "What runs the graphs, and why", labels=["model", "runs_on"])
        for name, snapshot in snapshots:
            info.add_metric([name, snapshot.runs_on], 1.0)
        yield info


def _gauges(
    prefix: str, fields: Mapping[str, str], label: str, snapshots: Sequence[tuple[str, object]]
) -> Iterable[GaugeMetricFamily]:
    """One family for each field of some records, which have names."""
    for field, help_text in fields.items():
        family = GaugeMetricFamily(f"{prefix}_{_unit(field)}", help_text, labels=[label])
        for name, snapshot in snapshots:
            family.add_metric([name], float(getattr(snapshot, field)) / (1000 if field.endswith("_ms") else 1))
        yield family


def _unit(field: str) -> str:
    """A field's name with the unit spelt out, as Prometheus wants it."""
    return field.removesuffix("_ms").removesuffix("_s") + ("_seconds" if field.endswith(("_ms", "_s")) else "")
