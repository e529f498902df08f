"""The speech engine: a bundle, two threads, and utterances.

Purpose: put the parts together, let utterances in, and shut down cleanly. Knows: every part of this room by name.
Does not know: text rules, sockets, asyncio, how a graph is computed.

    start -> scheduler -> talker thread -> ring of frames -> codec thread -> ring of sound -> the caller

The talker's thread makes frames, the codec's thread makes sound and ends utterances. Either sleeps on its own bell. An
error of one utterance ends that utterance; an error that is nobody's own ends the engine, and everyone in it with the
reason.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from types import TracebackType

from engines.admission import real_time_streams, streams_ahead
from engines.backends import open_stages
from engines.bundle import Bundle, open_bundle
from engines.codec_loop import CodecLoop
from engines.codec_round import CodecPolicy
from engines.contract import End, EngineStatistics, SpeechRequest, VoiceInfo
from engines.costs import CostModel
from engines.engine_config import EngineConfig
from engines.errors import RequestError
from engines.pacing import in_hand_ms
from engines.prompt import PromptBuilder, PromptPlan
from engines.ring import Ring
from engines.runaway import RunawayTally
from engines.sampling import ResolvedSampling, resolve_sampling
from engines.scheduler import Scheduler
from engines.stages import Stages
from engines.talker_loop import TalkerLoop
from engines.timing import Span, Timeline
from engines.turn_pacing import TurnPacing
from engines.utterance import LiveUtterance, Stop
from engines.voice_files import describe_voice
from engines.warm_up import warm_up
from engines.worker import Worker

__all__ = ["EngineConfig", "SpeechEngine"]


class SpeechEngine:
    """Speaks with one bundle. `start` may be called from any thread; leaving the context closes the engine."""

    def __init__(
        self,
        bundle: Bundle,
        stages: Stages,
        config: EngineConfig,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take over `stages`, made by the same `config`; `open` is the usual way in.

        The threads start with the first utterance.
        """
        self._bundle, self._config, self._clock = bundle, config, clock
        self._stages: Stages | None = stages
        self._positions = stages.talker.positions
        self.sentence, self.falls_back = stages.sentence, stages.falls_back
        """What people should be told about the device at the start, and whether as a warning."""
        self._prompts = PromptBuilder(bundle)
        self._costs = CostModel(bundle.manifest.frame.frame_ms, clock)
        self._scheduler = Scheduler(config.slots, config.max_waiting, self._held if config.admission else None)
        self._tally, self._timeline, self._numbers = RunawayTally(), Timeline(), itertools.count()
        self._talker_worker = Worker("talker", partial(self._tick, 0), self._fail)
        self._codec_worker = Worker("codec", partial(self._tick, 1), self._fail)
        self._loops: list[TalkerLoop | CodecLoop] = [self._talker_loop(stages), self._codec_loop(stages)]
        self._failure: str | None = None

    @classmethod
    def open(cls, bundle: Path, config: EngineConfig | None = None) -> SpeechEngine:
        """Open a bundle on the best device (`engines.backends`). Raises `BundleError` naming what is wrong with it."""
        config = config or EngineConfig()
        opened = open_bundle(bundle, config.verify)
        return cls(opened, open_stages(opened, config), config)

    @property
    def info(self) -> VoiceInfo:
        """What a client may ask of this voice."""
        return describe_voice(self._bundle.path.resolve().name, self._bundle.manifest)

    def warm_up(self) -> None:
        """Run every shape once, so that the first utterance is as fast as the tenth. Call it before any `start`.

        The engine's threads begin here, with the niceness of the caller's; without a warm-up, at the first `start`.
        """
        if self._stages is not None and not self._talker_worker.started:
            stages, call_ms = self._stages, self._config.codec_call_ms
            warm_up(stages.talker, stages.codec, self._bundle.manifest, self._costs, call_ms, self._clock)
            self._begin()

    def start(self, request: SpeechRequest) -> LiveUtterance:
        """Let an utterance in; it begins when there is text enough and a slot is free. Never waits.

        Raises `RequestError` for what this voice cannot do, `EngineBusyError` when every place is taken,
        `EngineClosedError` after `close` or a failure.
        """
        plan = self._prompts.plan(request)
        sampling = self._resolve(request)
        utterance = LiveUtterance(
            request,
            plan,
            sampling,
            prompts=self._prompts,
            text_ids=self._bundle.manifest.text_ids,
            most_text=self._most_text(plan),
            frames=self._frame_ring(),
            pcm=self._pcm_ring(),
            wake=self._ring_both,
            clock=self._clock,
            number=next(self._numbers),
        )
        self._scheduler.enter(utterance)
        self._begin()
        return utterance

    def check(self, request: SpeechRequest) -> None:
        """Whether this voice can do what is asked, before there is text. Raises `RequestError`."""
        self._prompts.plan(request)
        self._resolve(request)

    def _resolve(self, request: SpeechRequest) -> ResolvedSampling:
        """What a request's numbers come to."""
        if request.max_frames is not None and request.max_frames < 1:
            raise RequestError(f"max_frames must be at least 1, not {request.max_frames}")
        first, most = request.initial_codec_chunk_frames, self._config.codec_chunk_frames
        if first is not None and not 1 <= first <= most:
            raise RequestError(f"initial_codec_chunk_frames {first} is outside 1 to {most}")
        return resolve_sampling(request.sampling, request.seed, self._bundle.manifest.sampling)

    def statistics(self) -> EngineStatistics:
        """A snapshot."""
        costs = self._costs.snapshot()
        seated = [utterance for _, utterance in self._scheduler.seated()]
        return EngineStatistics(
            slots=self._config.slots,
            speaking=len(seated),
            waiting=len(self._scheduler.waiting()),
            step_ms=costs.step_ms,
            codec_call_ms=costs.codec_call_ms,
            codec_frame_ms=costs.codec_frame_ms,
            busy_s=max(self._talker_worker.busy_s, self._codec_worker.busy_s),
            failure=self._failure,
            real_time_streams=self._held(seated),
            runaways_retried=self._tally.retried,
            runaways_ended=self._tally.ended,
            runs_on=self.sentence,
        )

    def device_runs_at(self, speed: float) -> None:
        """Tell what the device says of itself: the share of its full speed, above 0 to 1; 1 is unthrottled.

        Admission and block sizes go by it until steps and codec calls have shown what it really means. From any thread.
        """
        self._costs.device_runs_at(speed)

    def timeline(self) -> list[Span]:
        """The last few thousand pieces of work, for people who want to see."""
        return self._timeline.spans()

    def close(self) -> None:
        """Cancel what is left, at the next frame boundary, end the threads, and give back the stages; idempotent.

        What they hold of the device goes now and not with the garbage: collecting is no business of the thread that it
        happens on, and a daemon's first engines are frozen and never collected.
        """
        left = self._scheduler.close("the engine is closed")
        for worker in (self._talker_worker, self._codec_worker):
            worker.stop()
        for worker in (self._talker_worker, self._codec_worker):
            worker.join()
        for utterance in left:
            utterance.finish(utterance.stopping or Stop(End.CANCELLED))
        stages, self._stages = self._stages, None
        if stages is not None:
            self._loops.clear()
            stages.talker.close()
            stages.codec.close()
            stages.close()

    def __enter__(self) -> SpeechEngine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- inside -----------------------------------------------------------------------------------------------------

    def _talker_loop(self, stages: Stages) -> TalkerLoop:
        config, frame_ms = self._config, self._bundle.manifest.frame.frame_ms
        pacing = TurnPacing(
            self._costs,
            frame_ms,
            comfortable_ms=1000.0 * config.comfortable_s,
            margin_ms=config.underrun_margin_ms,
            batching=config.codec_batching,
        )
        return TalkerLoop(
            self._bundle,
            stages.talker,
            self._scheduler,
            self._costs,
            pacing,
            loop_frames=round(1000.0 * config.runaway_loop_s / frame_ms),
            timeline=self._timeline,
            tally=self._tally,
            frames_ready=self._ring_codec,
            clock=self._clock,
            ahead=stages.ahead,
        )

    def _codec_loop(self, stages: Stages) -> CodecLoop:
        config, frame = self._config, self._bundle.manifest.frame
        policy = CodecPolicy(
            call_ms=config.codec_call_ms,
            margin_ms=config.underrun_margin_ms,
            batching=config.codec_batching,
            overlap=config.async_chunks,
            adaptive=config.adaptive_chunks,
            silence_samples=round(config.runaway_silence_s * frame.sample_rate_hz),
        )
        return CodecLoop(
            frame,
            stages.codec,
            self._scheduler,
            self._costs,
            policy=policy,
            timeline=self._timeline,
            tally=self._tally,
            slot_free=self._ring_talker,
            clock=self._clock,
        )

    def _tick(self, loop: int) -> float | None:
        """Workers hold no loop themselves, so that the stages in it go with `close`."""
        return self._loops[loop].tick()

    def _held(self, seated: Iterable[LiveUtterance]) -> int:
        """Real-time utterances this device holds, by what it costs now and by how far those seated are ahead."""
        now, rate_hz = self._clock(), self._bundle.manifest.frame.sample_rate_hz
        heard = [one.progress for one in seated if one.realtime]
        hands_ms = [in_hand_ms(1000.0 * one.samples / rate_hz, one.heard_from, now) for one in heard]
        ahead = streams_ahead(hands_ms, 1000.0 * self._config.comfortable_s)
        return real_time_streams(
            self._costs.device(), self._config.slots, batching=self._config.codec_batching, ahead=ahead
        )

    def _most_text(self, plan: PromptPlan) -> int:
        """Text ids that fit the cache: all in the prompt, or one in it and one more per frame."""
        room = self._positions - plan.fixed_rows
        if room < 1:
            raise RequestError(
                f"the prompt without its text takes {plan.fixed_rows} of {self._positions} positions; "
                "shorten the instruction"
            )
        return room

    def _frame_ring(self) -> Ring:
        most = 2 * self._config.codec_chunk_frames
        if not self._config.async_chunks:  # all of it must be there before any of it is decoded
            most = self._positions + 1
        ring = Ring(most, (self._bundle.manifest.frame.codebooks,), "i4")
        ring.on_writable(self._ring_talker)
        return ring

    def _pcm_ring(self) -> Ring:
        frame = self._bundle.manifest.frame
        block = self._config.codec_chunk_frames * frame.samples_per_frame
        ahead = max(round(self._config.pcm_ring_s * frame.sample_rate_hz), 1)
        ring = Ring(ahead + block, high=ahead)  # below the high mark a whole block always fits
        ring.on_writable(self._ring_codec)
        return ring

    def _ring_talker(self) -> None:
        self._talker_worker.ring()

    def _ring_codec(self) -> None:
        self._codec_worker.ring()

    def _begin(self) -> None:
        self._talker_worker.start()
        self._codec_worker.start()

    def _ring_both(self) -> None:
        self._ring_talker()
        self._ring_codec()

    def _fail(self, error: Exception) -> None:
        """A thread cannot go on: end everything with the reason. Runs on the thread that failed."""
        self._failure = self._failure or f"the engine failed: {error}"
        left = self._scheduler.close(self._failure)
        self._talker_worker.stop()
        self._codec_worker.stop()
        for utterance in left:
            utterance.finish(Stop(End.ERROR, self._failure))
