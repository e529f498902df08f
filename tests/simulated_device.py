"""A device that is made up: the engine's real code in time that is counted, not waited for.

Purpose: run scheduler, talker loop, codec loop, admission and pacing exactly as they are, for any number of streams, on
devices this machine is not. A run of a graph takes the time that a cost model says; nothing else takes any. Talker and
codec have a thread each, of which one at a time goes on: whoever is next in counted time. So every run is the same.
Knows: the engine's two ticks and bells. Does not know: how they decide.
"""

from __future__ import annotations

import heapq
import itertools
import random
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from math import inf
from typing import Any
from unittest.mock import patch

import numpy as np
import numpy.typing as npt

from engines.contract import Outcome, Pace, SpeechRequest
from engines.engine import EngineConfig
from engines.errors import EngineBusyError
from engines.manifest import CodecInputs, FrameInputs
from engines.utterance import LiveUtterance
from engines.warm_up import warm_up
from tests import fake_voice
from tests.counted_time import Actor, CountedTime
from tests.fake_voice import ASK, FakeRunner

Tensors = Mapping[str, npt.NDArray[Any]]
FRAME_MS = 80.0
SAMPLES = 4


@dataclass(frozen=True)
class Device:
    """What runs cost, milliseconds."""

    name: str
    slots: int
    step_ms: float
    step_stream_ms: float
    codec_call_ms: float
    codec_frame_ms: float
    prompt_row_ms: float
    together: float = 1.0
    """How much longer a run takes that begins while the other of talker and codec is at work."""
    uneven: float = 0.0
    """The most that a run takes longer by chance, as a share."""
    slow: tuple[float, float] = (0.0, 0.0)
    """From when to when it is slower, because others take a part of it; of the simulation's time."""
    slow_times: float = 2.0
    """How much longer everything takes then."""

    def step(self, streams: int) -> float:
        return self.step_ms + streams * self.step_stream_ms

    def call(self, frames: int) -> float:
        return self.codec_call_ms + frames * self.codec_frame_ms


# Assumed, after published figures of similar models: order of magnitude, not measurements.
ORIN_NANO = Device("Orin Nano", 4, 38.0, 3.0, 8.0, 5.0, 1.0)
AGX_ORIN = Device("AGX Orin", 32, 20.0, 0.8, 4.0, 1.4, 0.4)
H200 = Device("H200", 256, 6.0, 0.06, 1.5, 0.08, 0.05)

TWO_CORES = Device("two cores", 32, 5.0, 0.9, 2.3, 4.0, 0.8)
"""The default voice on a processor, roughly as measured."""
FASTER_CORES = Device("two faster cores", 48, 1.2, 0.32, 1.1, 1.17, 0.33, together=1.15)
"""The same on better ones (docs/LOG.md)."""


def in_earnest(device: Device) -> Device:
    """The same with what real devices have besides: talker and codec in each other's way, and chance."""
    return replace(device, name=f"{device.name} in earnest", together=1.3, uneven=0.3)


@dataclass
class Stream:
    """An utterance, its listener, and what became of it."""

    frames: int
    at_ms: float = 0.0
    pace: Pace = Pace.REALTIME
    deaf_ms: float = 0.0
    """How long after the first sample the listener fetches nothing."""
    leaves_after_ms: float | None = None
    started_ms: float = 0.0
    refused: bool = False
    utterance: LiveUtterance | None = None
    blocks: list[tuple[float, float]] = field(default_factory=list)
    """(when, milliseconds of sound so far)."""
    ended_ms: float = 0.0

    @property
    def outcome(self) -> Outcome:
        assert self.utterance is not None
        return self.utterance.outcome.result(0)

    @property
    def late_ms(self) -> float:
        """The most that a block came too late for a listener who started with the first one; below 0: never."""
        late = [when - self.blocks[0][0] - before for (_, before), (when, _) in pairwise(self.blocks)]
        return max(late, default=-FRAME_MS)

    @property
    def first_ms(self) -> float:
        return self.blocks[0][0] - self.started_ms


