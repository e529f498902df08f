"""The codec thread's work: from frames of codes to sound in the callers' rings.

Purpose: gather frames as long as the block policy allows, decode the block that is needed first, and end utterances
whose last frame was decoded. One `tick` is at most one codec call. Knows: blocks, playing time, who still has sound in
hand. Does not know: how large a block is best (`engines.codec_round`), the talker, text, callers.

An utterance whose ring of sound is full rests; its frames then fill their ring, and the talker lets it rest too. Its
slot goes back here, when all of it is decoded or it was stopped. An error in a call is that of the utterances in it.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Final

import numpy as np

from engines.chunk_policy import Costs, block_due, first_block, spare_ms, widest_block
from engines.codec_round import CodecPolicy, Round
from engines.codec_stream import CodecStream
from engines.costs import CostModel
from engines.errors import DeviceLostError
from engines.manifest import FrameSpec
from engines.runaway import RunawayTally
from engines.scheduler import Scheduler
from engines.stages import CodecStage
from engines.timing import Timeline, Work
from engines.utterance import LiveUtterance

_CROWD: Final = 2  # streams, from where on talker and codec are always in each other's way
_LEAST_WAIT_MS: Final = 0.1
_PAUSE_MS: Final = 5.0  # until a stream that nobody hears in real time is looked at again


class CodecLoop:
    """See the module's text. Everything here runs on one thread."""

    def __init__(
        self,
        frame: FrameSpec,
        codec: CodecStage,
        scheduler: Scheduler,
        costs: CostModel,
        *,
        policy: CodecPolicy,
        timeline: Timeline,
        tally: RunawayTally,
        slot_free: Callable[[], None],
        clock: Callable[[], float],
    ) -> None:
        """`slot_free` is called when a slot was given back."""
        self._frame, self._codec, self._scheduler, self._costs = frame, codec, scheduler, costs
        self._policy, self._tally, self._timeline = policy, tally, timeline
        self._slot_free, self._clock = slot_free, clock
        self._ceiling = codec.most_frames  # of the present tick
        self._late_since = inf  # since when it has been too late to serve everyone in time, seconds
        self._streams: dict[int, CodecStream] = {}
        self._blocks = np.empty((codec.slots * codec.most_frames, frame.codebooks), dtype=np.int32)

    def tick(self) -> float | None:
        """Decode one block; returns 0 when there may be more, else the seconds until one is due (None: by the bell)."""
        streams = [self._stream(slot, utterance) for slot, utterance in self._scheduler.seated()]
        for stream in streams:
            stream.judge()
        ended = [stream for stream in streams if stream.over]
        for stream in ended:
            self._end(stream)
        now = self._clock()
        for stream in streams:
            stream.look_at_listener(now)
        careful = self._costs.cautious()
        costs = self._costs.snapshot() if len(streams) < _CROWD else careful
        self._ceiling = widest_block(costs, self._policy.call_ms, self._codec.most_frames)
        loaded, slowest = (of.under_load(len(streams), batching=self._policy.batching) for of in (costs, careful))
        waits_ms = {
            stream.slot: wait_ms
            for stream in streams
            if stream not in ended and (wait_ms := self._wait_ms(stream, loaded, slowest, now)) is not None
        }
        if 0.0 in waits_ms.values():
            return self._serve(streams, waits_ms, costs, now)
        if ended:
            return 0.0
        return min(waits_ms.values()) / 1000.0 if waits_ms else None

    def _serve(self, streams: list[CodecStream], waits_ms: dict[int, float], costs: Costs, now: float) -> float:
        """Decode the block that is needed first, of those that are due; returns as `tick` does."""
        due = [self._streams[slot] for slot, wait_ms in waits_ms.items() if wait_ms == 0.0]
        urgent = min(due, key=lambda stream: stream.urgency_ms(now))
        in_hand_ms = {
            stream.slot: in_hand
            for stream in streams
            if stream.hungry and ((in_hand := stream.in_hand_ms(now)) > 0.0 or waits_ms.get(stream.slot) == 0.0)
        }
        round_ = Round(costs, self._policy, waits_ms, in_hand_ms, self._available)
        room_ms = round_.slack_ms - self._policy.margin_ms
        if not urgent.hungry and room_ms < costs.codec_ms(1):  # who begins, or has time, does not break the others
            hungry = [stream for stream in due if stream.hungry]
            if not hungry and urgent.patient(now):
                return _PAUSE_MS / 1000.0
            urgent = min(hungry or [urgent], key=lambda stream: stream.urgency_ms(now))
        self._decode(*self._block(urgent, round_, now))
        return 0.0

    def _stream(self, slot: int, utterance: LiveUtterance) -> CodecStream:
        """The slot's stream; a new utterance in it starts from silence."""
        stream = self._streams.get(slot)
        if stream is None or stream.utterance is not utterance:
            stream = CodecStream(slot, utterance, self._frame, self._policy.silence_samples)
            self._streams[slot] = stream
            self._codec.begin(slot)
        return stream

    def _end(self, stream: CodecStream) -> None:
        utterance = stream.utterance
        stop = utterance.stopping or utterance.talker_end
        assert stop is not None  # by `over`
        del self._streams[stream.slot]
        self._scheduler.leave(utterance)
        self._slot_free()
        if stop.runaway:
            self._tally.ended += 1
        if utterance.progress.heard_from is not None:
            done = utterance.progress
            started = utterance.ready_at + (done.first_audio_ms or 0.0) / 1000.0
            self._timeline.add(Work.SOUND, started, self._clock(), (stream.slot,), done.samples, utterance.number)
        utterance.finish(stop)

    def _wait_ms(self, stream: CodecStream, costs: Costs, slowest: Costs, now: float) -> float | None:
        """0 when the stream's block must go now, the time until it must, None while only an event can change that.

        A start is planned by `costs`; how long later blocks can wait, by what a call takes at the `slowest`.
        """
        if stream.begun_again():
            self._codec.begin(stream.slot)
        if stream.idle:
            return None
        if stream.gathered_all:
            return 0.0
        return self._gather_ms(stream, costs, slowest, now) if self._policy.overlap else None

    def _gather_ms(self, stream: CodecStream, costs: Costs, slowest: Costs, now: float) -> float | None:
        """How long a block of frames that still come can be gathered; answers as `_wait_ms` does."""
        utterance, gathered = stream.utterance, stream.utterance.frames.used
        if not utterance.realtime:
            return 0.0 if utterance.starved or gathered >= self._most(stream) else None
        in_hand_ms = stream.in_hand_ms(now)
        if in_hand_ms <= 0.0:
            return 0.0 if utterance.starved or gathered >= self._start_block(stream, costs) else None
        if not self._policy.adaptive:
            return 0.0 if utterance.starved or gathered >= self._ceiling else None
        next_in_ms = max(costs.step_ms - 1000.0 * (now - utterance.progress.frame_at), 0.0)
        if block_due(slowest, gathered, next_in_ms, in_hand_ms, self._ceiling, self._policy.margin_ms):
            return 0.0
        return max(spare_ms(slowest, gathered, in_hand_ms, self._policy.margin_ms), _LEAST_WAIT_MS)

    def _start_block(self, stream: CodecStream, costs: Costs) -> int:
        """Frames to gather before the sound starts, or starts again after it ran out."""
        if stream.start_block is None:
            computed = first_block(costs, self._ceiling, self._policy.margin_ms) if self._policy.adaptive else None
            stream.start_block = stream.wished_frames or computed or self._ceiling
        return stream.start_block

    def _most(self, stream: CodecStream) -> int:
        """The most frames its next block may have."""
        return stream.wished_frames or self._ceiling

    def _available(self, slot: int) -> int:
        """The frames that the slot's next block can have."""
        stream = self._streams[slot]
        return min(stream.utterance.frames.used, self._most(stream))

    def _block(self, urgent: CodecStream, round_: Round, now: float) -> tuple[list[CodecStream], int]:
        """Who goes along with the urgent one, in consecutive slots, and how many frames of each are decoded."""
        if urgent.wished_frames:
            return [urgent], self._available(urgent.slot)
        block = round_.block(urgent.slot, max(1000.0 * (now - self._late_since), 0.0))
        self._late_since = min(self._late_since, now) if block.late else inf
        return [self._streams[slot] for slot in block.slots], block.frames

    def _decode(self, company: list[CodecStream], frames: int) -> None:
        """Decode as many frames of each and hand the sound over."""
        began = self._clock()
        blocks = self._blocks[: len(company) * frames].reshape(len(company), frames, -1)
        for block, stream in zip(blocks, company, strict=True):
            if stream.utterance.frames.read_into(block) < frames:
                block.fill(0)  # it was stopped just now; what its slot makes of silence is not handed over
        self._costs.codec_begins()
        try:
            pcm = self._codec.decode_many(company[0].slot, blocks)
        except DeviceLostError:
            raise
        except Exception as error:
            for stream in company:
                stream.utterance.stop(f"the sound could not be decoded: {error}")
            return
        now = self._clock()
        took_ms = 1000.0 * (now - began)
        self._costs.codec_took(len(company) * frames, took_ms)
        slots = tuple(stream.slot for stream in company)
        self._timeline.add(Work.CODEC, began, now, slots, len(company) * frames)
        for sound, stream in zip(pcm, company, strict=True):
            stream.hand_over(sound, now, took_ms / len(company))
