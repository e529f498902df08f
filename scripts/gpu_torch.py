"""Frame and codec in plain PyTorch, with random weights: what `scripts/gpu_check` compares the engine with.

Purpose: talker step, code 0, fifteen passes of the code predictor and the next row, on caches of a fixed size, so that
the whole frame can run eagerly or be captured as one CUDA graph, as the fastest public PyTorch runtimes do it. `fused`
joins projections and uses PyTorch's own norm: a stronger baseline than the official modules.
Knows: the network's shapes. Does not know: weights, prompts, sound, how it is measured.

Shapes: B sequences, L rows, H hidden, P positions.
"""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import torch
import torch.nn.functional as F  # noqa: N812 - the field's name for it
from torch import Tensor, nn

from export.train.codec import CodecTransformer, Decoder
from export.train.shape import VoiceShape
from export.train.talker import rope_table
from scripts.gpu_shape import Shape


class Norm(nn.Module):
    """Root mean square norm."""

    def __init__(self, width: int, fused: bool) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.fused = fused

    def forward(self, x: Tensor) -> Tensor:
        """Over the last axis."""
        if self.fused:
            return F.rms_norm(x, (x.shape[-1],), self.weight, 1e-6)
        wide = x.float()
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)
        return wide.to(x.dtype) * self.weight


class Joined(nn.Module):
    """Linear layers of one input, as one product or as several."""

    def __init__(self, inputs: int, outputs: tuple[int, ...], fused: bool) -> None:
        super().__init__()
        self.sizes = list(outputs)
        parts = (sum(outputs),) if fused else outputs
        self.parts = nn.ModuleList(nn.Linear(inputs, size, bias=False) for size in parts)

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        """One output for each size."""
        if len(self.parts) == 1:
            return cast("tuple[Tensor, ...]", self.parts[0](x).split(self.sizes, -1))
        return tuple(part(x) for part in self.parts)


