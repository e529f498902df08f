"""A voice without a model: a bundle in memory, and runners that follow simple rules through the same memory.

Purpose: test the engine's parts deterministically, in microseconds, with what a real model would not do on demand (end
after exactly n frames, fail, hang). The frame runner reads its cache and carried rows as the real graph does, so a slot
that was disturbed speaks differently.

The rules: text id 20 + n in the prompt or later asks for n frames; the end comes after as many as were asked for. Code
0 of a frame mixes everything the slot has seen; the other codes follow from it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from engines.backends import on_runners
from engines.bundle import Bundle
from engines.engine import EngineConfig, SpeechEngine
from engines.errors import DeviceError
from engines.manifest import (
    CodecIds,
    CodecInputs,
    CodecOutputs,
    CodecSpec,
    FrameInputs,
    FrameOutputs,
    FrameSpec,
    FrontEndKind,
    Graphs,
    Limits,
    Manifest,
    ModelType,
    Provenance,
    SamplingDefaults,
    Speaker,
    StackSpec,
    StageSampling,
    StateSpec,
    TextFrontEnd,
    TextIds,
)  # fmt: skip
from engines.runner import Binding, Place, Runner, Tensor

Array = npt.NDArray[Any]
Tensors = Mapping[str, Array]

TEXT_ROWS, HIDDEN, VOCABULARY, CODES, TOP_K = 200, 4, 64, 16, 5
ASK = 20
END = 22
ROLE = (1, 2, 3)

_SAMPLING = StageSampling(do_sample=True, temperature=0.9, top_k=TOP_K, top_p=1.0)


def manifest(
    model_type: ModelType = ModelType.CUSTOM_VOICE, model_size: str = "1b7", max_positions: int = 300
) -> Manifest:
    """A manifest of small numbers; frames of 80 ms."""
    stack = StackSpec(hidden=HIDDEN, layers=1, heads=1, kv_heads=1, head_dim=2, vocabulary=VOCABULARY)
    speakers = {"Ann": Speaker(id=40), "Bao": Speaker(id=41, dialect="sichuan")}
    return Manifest(
        format_version=1,
        family="fake",
        model_type=model_type,
        model_size=model_size,
        frame=FrameSpec(sample_rate_hz=50, samples_per_frame=4, codebooks=3, codebook_size=CODES),
        talker=stack,
        predictor=stack,
        codec=CodecSpec(states=(StateSpec(name="sum", shape=(1,)),)),
        text_ids=TextIds(role=ROLE, pad=4, bos=5, eos=6),
        codec_ids=CodecIds(pad=20, bos=21, eos=END, think=23, nothink=24, think_bos=25, think_eos=26),
        languages={"english": 30, "Chinese": 31, "sichuan": 32},
        speakers=speakers if model_type is ModelType.CUSTOM_VOICE else {},
        sampling=SamplingDefaults(talker=_SAMPLING, predictor=_SAMPLING, repetition_penalty=1.0, max_top_k=TOP_K),
        limits=Limits(max_positions=max_positions, max_frames=250, min_frames_cap=200, frames_per_text_token=12.0),
        front_end=TextFrontEnd(kind=FrontEndKind.TEXT, tokenizer="tokenizer.json"),
        graphs=Graphs(frame="frame.onnx", codec="codec.onnx", weights="weights", text_table="text.npy"),
        files={},
        provenance=Provenance(exporter="test", checkpoint="none", precision="fp32", licence="none"),
    )


def bundle(found: Manifest | None = None) -> Bundle:
    """A bundle in memory. Column 0 of each table is the row's id, the rest tells rows apart."""
    text = np.zeros((TEXT_ROWS, HIDDEN), dtype=np.float32)
    codec = np.zeros((VOCABULARY, HIDDEN), dtype=np.float32)
    text[:, 0] = np.arange(TEXT_ROWS)
    codec[:, 1] = np.arange(VOCABULARY)
    return Bundle(path=Path("fake"), manifest=found or manifest(), text_table=text, codec_embedding=codec)


class FakeBinding:
    """Runs a rule on arrays."""

    def __init__(
        self, rule: Callable[[Tensors, Tensors], None], hook: Callable[[], None],
        inputs: Mapping[str, Tensor], outputs: Mapping[str, Tensor],
    ) -> None:  # fmt: skip
        self._rule, self._hook = rule, hook
        self._inputs = {name: tensor.host for name, tensor in inputs.items()}
        self._outputs = {name: tensor.host for name, tensor in outputs.items()}

    def run(self) -> None:
        self._hook()
        self._rule(self._inputs, self._outputs)


