"""The stateful codec graph keeps its two laws: chunks joined equal the whole, and the future never changes the past."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnxruntime as ort
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engines.manifest import CodecInputs, CodecOutputs, Manifest, read_manifest
from export.exporter import export_checkpoint
from tests.tiny_checkpoint import write_checkpoint
from tests.tiny_spec import TinySpec

FRAMES = 40
Floats = npt.NDArray[np.float32]
Codes = npt.NDArray[np.int64]


class Decoder:
    """The graph in a session of its own, with the state carried by hand."""

    def __init__(self, bundle: Path) -> None:
        self.manifest: Manifest = read_manifest(bundle)
        self._session = ort.InferenceSession(bundle / self.manifest.graphs.codec)

    def decode(self, codes: Codes, cuts: list[int]) -> Floats:
        """Samples [B, n] of codes [B, T, codebooks], decoded in pieces of the given lengths, which sum to T."""
        streams = len(codes)
        states = {s.name: np.zeros((streams, *s.shape), np.float32) for s in self.manifest.codec.states}
        names = [CodecOutputs.PCM, *(CodecOutputs.state(name) for name in states)]
        position, blocks = 0, []
        for count in cuts:
            values: dict[str, npt.NDArray[np.generic]] = {
                CodecInputs.CODES: codes[:, position : position + count],
                CodecInputs.POSITION: np.full(streams, position),
            }
            values |= {CodecInputs.state(name): state for name, state in states.items()}
            pcm, *new = self._session.run(names, values)
            states = dict(zip(states, new, strict=True))
            blocks.append(pcm)
            position += count
        return np.concatenate(blocks, axis=1)


@pytest.fixture(scope="module")
def decoder(tmp_path_factory: pytest.TempPathFactory) -> Decoder:
    folder = tmp_path_factory.mktemp("codec")
    spec = TinySpec(seed=3, codec_window=6)  # a window shorter than the utterance, so that it slides
    export_checkpoint(write_checkpoint(spec, folder / "model"), folder / "bundle")
    return Decoder(folder / "bundle")


def some_codes(decoder: Decoder, streams: int = 1) -> Codes:
    frame = decoder.manifest.frame
    return np.random.default_rng(5).integers(0, frame.codebook_size, (streams, FRAMES, frame.codebooks))


@given(st.lists(st.integers(1, 12), min_size=1, max_size=FRAMES))
@settings(max_examples=40, deadline=None)
def test_any_chunking_equals_one_pass(decoder: Decoder, sizes: list[int]) -> None:
    codes, cuts, left = some_codes(decoder), [], FRAMES
    for size in sizes:
        if left:
            cuts.append(min(size, left))
            left -= cuts[-1]
    cuts += [left] if left else []
    whole = decoder.decode(codes, [FRAMES])
    assert whole.shape == (1, FRAMES * decoder.manifest.frame.samples_per_frame)
    assert 0.01 < whole.std() < 1
    np.testing.assert_allclose(decoder.decode(codes, cuts), whole, atol=1e-5)


@pytest.mark.parametrize("changed", [1, 7, FRAMES - 1])
def test_later_frames_never_change_earlier_samples(decoder: Decoder, changed: int) -> None:
    codes = some_codes(decoder)
    other = codes.copy()
    other[:, changed:] = (other[:, changed:] + 1) % decoder.manifest.frame.codebook_size
    before = changed * decoder.manifest.frame.samples_per_frame
    a, b = decoder.decode(codes, [FRAMES]), decoder.decode(other, [FRAMES])
    np.testing.assert_allclose(a[:, :before], b[:, :before], atol=1e-5)
    assert np.abs(a[:, before:] - b[:, before:]).max() > 1e-3


def test_streams_in_one_call_do_not_know_each_other(decoder: Decoder) -> None:
    codes = some_codes(decoder, streams=3)
    together = decoder.decode(codes, [5] * (FRAMES // 5))
    for index in range(3):
        np.testing.assert_allclose(
            together[index : index + 1], decoder.decode(codes[index : index + 1], [FRAMES]), atol=1e-5
        )
