"""The codec's decoder in PyTorch, with the official tensor names: codes in, waveform out, strictly causal.

Knows: split residual quantiser, windowed transformer, ConvNeXt upsampling, SnakeBeta vocoder.
Does not know: encoders, files, training.

Shapes: B utterances, T frames, C channels, S samples. Convolutions are channels-first.
"""

from __future__ import annotations

from typing import cast

import torch
import torch.nn.functional as F  # noqa: N812 - the field's name for it
from torch import Tensor, nn

from export.train.shape import VoiceShape
from export.train.talker import RMSNorm, rope_table, rotate


class CausalConv(nn.Module):
    """Convolution that sees only the past."""

    def __init__(self, inputs: int, outputs: int, kernel: int, dilation: int = 1, groups: int = 1) -> None:
        super().__init__()
        self.conv = nn.Conv1d(inputs, outputs, kernel, dilation=dilation, groups=groups)
        self.past = (kernel - 1) * dilation

    def forward(self, x: Tensor) -> Tensor:
        """[B, in, T] -> [B, out, T]."""
        return cast("Tensor", self.conv(F.pad(x, (self.past, 0))))


class CausalUpsample(nn.Module):
    """Transposed convolution whose surplus samples are cut from the right."""

    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int) -> None:
        super().__init__()
        self.conv = nn.ConvTranspose1d(inputs, outputs, kernel, stride)
        self.surplus = kernel - stride

    def forward(self, x: Tensor) -> Tensor:
        """[B, in, T] -> [B, out, T * stride]."""
        y = cast("Tensor", self.conv(x))
        return y[..., : y.shape[-1] - self.surplus]


class SnakeBeta(nn.Module):
    """x + sin(exp(alpha) x)^2 / exp(beta), per channel."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.alpha = nn.Parameter(torch.zeros(width))
        self.beta = nn.Parameter(torch.zeros(width))

    def forward(self, x: Tensor) -> Tensor:
        """[B, C, T] -> [B, C, T]."""
        turn = torch.exp(self.alpha)[:, None].to(x.dtype)
        size = (1.0 / (torch.exp(self.beta) + 1e-9))[:, None].to(x.dtype)
        return x + size * torch.sin(x * turn).pow(2)


class ConvNeXt(nn.Module):
    """Depthwise convolution and a wide pointwise layer, residual."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.dwconv = CausalConv(width, width, 7, groups=width)
        self.norm = nn.LayerNorm(width, eps=1e-6)
        self.pwconv1 = nn.Linear(width, 4 * width)
        self.pwconv2 = nn.Linear(4 * width, width)
        self.gamma = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        """[B, C, T] -> [B, C, T]."""
        y = self.norm(self.dwconv(x).transpose(1, 2))
        return x + cast("Tensor", self.gamma * self.pwconv2(F.gelu(self.pwconv1(y)))).transpose(1, 2)


class ResidualUnit(nn.Module):
    """Dilated convolution between two SnakeBeta activations."""

    def __init__(self, width: int, dilation: int) -> None:
        super().__init__()
        self.act1, self.act2 = SnakeBeta(width), SnakeBeta(width)
        self.conv1, self.conv2 = CausalConv(width, width, 7, dilation), CausalConv(width, width, 1)

    def forward(self, x: Tensor) -> Tensor:
        """[B, C, T] -> [B, C, T]."""
        return x + cast("Tensor", self.conv2(self.act2(self.conv1(self.act1(x)))))


class VocoderBlock(nn.Module):
    """One upsampling stage of the vocoder."""

    def __init__(self, inputs: int, outputs: int, rate: int) -> None:
        super().__init__()
        units = [ResidualUnit(outputs, dilation) for dilation in (1, 3, 9)]
        self.block = nn.ModuleList([SnakeBeta(inputs), CausalUpsample(inputs, outputs, 2 * rate, rate), *units])

    def forward(self, x: Tensor) -> Tensor:
        """[B, in, T] -> [B, out, T * rate]."""
        for layer in self.block:
            x = layer(x)
        return x