class Simulation:
    """A device, its engine, and streams."""

    def __init__(self, device: Device, **config: float) -> None:
        self.device, self.time = device, CountedTime()
        manifest = fake_voice.manifest()
        sizes = {"slots": device.slots, "max_waiting": 0, "positions": 300} | config
        self.engine = fake_voice.engine(
            fake_voice.bundle(manifest),
            FakeRunner(self._speak),
            FakeRunner(self._decode),
            EngineConfig(**sizes),  # type: ignore[arg-type]
            clock=self.time.clock,
        )
        self._at_work, self.started_ms = 0, inf
        self._dice = random.Random(0)
        beside = partial(warm_up, beside=self._beside)
        with patch("engines.engine.warm_up", beside), patch.object(self.engine, "_begin"):  # no threads of its own
            self.engine.warm_up()
        self.started_ms = self.time.now_ms
        self.left = (-1, -1)
        """Who is still speaking, or waiting, at the end."""
        self._actors = [self._on_stage(worker) for worker in (self.engine._talker_worker, self.engine._codec_worker)]

    def run(self, streams: list[Stream]) -> None:
        """Start the streams at their times and go on until the last has ended."""
        events: list[tuple[float, int, Callable[[], None]]] = []
        order, base_ms = itertools.count(), self.started_ms
        for stream in streams:
            stream.started_ms = base_ms + stream.at_ms
            heapq.heappush(events, (stream.started_ms, next(order), self._starting(stream, events, order)))
        while events:
            at_ms, _, act = heapq.heappop(events)
            if at_ms > self.time.now_ms:
                self.time.pass_ms(at_ms - self.time.now_ms)
            act()
        for _ in range(100_000):
            if all(stream.refused or (stream.utterance and stream.utterance.outcome.done()) for stream in streams):
                break
            self.time.pass_ms(100.0)
        state = self.engine.statistics()
        self.left = (state.speaking, state.waiting)
        self._close()

    # -- inside -----------------------------------------------------------------------------------------------------

    def _starting(
        self, stream: Stream, events: list[tuple[float, int, Callable[[], None]]], order: itertools.count[int]
    ) -> Callable[[], None]:
        def start() -> None:
            try:
                utterance = stream.utterance = self.engine.start(SpeechRequest(pace=stream.pace, seed=next(order)))
            except EngineBusyError:
                stream.refused = True
                return
            utterance.pcm.on_readable(lambda: self._hear(stream))
            utterance.feed((ASK + stream.frames,))
            utterance.end_of_text()
            if stream.deaf_ms:
                heapq.heappush(events, (self.time.now_ms + stream.deaf_ms, next(order), lambda: self._hear(stream)))
            if stream.leaves_after_ms is not None:
                heapq.heappush(events, (self.time.now_ms + stream.leaves_after_ms, next(order), utterance.cancel))

        return start

    def _hear(self, stream: Stream) -> None:
        """Runs wherever sound was written: note it, and fetch it if the listener listens."""
        utterance = stream.utterance
        assert utterance is not None
        sound_ms = utterance.pcm.statistics().written / SAMPLES * FRAME_MS
        if sound_ms > (stream.blocks[-1][1] if stream.blocks else 0.0):
            stream.blocks.append((self.time.now_ms, sound_ms))
        if self.time.now_ms >= stream.started_ms + stream.deaf_ms:
            utterance.pcm.read_nowait(1 << 16)

    def _on_stage(self, worker: Any) -> Actor:
        """Have a worker tick in counted time."""
        actor = Actor()

        def go() -> None:
            actor.turn.acquire()
            while not self.time.over:
                pause_s = worker._tick()
                if pause_s != 0.0:
                    self.time.rest_ms(None if pause_s is None else 1000.0 * pause_s)
            self.time.go_on()

        worker.start = lambda: None
        worker.ring = lambda: self.time.ring(actor)
        threading.Thread(target=go, daemon=True).start()
        self.time.begin(actor)
        return actor

    def _close(self) -> None:
        self.time.over = True
        for actor in self._actors:
            self.time.ring(actor)
            self.time.pass_ms(1.0)
        self.engine.close()

    def _speak(self, inputs: Tensors, outputs: Tensors) -> None:
        streams, rows, _ = inputs[FrameInputs.CODEC_ROWS].shape
        self._work_ms(rows * self.device.prompt_row_ms if rows > 1 else self.device.step(streams))
        fake_voice.speak_by_rule(inputs, outputs)

    def _decode(self, inputs: Tensors, outputs: Tensors) -> None:
        streams, frames, _ = inputs[CodecInputs.CODES].shape
        self._work_ms(self.device.call(streams * frames))
        fake_voice.decode_by_rule(inputs, outputs)

    def _work_ms(self, ms: float) -> None:
        """A run that takes so long by itself."""
        ms *= 1.0 + self.device.uneven * self._dice.random()
        since, until = self.device.slow
        if since <= self.time.now_ms - self.started_ms < until:
            ms *= self.device.slow_times
        if self._at_work:
            ms *= self.device.together
        self._at_work += 1
        self.time.pass_ms(ms)
        self._at_work -= 1

    @contextmanager
    def _beside(self, work: Callable[[], object]) -> Iterator[None]:
        """Something goes on at the same time, as far as it can be felt."""
        self._at_work += 1
        yield
        self._at_work -= 1


def spoken(streams: list[Stream]) -> list[Stream]:
    """Those who were let in and stayed."""
    return [stream for stream in streams if not stream.refused and stream.leaves_after_ms is None]


def worst_late_ms(streams: list[Stream]) -> float:
    return float(np.max([stream.late_ms for stream in spoken(streams) if stream.pace is Pace.REALTIME], initial=-1e9))
