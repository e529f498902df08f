"""Who leaves, stops listening or fails, and the end of the engine: it harms nobody else, and every place comes back."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from engines.codec import Codec
from engines.contract import End, Layout, SpeechRequest
from engines.errors import DeviceLostError, EngineBusyError, EngineClosedError, SpeechError
from engines.talker import Talker
from tests import fake_voice
from tests.engine_rig import SAMPLES, SOON, Stage, gate, hear, spoken
from tests.fake_voice import ASK, FakeRunner

pytestmark = pytest.mark.usefixtures("scheduling")


def test_places_are_bounded_and_come_back(stage: Stage) -> None:
    inside = [stage.engine.start(SpeechRequest()) for _ in range(4)]
    with pytest.raises(EngineBusyError, match="all 4 places"):
        stage.engine.start(SpeechRequest())
    inside[3].cancel()
    assert inside[3].outcome.result(SOON).end is End.CANCELLED
    last = stage.say(3)
    assert hear(last)[1].end is End.END  # those who wait for text hold no slot
    for utterance in inside[:3]:
        utterance.feed((ASK + 5,))
        utterance.end_of_text()
        assert hear(utterance)[1].frames == 5


def test_cancel_takes_effect_at_the_next_frame(stage: Stage) -> None:
    there, go_on = gate(stage.frame, 10)
    utterance, other = stage.say(150), stage.say(60, seed=3)
    assert there.wait(SOON)
    utterance.cancel()
    utterance.cancel()
    assert len(utterance.pcm.read(1000)) == 0
    made = utterance.progress.frames
    go_on.set()
    outcome = utterance.outcome.result(SOON)
    assert (outcome.end, outcome.error) == (End.CANCELLED, None)
    assert outcome.frames <= made + 1
    assert hear(other)[1].frames == 60
    assert stage.engine.statistics().speaking == 0


def test_a_cancelled_slot_speaks_for_the_next_one(stage: Stage) -> None:
    alone = spoken(stage.say(30, seed=9))
    there, go_on = gate(stage.frame, stage.frame.runs + 12)
    cancelled, waiting = [stage.say(150, seed=seed) for seed in (1, 2)], stage.say(30, seed=9)
    assert there.wait(SOON)
    for utterance in cancelled:
        utterance.cancel()
    go_on.set()
    assert np.array_equal(spoken(waiting), alone)


def test_a_stalled_reader_stops_only_itself() -> None:
    stage = Stage(pcm_ring_s=0.16, codec_chunk_frames=2)
    with stage.engine:
        stalled = stage.say(100, seed=1)
        assert [hear(stage.say(100, seed=seed))[1].frames for seed in (2, 3, 4)] == [100] * 3
        statistics = stalled.pcm.statistics()
        assert statistics.used <= statistics.capacity == 8 + 2 * SAMPLES
        assert stalled.progress.frames < 20
        assert not stalled.outcome.done()
        assert hear(stalled)[1].frames == 100


def test_a_stalled_reader_can_still_cancel() -> None:
    stage = Stage(pcm_ring_s=0.16, codec_chunk_frames=2, slots=1)
    with stage.engine:
        stalled, next_one = stage.say(100), stage.say(10)
        stalled.pcm.read(1, SOON)
        stalled.cancel()
        assert stalled.outcome.result(SOON).end is End.CANCELLED
        assert hear(next_one)[1].frames == 10


def test_a_failing_listener_is_its_own_trouble(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> None:
        raise ZeroDivisionError

    bad = stage.engine.start(SpeechRequest())
    bad.pcm.on_readable(fail)
    bad.feed((ASK + 100,))
    bad.end_of_text()
    good = stage.say(50)
    outcome = bad.outcome.result(SOON)
    assert outcome.end is End.ERROR
    assert outcome.error is not None
    assert "listener" in outcome.error
    assert hear(good)[1].end is End.END
    assert "listener" in caplog.text


def once(runner: FakeRunner, at_run: int, act: Callable[[], None]) -> None:
    """Act before one run of the runner."""
    runner.hook = lambda: act() if runner.runs == at_run else None


def test_a_failure_in_a_prompt_is_its_own(stage: Stage) -> None:
    once(stage.frame, 1, fake_voice.fail)
    bad = stage.say(10)
    assert bad.outcome.result(SOON).end is End.ERROR
    with pytest.raises(SpeechError, match="prompt could not be run: out of smoke"):
        bad.pcm.read(1, SOON)
    assert hear(stage.say(10))[1].end is End.END


def test_a_failure_in_the_codec_is_its_own(stage: Stage) -> None:
    once(stage.codec, 1, fake_voice.fail)
    bad = stage.say(100)
    outcome = bad.outcome.result(SOON)
    assert (outcome.end, outcome.samples) == (End.ERROR, 0)
    with pytest.raises(SpeechError, match="sound could not be decoded: out of smoke"):
        bad.pcm.read(1, SOON)
    assert hear(stage.say(10))[1].end is End.END


def test_a_failure_in_a_step_ends_the_engine_and_says_why(stage: Stage) -> None:
    all_in = threading.Event()

    def fail() -> None:
        assert all_in.wait(SOON)
        fake_voice.fail()

    once(stage.frame, 12, fail)
    everyone = [stage.say(150, seed=seed) for seed in range(4)]
    all_in.set()
    for utterance in everyone:
        outcome = utterance.outcome.result(SOON)
        assert (outcome.end, outcome.error) == (End.ERROR, "the engine failed: out of smoke")
    with pytest.raises(EngineClosedError, match="out of smoke"):
        stage.engine.start(SpeechRequest())
    assert stage.engine.statistics().failure == "the engine failed: out of smoke"


@pytest.mark.parametrize("doing", ["begin", "prefill", "decode_many"])
def test_a_lost_device_ends_the_engine_whoever_meets_it(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, doing: str
) -> None:
    """It works for nobody any more, so it is no trouble of one utterance's own: the process must start anew."""

    def lose(*_: object, **__: object) -> None:
        raise DeviceLostError("it is gone")

    monkeypatch.setattr(Codec if doing == "decode_many" else Talker, doing, lose)
    outcome = stage.say(10).outcome.result(SOON)
    assert (outcome.end, outcome.error) == (End.ERROR, "the engine failed: it is gone")
    with pytest.raises(EngineClosedError, match="it is gone"):
        stage.engine.start(SpeechRequest())


