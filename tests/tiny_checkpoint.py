"""Writes small random checkpoints in the official layout, the same bytes for the same `TinySpec`.

Purpose: models that every test can afford, whose norms, biases, scales and codebooks are all non-trivial; the official
package loads them strictly (`scripts/parity` proves it). Needs numpy, not torch.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import ml_dtypes
import numpy as np

from tests.tiny_spec import Json, TinySpec, codec_config, generation_config, main_config
from tests.tiny_tensors import Rule, codec_rules, fill, main_rules
from tests.tiny_tokenizer import write_tokenizer

MODEL_FILES = ("model.safetensors", "speech_tokenizer/model.safetensors")


def write_checkpoint(spec: TinySpec, directory: Path) -> Path:
    """Write the whole checkpoint into `directory` (made if missing) and return it."""
    codec = directory / "speech_tokenizer"
    codec.mkdir(parents=True, exist_ok=True)
    text_ids = write_tokenizer(directory)
    _write_json(directory / "config.json", main_config(spec, text_ids))
    _write_json(directory / "generation_config.json", generation_config())
    _write_json(
        directory / "preprocessor_config.json",
        {
            "padding_side": "left",
            "padding_value": 0.0,
            "processor_class": "Qwen3TTSProcessor",
            "return_attention_mask": True,
        },
    )
    _write_tensors(directory / "model.safetensors", spec, main_rules(spec), spec.storage)
    _write_json(codec / "config.json", codec_config(spec))
    _write_json(
        codec / "preprocessor_config.json",
        {
            "chunk_length_s": None,
            "feature_extractor_type": "EncodecFeatureExtractor",
            "feature_size": 1,
            "overlap": None,
            "padding_side": "right",
            "padding_value": 0.0,
            "return_attention_mask": True,
            "sampling_rate": spec.sample_rate,
        },
    )
    # The released codec is float32 whatever the talker is.
    _write_tensors(codec / "model.safetensors", spec, codec_rules(spec), "float32")
    return directory


def checkpoint_digest(directory: Path) -> str:
    """One checksum over both tensor files: tells whether a golden file speaks of this checkpoint."""
    digest = hashlib.sha256()
    for name in MODEL_FILES:
        digest.update(hashlib.sha256((directory / name).read_bytes()).digest())
    return digest.hexdigest()


def _write_tensors(path: Path, spec: TinySpec, rules: Iterable[Rule], storage: Literal["float32", "bfloat16"]) -> None:
    header: Json = {"__metadata__": {"format": "pt"}}
    payload = bytearray()
    for rule in rules:
        values = fill(spec.seed, rule)
        if rule.name == "talker.codec_head.weight":
            values[spec.end_id] *= np.float32(spec.end_gain)
        stored = values.astype(ml_dtypes.bfloat16) if storage == "bfloat16" else values
        start = len(payload)
        payload += stored.tobytes()
        header[rule.name] = {
            "dtype": "BF16" if storage == "bfloat16" else "F32",
            "shape": list(rule.shape),
            "data_offsets": [start, len(payload)],
        }
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + payload)


def _write_json(path: Path, value: Json) -> None:
    path.write_text(json.dumps(value, indent=2, sort_keys=False) + "\n", encoding="utf-8")
