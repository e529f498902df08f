"""The released models' shapes without their weights: configurations, and tensors that are only imagined.

Purpose: build every graph at its true size in a second. Numbers: the official configurations (Qwen3-TTS 12Hz 0.6B and
1.7B). Knows: dimensions. Does not know: any value; what is read is zeros.
"""

from __future__ import annotations

import numpy as np

from export.checkpoint import Array
from export.config import CodecConfig, CodecDecoderConfig, PredictorConfig, TalkerConfig
from export.tensorrt import TensorRtSource

HIDDEN = {"0.6B": 1024, "1.7B": 2048}
MAX_TOP_K = 64
PROJECTION = "talker.code_predictor.small_to_mtp_projection.weight"
FIRST_PROJECTION = "decoder.quantizer.rvq_first.output_proj.weight"


class ImaginedTensors:
    """Every tensor is there and of the shape it is claimed to have; see `export.checkpoint.TensorSource`."""

    def __init__(self, shapes: dict[str, tuple[int, ...]]) -> None:
        self._shapes = dict(shapes)

    def shape(self, name: str) -> tuple[int, ...]:
        """As claimed before, or given."""
        return self._shapes[name]

    def has(self, name: str) -> bool:
        """Only for optional tensors: those given at the start."""
        return name in self._shapes

    def claim(self, name: str, shape: tuple[int, ...]) -> None:
        """Remember the shape; a second claim must agree."""
        assert self._shapes.setdefault(name, shape) == shape, name

    def read(self, name: str) -> Array:
        """Zeros."""
        return np.zeros(self._shapes[name], np.float32)


def talker_config(size: str, layers: int = 28) -> TalkerConfig:
    """`talker_config` of a released model; fewer `layers` where memory is short."""
    hidden = HIDDEN[size]
    predictor = PredictorConfig(
        hidden_size=1024, intermediate_size=3072, num_hidden_layers=5, num_attention_heads=16, num_key_value_heads=8,
        head_dim=128, vocab_size=2048, rms_norm_eps=1e-6, rope_theta=1e6, num_code_groups=16,
    )  # fmt: skip
    return TalkerConfig(
        hidden_size=hidden, intermediate_size=3 * hidden, num_hidden_layers=layers, num_attention_heads=16,
        num_key_value_heads=8, head_dim=128, vocab_size=3072, rms_norm_eps=1e-6, rope_theta=1e6, text_hidden_size=2048,
        text_vocab_size=151936, num_code_groups=16, codec_pad_id=2148, codec_bos_id=2149, codec_eos_token_id=2150,
        codec_think_id=2154, codec_nothink_id=2155, codec_think_bos_id=2156, codec_think_eos_id=2157,
        codec_language_id={}, code_predictor_config=predictor,
    )  # fmt: skip


def true_source(size: str, layers: int = 28) -> TensorRtSource:
    """What graphs at the true shapes are made from."""
    codec = CodecConfig(decoder_config=CodecDecoderConfig(hidden_size=512, head_dim=64, intermediate_size=1024))
    projection: dict[str, tuple[int, ...]] = {PROJECTION: (1024, 2048)} if HIDDEN[size] != 1024 else {}
    return TensorRtSource(
        talker=talker_config(size, layers),
        codec=codec,
        model_file=ImaginedTensors(projection),
        codec_file=ImaginedTensors({FIRST_PROJECTION: (512, 256, 1)}),
        max_top_k=MAX_TOP_K,
        max_positions=4096,
    )
