"""The streaming codec: any cut of a stream gives one pass's samples; slots do not know each other. Real tiny model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engines.bundle import open_bundle
from engines.codec import Codec
from engines.runner_ort import OrtRunner

FRAMES, SLOTS = 60, 4
NEAR = 1e-5


class Decoder:
    """One codec and a stream of codes."""

    def __init__(self, path: Path) -> None:
        bundle = open_bundle(path)
        frame = bundle.manifest.frame
        self.samples = frame.samples_per_frame
        self.codec = Codec(OrtRunner(path / bundle.manifest.graphs.codec), bundle.manifest, SLOTS, FRAMES)
        self.codes = np.random.default_rng(1).integers(0, frame.codebook_size, (FRAMES, frame.codebooks))
        self.whole = self.decode(0, [FRAMES])

    def decode(self, slot: int, cuts: list[int]) -> np.ndarray:
        self.codec.begin(slot)
        ends = np.cumsum(cuts)
        parts = [self.codec.decode(slot, self.codes[end - n : end]).copy() for n, end in zip(cuts, ends, strict=True)]
        return np.concatenate(parts)


@pytest.fixture(scope="module")
def decoder(tiny_bundle: Path) -> Decoder:
    return Decoder(tiny_bundle)


def test_a_frame_is_its_samples(decoder: Decoder) -> None:
    assert len(decoder.whole) == FRAMES * decoder.samples
    assert np.abs(decoder.whole).max() <= 1.0
    assert decoder.whole.std() > 0.01


@settings(max_examples=25, deadline=None)
@given(cuts=st.lists(st.integers(1, 25), min_size=1, max_size=40), slot=st.integers(0, SLOTS - 1))
def test_any_cut_gives_one_pass(decoder: Decoder, cuts: list[int], slot: int) -> None:
    fitting = [n for n, end in zip(cuts, np.cumsum(cuts), strict=True) if end <= FRAMES]
    fitting += [FRAMES - sum(fitting)] if sum(fitting) < FRAMES else []
    assert np.abs(decoder.decode(slot, fitting) - decoder.whole).max() < NEAR


def test_streams_in_turn_do_not_meet(decoder: Decoder) -> None:
    for slot in range(2):
        decoder.codec.begin(slot)
    parts: list[list[np.ndarray]] = [[], []]
    for slot in range(2, SLOTS):
        decoder.codec.begin(slot)
    for start in range(0, FRAMES, 4):
        for slot, stream in enumerate((decoder.codes, decoder.codes[::-1])):
            parts[slot].append(decoder.codec.decode(slot, stream[start : start + 4]).copy())
    assert np.abs(np.concatenate(parts[0]) - decoder.whole).max() < NEAR
    assert np.abs(np.concatenate(parts[1]) - decoder.whole).max() > 0.01


@settings(max_examples=25, deadline=None)
@given(
    calls=st.lists(
        st.tuples(st.integers(0, SLOTS - 1), st.integers(1, SLOTS), st.integers(1, 9)), min_size=1, max_size=25
    )
)
def test_in_any_company_each_stream_is_its_own(decoder: Decoder, calls: list[tuple[int, int, int]]) -> None:
    """Calls on any slots in a row, of any size, each stream at its own place: the samples of one pass alone."""
    for slot in range(SLOTS):
        decoder.codec.begin(slot)
    at = [0] * SLOTS
    for low, many, frames in calls:
        group = range(low, min(low + many, SLOTS))
        if max(at[slot] for slot in group) + frames > FRAMES:
            continue
        codes = np.stack([decoder.codes[at[slot] : at[slot] + frames] for slot in group])
        pcm = decoder.codec.decode_many(low, codes)
        for sound, slot in zip(pcm, group, strict=True):
            start = at[slot] * decoder.samples
            assert np.abs(sound - decoder.whole[start : start + len(sound)]).max() < NEAR
            at[slot] += frames


def test_company_has_bounds(decoder: Decoder) -> None:
    with pytest.raises(ValueError, match=f"{SLOTS} slots, not 3 to 4"):
        decoder.codec.decode_many(3, np.zeros((2, 1, decoder.codes.shape[1]), np.int64))


def test_a_block_has_bounds(decoder: Decoder) -> None:
    with pytest.raises(ValueError, match=f"1 to {FRAMES} frames"):
        decoder.codec.decode(0, np.zeros((FRAMES + 1, decoder.codes.shape[1]), np.int64))
    with pytest.raises(ValueError, match="not 0"):
        decoder.codec.decode(0, decoder.codes[:0])
