"""Whether built engines speak as their graphs do: a short probe, teacher forced, against ONNX Runtime on the CPU.

Purpose: let the graphs of a plan speak a few frames in all slots, put the same rows before the engines built from them,
and compare codes, logits and sound. The same weights are on both sides: this judges the building, not the quantisation
(`export.quality` does that).
Knows: what a frame's runs need and give. Does not know: TensorRT, who runs a graph.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from engines.manifest import FrameInputs, FrameOutputs, Manifest
from engines.plan_set import PlanSizes, Verification, buckets
from export.build_door import Session, Values
from export.plan_machine import CodecMachine, Dimensions, Machine
from export.plan_profile import USUAL_CODEC_FRAMES
from export.probe_speech import prompt_rows, sampling_inputs
from export.tensorrt import Role, TensorRtChoice

FRAMES: Final = 8
TEXT_IDS: Final = 12
"""Of each slot's text; short, since every run of the reference reads all weights on the CPU."""
LEAST_AGREEMENT: Final = {"fp32": 1.0, "fp16": 0.9, "int8": 0.8, "int4": 0.8, "fp8": 0.4}
"""The gate, share of codes. One code that differs changes all after it in its frame, so rounding costs some of them."""
MOST_LOGITS_ERROR: Final = {"fp32": 1e-3, "fp16": 0.01, "int8": 0.02, "int4": 0.02, "fp8": 0.06}
"""The gate that wrong engines do not pass. Both were set from two ways of computing the same graphs on the CPU, which
differ a third as much or less, and from weights of another precision, which differ by 0.08 (docs/LOG.md)."""
MOST_PCM_ERROR: Final = {np.dtype(np.float32): 1e-4, np.dtype(np.float16): 0.01}
"""The gate, by the type of the codec's products."""
SEED: Final = 20261120


def codec_calls(most: int) -> list[int]:
    """Frames of the codec's calls: several, so that what is carried between them counts, and one of the `most`.

    Kernels are chosen for the usual size (`export.plan_profile`), and TensorRT was seen to be right in that one only
    (NVIDIA/TensorRT issue 4450, with 10.9). Never more than the engine was built for.
    """
    return [min(3, most), 1, min(USUAL_CODEC_FRAMES, most), most]


Floats = npt.NDArray[np.float32]
Codes = npt.NDArray[np.int64]
Advance = Callable[[float], object]
"""Told the share that is done, 0 to 1."""


@dataclass(frozen=True, slots=True)
class Probe:
    """What every run is given, by slot where it is not the same for all."""

    prompts: tuple[tuple[Floats, Floats], ...]
    """By slot: codec and text rows, f32 [rows, hidden]."""
    pad: Floats
    """Text row of every frame but the first, f32 [hidden]."""
    settings: Values
    noise: Floats
    """f32 [FRAMES, B, codebooks, K]; slot 0 is greedy."""

    def first(self, slots: int) -> Probe:
        """The same for fewer slots."""
        settings = {name: values[:slots] for name, values in self.settings.items()}
        return Probe(self.prompts[:slots], self.pad, settings, self.noise[:, :slots])


@dataclass(frozen=True, slots=True)
class Spoken:
    """What was made of a probe, and what the next frame begins with."""

    codes: Codes
    """[FRAMES, B, codebooks]"""
    logits: Floats
    """[FRAMES, B, vocabulary]"""
    rows: Floats
    """`next_codec_row` of each frame, [FRAMES, B, 1, hidden]."""
    seen: Floats
    """[FRAMES, B, vocabulary]"""

    def first(self, slots: int) -> Spoken:
        """That of the first slots."""
        return Spoken(self.codes[:, :slots], self.logits[:, :slots], self.rows[:, :slots], self.seen[:, :slots])


def make_probe(
    manifest: Manifest, texts: list[tuple[int, ...]], table: npt.NDArray[Any], codec: Floats, slots: int
) -> Probe:
    """A text for every slot, by the voice's own sampling; `table` and `codec` are the bundle's tables of rows."""
    shape = (FRAMES, slots, manifest.frame.codebooks, manifest.sampling.max_top_k)
    noise = np.random.default_rng(SEED).gumbel(size=shape).astype(np.float32)
    noise[:, 0] = 0.0
    return Probe(
        prompts=tuple(
            prompt_rows(manifest, texts[slot % len(texts)][: TEXT_IDS - slot], table, codec) for slot in range(slots)
        ),
        pad=table[manifest.text_ids.pad].astype(np.float32),
        settings=sampling_inputs(manifest, slots, may_end=False),
        noise=noise,
    )


def rows_needed(probe: Probe) -> int:
    """Rows of a slot's cache that the probe fills."""
    return max(len(codec) for codec, _ in probe.prompts) + FRAMES


