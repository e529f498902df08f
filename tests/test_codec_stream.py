"""One utterance on its way through the codec: its playing clock, how urgent it is, what is handed over."""

from __future__ import annotations

import numpy as np
import pytest

from engines.codec_stream import CodecStream
from engines.contract import End, Pace, SpeechRequest
from engines.pacing import PATIENCE_MS
from engines.utterance import Stop
from tests import fake_voice
from tests.engine_rig import SAMPLES, without_engine

FRAME = fake_voice.bundle().manifest.frame
READY_AT = 9.0
SILENT, LOUD = 0.0, 0.5


def make(pace: Pace = Pace.REALTIME, silence_frames: int = 0) -> CodecStream:
    utterance = without_engine(SpeechRequest(pace=pace), frames=50, samples=1000, clock=lambda: READY_AT)
    utterance.feed((30,))
    utterance.end_of_text()
    return CodecStream(0, utterance, FRAME, silence_frames * SAMPLES)


def hand_over(stream: CodecStream, frames: int, now: float, level: float = LOUD) -> None:
    """A block, which its listener fetches at once."""
    stream.hand_over(np.full(frames * SAMPLES, level, np.float32), now, 3.0)
    stream.utterance.pcm.read_nowait(1000)


def test_sound_is_played_from_its_first_sample_on() -> None:
    stream = make()
    assert stream.in_hand_ms(10.0) == 0.0
    hand_over(stream, 2, 10.0)
    hand_over(stream, 1, 10.0625)
    assert [stream.in_hand_ms(now) for now in (10.0625, 10.125, 10.5)] == pytest.approx([177.5, 115.0, -260.0])
    progress = stream.utterance.progress
    assert (stream.decoded, progress.samples, progress.codec_ms) == (3, 12, 6.0)
    assert progress.first_audio_ms == 1000.0


def test_sound_that_ran_out_goes_on_when_there_is_more() -> None:
    stream = make()
    hand_over(stream, 2, 10.0)
    stream.start_block = 5
    hand_over(stream, 3, 20.0)
    assert stream.in_hand_ms(20.0) == pytest.approx(240.0)
    assert stream.start_block is None, "the next start is planned by what is known then"


def test_what_is_not_fetched_is_not_played() -> None:
    stream = make()
    stream.hand_over(np.full(5 * SAMPLES, LOUD, np.float32), 10.0, 3.0)
    stream.utterance.pcm.read_nowait(SAMPLES)
    stream.look_at_listener(10.0625)
    assert stream.in_hand_ms(10.0625) == pytest.approx(337.5), "fetched in time"
    stream.look_at_listener(11.0)
    assert stream.in_hand_ms(11.0) == pytest.approx(320.0)
    assert stream.in_hand_ms(11.25) == pytest.approx(70.0)


def test_the_least_sound_is_the_most_urgent_and_then_the_longest_wait() -> None:
    stream = make()
    assert stream.urgency_ms(READY_AT + 5.0) == 0.0, "nobody hears a gap before the start"
    hand_over(stream, 2, 10.0)
    assert stream.urgency_ms(10.125) == pytest.approx(35.0)
    assert [stream.urgency_ms(now) for now in (10.25, 12.0)] == pytest.approx([-250.0, -2000.0])


def test_what_nobody_hears_in_real_time_has_patience_for_a_while() -> None:
    stream = make(Pace.FAST)
    hand_over(stream, 2, 10.0)
    assert stream.urgency_ms(10.125) == PATIENCE_MS - 125.0
    assert [stream.patient(now) for now in (10.0, 10.25, 11.0)] == [True, True, False]
    assert not make().patient(READY_AT)


def test_who_is_hungry() -> None:
    stream, file = make(), make(Pace.FAST)
    assert not stream.hungry, "it has not begun"
    for one in (stream, file):
        hand_over(one, 1, 10.0)
    assert stream.hungry
    assert not file.hungry
    stream.utterance.frames.write_nowait(np.zeros((1, FRAME.codebooks), np.int32))
    stream.utterance.talker_left(Stop(End.END))
    assert stream.hungry
    stream.utterance.frames.read_nowait(1)
    assert not stream.hungry, "there is no more of it"
    cancelled = make()
    hand_over(cancelled, 1, 10.0)
    cancelled.utterance.cancel()
    assert not cancelled.hungry


def test_silence_goes_out_for_so_long_and_loses_its_utterance() -> None:
    stream = make(silence_frames=4)
    hand_over(stream, 1, 10.0, SILENT)
    assert not stream.utterance.lost
    stream.hand_over(np.full(3 * SAMPLES, SILENT, np.float32), 10.0, 3.0)
    assert stream.utterance.lost
    assert (stream.decoded, stream.utterance.pcm.used) == (2, SAMPLES), "half of it, before anything was heard"
    stream.utterance.frames.write_nowait(np.zeros((3, FRAME.codebooks), np.int32))
    assert not stream.idle
    stream.judge()
    assert stream.utterance.again
    assert stream.idle, "the rest of this try is not for anybody"


def test_a_lost_one_is_judged_when_all_of_it_was_decoded_and_may_begin_again() -> None:
    stream = make(silence_frames=9)
    utterance = stream.utterance
    utterance.frames.write_nowait(np.zeros((1, FRAME.codebooks), np.int32))
    utterance.lose()
    stream.judge()
    assert not utterance.again, "there is more to hear of it"
    assert stream.gathered_all
    utterance.frames.read_nowait(1)
    hand_over(stream, 1, 10.0, SILENT)
    stream.judge()
    assert utterance.again
    assert not stream.begun_again()
    assert utterance.begin_again()
    assert [stream.begun_again() for _ in range(2)] == [True, False]
    utterance.frames.write_nowait(np.zeros((1, FRAME.codebooks), np.int32))
    assert not stream.idle
    assert not stream.gathered_all


def test_who_is_over() -> None:
    stream = make()
    assert not stream.over, "the talker has not left"
    stream.utterance.frames.write_nowait(np.zeros((1, FRAME.codebooks), np.int32))
    stream.utterance.talker_left(Stop(End.END))
    assert not stream.over, "there is more to hear of it"
    stream.utterance.frames.read_nowait(1)
    assert stream.over


def test_whose_listener_has_gone_is_handed_nothing_more() -> None:
    stream = make()
    stream.utterance.pcm.close()
    hand_over(stream, 1, 10.0)
    assert stream.utterance.stopping == Stop(End.ERROR, "the reader's listener failed")
    assert (stream.decoded, stream.utterance.progress.samples) == (0, 0)


def test_who_is_cancelled_while_a_block_is_handed_over_did_not_fail() -> None:
    """The codec may find the ring closed before its caller gets any further."""
    stream = make()
    stream.utterance.pcm.on_readable(lambda: hand_over(stream, 1, 10.0))
    stream.utterance.cancel()
    assert stream.utterance.stopping == Stop(End.CANCELLED)


def test_who_was_cancelled_is_over_once_the_talker_has_left_whatever_is_left_of_it() -> None:
    stream = make()
    stream.utterance.frames.write_nowait(np.zeros((3, FRAME.codebooks), np.int32))
    stream.utterance.cancel()
    assert stream.idle
    assert not stream.over
    stream.utterance.talker_left(Stop(End.CANCELLED))
    assert stream.over