class Layer(nn.Module):
    """One decoder layer with its own cache, written in place."""

    def __init__(self, s: Shape, batch: int, positions: int, fused: bool) -> None:
        super().__init__()
        self.s = s
        self.before, self.after = Norm(s.hidden, fused), Norm(s.hidden, fused)
        self.q_norm, self.k_norm = Norm(s.head_dim, fused), Norm(s.head_dim, fused)
        kv = s.kv_heads * s.head_dim
        self.qkv = Joined(s.hidden, (s.heads * s.head_dim, kv, kv), fused)
        self.out = nn.Linear(s.heads * s.head_dim, s.hidden, bias=False)
        self.gate_up = Joined(s.hidden, (s.intermediate, s.intermediate), fused)
        self.down = nn.Linear(s.intermediate, s.hidden, bias=False)
        for name in ("keys", "values"):
            self.register_buffer(name, torch.zeros(batch, s.kv_heads, positions, s.head_dim))

    def forward(self, x: Tensor, at: Tensor, mask: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
        """Rows [B, L, H] at the positions `at` [L]; `mask` says what each may see, [heads / kv heads * L, P]."""
        b, rows, _ = x.shape
        q, k, v = (part.view(b, rows, -1, self.s.head_dim) for part in self.qkv(self.before(x)))
        q, k = self.q_norm(q).transpose(1, 2), self.k_norm(k).transpose(1, 2)
        q, k = rotated(q, cosine, sine), rotated(k, cosine, sine)
        keys, values = cast("Tensor", self.keys), cast("Tensor", self.values)
        keys.index_copy_(2, at, k)
        values.index_copy_(2, at, v.transpose(1, 2))
        # the heads that share keys become rows: with a mask, `enable_gqa` leaves only the slowest of the backends
        shared = q.reshape(b, self.s.kv_heads, -1, self.s.head_dim)
        mixed = F.scaled_dot_product_attention(shared, keys, values, attn_mask=mask).reshape(q.shape)
        x = x + self.out(mixed.transpose(1, 2).reshape(b, rows, -1))
        gate, up = self.gate_up(self.after(x))
        return x + cast("Tensor", self.down(F.silu(gate) * up))


def rotated(x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    """Rotary positions on x [B, heads, L, width]; tables [L, width]."""
    left, right = x.chunk(2, -1)
    return x * cosine + torch.cat([-right, left], -1) * sine


class Stack(nn.Module):
    """Layers, a norm, and the tables of positions."""

    def __init__(self, s: Shape, layers: int, batch: int, positions: int, fused: bool) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Layer(s, batch, positions, fused) for _ in range(layers))
        self.norm = Norm(s.hidden, fused)
        self.group = s.heads // s.kv_heads
        steps = 1e6 ** (-torch.arange(0, s.head_dim, 2).float() / s.head_dim)
        angles = torch.cat([torch.arange(positions).float()[:, None] * steps] * 2, -1)
        self.register_buffer("cosine", angles.cos())
        self.register_buffer("sine", angles.sin())
        self.register_buffer("numbers", torch.arange(positions))

    def forward(self, x: Tensor, at: Tensor) -> Tensor:
        """Rows [B, L, H] at positions `at` [L]."""
        mask = (cast("Tensor", self.numbers)[None] <= at[:, None]).repeat(self.group, 1)
        cosine, sine = cast("Tensor", self.cosine)[at], cast("Tensor", self.sine)[at]
        for layer in self.layers:
            x = layer(x, at, mask, cosine, sine)
        return cast("Tensor", self.norm(x))


class Frame(nn.Module):
    """One frame of B sequences: `run` reads and writes `row`, `at` and `codes`, so that it can be captured."""

    def __init__(self, s: Shape, batch: int, fused: bool) -> None:
        super().__init__()
        self.s = s
        residuals = s.codebooks - 1
        self.talker = Stack(s, s.layers, batch, s.positions, fused)
        self.head = nn.Linear(s.hidden, s.vocabulary, bias=False)
        self.embedding = nn.Embedding(s.vocabulary, s.hidden)
        self.predictor = Stack(s, s.predictor_layers, batch, s.codebooks, fused)
        self.heads = nn.ModuleList(nn.Linear(s.hidden, s.codes, bias=False) for _ in range(residuals))
        self.tables = nn.ModuleList(nn.Embedding(s.codes, s.hidden) for _ in range(residuals))
        self.register_buffer("row", torch.zeros(batch, 1, s.hidden))
        self.register_buffer("at", torch.zeros(1, dtype=torch.long))
        self.register_buffer("codes", torch.zeros(batch, s.codebooks, dtype=torch.long))
        self.register_buffer("noise", torch.zeros(batch, s.codebooks, s.top_k))

    def run(self) -> None:
        """Make one frame, in place; to be called without gradients."""
        row, at, codes = cast("Tensor", self.row), cast("Tensor", self.at), cast("Tensor", self.codes)
        state = self.talker(row, at)
        code = self._draw(self.head(state[:, -1]), 0)
        embedded = total = self.embedding(code)[:, None]
        codes[:, 0] = code
        rows = torch.cat([state[:, -1:], embedded], 1)
        for index, (head, table) in enumerate(zip(self.heads, self.tables, strict=True)):
            first, last = (0, 2) if index == 0 else (index + 1, index + 2)
            places = cast("Tensor", self.predictor.numbers)[first:last]
            code = self._draw(head(self.predictor(rows, places)[:, -1]), index + 1)
            codes[:, index + 1] = code
            rows = table(code)[:, None]
            total = total + rows
        row.copy_(total)
        at.add_(1)

    def _draw(self, logits: Tensor, group: int) -> Tensor:
        """A code of each sequence by the Gumbel trick among the top k."""
        best, codes = logits.float().topk(self.s.top_k, -1)
        return codes.gather(-1, (best + cast("Tensor", self.noise)[:, group]).argmax(-1, keepdim=True))[:, 0]


class CodecTransformerOnDevice(CodecTransformer):
    """The codec's transformer with layers `hidden` wide, and its tables of positions where the weights are.

    The released models' layers are narrower than the codec around them; and a copy of tables from the host in every
    run could not be captured.
    """

    def __init__(self, s: VoiceShape, hidden: int, most_frames: int) -> None:
        super().__init__(replace(s, latent=hidden))
        self.input_proj, self.output_proj = nn.Linear(s.latent, hidden), nn.Linear(hidden, s.latent)
        cosine, sine = rope_table(most_frames, s.head_dim, 10000.0)
        self.register_buffer("cosine", cosine)
        self.register_buffer("sine", sine)

    def forward(self, x: Tensor) -> Tensor:
        """[B, T, C] -> [B, T, C]; T at most `most_frames`."""
        rows = x.shape[1]
        rope = cast("Tensor", self.cosine)[:rows], cast("Tensor", self.sine)[:rows]
        x = self.input_proj(x)
        for layer in self.layers:
            x = layer(x, rope)
        return cast("Tensor", self.output_proj(self.norm(x)))


def random_codec(s: VoiceShape, hidden: int, most_frames: int, device: str, dtype: torch.dtype) -> Decoder:
    """A decoder with random weights, its transformer `hidden` wide."""
    with torch.device(device):
        torch.manual_seed(0)
        decoder = Decoder(s)
        decoder.pre_transformer = CodecTransformerOnDevice(s, hidden, most_frames)
    return cast("Decoder", decoder.to(dtype).eval())


def random_frame(s: Shape, batch: int, device: str, dtype: torch.dtype, *, fused: bool) -> Frame:
    """A frame with small random weights, standing at position 0; made on its device, where drawing them is quick."""
    with torch.device(device):
        torch.manual_seed(0)
        frame = Frame(s, batch, fused)
        for weight in frame.parameters():
            if weight.ndim > 1:
                nn.init.normal_(weight, std=0.02)
        cast("Tensor", frame.row).normal_()
    return cast("Frame", frame.to(dtype).eval())
