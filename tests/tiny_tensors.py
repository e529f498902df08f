"""The tensors of a tiny checkpoint: official names, official shapes, and what each is filled with.

Purpose: a list of rules per file, and numbers from a rule. Numbers depend on the seed and the tensor's name alone, and
on integer and IEEE arithmetic alone, so every machine makes the same bytes. Does not know: files, our exporter.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod, sqrt
from typing import Literal

import numpy as np
import numpy.typing as npt

from tests.tiny_spec import TinySpec, encoder_ratios

Fill = Literal["normal", "matrix", "norm", "scale", "usage", "sum", "one"]
Array = npt.NDArray[np.float32]
Exact = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Rule:
    """One tensor: `gain` is its spread, or for a matrix the spread of its output for inputs of spread 1."""

    name: str
    shape: tuple[int, ...]
    fill: Fill
    gain: float = 1.0


Rules = Iterator[Rule]


def fill(seed: int, rule: Rule) -> Array:
    """The numbers of one tensor."""
    return _fill(seed, rule).astype(np.float32)


def _fill(seed: int, rule: Rule) -> Exact:
    values = _noise(seed, rule.name, rule.shape)
    match rule.fill:
        case "normal":
            values *= rule.gain
        case "matrix":
            values *= rule.gain / sqrt(prod(rule.shape[1:]))
        case "norm":
            values = 1.0 + 0.25 * values
        case "scale":
            values = 0.5 + 0.15 * values
        case "usage":
            values = 2.0 + 0.5 * values
            values[3] = 0.0  # a code that was never used: readers must clamp, as the official code does
        case "sum":
            sibling = Rule(rule.name.rpartition(".")[0] + ".cluster_usage", rule.shape[:1], "usage")
            values *= rule.gain * np.maximum(_fill(seed, sibling), 1e-5)[:, None]
        case "one":
            values[:] = 1.0
    return values


def _noise(seed: int, name: str, shape: tuple[int, ...]) -> Exact:
    """Bell-shaped noise of spread 1 from sums of uniform numbers: exact on every machine, unlike a logarithm's."""
    digest = hashlib.sha256(f"{seed}:{name}".encode()).digest()
    uniform = np.random.RandomState(int.from_bytes(digest[:4], "little")).random_sample((4, prod(shape)))
    total = uniform[0] + uniform[1] + uniform[2] + uniform[3]
    noise: Exact = ((total - 2.0) * sqrt(3.0)).reshape(shape)
    return noise


def main_rules(spec: TinySpec) -> Rules:
    """`model.safetensors`: talker, code predictor, and the speaker encoder of Base models."""
    hidden, groups = spec.hidden, spec.codebooks - 1
    yield Rule("talker.model.text_embedding.weight", (spec.text_rows, spec.text_hidden), "normal")
    yield Rule("talker.model.codec_embedding.weight", (spec.vocabulary, hidden), "normal", 0.6)
    for part in (1, 2):
        out = spec.text_hidden if part == 1 else hidden
        yield Rule(f"talker.text_projection.linear_fc{part}.weight", (out, spec.text_hidden), "matrix", 1.5)
        yield Rule(f"talker.text_projection.linear_fc{part}.bias", (out,), "normal", 0.2)
    yield from _stack_rules(
        "talker.model", spec.layers, hidden, spec.intermediate, spec.heads, spec.kv_heads, spec.head_dim
    )
    yield Rule("talker.codec_head.weight", (spec.vocabulary, hidden), "matrix", spec.logit_gain)
    inner = spec.predictor_hidden
    for group in range(groups):
        name = f"talker.code_predictor.model.codec_embedding.{group}.weight"
        yield Rule(name, (spec.codes, hidden), "normal", 0.6)
        yield Rule(f"talker.code_predictor.lm_head.{group}.weight", (spec.codes, inner), "matrix", spec.logit_gain)
    yield from _stack_rules(
        "talker.code_predictor.model",
        spec.predictor_layers,
        inner,
        spec.predictor_intermediate,
        spec.predictor_heads,
        spec.predictor_kv_heads,
        spec.predictor_head_dim,
    )
    if spec.projected:
        yield Rule("talker.code_predictor.small_to_mtp_projection.weight", (inner, hidden), "matrix", 1.2)
        yield Rule("talker.code_predictor.small_to_mtp_projection.bias", (inner,), "normal", 0.2)
    if spec.kind == "base":
        yield from _speaker_encoder_rules(spec)


