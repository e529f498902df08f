"""One utterance on its way through the codec: what it has sounded, and what its listener still has to hear.

Purpose: keep an utterance's playing clock, hand its blocks of sound over, and see to it that silence does not last.
Knows: frames, samples, the utterance. Does not know: who else is decoded, the codec graph, when to call it.

A caller is taken to listen from the first sample on, at the pace of the sound.
"""

from __future__ import annotations

from engines.contract import Pcm
from engines.errors import RingClosedError
from engines.manifest import FrameSpec
from engines.pacing import PATIENCE_MS, in_hand_ms
from engines.runaway import SilenceDetector
from engines.utterance import LiveUtterance


class CodecStream:
    """An utterance in a slot, seen by the codec's thread."""

    def __init__(self, slot: int, utterance: LiveUtterance, frame: FrameSpec, silence_samples: int) -> None:
        """`silence_samples`: how long the sound may be silent, 0 for ever."""
        self.slot, self.utterance = slot, utterance
        self.decoded = 0
        """Frames decoded and handed over."""
        self.start_block: int | None = None
        """Frames to gather before the sound starts, or starts again; decided once per start."""
        self._frame = frame
        self._silence = SilenceDetector(silence_samples)
        self._attempt = 0
        self._cut = False  # this attempt's sound goes out no further: it was silent for too long
        self._judged = False
        self._last_at = utterance.ready_at  # when it last got something decoded, seconds

    @property
    def over(self) -> bool:
        """Whether the talker is done with it, and nothing is left to decode or nobody wants it."""
        utterance = self.utterance
        return utterance.left and (utterance.stopping is not None or utterance.frames.used == 0)

    @property
    def idle(self) -> bool:
        """Whether there is nothing to decode now, or nobody wants it, or its listener has enough."""
        utterance = self.utterance
        return (
            self._judged or utterance.frames.used == 0 or utterance.stopping is not None or not utterance.pcm.writable
        )

    @property
    def gathered_all(self) -> bool:
        """Whether no further frame will come (of this attempt)."""
        return self.utterance.lost or self.utterance.talker_end is not None

    @property
    def wished_frames(self) -> int | None:
        """Frames that its next block is to have by the request, which speaks of the first alone."""
        return self.utterance.request.initial_codec_chunk_frames if self.decoded == 0 else None

    @property
    def hungry(self) -> bool:
        """Whether somebody hears it in real time and more of it is to come."""
        utterance = self.utterance
        if not (utterance.realtime and self.decoded) or utterance.stopping is not None:
            return False
        return utterance.frames.used > 0 or not self.gathered_all

    def patient(self, now: float) -> bool:
        """Whether it can wait: nobody hears it in real time, and it got something not long ago."""
        return not self.utterance.realtime and self.urgency_ms(now) > 0.0

    def judge(self) -> None:
        """Have a lost utterance judged once its sound is known."""
        if not self._judged and self.utterance.lost and (self._cut or self.utterance.frames.used == 0):  # in this order
            self._judged = True  # before the talker can begin again
            self.utterance.judge(self._silence.heard)

    def begun_again(self) -> bool:
        """Whether the utterance was begun again since the last look; its sound then goes on from silence.

        It may be lost again by now: a call can last as long as all of an attempt's frames.
        """
        if self._attempt == self.utterance.attempt:
            return False
        self._attempt, self.start_block = self.utterance.attempt, None
        self._cut = self._judged = False
        self._silence.reset()
        return True

    def look_at_listener(self, now: float) -> None:
        """Set the playing clock back where more is left in the ring than should be: what was not fetched is not played.

        For good: who fetches late plays late, and has as much in hand afterwards as if he had never paused.
        """
        progress = self.utterance.progress
        unread_ms = 1000.0 * self.utterance.pcm.used / self._frame.sample_rate_hz
        if progress.heard_from is not None and unread_ms > self.in_hand_ms(now):
            progress.heard_from = now - (self.decoded * self._frame.frame_ms - unread_ms) / 1000.0

    def in_hand_ms(self, now: float) -> float:
        """Sound decoded and not yet played (`engines.pacing.in_hand_ms`)."""
        return in_hand_ms(self.decoded * self._frame.frame_ms, self.utterance.progress.heard_from, now)

    def urgency_ms(self, now: float) -> float:
        """What streams are served by, least first: sound in hand, or patience where nobody listens in real time.

        Of those whose sound has run out, whoever waits longest goes first.
        """
        waited_ms = 1000.0 * (now - self._last_at)
        if not self.utterance.realtime:
            return PATIENCE_MS - waited_ms
        in_hand_ms = self.in_hand_ms(now)
        return in_hand_ms if in_hand_ms > 0.0 or not self.decoded else -waited_ms

    def hand_over(self, pcm: Pcm, now: float, took_ms: float) -> None:
        """Give a block of sound to the listener; `took_ms`: what it cost the codec."""
        utterance, progress = self.utterance, self.utterance.progress
        room = self._silence.room(pcm, self._frame.samples_per_frame)
        if room is not None:
            self._cut = True
            pcm = pcm[:room]
        self.look_at_listener(now)
        ran_out = progress.heard_from is None or self.in_hand_ms(now) <= 0.0  # before there is more
        try:
            utterance.pcm.write_nowait(pcm)
        except RingClosedError:
            utterance.stop("the reader's listener failed")  # a cancelled reader has said so before, and that stands
            return
        if self.decoded == 0:
            progress.first_audio_ms = 1000.0 * (now - utterance.ready_at)
        self._last_at = now
        if ran_out:
            progress.heard_from = now - self.decoded * self._frame.frame_ms / 1000.0
        self.start_block = None
        self.decoded += len(pcm) // self._frame.samples_per_frame
        progress.samples += len(pcm)
        progress.codec_ms += took_ms
        if self._cut:
            utterance.lose()
