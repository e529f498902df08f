"""The codec on TensorRT alone, with codes that lie there: any cut, any neighbours, the sound of one pass."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from engines.bundle import open_bundle
from engines.codec import Codec
from engines.cuda_memory import SharedBlock, Want, allocate
from engines.runner_ort import OrtRunner
from engines.tensorrt_codec import TensorRtCodec, codec_wants
from engines.tensorrt_history import CODE_BYTES, CodeHistory
from export.attention_tensorrt import AttentionForm
from export.lowering import Precision
from export.tensorrt import FrameShape, TensorRtChoice, read_source
from tests.fake_cuda import FakeCuda
from tests.fake_tensorrt import SCRATCH_BYTES, FakeLoader
from tests.tensorrt_plan import write_plan
from tests.tiny_spec import TINY

SLOTS, MOST, LENGTH = 3, 5, 12
pytestmark = pytest.mark.usefixtures("races")


CODES = np.random.default_rng(1).integers(0, TINY.codes, (SLOTS, LENGTH, TINY.codebooks))
"""By slot, what the talker has made."""


@pytest.fixture(scope="module")
def codecs(
    tiny_bundle: Path, tiny_checkpoint: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Codec, TensorRtCodec]:
    """ONNX Runtime's, which takes a whole stream at once, and TensorRT's, to which the codes were left."""
    bundle = open_bundle(tiny_bundle)
    manifest = bundle.manifest
    choice = TensorRtChoice(AttentionForm.ROWS, FrameShape.STEPPED, np.float32, Precision.FP32, 4, 32)
    source = read_source(tiny_checkpoint, manifest.sampling.max_top_k, manifest.limits.max_positions)
    plan = write_plan(source, choice, manifest, tmp_path_factory.mktemp("plan"), MOST, 8)
    cuda = FakeCuda(eager=False)
    more = {"scratch": Want((SCRATCH_BYTES,), np.uint8), "history": CodeHistory.want(SLOTS, LENGTH, TINY.codebooks)}
    memory = allocate(cuda, codec_wants(manifest, plan.about) | more)
    history = CodeHistory(cuda, memory["history"])
    leave_codes(cuda, history)
    made = TensorRtCodec(
        cuda, cuda.stream(urgent=False), manifest, plan.about, FakeLoader(cuda).load(plan, plan.about.graph("codec")),
        memory, memory["scratch"].address, history, slots=SLOTS, most_frames=MOST, recorded=True,
    )  # fmt: skip
    cuda.ready = True
    return Codec(OrtRunner(bundle.path / manifest.graphs.codec), manifest, SLOTS, LENGTH), made


def leave_codes(cuda: FakeCuda, history: CodeHistory) -> None:
    """As the talker does, a run for each frame."""
    talker, made = cuda.stream(urgent=True), SharedBlock(cuda, {"codes": Want(CODES.shape, np.int64)})
    made.arrays["codes"][:] = CODES
    made.send(talker)
    for slot, frame in np.ndindex(SLOTS, LENGTH):
        source = made.addresses["codes"] + (slot * LENGTH + frame) * TINY.codebooks * CODE_BYTES
        history.put(slot, frame, source, CODE_BYTES, talker)
        history.end_run(talker)
    cuda.settle()


def test_any_cut_and_company_sounds_like_one_pass(codecs: tuple[Codec, TensorRtCodec]) -> None:
    reference, codec = codecs
    random = np.random.default_rng(1)
    whole = []
    for slot in range(SLOTS):
        reference.begin(slot)
        whole.append(reference.decode(slot, CODES[slot]).copy())
    for _ in range(3):
        done, heard = [0] * SLOTS, [list[np.ndarray]() for _ in range(SLOTS)]
        for slot in range(SLOTS):
            codec.begin(slot)
        while min(done) < LENGTH:
            low = int(random.integers(SLOTS))
            high = int(random.integers(low + 1, SLOTS + 1))
            room = min(LENGTH - done[slot] for slot in range(low, high))
            if room == 0:
                low, high = done.index(min(done)), done.index(min(done)) + 1
                room = LENGTH - done[low]
            frames = int(random.integers(1, min(room, MOST) + 1))
            block = np.zeros((high - low, frames, TINY.codebooks), np.int64)  # it has the codes already
            for slot, pcm in zip(range(low, high), codec.decode_many(low, block), strict=True):
                heard[slot].append(pcm.copy())
                done[slot] += frames
        for slot in range(SLOTS):
            assert np.abs(np.concatenate(heard[slot]) - whole[slot]).max() < 1e-5


def test_what_does_not_fit_is_refused(codecs: tuple[Codec, TensorRtCodec]) -> None:
    codec = codecs[1]
    with pytest.raises(ValueError, match="takes 1 to 5 frames at once, not 6"):
        codec.decode(0, np.zeros((6, TINY.codebooks), np.int64))
    with pytest.raises(ValueError, match="there are 3 slots, not 2 to 3"):
        codec.decode_many(2, np.zeros((2, 1, TINY.codebooks), np.int64))
