"""The engine by rule: what is said, its limits, waiting text, company. No model, no sleeping."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from engines.chunk_policy import Costs
from engines.contract import End, Layout, Pace, Sampling, SpeechRequest, Utterance
from engines.costs import CostModel
from engines.engine import EngineConfig
from engines.errors import RequestError
from engines.timing import Work
from tests import fake_voice
from tests.engine_rig import SAMPLES, SOON, Stage, gate, hear, spoken
from tests.fake_voice import ASK

pytestmark = pytest.mark.usefixtures("scheduling")


@pytest.mark.parametrize("layout", [Layout.WHOLE, Layout.STREAMING])
def test_it_speaks_as_many_frames_as_the_model_says(stage: Stage, layout: Layout) -> None:
    utterance: Utterance = stage.say(17, layout=layout)  # it is what the contract says
    pcm, outcome = hear(utterance)
    assert (outcome.end, outcome.error, outcome.frames, outcome.samples) == (End.END, None, 17, 17 * SAMPLES)
    assert len(pcm) == outcome.samples
    assert outcome.codes is not None
    expected = (np.cumsum(outcome.codes[:, 0]) + np.arange(17))[:, None] + np.arange(SAMPLES) / 16.0
    assert np.array_equal(pcm, expected.ravel())
    assert outcome.first_audio_ms is not None
    assert outcome.talker_ms >= outcome.prefill_ms > 0.0
    assert outcome.codec_ms > 0.0


@pytest.mark.parametrize("asked", [0, 1, 2])
def test_it_never_ends_before_two_frames(stage: Stage, asked: int) -> None:
    assert hear(stage.say(asked))[1].frames == 2


@pytest.mark.parametrize("most", [1, 2, 5])
def test_max_frames_is_a_limit(stage: Stage, most: int) -> None:
    pcm, outcome = hear(stage.say(9, max_frames=most))
    assert (outcome.end, outcome.frames, len(pcm)) == (End.LIMIT, most, most * SAMPLES)


def test_the_cache_is_a_limit() -> None:
    with Stage(max_positions=20).engine as engine:
        utterance = engine.start(SpeechRequest())
        utterance.feed((ASK + 50,))
        utterance.end_of_text()
        outcome = hear(utterance)[1]
        prompt_rows = 3 + 3 + 1 + 1 + 1 + 2
        assert (outcome.end, outcome.frames) == (End.LIMIT, 20 - prompt_rows + 1)


@pytest.mark.parametrize("layout", [Layout.WHOLE, Layout.STREAMING])
def test_the_length_of_the_text_is_a_limit(layout: Layout) -> None:
    manifest = fake_voice.manifest()
    limits = msgspec.structs.replace(manifest.limits, min_frames_cap=3, frames_per_text_token=2.5)
    bundle = fake_voice.bundle(msgspec.structs.replace(manifest, limits=limits))
    with fake_voice.engine(bundle, fake_voice.frame_runner(), fake_voice.codec_runner(), EngineConfig()) as engine:
        for ids, frames in (((ASK + 50,), 3), ((ASK + 50, 10), 5), ((ASK + 50, 10, 10), 7)):
            utterance = engine.start(SpeechRequest(layout=layout))
            utterance.feed(ids)
            utterance.end_of_text()
            outcome = hear(utterance)[1]
            assert (outcome.end, outcome.frames) == (End.LIMIT, frames)


@pytest.mark.parametrize("layout", [Layout.WHOLE, Layout.STREAMING])
def test_no_text_is_an_end_without_sound(stage: Stage, layout: Layout) -> None:
    utterance = stage.engine.start(SpeechRequest(layout=layout))
    utterance.end_of_text()
    pcm, outcome = hear(utterance)
    assert (outcome.end, outcome.frames, len(pcm), outcome.first_audio_ms) == (End.END, 0, 0, None)
    assert stage.frame.runs == 0


def test_who_leaves_at_once_makes_room_at_once() -> None:
    stage = Stage(slots=1)
    with stage.engine:
        there, go_on = gate(stage.frame, 3)
        first = stage.say(5)
        assert there.wait(SOON)
        silent = stage.engine.start(SpeechRequest())
        silent.end_of_text()
        last = stage.say(3)
        go_on.set()
        assert [hear(utterance)[1].frames for utterance in (first, silent, last)] == [5, 0, 3]


def test_times_are_what_runs_took() -> None:
    """By a clock that only runs move: 10 ms each of the talker's, 5 ms of the codec's."""
    now_ms, frame, codec = [0.0], fake_voice.frame_runner(), fake_voice.codec_runner()

    def passes(ms: float) -> None:
        now_ms[0] += ms

    frame.hook, codec.hook = (lambda: passes(10.0)), (lambda: passes(5.0))
    config = EngineConfig(slots=1, prefill_rows=8, async_scheduling=False)
    engine = fake_voice.engine(fake_voice.bundle(), frame, codec, config, lambda: now_ms[0] / 1000.0)
    talking, decoding = engine._loops
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "_begin", lambda: None)  # no threads: whose turn it is, is said here
        utterance = engine.start(SpeechRequest())
    utterance.feed((ASK + 9,))
    utterance.end_of_text()
    passes(500.0)
    for loop in (talking, talking, talking, decoding):
        loop.tick()
    done, told = utterance.progress, engine.statistics()
    assert [done.waited_ms, done.prefill_ms, done.talker_ms] == pytest.approx([500.0, 20.0, 40.0])
    assert [done.first_audio_ms, done.codec_ms] == pytest.approx([545.0, 5.0])
    assert told.step_ms == pytest.approx(19.0), "the first tick, 20 ms with its prompt, and a tenth of the next"
    assert engine._costs.prompt_ms(1) == pytest.approx(0.9 * 10.0 / 8 + 0.1 * 10.0 / 3)
    assert [(one.work, one.amount) for one in engine.timeline()] == [
        (Work.WAIT, 0), (Work.PREFILL, 8), (Work.PREFILL, 3), (Work.STEP, 1), (Work.STEP, 1), (Work.CODEC, 3),
    ]  # fmt: skip
    engine.close()


def test_too_much_text_is_refused_by_its_bound() -> None:
    with Stage(max_positions=20).engine as engine:
        utterance = engine.start(SpeechRequest())
        with pytest.raises(RequestError, match="more than 10 tokens"):
            utterance.feed((10,) * 11)
        utterance.feed((10,) * 10)
        utterance.end_of_text()
        assert hear(utterance)[1].frames == 1


def test_a_prompt_that_leaves_no_room_is_refused() -> None:
    with Stage(max_positions=11).engine as engine, pytest.raises(RequestError, match="11 of 11 positions"):
        engine.start(SpeechRequest(language="english"))


def test_waiting_text_gives_the_same_codes_as_text_that_is_there(stage: Stage) -> None:
    """The talker stops for each token; what was made is heard meanwhile."""
    text = (ASK + 12, 7, 8, 9, 11)
    at_once = spoken(stage.say(12, *text[1:], layout=Layout.STREAMING))
    utterance = stage.engine.start(SpeechRequest(layout=Layout.STREAMING, keep_codes=True))
    heard = 0
    for id_ in text:
        utterance.feed((id_,))
        heard += len(utterance.pcm.read(SAMPLES, SOON))  # the frame this token allowed
        with pytest.raises(TimeoutError):
            utterance.pcm.read(1, 0.0)
    utterance.end_of_text()
    assert np.array_equal(spoken(utterance), at_once)
    assert heard == len(text) * SAMPLES


def test_what_is_there_of_a_file_comes_out_where_its_text_does_not(stage: Stage) -> None:
    utterance = stage.say(9, 7, 8, ends=False, layout=Layout.STREAMING, pace=Pace.FAST)
    come = 0
    while come < 3 * SAMPLES:
        come += len(utterance.pcm.read(100, SOON))
    utterance.end_of_text()
    assert hear(utterance)[1].frames == 9


@pytest.mark.parametrize("first", [1, 3, 25])
def test_the_first_block_can_be_fixed(stage: Stage, first: int) -> None:
    blocks: list[int] = []
    utterance = stage.engine.start(SpeechRequest(initial_codec_chunk_frames=first))
    utterance.pcm.on_readable(lambda: blocks.append(utterance.pcm.used))
    utterance.feed((ASK + 40,))
    utterance.end_of_text()
    utterance.outcome.result(SOON)
    assert blocks[0] == first * SAMPLES
    assert len(hear(utterance)[0]) == 40 * SAMPLES


def test_alone_or_in_company_the_same(stage: Stage) -> None:
    alone = {seed: spoken(stage.say(30 + seed, seed=seed)) for seed in range(4)}
    together = {seed: stage.say(30 + seed, seed=seed) for seed in range(4)}
    for seed, utterance in together.items():
        assert np.array_equal(spoken(utterance), alone[seed])
    assert not np.array_equal(alone[0][:30], alone[1][:30])


@pytest.mark.parametrize("batching", [True, False])
def test_neighbours_are_decoded_in_one_call(batching: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    dear_calls = Costs(frame_ms=80.0, step_ms=1.0, codec_call_ms=10.0, codec_frame_ms=0.1)
    monkeypatch.setattr(CostModel, "snapshot", lambda _: dear_calls)
    monkeypatch.setattr(CostModel, "cautious", lambda _: dear_calls)
    stage, many = Stage(slots=4, codec_batching=batching), list[int]()
    alone = {seed: hear(stage.say(40, seed=seed))[0] for seed in range(4)}
    with stage.engine:
        there, go_on = gate(stage.codec, stage.codec.runs + 1)
        stage.codec.on_run = lambda codes: many.append(len(codes))
        everyone = [stage.say(40, seed=seed, pace=Pace.FAST) for seed in range(4)]  # no listener's clock decides
        assert there.wait(SOON)
        while min(utterance.progress.frames for utterance in everyone) < 40:
            everyone[0].outcome.done()
        go_on.set()
        for seed, utterance in enumerate(everyone):
            assert np.array_equal(hear(utterance)[0], alone[seed])
    assert (max(many) > 1) is batching


@pytest.mark.parametrize("switches", [{"async_chunks": False}, {"adaptive_chunks": False}, {"codec_batching": False}])
def test_switches_change_no_sound(stage: Stage, switches: dict[str, bool]) -> None:
    expected = [hear(stage.say(90, seed=seed))[0] for seed in range(3)]
    other = Stage(**switches)
    with other.engine:
        together = [other.say(90, seed=seed) for seed in range(3)]
        assert all(np.array_equal(hear(one)[0], pcm) for one, pcm in zip(together, expected, strict=True))


def test_without_overlap_nothing_is_heard_before_all_is_made() -> None:
    stage = Stage(async_chunks=False)
    with stage.engine:
        runs: list[int] = []
        stage.codec.hook = lambda: runs.append(stage.frame.runs)
        assert hear(stage.say(120))[1].frames == 120
        late = stage.frame.runs - runs[0]
        assert 0 <= late <= Stage.ahead  # the frame after the end, which is dropped, may still be under way


def test_a_long_prompt_lets_others_go_on(stage: Stage) -> None:
    """In pieces of 8 rows: a prompt of 80 does not hold up the one who speaks."""
    alone = spoken(stage.say(20, *range(100, 170)))
    there, go_on = gate(stage.frame, stage.frame.runs + 6)
    first = stage.say(40, seed=1)
    assert there.wait(SOON)
    second = stage.say(20, *range(100, 170))
    go_on.set()
    assert np.array_equal(spoken(second), alone)
    assert hear(first)[1].frames == 40


def test_warm_up_runs_every_shape_and_leaves_no_trace(stage: Stage) -> None:
    cold = Stage()
    with cold.engine:
        expected = spoken(cold.say(30, seed=4))
    stage.engine.warm_up()
    warm = stage.frame.runs
    assert warm > 0
    assert stage.engine.statistics().step_ms > 0.0
    assert np.array_equal(spoken(stage.say(30, seed=4)), expected)


def test_everything_is_allocated_before_the_first_word(stage: Stage) -> None:
    sizes = (list(stage.frame.allocated), list(stage.codec.allocated))
    assert stage.frame.allocated[0] == max(stage.frame.allocated)
    for seed in range(3):
        hear(stage.say(40, seed=seed))
    assert (stage.frame.allocated, stage.codec.allocated) == sizes


@pytest.mark.parametrize(
    ("request_", "says"),
    [
        (SpeechRequest(max_frames=0), "max_frames"),
        (SpeechRequest(initial_codec_chunk_frames=26), "1 to 25"),
        (SpeechRequest(voice="nobody"), "known are"),
        (SpeechRequest(seed=-1), "seed"),
    ],
)
def test_a_bad_request_is_refused_at_the_door(stage: Stage, request_: SpeechRequest, says: str) -> None:
    with pytest.raises(RequestError, match=says):
        stage.engine.start(request_)
    assert stage.engine.statistics().waiting == 0


@pytest.mark.parametrize(
    "request_",
    [
        SpeechRequest(initial_codec_chunk_frames=26),
        SpeechRequest(sampling=Sampling(temperature=11.0)),
        SpeechRequest(language="klingon"),
        SpeechRequest(voice="nobody"),
    ],
)
def test_what_cannot_be_done_is_found_before_there_is_text(stage: Stage, request_: SpeechRequest) -> None:
    with pytest.raises(RequestError):
        stage.engine.check(request_)
    stage.engine.check(SpeechRequest(initial_codec_chunk_frames=25, sampling=Sampling(temperature=10.0)))


@pytest.mark.parametrize(
    "name", ["slots", "prefill_rows", "codec_chunk_frames", "talker_threads", "pcm_ring_s", "positions"]
)
def test_sizes_that_cannot_work_are_named(name: str) -> None:
    with pytest.raises(ValueError, match=name):
        EngineConfig(**{name: 0})  # type: ignore[arg-type]