def _stack_rules(prefix: str, layers: int, hidden: int, inner: int, heads: int, kv_heads: int, head_dim: int) -> Rules:
    for index in range(layers):
        layer = f"{prefix}.layers.{index}"
        yield Rule(f"{layer}.input_layernorm.weight", (hidden,), "norm")
        yield Rule(f"{layer}.post_attention_layernorm.weight", (hidden,), "norm")
        yield Rule(f"{layer}.self_attn.q_proj.weight", (heads * head_dim, hidden), "matrix")
        yield Rule(f"{layer}.self_attn.k_proj.weight", (kv_heads * head_dim, hidden), "matrix")
        yield Rule(f"{layer}.self_attn.v_proj.weight", (kv_heads * head_dim, hidden), "matrix")
        yield Rule(f"{layer}.self_attn.o_proj.weight", (hidden, heads * head_dim), "matrix", 1.5)
        yield Rule(f"{layer}.self_attn.q_norm.weight", (head_dim,), "norm")
        yield Rule(f"{layer}.self_attn.k_norm.weight", (head_dim,), "norm")
        yield from _mlp_rules(f"{layer}.mlp", hidden, inner, 1.5)
    yield Rule(f"{prefix}.norm.weight", (hidden,), "norm")


def _mlp_rules(prefix: str, hidden: int, inner: int, gain: float) -> Rules:
    yield Rule(f"{prefix}.gate_proj.weight", (inner, hidden), "matrix", gain)
    yield Rule(f"{prefix}.up_proj.weight", (inner, hidden), "matrix")
    yield Rule(f"{prefix}.down_proj.weight", (hidden, inner), "matrix", gain)


def _conv(name: str, shape: tuple[int, ...], gain: float = 1.0, outputs: int | None = None) -> Rules:
    yield Rule(f"{name}.weight", shape, "matrix", gain)
    yield Rule(f"{name}.bias", (shape[0] if outputs is None else outputs,), "normal", 0.1)


def _speaker_encoder_rules(spec: TinySpec) -> Rules:
    yield from _conv("speaker_encoder.blocks.0.conv", (16, 128, 5))
    for block in (1, 2, 3):
        prefix = f"speaker_encoder.blocks.{block}"
        yield from _conv(f"{prefix}.tdnn1.conv", (16, 16, 1))
        for index in range(7):
            yield from _conv(f"{prefix}.res2net_block.blocks.{index}.conv", (2, 2, 3))
        yield from _conv(f"{prefix}.tdnn2.conv", (16, 16, 1))
        yield from _conv(f"{prefix}.se_block.conv1", (8, 16, 1))
        yield from _conv(f"{prefix}.se_block.conv2", (16, 8, 1))
    yield from _conv("speaker_encoder.mfa.conv", (48, 48, 1))
    yield from _conv("speaker_encoder.asp.tdnn.conv", (8, 144, 1))
    yield from _conv("speaker_encoder.asp.conv", (48, 8, 1))
    yield from _conv("speaker_encoder.fc", (spec.hidden, 96, 1))


def codec_rules(spec: TinySpec) -> Rules:
    """`speech_tokenizer/model.safetensors`: decoder and encoder."""
    yield from _decoder_rules(spec)
    yield from _encoder_rules(spec)


def _decoder_rules(spec: TinySpec) -> Rules:
    wide, narrow, latent, hidden = spec.codec_dim, spec.codec_dim // 2, spec.codec_latent, spec.codec_hidden
    for part, books in (("first", 1), ("rest", spec.codebooks - 1)):
        prefix = f"decoder.quantizer.rvq_{part}"
        yield Rule(f"{prefix}.input_proj.weight", (narrow, wide, 1), "matrix")
        yield Rule(f"{prefix}.output_proj.weight", (wide, narrow, 1), "matrix")
        for book in range(books):
            yield Rule(f"{prefix}.vq.layers.{book}._codebook.cluster_usage", (spec.codes,), "usage")
            yield Rule(
                f"{prefix}.vq.layers.{book}._codebook.embedding_sum", (spec.codes, narrow), "sum", 1 / sqrt(books)
            )
    yield from _conv("decoder.pre_conv.conv", (latent, wide, 3))
    transformer, heads = "decoder.pre_transformer", spec.codec_heads * spec.codec_head_dim
    yield from _conv(f"{transformer}.input_proj", (hidden, latent))
    yield from _conv(f"{transformer}.output_proj", (latent, hidden))
    for index in range(spec.codec_layers):
        layer = f"{transformer}.layers.{index}"
        for side in ("q", "k", "v"):
            yield Rule(f"{layer}.self_attn.{side}_proj.weight", (heads, hidden), "matrix", 1.2)
        yield Rule(f"{layer}.self_attn.o_proj.weight", (hidden, heads), "matrix", 2.0)
        yield from _mlp_rules(f"{layer}.mlp", hidden, spec.codec_intermediate, 1.5)
        for name in ("input_layernorm.weight", "post_attention_layernorm.weight"):
            yield Rule(f"{layer}.{name}", (hidden,), "norm")
        for name in ("self_attn_layer_scale.scale", "mlp_layer_scale.scale"):
            yield Rule(f"{layer}.{name}", (hidden,), "scale")
    yield Rule(f"{transformer}.norm.weight", (hidden,), "norm")
    for index, ratio in enumerate(spec.codec_ratios):
        yield from _conv(f"decoder.upsample.{index}.0.conv", (latent, latent, ratio), 1.4)
        block = f"decoder.upsample.{index}.1"
        yield Rule(f"{block}.gamma", (latent,), "scale")
        yield from _conv(f"{block}.dwconv.conv", (latent, 1, 7))
        yield Rule(f"{block}.norm.weight", (latent,), "norm")
        yield Rule(f"{block}.norm.bias", (latent,), "normal", 0.2)
        yield from _conv(f"{block}.pwconv1", (4 * latent, latent))
        yield from _conv(f"{block}.pwconv2", (latent, 4 * latent))
    yield from _vocoder_rules(spec)


