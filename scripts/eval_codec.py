"""The codec alone: what becomes of the teacher's own speech when it is coded and decoded.

Knows: the file of coded test sentences, how a bundle's codec decodes, the checks. Does not know: talkers, recognisers.

The checkpoint has no encoder, so the coded sentences are kept in the repository, made once per codec by
`scripts/eval_voice --encode`. They name the codebooks that they were made with.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
from safetensors.numpy import load_file

from engines.bundle import open_bundle
from engines.codec import Codec
from engines.runner_ort import OrtRunner
from export.train.alike import COLUMN_S, Wave, level_db, mel_distance_db, pitch_hz
from export.train.codec_checks import curvature_in_frames_db, mean_power, silent_stretches, strongest_line

CODED: Final = Path(__file__).parent.parent / "export" / "train" / "data" / "eval_codes.npz"
RATE_HZ: Final = 24_000
_AT_ONCE: Final = 25  # frames a call decodes, as the engine does

Codes = npt.NDArray[np.uint16]


def books_of(checkpoint: Path) -> npt.NDArray[np.float32]:
    """Codebooks f32 [groups, codes, dim] of a checkpoint of ours."""
    tensors = load_file(checkpoint / "speech_tokenizer" / "model.safetensors")
    first = "decoder.quantizer.rvq_first.vq.layers.0._codebook."
    rest = "decoder.quantizer.rvq_rest.vq.layers."
    count = sum(name.startswith(rest) and name.endswith("embedding_sum") for name in tensors)
    prefixes = [first, *(f"{rest}{layer}._codebook." for layer in range(count))]
    sums = np.stack([tensors[prefix + "embedding_sum"] for prefix in prefixes]).astype(np.float32)
    usage = np.stack([tensors[prefix + "cluster_usage"] for prefix in prefixes]).astype(np.float32)
    return np.asarray(sums / np.maximum(usage, 1e-5)[..., None], np.float32)


def encode(encoder_file: Path, books: npt.NDArray[np.float32], waves: list[Wave]) -> list[Codes]:
    """Codes [frames, groups] of sounds, with an encoder from a training's `codec.pt` (or its weights alone)."""
    import torch

    from export.train.codec_encoder import Encoder, quantise
    from export.train.shape import VoiceShape

    shape = VoiceShape()
    state = torch.load(encoder_file, weights_only=True, map_location="cpu")
    encoder = Encoder(shape).eval()
    encoder.load_state_dict(state.get("encoder", state))
    out = []
    with torch.inference_mode():
        for wave in waves:
            padded = np.pad(wave, (0, -len(wave) % shape.frame_samples))
            codes, _ = quantise(encoder(torch.from_numpy(padded)[None])[0], torch.from_numpy(books))
            out.append(codes.numpy().astype(np.uint16))
    return out


def name_of(books: npt.NDArray[np.float32], texts: list[str]) -> str:
    """Names the codebooks and the texts that coded sentences belong to."""
    return hashlib.sha256(np.round(books, 2).tobytes() + json.dumps(texts).encode()).hexdigest()[:16]


def write_coded(name: str, coded: dict[str, list[Codes]], path: Path = CODED) -> None:
    """Keep the coded sentences of every speaker."""
    tables = {f"{speaker}_codes": np.concatenate(codes) for speaker, codes in coded.items()}
    tables |= {f"{speaker}_ends": np.cumsum([len(one) for one in codes]) for speaker, codes in coded.items()}
    np.savez_compressed(path, name=np.array(name), **tables)  # type: ignore[arg-type]  # its stub forgets the names


def read_coded(speaker: str, path: Path = CODED) -> tuple[str, list[Codes]]:
    """(name, codes of every sentence); ("", []) if there are none of this speaker."""
    if not path.exists():
        return "", []
    with np.load(path) as tables:
        if f"{speaker}_codes" not in tables:
            return "", []
        codes, ends = tables[f"{speaker}_codes"], tables[f"{speaker}_ends"]
        return str(tables["name"]), np.split(codes, ends[:-1])


def decode(bundle: Path, coded: list[Codes]) -> list[Wave]:
    """Sound of every sentence, by the bundle's codec."""
    opened = open_bundle(bundle)
    runner = OrtRunner(bundle / opened.manifest.graphs.codec)
    codec = Codec(runner, opened.manifest, 1, _AT_ONCE)
    out = []
    for codes in coded:
        codec.begin(0)
        blocks = range(0, len(codes), _AT_ONCE)
        out.append(np.concatenate([codec.decode(0, codes[at : at + _AT_ONCE]).copy() for at in blocks]))
    return out


@dataclass(frozen=True)
class CodecFaults:
    """Figures of decoded speech. A tone in silence is a line far above its surroundings and loud enough to be heard."""

    mel_distance_db: float
    level_db: float
    """Level against the teacher's."""
    silence_s: float
    tone_hz: float
    tone_db: float
    """Level of the strongest line in the teacher's silences, as a sine, dB of full scale."""
    tone_above_db: float
    border_db: float
    """Curvature at frame borders over the median place in a frame."""
    sharpest_db: float
    """The same of the sharpest place in a frame."""
    begins_db: float
    """Loudest sample in the first 5 ms of any sentence, where the teacher is silent, dB of full scale."""
    pitch_off_first_percent: float
    """Voiced columns of the first second of speech whose pitch is more than 3 semitones off the teacher's."""
    pitch_off_percent: float
    """The same of all columns."""


def _pitch_off(pairs: list[tuple[Wave, Wave]], rate: int, within_s: float = 1e9) -> float:
    """Percent of columns, voiced in both, within some seconds of the first sound, that are 3 semitones apart."""
    off = of = 0
    for a, b in pairs:
        one, other, loud = pitch_hz(a, rate), pitch_hz(b, rate), level_db(a, rate)
        until = int(np.argmax(loud > loud.max() - 40.0)) + min(len(one), int(within_s / COLUMN_S))
        both = np.flatnonzero((one > 0) & (other > 0))
        both = both[both < until]
        off += int((np.abs(12 * np.log2(other[both] / one[both])) > 3.0).sum())
        of += len(both)
    return 100.0 * off / max(1, of)


def faults(taught: list[Wave], made: list[Wave], rate: int, frame: int) -> CodecFaults:
    """Compare what the codec made with the teacher's speech; both [n] on one time axis, `frame` samples a frame."""
    pairs = [(a, b[: len(a)]) for a, b in zip(taught, made, strict=True)]
    stretches = [b[where] for a, b in pairs for where in silent_stretches(a, rate)]
    power = mean_power(stretches)
    line = strongest_line(power if power is not None else np.zeros(1025), rate)
    border, sharpest = curvature_in_frames_db([b for _, b in pairs], frame)
    energy = [sum(float(np.square(side).sum()) for side in sides) for sides in zip(*pairs, strict=True)]
    return CodecFaults(
        mel_distance_db=float(np.mean([mel_distance_db(a, b, rate) for a, b in pairs])),
        level_db=float(10 * np.log10(energy[1] / energy[0])),
        silence_s=sum(map(len, stretches)) / rate,
        tone_hz=line.hertz,
        tone_db=line.level_db,
        tone_above_db=line.above_db,
        border_db=border,
        sharpest_db=sharpest,
        begins_db=float(20 * np.log10(max(float(np.abs(b[: rate // 200]).max(initial=0.0)) for _, b in pairs) + 1e-6)),
        pitch_off_first_percent=_pitch_off(pairs, rate, 1.0),
        pitch_off_percent=_pitch_off(pairs, rate),
    )