def speak(machine: Machine, probe: Probe, piece_rows: int, forced: Spoken | None, advance: Advance) -> Spoken:
    """Run the probe, prompts in pieces of at most `piece_rows`; `forced` decides what each next frame begins with."""
    for slot, (codec, text) in enumerate(probe.prompts):
        for start in range(0, len(codec) - 1, piece_rows):
            end = min(start + piece_rows, len(codec) - 1)  # the last row is an ordinary step's
            machine.prefill(slot, codec[start:end], text[start:end])
        advance((slot + 1) / (2 * len(probe.prompts)))
    settings = probe.settings | {
        FrameInputs.CODEC_ROWS: np.stack([codec[-1:] for codec, _ in probe.prompts]),
        FrameInputs.TEXT_ROWS: np.stack([text[-1:] for _, text in probe.prompts]),
    }
    codes, logits, rows, seen = [], [], [], []
    for frame in range(FRAMES):
        run = machine.step(settings | {FrameInputs.NOISE: probe.noise[frame]})
        codes.append(run.codes)
        logits.append(run.logits)
        rows.append(run.outputs[FrameOutputs.NEXT_CODEC_ROW])
        seen.append(machine.state[FrameInputs.SEEN])
        if forced is not None:
            machine.state[FrameInputs.SEEN] = forced.seen[frame]
        settings[FrameInputs.CODEC_ROWS] = rows[-1] if forced is None else forced.rows[frame]
        settings[FrameInputs.TEXT_ROWS] = np.broadcast_to(probe.pad, settings[FrameInputs.CODEC_ROWS].shape).copy()
        advance(0.5 + (frame + 1) / (2 * FRAMES))
    return Spoken(np.stack(codes), np.stack(logits), np.stack(rows), np.stack(seen))


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One of the two that are compared."""

    sessions: Mapping[Role, Session]
    choice: TensorRtChoice
    weights: Path
    """Where `StepTables` are."""


def verify(
    reference: Side, built: Side, manifest: Manifest, probe: Probe, sizes: PlanSizes, name: str, advance: Advance
) -> Verification:
    """Compare two sides that hold the same weights; `name` says who ran the reference.

    What is built runs with every number of slots that the plan's runs can have (`buckets`), and the worst
    counts; the reference, which is slow, runs once with all, since nobody's speech depends on the company.
    """
    size = Dimensions(talker=manifest.talker, predictor=manifest.predictor, codebooks=manifest.frame.codebooks)
    each = buckets(sizes.slots)[::-1]  # the others fit the widest's memory
    calls = codec_calls(sizes.codec_chunk_frames)
    decoded = np.arange(sum(calls)) % FRAMES  # the few frames that were spoken, again and again

    def run(side: Side, slots: int, forced: Spoken | None, first: float, share: float) -> tuple[Spoken, Floats]:
        choice = replace(side.choice, slots=slots)
        machine = Machine(side.sessions, choice, size, side.weights)
        told = probe.first(slots)
        spoken = speak(machine, told, sizes.prefill_rows, forced, lambda done: advance(first + 0.8 * share * done))
        frames = np.swapaxes((forced or spoken).codes[decoded], 0, 1)
        pcm = CodecMachine(side.sessions[Role.CODEC], choice).decode(manifest.codec.states, frames, calls)
        advance(first + share)
        return spoken, pcm

    expected, sound = run(reference, sizes.slots, None, 0.0, 0.5)
    agreements, logits_errors, pcm_errors = [], [], []
    for index, slots in enumerate(each):
        share = 0.5 / len(each)
        wanted = expected.first(slots)
        found, heard = run(built, slots, wanted, 0.5 + share * index, share)
        agreements.append(round(float((wanted.codes == found.codes).mean()), 4))
        logits_errors.append(_relative(wanted.logits, found.logits))
        pcm_errors.append(_relative(sound[:slots], heard))
    precision = built.choice.plan_word(built.choice.precision)
    return Verification(
        reference=name,
        frames=FRAMES * sum(each),
        agreement=min(agreements),
        least_agreement=LEAST_AGREEMENT[precision],
        logits_error=max(logits_errors),
        most_logits_error=MOST_LOGITS_ERROR[precision],
        pcm_error=max(pcm_errors),
        most_pcm_error=MOST_PCM_ERROR[np.dtype(built.choice.dtype)],
    )


def _relative(expected: Floats, found: Floats) -> float:
    """Root mean square of the difference over that of what is expected; infinite where a value is not a number."""
    wide = expected.astype(np.float64)
    difference = found.astype(np.float64) - wide
    if not np.isfinite(difference).all():
        return float("inf")
    scale = float(np.sqrt((wide**2).mean()))
    return round(float(np.sqrt((difference**2).mean())) / max(scale, 1e-9), 9)