def _vocoder_rules(spec: TinySpec) -> Rules:
    channels = spec.codec_channels
    yield from _conv("decoder.decoder.0.conv", (channels, spec.codec_latent, 7))
    for index, rate in enumerate(spec.codec_rates, start=1):
        block, out = f"decoder.decoder.{index}.block", channels // 2
        yield from _snake(f"{block}.0", channels)
        yield from _conv(f"{block}.1.conv", (channels, out, 2 * rate), 0.8, out)
        for unit in (2, 3, 4):
            yield from _snake(f"{block}.{unit}.act1", out)
            yield from _conv(f"{block}.{unit}.conv1.conv", (out, out, 7), 0.5)
            yield from _snake(f"{block}.{unit}.act2", out)
            yield from _conv(f"{block}.{unit}.conv2.conv", (out, out, 1), 0.4)
        channels = out
    last = len(spec.codec_rates) + 1
    yield from _snake(f"decoder.decoder.{last}", channels)
    yield from _conv(f"decoder.decoder.{last + 1}.conv", (1, channels, 7), 0.15 * spec.codec_gain)


def _snake(name: str, channels: int) -> Rules:
    yield Rule(f"{name}.alpha", (channels,), "normal", 0.3)
    yield Rule(f"{name}.beta", (channels,), "normal", 0.3)


def _encoder_rules(spec: TinySpec) -> Rules:
    """The encoder (only for reference audio; our exporter lists it as unused)."""
    prefix, channels, layer = "encoder.encoder.layers", 4, 1
    yield from _conv(f"{prefix}.0.conv", (channels, 1, 7))
    for ratio in reversed(encoder_ratios(spec)):
        yield from _conv(f"{prefix}.{layer}.block.1.conv", (channels // 2, channels, 3))
        yield from _conv(f"{prefix}.{layer}.block.3.conv", (channels, channels // 2, 1))
        yield from _conv(f"{prefix}.{layer + 2}.conv", (2 * channels, channels, 2 * ratio))
        channels, layer = 2 * channels, layer + 3
    yield from _conv(f"{prefix}.{layer + 1}.conv", (16, channels, 3))
    block = "encoder.encoder_transformer.layers.0"
    for side in ("q", "k", "v", "o"):
        yield Rule(f"{block}.self_attn.{side}_proj.weight", (16, 16), "matrix")
    yield Rule(f"{block}.mlp.fc1.weight", (32, 16), "matrix")
    yield Rule(f"{block}.mlp.fc2.weight", (16, 32), "matrix")
    for norm in ("input_layernorm", "post_attention_layernorm"):
        yield Rule(f"{block}.{norm}.weight", (16,), "norm")
        yield Rule(f"{block}.{norm}.bias", (16,), "normal", 0.2)
    for name in ("self_attn_layer_scale.scale", "mlp_layer_scale.scale"):
        yield Rule(f"{block}.{name}", (16,), "scale")
    yield Rule("encoder.downsample.conv.weight", (16, 16, 4), "matrix")
    for part, books in (("semantic", 1), ("acoustic", spec.codebooks + 1)):
        quantizer = f"encoder.quantizer.{part}_residual_vector_quantizer"
        yield Rule(f"{quantizer}.input_proj.weight", (8, 16, 1), "matrix")
        yield Rule(f"{quantizer}.output_proj.weight", (16, 8, 1), "matrix")
        for book in range(books):
            codebook = f"{quantizer}.layers.{book}.codebook"
            yield Rule(f"{codebook}.initialized", (1,), "one")
            yield Rule(f"{codebook}.cluster_usage", (spec.codes,), "usage")
            yield Rule(f"{codebook}.embed_sum", (spec.codes, 8), "sum")
