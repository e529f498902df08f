"""The codec thread's work: from frames of codes to sound in the callers' rings.

Purpose: gather frames as long as the block policy allows, decode the block that is needed first, and end utterances
whose last frame was decoded. One `tick` is at most one codec call. Knows: blocks, playing time, who still has sound in
hand. Does not know: the talker, text, callers.

A caller is taken to listen from its first sample on, at the pace of the sound. An utterance whose ring of sound is full
rests; its frames then fill their ring, and the talker lets it rest too. Its slot goes back here, when all of it is
decoded or it was stopped. An error in a call is the utterance's own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from engines.chunk_policy import Costs, block_due, first_block, spare_ms, widest_block
from engines.codec import Codec
from engines.costs import CostModel
from engines.errors import RingClosedError
from engines.manifest import FrameSpec
from engines.scheduler import Scheduler
from engines.utterance import LiveUtterance

_LEAST_WAIT_MS = 0.1


@dataclass(slots=True, eq=False)
class _Stream:
    """An utterance's sound so far."""

    slot: int
    utterance: LiveUtterance
    decoded: int = 0
    """Frames decoded."""
    heard_from: float = 0.0
    """When its first sample was there, by the clock, seconds; later by as much as the sound has paused since."""
    start_block: int | None = None
    """Frames to gather before the sound starts, or starts again; decided once per start."""


class CodecLoop:
    """See the module's text. Everything here runs on one thread."""

    def __init__(
        self,
        frame: FrameSpec,
        codec: Codec,
        scheduler: Scheduler,
        costs: CostModel,
        *,
        call_ms: float,
        margin_ms: float,
        slot_free: Callable[[], None],
        clock: Callable[[], float],
    ) -> None:
        """`call_ms`: what a codec call should take at most; `margin_ms`: sound that should stay in hand.

        `slot_free` is called when a slot was given back.
        """
        self._frame, self._codec, self._scheduler, self._costs = frame, codec, scheduler, costs
        self._call_ms, self._margin_ms = call_ms, margin_ms
        self._slot_free, self._clock = slot_free, clock
        self._ceiling = codec.most_frames  # of the present tick
        self._streams: dict[int, _Stream] = {}
        self._block = np.empty((codec.most_frames, frame.codebooks), dtype=np.int32)

    def tick(self) -> float | None:
        """Decode one block; returns 0 when there may be more, else the seconds until one is due (None: by the bell)."""
        streams = [self._stream(slot, utterance) for slot, utterance in self._scheduler.seated()]
        ended = [stream for stream in streams if self._over(stream)]
        for stream in ended:
            self._end(stream)
        now = self._clock()
        costs = self._costs.snapshot()
        self._ceiling = widest_block(costs, self._call_ms, self._codec.most_frames)
        costs = costs.under_load(len(streams))
        soonest_ms, due = None, list[_Stream]()
        for stream in streams:
            wait_ms = None if stream in ended else self._wait_ms(stream, costs, now)
            if wait_ms == 0.0:
                due.append(stream)
            elif wait_ms is not None:
                soonest_ms = wait_ms if soonest_ms is None else min(soonest_ms, wait_ms)
        if due:
            self._decode(min(due, key=lambda stream: self._in_hand_ms(stream, now)))
        if due or ended:
            return 0.0
        return None if soonest_ms is None else soonest_ms / 1000.0

    def _stream(self, slot: int, utterance: LiveUtterance) -> _Stream:
        """The slot's stream; a new utterance in it starts from silence."""
        stream = self._streams.get(slot)
        if stream is None or stream.utterance is not utterance:
            stream = self._streams[slot] = _Stream(slot, utterance)
            self._codec.begin(slot)
        return stream

    def _over(self, stream: _Stream) -> bool:
        """Whether the talker is done with it, and nothing is left to decode or nobody wants it."""
        utterance = stream.utterance
        return utterance.talker_end is not None and (utterance.frames.used == 0 or utterance.stopping is not None)

    def _end(self, stream: _Stream) -> None:
        utterance = stream.utterance
        stop = utterance.stopping or utterance.talker_end
        assert stop is not None  # by `_over`
        del self._streams[stream.slot]
        self._scheduler.leave(utterance)
        self._slot_free()
        utterance.finish(stop)

    def _in_hand_ms(self, stream: _Stream, now: float) -> float:
        """Sound made and not yet played by a listener who does not pause; below 0 when it has run out."""
        if stream.decoded == 0:
            return 0.0
        return stream.decoded * self._frame.frame_ms - 1000.0 * (now - stream.heard_from)

    def _wait_ms(self, stream: _Stream, costs: Costs, now: float) -> float | None:
        """0 when the stream's block must go now, the time until it must, None while only an event can change that."""
        utterance, gathered = stream.utterance, stream.utterance.frames.used
        if gathered == 0 or utterance.stopping is not None or not utterance.pcm.writable:
            return None
        if utterance.talker_end is not None:
            return 0.0
        in_hand_ms = self._in_hand_ms(stream, now)
        if in_hand_ms <= 0.0:
            return 0.0 if utterance.starved or gathered >= self._start_block(stream, costs) else None
        next_in_ms = max(costs.step_ms - 1000.0 * (now - utterance.progress.frame_at), 0.0)
        if block_due(costs, gathered, next_in_ms, in_hand_ms, self._ceiling, self._margin_ms):
            return 0.0
        return max(spare_ms(costs, gathered, in_hand_ms, self._margin_ms), _LEAST_WAIT_MS)

    def _start_block(self, stream: _Stream, costs: Costs) -> int:
        """Frames to gather before the sound starts, or starts again after it ran out."""
        if stream.start_block is None:
            wished = stream.utterance.request.initial_codec_chunk_frames if stream.decoded == 0 else None
            stream.start_block = wished or first_block(costs, self._ceiling, self._margin_ms)
        return stream.start_block

    def _decode(self, stream: _Stream) -> None:
        """Decode what was gathered, at most a block, and hand it over."""
        utterance = stream.utterance
        wished = utterance.request.initial_codec_chunk_frames
        most = self._ceiling if stream.decoded or wished is None else wished
        began = self._clock()
        frames = utterance.frames.read_into(self._block[:most])
        if frames == 0:  # it was stopped just now
            return
        try:
            pcm = self._codec.decode(stream.slot, self._block[:frames])
            now = self._clock()
            utterance.pcm.write_nowait(pcm)
        except RingClosedError:
            utterance.stop("the reader's listener failed")  # a cancelled reader has said so before, and that stands
            return
        except Exception as error:
            utterance.stop(f"the sound could not be decoded: {error}")
            return
        took_ms = 1000.0 * (now - began)
        self._costs.codec_took(frames, took_ms)
        progress = utterance.progress
        if stream.decoded == 0:
            progress.first_audio_ms = 1000.0 * (now - utterance.ready_at)
        if self._in_hand_ms(stream, now) <= 0.0:
            stream.heard_from = now - stream.decoded * self._frame.frame_ms / 1000.0
        stream.start_block = None
        stream.decoded += frames
        progress.samples += len(pcm)
        progress.codec_ms += took_ms
