"""The engine on real graphs: same seed, same codes; any blocks, same sound; slots that come back."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from engines.bundle import open_bundle
from engines.contract import Codes, End, Layout, Pcm, Sampling, SpeechRequest
from engines.engine import EngineConfig, SpeechEngine
from engines.errors import BundleError
from engines.utterance import LiveUtterance
from tests.tiny_spec import TINY

SOON = 60.0
NEAR = 1e-5
TEXTS = [tuple(range(60, 75)), tuple(range(100, 104)), tuple(range(120, 160)), tuple(range(80, 90))]


@pytest.fixture(scope="module")
def engine(tiny_bundle: Path) -> Iterator[SpeechEngine]:
    with SpeechEngine.open(tiny_bundle, EngineConfig(slots=3, max_waiting=8, prefill_rows=16)) as opened:
        opened.warm_up()
        yield opened


def start(engine: SpeechEngine, number: int, layout: Layout = Layout.WHOLE, first: int | None = None) -> LiveUtterance:
    """Begin the utterance of that number: its own text, seed and length."""
    request = SpeechRequest(
        layout=layout,
        sampling=Sampling(greedy=False),
        seed=number,
        max_frames=40 + 5 * number,
        initial_codec_chunk_frames=first,
        keep_codes=True,
    )
    utterance = engine.start(request)
    utterance.feed(TEXTS[number])
    utterance.end_of_text()
    return utterance


def hear(utterance: LiveUtterance) -> tuple[Codes, Pcm]:
    parts = []
    while len(part := utterance.pcm.read(10_000, SOON)):
        parts.append(part)
    outcome = utterance.outcome.result(SOON)
    assert outcome.error is None
    assert outcome.end in {End.END, End.LIMIT}
    assert outcome.codes is not None
    assert len(outcome.codes) == outcome.frames > 1
    return outcome.codes, np.concatenate(parts)


@pytest.mark.parametrize("layout", [Layout.WHOLE, Layout.STREAMING])
def test_alone_or_in_company_the_same(engine: SpeechEngine, layout: Layout) -> None:
    alone = [hear(start(engine, number, layout)) for number in range(4)]
    together = [start(engine, number, layout) for number in (3, 1, 0, 2, 1, 0)]
    for number, utterance in zip((3, 1, 0, 2, 1, 0), together, strict=True):
        codes, pcm = hear(utterance)
        assert np.array_equal(codes, alone[number][0])
        assert np.abs(pcm - alone[number][1]).max() < NEAR
    assert not np.array_equal(alone[0][0][:20], alone[3][0][:20])


def test_text_fed_one_by_one_is_the_same_text(engine: SpeechEngine) -> None:
    expected, _ = hear(start(engine, 0, Layout.STREAMING))
    request = SpeechRequest(
        layout=Layout.STREAMING, sampling=Sampling(greedy=False), seed=0, max_frames=40, keep_codes=True
    )
    utterance = engine.start(request)
    for id_ in TEXTS[0]:
        utterance.feed((id_,))
        assert len(utterance.pcm.read(1, SOON)) == 1
    utterance.end_of_text()
    assert np.array_equal(hear(utterance)[0], expected)


@pytest.mark.parametrize("first", [1, 2, 7, 25])
def test_any_first_block_gives_the_same_sound(engine: SpeechEngine, first: int) -> None:
    expected = hear(start(engine, 2))[1]
    found = hear(start(engine, 2, first=first))[1]
    assert np.abs(found - expected).max() < NEAR


def test_pieces_of_prompts_and_widths_of_blocks_change_nothing(engine: SpeechEngine, tiny_bundle: Path) -> None:
    expected = hear(start(engine, 2))
    for prefill_rows, codec_chunk_frames in ((1, 1), (5, 3), (64, 50)):
        sizes = EngineConfig(slots=1, prefill_rows=prefill_rows, codec_chunk_frames=codec_chunk_frames)
        with SpeechEngine.open(tiny_bundle, sizes) as other:
            codes, pcm = hear(start(other, 2))
        assert np.array_equal(codes, expected[0])
        assert np.abs(pcm - expected[1]).max() < NEAR


def test_greedy_needs_no_seed(engine: SpeechEngine) -> None:
    def speak(seed: int) -> Codes:
        request = SpeechRequest(sampling=Sampling(greedy=True), seed=seed, max_frames=20, keep_codes=True)
        utterance = engine.start(request)
        utterance.feed(TEXTS[0])
        utterance.end_of_text()
        return hear(utterance)[0]

    assert np.array_equal(speak(1), speak(2))


def test_a_cancelled_slot_leaves_no_trace(engine: SpeechEngine) -> None:
    expected, _ = hear(start(engine, 1))
    for _ in range(3):
        gone = [start(engine, number) for number in (0, 2, 3)]
        for utterance in gone:
            utterance.pcm.read(1, SOON)
            utterance.cancel()
        assert np.array_equal(hear(start(engine, 1))[0], expected)
        assert {utterance.outcome.result(SOON).end for utterance in gone} == {End.CANCELLED}


def test_stalled_readers_stop_only_themselves(tiny_bundle: Path) -> None:
    frame = open_bundle(tiny_bundle).manifest.frame
    sizes = EngineConfig(slots=3, pcm_ring_s=4 * frame.frame_ms / 1000.0, codec_chunk_frames=3)
    with SpeechEngine.open(tiny_bundle, sizes) as engine:
        expected, _ = hear(start(engine, 0))
        stalled = [start(engine, 0), start(engine, 3)]
        assert np.array_equal(hear(start(engine, 0))[0], expected)
        assert not any(utterance.outcome.done() for utterance in stalled)
        stalled[1].cancel()
        assert np.array_equal(hear(stalled[0])[0], expected)


def test_memory_stands_still(engine: SpeechEngine) -> None:
    """Sooner or later: shapes of calls that had not come before, which a loaded machine brings, take their own once."""

    def speak(times: int) -> int:
        for _ in range(times):
            for utterance in [start(engine, number) for number in range(4)]:
                hear(utterance)
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # KiB

    before = speak(3)
    for _ in range(4):
        after = speak(10)
        if after - before < 4096:
            return
        before = after
    pytest.fail("memory grows and grows")


def test_info_says_what_can_be_asked(engine: SpeechEngine) -> None:
    info = engine.info
    assert info.model_type == "custom_voice"
    assert "aiden" in info.speakers
    assert "english" in info.languages
    assert not info.takes_instruct
    assert info.codebooks == TINY.codebooks


def test_what_is_no_bundle_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="not a voice bundle"):
        SpeechEngine.open(tmp_path)