def test_closing_cancels_what_is_left() -> None:
    stage = Stage()
    there, go_on = gate(stage.frame, 8)
    everyone = [stage.say(150, seed=seed, ends=seed < 3) for seed in range(4)]
    assert there.wait(SOON)
    go_on.set()
    stage.engine.close()
    stage.engine.close()
    assert {utterance.outcome.result(0).end for utterance in everyone} == {End.CANCELLED}
    with pytest.raises(EngineClosedError, match="closed"):
        stage.engine.start(SpeechRequest())
    everyone[3].feed((1,))  # too late, and nobody's fault
    everyone[3].cancel()


def test_an_engine_that_never_spoke_closes() -> None:
    Stage().engine.close()


def test_many_callers_at_once() -> None:
    """Threads that speak, drip, stop early, midway and late: each gets its own frames, and every place comes back."""
    stage = Stage(slots=3, max_waiting=5, pcm_ring_s=0.5, codec_chunk_frames=4)
    expected = {seed: spoken(stage.say(25 + seed, seed=seed)) for seed in range(5)}

    def call(caller: int) -> None:
        dice = random.Random(caller)
        for _ in range(30):
            seed, stops = dice.randrange(5), dice.choice(["never", "at once", "midway", "after"])
            layout = dice.choice([Layout.WHOLE, Layout.STREAMING]) if stops != "never" else Layout.WHOLE
            utterance = stage.say(25 + seed, seed=seed, layout=layout)
            if stops == "midway":
                utterance.pcm.read(dice.randrange(1, 50), SOON)
            if stops in {"at once", "midway"}:
                utterance.cancel()
            pcm, outcome = hear(utterance)
            utterance.cancel()
            if stops in {"at once", "midway"}:
                assert outcome.end in {End.CANCELLED, End.END}  # it may have been quicker
            else:
                assert (outcome.end, len(pcm)) == (End.END, outcome.frames * SAMPLES)
            if stops == "never":
                assert outcome.codes is not None
                assert np.array_equal(outcome.codes, expected[seed])

    with stage.engine, ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(call, caller) for caller in range(8)]:
            done.result(60.0)
        statistics = stage.engine.statistics()
        assert (statistics.speaking, statistics.waiting, statistics.failure) == (0, 0, None)


def test_the_outcome_comes_after_the_slot(stage: Stage) -> None:
    free: list[int] = []
    utterance = stage.engine.start(SpeechRequest())
    utterance.outcome.add_done_callback(lambda _: free.append(stage.engine.statistics().speaking))
    utterance.feed((ASK + 5,))
    utterance.end_of_text()
    hear(utterance)
    assert free == [0]