class FakeRunner:
    """Memory and bindings; `hook` is called before each run and may count, wait or raise."""

    def __init__(self, rule: Callable[[Tensors, Tensors], None]) -> None:
        self._rule = rule
        self.hook: Callable[[], None] = lambda: None
        self.on_run: Callable[[Array], None] = lambda codes: None
        """Told the codes that a codec's run is given."""
        self.allocated: list[int] = []
        self.runs = 0

    def allocate(self, shape: tuple[int, ...], dtype: npt.DTypeLike, place: Place) -> Tensor:
        array = np.zeros(shape, dtype=dtype)
        self.allocated.append(prod(shape) * array.itemsize)
        return Tensor(shape, array.dtype, array.ctypes.data, array, array)

    def clear(self, tensor: Tensor) -> None:
        tensor.host.fill(0)

    def bind(self, inputs: Mapping[str, Tensor], outputs: Mapping[str, Tensor]) -> Binding:
        def rule(given: Tensors, made: Tensors) -> None:
            if CodecInputs.CODES in given:
                self.on_run(given[CodecInputs.CODES])
            self._rule(given, made)

        return FakeBinding(rule, self._before_run, inputs, outputs)

    def close(self) -> None:
        pass

    def _before_run(self) -> None:
        self.runs += 1
        self.hook()


def engine(
    made: Bundle, frame: Runner, codec: Runner, config: EngineConfig, clock: Callable[[], float] = time.monotonic
) -> SpeechEngine:
    """An engine on two runners."""
    return SpeechEngine(made, on_runners(made.manifest, frame, codec, config), config, clock)


def frame_runner() -> FakeRunner:
    """A talker by rule."""
    return FakeRunner(speak_by_rule)


def codec_runner() -> FakeRunner:
    """A codec by rule: the running sum of code 0 so far, one step per sample."""
    return FakeRunner(decode_by_rule)


def fail() -> None:
    """A hook: the device broke."""
    raise DeviceError("out of smoke")


def speak_by_rule(inputs: Tensors, outputs: Tensors) -> None:
    """The talker's rule (see the module's text)."""
    rows = inputs[FrameInputs.CODEC_ROWS] + inputs[FrameInputs.TEXT_ROWS]
    keys, values = inputs[FrameInputs.past_key(0)], inputs[FrameInputs.past_value(0)]
    count = rows.shape[1]
    assert inputs[FrameInputs.TOTAL_LENGTH][0] == inputs[FrameInputs.PAST_LENGTHS].max() + 1
    for slot, past in enumerate(inputs[FrameInputs.PAST_LENGTHS]):
        length = int(past) + 1
        keys[slot, 0, length - count : length] = rows[slot, :, :2]
        values[slot, 0, length - count : length] = rows[slot, :, 2:]
        if FrameOutputs.CODES in outputs:
            code = _code(inputs, slot, keys[slot, 0, :length], values[slot, 0, :length])
            outputs[FrameOutputs.CODES][slot] = [code, code // 2, code // 3]
            outputs[FrameOutputs.NEXT_CODEC_ROW][slot, 0] = [0.0, 0.0, code, float(np.float32(code) / 7)]
            seen = inputs[FrameInputs.SEEN][slot].copy()
            seen[code] = 1.0
            outputs[FrameOutputs.NEXT_SEEN][slot] = seen


def _code(inputs: Tensors, slot: int, keys: Array, values: Array) -> int:
    begin = int((keys[:, 1] == 21).argmax())  # the row with the codec's begin id starts the frames
    asked = sum(int(id_) - ASK for id_ in keys[:, 0] if id_ >= ASK)
    if len(keys) - 1 - begin >= asked and inputs[FrameInputs.END_BIAS][slot, 0] == 0.0:
        return END
    mixed = 3.0 * keys.sum() + 5.0 * values.sum() + inputs[FrameInputs.SEEN][slot].sum()
    noise = inputs[FrameInputs.NOISE][slot] / inputs[FrameInputs.TEMPERATURE][slot, 0]
    return int(abs(mixed) + 100.0 * abs(noise.sum())) % CODES


def decode_by_rule(inputs: Tensors, outputs: Tensors) -> None:
    """The codec's rule."""
    codes, state = inputs[CodecInputs.CODES], inputs[CodecInputs.state("sum")]
    pcm = outputs[CodecOutputs.PCM].reshape(len(codes), codes.shape[1], -1)
    for slot in range(len(codes)):
        sums = state[slot, 0] + np.cumsum(codes[slot, :, 0])
        places = inputs[CodecInputs.POSITION][slot] + np.arange(codes.shape[1])
        pcm[slot] = (sums + places)[:, None] + np.arange(pcm.shape[2]) / 16.0
        outputs[CodecOutputs.state("sum")][slot, 0] = sums[-1]