class Scale(nn.Module):
    """Per-channel factor on a residual branch."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        """Multiply the last axis."""
        return x * self.scale


class WindowAttention(nn.Module):
    """Causal attention over the last `window` frames."""

    def __init__(self, s: VoiceShape) -> None:
        super().__init__()
        width = s.codec_heads * s.head_dim
        self.heads, self.width, self.window = s.codec_heads, s.head_dim, s.codec_window
        self.q_proj, self.k_proj, self.v_proj = (nn.Linear(s.latent, width, bias=False) for _ in range(3))
        self.o_proj = nn.Linear(width, s.latent, bias=False)

    def forward(self, x: Tensor, rope: tuple[Tensor, Tensor]) -> Tensor:
        """[B, T, C] -> [B, T, C]."""
        b, n, _ = x.shape
        made = (self.q_proj(x), self.k_proj(x), self.v_proj(x))
        q, k, v = (p.view(b, n, self.heads, self.width).transpose(1, 2) for p in made)
        at = torch.arange(n, device=x.device)
        age = at[:, None] - at[None]
        seen = (age >= 0) & (age < self.window)
        out = F.scaled_dot_product_attention(rotate(q, *rope), rotate(k, *rope), v, attn_mask=seen)
        return cast("Tensor", self.o_proj(out.transpose(1, 2).reshape(b, n, -1)))


class CodecMlp(nn.Module):
    """Gated feed-forward layer of the codec's transformer."""

    def __init__(self, s: VoiceShape) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(s.latent, s.codec_intermediate, bias=False)
        self.up_proj = nn.Linear(s.latent, s.codec_intermediate, bias=False)
        self.down_proj = nn.Linear(s.codec_intermediate, s.latent, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """[B, T, C] -> [B, T, C]."""
        return cast("Tensor", self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x)))


class CodecLayer(nn.Module):
    """One layer of the codec's transformer."""

    def __init__(self, s: VoiceShape) -> None:
        super().__init__()
        self.self_attn, self.mlp = WindowAttention(s), CodecMlp(s)
        self.input_layernorm = RMSNorm(s.latent, s.codec_eps)
        self.post_attention_layernorm = RMSNorm(s.latent, s.codec_eps)
        self.self_attn_layer_scale, self.mlp_layer_scale = Scale(s.latent), Scale(s.latent)

    def forward(self, x: Tensor, rope: tuple[Tensor, Tensor]) -> Tensor:
        """[B, T, C] -> [B, T, C]."""
        x = x + self.self_attn_layer_scale(self.self_attn(self.input_layernorm(x), rope))
        return x + cast("Tensor", self.mlp_layer_scale(self.mlp(self.post_attention_layernorm(x))))


class CodecTransformer(nn.Module):
    """Projection, windowed layers, final norm, projection."""

    def __init__(self, s: VoiceShape) -> None:
        super().__init__()
        self.input_proj, self.output_proj = nn.Linear(s.latent, s.latent), nn.Linear(s.latent, s.latent)
        self.layers = nn.ModuleList(CodecLayer(s) for _ in range(s.codec_layers))
        self.norm: nn.Module = RMSNorm(s.latent, s.codec_eps)
        self.rope = s.head_dim

    def forward(self, x: Tensor) -> Tensor:
        """[B, T, C] -> [B, T, C]."""
        x = self.input_proj(x)
        cos, sin = rope_table(x.shape[1], self.rope, 10000.0)
        rope = cos.to(x.device), sin.to(x.device)
        for layer in self.layers:
            x = layer(x, rope)
        return cast("Tensor", self.output_proj(self.norm(x)))


class Codebook(nn.Module):
    """One codebook as the official layout stores it: sums and usage of its clusters."""

    def __init__(self, codes: int, width: int) -> None:
        super().__init__()
        self.embedding_sum = nn.Parameter(torch.zeros(codes, width))
        self.cluster_usage = nn.Parameter(torch.ones(codes))

    def forward(self, codes: Tensor) -> Tensor:
        """[B, T] -> [B, T, width]."""
        return F.embedding(codes, self.embedding_sum / self.cluster_usage.clamp_min(1e-5)[:, None])


