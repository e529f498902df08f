"""The streaming codec decoder as a graph: codes and carried state in, samples and new state out.

Purpose: quantiser lookup, causal convolutions, windowed transformer, upsampling, SnakeBeta vocoder (layers as in the
official `qwen-tts` 0.1.1). It remembers, per stream, the last inputs of every convolution (kernel minus one, times
dilation), the last input of every transposed convolution, and the last window of keys and values. Nothing is recomputed
and nothing cut off: any chunking of the frames equals one pass over them, up to rounding.
Knows: the decoder and its tensor names. Does not know: backends, sockets, how many frames come at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from engines.manifest import CodecInputs, CodecOutputs, StateSpec
from export.checkpoint import Array, TensorSource
from export.codec_transformer import CodecTransformer
from export.config import CodecConfig
from export.graph import GraphBuilder, Shape
from export.lowering import Lowering, Matrix, Precision
from export.stack import biased, matrix, scaled_matrix, vector

CODEBOOK_FLOOR = 1e-5  # smallest cluster usage a codebook's sums are divided by (official decoder)
SNAKE_FLOOR = 1e-9  # keeps SnakeBeta's division finite (official decoder)
NORM_EPSILON = 1e-6  # of the ConvNeXt blocks' LayerNorm (official decoder)


class CodecGraph:
    """Builds the graph; `states` tells afterwards what must be carried."""

    def __init__(self, g: GraphBuilder, low: Lowering, config: CodecConfig, file: TensorSource) -> None:
        self._g, self._low, self._file = g, low, file
        self._config = config.decoder_config
        self._rate = config.decode_upsample_rate
        self.states: list[StateSpec] = []

    def build(self) -> None:
        """Fill the graph whose inputs and outputs `engines.manifest` names."""
        g, config = self._g, self._config
        codes = g.input(CodecInputs.CODES, np.int64, ("B", "T", config.num_quantizers))
        position = g.input(CodecInputs.POSITION, np.int64, ("B",))
        latent = self._channels_first(self._lookup(codes))
        x = self._conv("pre_conv", "decoder.pre_conv", latent, self._latent_width, config.latent_dim, 3)
        transformer = CodecTransformer(g, self._low, self._file, config, self._remember)
        x = self._channels_first(transformer.run(self._channels_last(x), position))
        for stage, ratio in enumerate(config.upsampling_ratios):
            x = self._upsample(stage, ratio, x)
        x = self._vocoder(x)
        pcm = g.op("Clip", x, g.const(-1.0, np.float32), g.const(1.0, np.float32))
        flat = g.op("Reshape", pcm, g.ints(0, -1))
        g.output(flat, CodecOutputs.PCM, np.float32, ("B", "samples"))

    def _remember(self, name: str, x: str, shape: tuple[int, ...]) -> str:
        """See `export.codec_transformer.Remember`."""
        kind = self._low.dtype
        full: Shape = ("B", *shape)
        self.states.append(StateSpec(name=name, shape=shape))
        joined = self._g.op("Concat", self._g.input(CodecInputs.state(name), kind, full), x, axis=2)
        self._g.output(self._g.slice(joined, 2, -shape[1]), CodecOutputs.state(name), kind, full)
        return joined

    def _channels_first(self, x: str) -> str:
        return self._g.op("Transpose", x, perm=(0, 2, 1))

    _channels_last = _channels_first

    def _lookup(self, codes: str) -> str:
        """Sum of the codebooks' vectors after the output projections, [B, T, latent]; one table row per code."""
        g, config, prefix = self._g, self._config, "decoder.quantizer"
        first = f"{prefix}.rvq_first.output_proj.weight"
        self._latent_width, width = (*self._file.shape(first), 0, 0)[:2]  # `claim` refuses what is no convolution's
        size = config.codebook_size
        books = [("rvq_first", 0)] + [("rvq_rest", index) for index in range(config.num_quantizers - 1)]
        for group, index in books:
            book = f"{prefix}.{group}.vq.layers.{index}._codebook"
            self._file.claim(f"{book}.embedding_sum", (size, width))
            self._file.claim(f"{book}.cluster_usage", (size,))
            self._file.claim(f"{prefix}.{group}.output_proj.weight", (self._latent_width, width, 1))

        def table() -> Array:
            rows = []
            for group, index in books:
                book = f"{prefix}.{group}.vq.layers.{index}._codebook"
                usage = np.maximum(self._file.read(f"{book}.cluster_usage"), CODEBOOK_FLOOR)[:, None]
                projection = self._file.read(f"{prefix}.{group}.output_proj.weight")[:, :, 0]
                rows.append(self._file.read(f"{book}.embedding_sum") / usage @ projection.T)
            return np.concatenate(rows).astype(self._low.dtype)

        with g.scope("quantizer"):
            rows = (size * len(books), self._latent_width)
            weight = g.weight("codec.codebooks", self._low.dtype, rows, table)
            shifts = g.ints(*(size * index for index in range(len(books))))
            vectors = g.op("Gather", weight, g.op("Add", codes, shifts))
            return g.op("ReduceSum", self._low.widen(vectors), g.ints(2), keepdims=0)

    def _conv(self, name: str, source: str, x: str, inputs: int, outputs: int, kernel: int, dilation: int = 1,
              groups: int = 1) -> str:  # fmt: skip
        """Causal convolution, [B, inputs, n] -> [B, outputs, n]; carries its last (kernel - 1) * dilation inputs."""
        g, shape = self._g, (outputs, inputs // groups, kernel)
        with g.scope(name):
            self._file.claim(f"{source}.conv.weight", shape)
            self._file.claim(f"{source}.conv.bias", (outputs,))
            weight = self._weight(name, shape, partial(self._file.read, f"{source}.conv.weight"))
            bias = self._weight(f"{name}.bias", (outputs,), partial(self._file.read, f"{source}.conv.bias"))
            x = self._low.narrow(x)
            if kernel > 1:
                x = self._remember(name, x, (inputs, (kernel - 1) * dilation))
            y = g.op("Conv", x, weight, bias, dilations=(dilation,), group=groups, kernel_shape=(kernel,))
            return self._low.widen(y)

    def _weight(self, name: str, shape: tuple[int, ...], read: Callable[[], Array]) -> str:
        """A convolution's weight or bias, in the type that products are computed in."""
        kind = self._low.dtype
        return self._g.weight(f"codec.{name}", kind, shape, lambda: read().astype(kind))

    def _transposed_conv(self, name: str, source: str, x: str, inputs: int, outputs: int, rate: int, taps: int) -> str:
        """Transposed convolution of stride `rate` and kernel `rate * taps` (taps 1 or 2), causal.

        Output t * rate + j is W[j] x[t] + W[rate + j] x[t - 1]: a convolution over `taps` columns that makes all `rate`
        outputs of a column at once, then an interleaving. So one input column is all there is to remember.
        """
        g, stored = self._g, (inputs, outputs, rate * taps)
        with g.scope(name):
            self._file.claim(f"{source}.conv.weight", stored)

            def weight() -> Array:
                split = self._file.read(f"{source}.conv.weight").reshape(inputs, outputs, taps, rate)
                newest_last = split[:, :, ::-1].transpose(1, 3, 0, 2)
                return np.ascontiguousarray(newest_last).reshape(outputs * rate, inputs, taps)

            kernel = self._weight(name, (outputs * rate, inputs, taps), weight)
            self._file.claim(f"{source}.conv.bias", (outputs,))
            bias = self._weight(
                f"{name}.bias", (outputs * rate,), lambda: np.repeat(self._file.read(f"{source}.conv.bias"), rate)
            )
            x = self._low.narrow(x)
            if taps > 1:
                x = self._remember(name, x, (inputs, taps - 1))
            columns = g.op("Conv", x, kernel, bias, kernel_shape=(taps,))
            split = g.op("Reshape", columns, g.ints(0, outputs, rate, -1))
            joined = g.op("Reshape", g.op("Transpose", split, perm=(0, 1, 3, 2)), g.ints(0, outputs, -1))
            return self._low.widen(joined)

    def _upsample(self, stage: int, ratio: int, x: str) -> str:
        """Transposed convolution without overlap, then a ConvNeXt block."""
        g, width, source = self._g, self._config.latent_dim, f"decoder.upsample.{stage}"
        inner = 4 * width
        with g.scope(f"upsample.{stage}"):
            name = f"upsample.{stage}"
            x = self._transposed_conv(f"{name}.tconv", f"{source}.0", x, width, width, ratio, 1)
            y = self._conv(f"{name}.dwconv", f"{source}.1.dwconv", x, width, width, 7, groups=width)
            gamma = vector(g, self._file, f"{source}.1.norm.weight", f"codec.{name}.norm", width)
            beta = vector(g, self._file, f"{source}.1.norm.bias", f"codec.{name}.norm.bias", width)
            y = g.op("LayerNormalization", self._channels_last(y), gamma, beta, axis=-1, epsilon=NORM_EPSILON)
            wide = matrix(
                self._file, f"codec.{name}.wide", [f"{source}.1.pwconv1.weight"], [inner], width, Precision.FP32
            )
            y = self._low.gelu(biased(g, self._low, self._file, y, wide, f"{source}.1.pwconv1.bias"))
            narrow, bias = self._scaled(name, f"{source}.1.pwconv2", f"{source}.1.gamma", width, inner)
            y = g.op("Add", self._low.linear(y, narrow), bias)
            return g.op("Add", x, self._channels_first(y))

    def _scaled(self, name: str, source: str, gamma: str, outputs: int, inputs: int) -> tuple[Matrix, str]:
        """A linear layer whose outputs are scaled by `gamma`: folded into weight and bias."""
        file = self._file
        folded = scaled_matrix(file, f"codec.{name}.narrow", f"{source}.weight", gamma, outputs, inputs)
        file.claim(f"{source}.bias", (outputs,))
        bias = self._g.weight(
            f"codec.{name}.narrow.bias", np.float32, (outputs,), lambda: file.read(f"{source}.bias") * file.read(gamma)
        )
        return folded, bias

    def _vocoder(self, x: str) -> str:
        """From latent columns to samples, [B, 1, n]."""
        config, blocks = self._config, len(self._config.upsample_rates)
        width = config.decoder_dim
        x = self._conv("vocoder.0", "decoder.decoder.0", x, config.latent_dim, width, 7)
        for index, rate in enumerate(config.upsample_rates, start=1):
            x = self._block(f"vocoder.{index}", f"decoder.decoder.{index}.block", x, width, width // 2, rate)
            width //= 2
        x = self._snake("vocoder.snake", f"decoder.decoder.{blocks + 1}", x, width)
        return self._conv("vocoder.out", f"decoder.decoder.{blocks + 2}", x, width, 1, 7)

    def _block(self, name: str, source: str, x: str, inputs: int, outputs: int, rate: int) -> str:
        x = self._snake(f"{name}.snake", f"{source}.0", x, inputs)
        x = self._transposed_conv(f"{name}.tconv", f"{source}.1", x, inputs, outputs, rate, 2)
        for unit, dilation in enumerate((1, 3, 9), start=2):
            here, there = f"{name}.unit.{unit - 2}", f"{source}.{unit}"
            y = self._snake(f"{here}.snake1", f"{there}.act1", x, outputs)
            y = self._conv(f"{here}.conv1", f"{there}.conv1", y, outputs, outputs, 7, dilation)
            y = self._snake(f"{here}.snake2", f"{there}.act2", y, outputs)
            x = self._g.op("Add", x, self._conv(f"{here}.conv2", f"{there}.conv2", y, outputs, outputs, 1))
        return x

    def _snake(self, name: str, source: str, x: str, channels: int) -> str:
        """SnakeBeta: x + sin(a x)^2 / b per channel; a and b are stored as logarithms, and are made here in float32."""
        g, file = self._g, self._file
        for part in ("alpha", "beta"):
            file.claim(f"{source}.{part}", (channels,))
        shape = (channels, 1)
        with g.scope(name):
            a = g.weight(f"codec.{name}.a", np.float32, shape, lambda: np.exp(file.read(f"{source}.alpha"))[:, None])
            inverse = g.weight(
                f"codec.{name}.inverse_b", np.float32, shape,
                lambda: (1 / (np.exp(file.read(f"{source}.beta")) + np.float32(SNAKE_FLOOR)))[:, None],
            )  # fmt: skip
            wave = g.op("Sin", g.op("Mul", x, a))
            return g.op("Add", x, g.op("Mul", g.op("Mul", wave, wave), inverse))