class QuantizerLayer(nn.Module):
    """Holder of a codebook under its official name."""

    def __init__(self, codes: int, width: int) -> None:
        super().__init__()
        self._codebook = Codebook(codes, width)


class QuantizerStack(nn.Module):
    """Holder of the layers under their official name."""

    def __init__(self, count: int, codes: int, width: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(QuantizerLayer(codes, width) for _ in range(count))


class ResidualQuantizer(nn.Module):
    """Some codebooks and the projection of their sum."""

    def __init__(self, count: int, s: VoiceShape) -> None:
        super().__init__()
        width = s.codebook_dim // 2
        self.input_proj = nn.Conv1d(s.codebook_dim, width, 1, bias=False)
        self.output_proj = nn.Conv1d(width, s.codebook_dim, 1, bias=False)
        self.vq = QuantizerStack(count, s.codes, width)

    def forward(self, codes: Tensor) -> Tensor:
        """[B, count, T] -> [B, codebook dim, T]."""
        books = [cast("QuantizerLayer", layer)._codebook for layer in self.vq.layers]
        total = torch.stack([book(codes[:, i]) for i, book in enumerate(books)]).sum(0)
        return cast("Tensor", self.output_proj(total.transpose(1, 2)))


class SplitQuantizer(nn.Module):
    """First codebook and the rest, each with its own projection."""

    def __init__(self, s: VoiceShape) -> None:
        super().__init__()
        self.rvq_first, self.rvq_rest = ResidualQuantizer(1, s), ResidualQuantizer(s.code_groups - 1, s)

    def forward(self, codes: Tensor) -> Tensor:
        """[B, G, T] -> [B, codebook dim, T]."""
        return cast("Tensor", self.rvq_first(codes[:, :1]) + self.rvq_rest(codes[:, 1:]))


class Decoder(nn.Module):
    """Codes to waveform; its `state_dict()` is what stands under `decoder.` in the codec's checkpoint."""

    def __init__(self, s: VoiceShape) -> None:
        super().__init__()
        self.quantizer = SplitQuantizer(s)
        self.pre_conv = CausalConv(s.codebook_dim, s.latent, 3)
        self.pre_transformer = CodecTransformer(s)
        self.upsample = nn.ModuleList(
            nn.ModuleList([CausalUpsample(s.latent, s.latent, factor, factor), ConvNeXt(s.latent)])
            for factor in s.upsampling_ratios
        )
        widths = [s.decoder_dim // 2**i for i in range(len(s.upsample_rates) + 1)]
        blocks = [VocoderBlock(widths[i], widths[i + 1], rate) for i, rate in enumerate(s.upsample_rates)]
        ends = [SnakeBeta(widths[-1]), CausalConv(widths[-1], 1, 7)]
        self.decoder = nn.ModuleList([CausalConv(s.latent, s.decoder_dim, 7), *blocks, *ends])

    def forward(self, codes: Tensor) -> Tensor:
        """Codes [B, G, T] -> waveform [B, S] in -1..1."""
        return self.unclamped(codes).clamp(-1, 1)

    def unclamped(self, codes: Tensor) -> Tensor:
        """Codes [B, G, T] -> waveform [B, S] (training: the clamp has no gradient)."""
        return self.render(self.quantizer(codes))

    def from_rows(self, rows: Tensor) -> Tensor:
        """Sums of code rows [B, T, codebook dim / 2] -> waveform [B, S], while both output projections are [I; 0]."""
        wide = F.pad(rows, (0, self.pre_conv.conv.in_channels - rows.shape[-1]))
        return self.render(wide.transpose(1, 2))

    def render(self, summed: Tensor) -> Tensor:
        """Projected sums [B, codebook dim, T] -> waveform [B, S]."""
        x = self.pre_conv(summed).transpose(1, 2)
        x = self.pre_transformer(x).transpose(1, 2)
        for stage in self.upsample:
            for layer in cast("nn.ModuleList", stage):
                x = layer(x)
        for layer in self.decoder:
            x = layer(x)
        return cast("Tensor", x[:, 0])
