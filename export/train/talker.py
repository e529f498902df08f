"""The talker and its code predictor in PyTorch, with the official tensor names, for training and for reference runs.

Knows: the network maths of the family (RMSNorm, QK-norm, half-split RoPE, grouped KV heads, SwiGLU).
Does not know: prompts, text, sound, files. `state_dict()` of `Voice` is the model.safetensors of the checkpoint.

Shapes: B sequences, L rows, H hidden, G code groups, K codes per book.
"""

from __future__ import annotations

from typing import cast

import torch
import torch.nn.functional as F  # noqa: N812 - the field's name for it
from torch import Tensor, nn

from export.train.shape import VoiceShape


class RMSNorm(nn.Module):
    """Root mean square norm, computed in float32."""

    def __init__(self, width: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        """Normalise the last axis; keeps the dtype of `x`."""
        wide = x.float()
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.eps)
        return wide.to(x.dtype) * self.weight


def rope_table(length: int, width: int, theta: float) -> tuple[Tensor, Tensor]:
    """Cosines and sines, each [length, width], for positions 0..length-1."""
    inverse = theta ** (-torch.arange(0, width, 2).float() / width)
    angles = torch.arange(length).float()[:, None] * inverse[None]
    angles = torch.cat([angles, angles], -1)
    return angles.cos(), angles.sin()


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Apply RoPE to x [B, heads, L, width], half-split pairing."""
    left, right = x.chunk(2, -1)
    return x * cos.to(x.dtype) + torch.cat([-right, left], -1) * sin.to(x.dtype)


class Attention(nn.Module):
    """Causal attention with grouped KV heads and QK-norm."""

    def __init__(self, s: VoiceShape) -> None:
        super().__init__()
        self.heads, self.kv, self.width = s.heads, s.kv_heads, s.head_dim
        self.q_proj = nn.Linear(s.hidden, s.heads * s.head_dim, bias=False)
        self.k_proj = nn.Linear(s.hidden, s.kv_heads * s.head_dim, bias=False)
        self.v_proj = nn.Linear(s.hidden, s.kv_heads * s.head_dim, bias=False)
        self.o_proj = nn.Linear(s.heads * s.head_dim, s.hidden, bias=False)
        self.q_norm = RMSNorm(s.head_dim, s.rms_eps)
        self.k_norm = RMSNorm(s.head_dim, s.rms_eps)

    def forward(self, x: Tensor, rope: tuple[Tensor, Tensor], watch: bool = False) -> tuple[Tensor, Tensor | None]:
        """Attend over x [B, L, H]; with `watch` also give log attention of head 0, [B, L, L]."""
        b, n, _ = x.shape
        q = self.q_norm(self.q_proj(x).view(b, n, self.heads, self.width)).transpose(1, 2)
        k = self.k_norm(self.k_proj(x).view(b, n, self.kv, self.width)).transpose(1, 2)
        v = self.v_proj(x).view(b, n, self.kv, self.width).transpose(1, 2)
        q, k = rotate(q, *rope), rotate(k, *rope)
        q, k = q.to(v.dtype), k.to(v.dtype)
        logs = None
        if watch:
            scores = (q[:, 0].float() @ k[:, 0].float().transpose(1, 2)) * self.width**-0.5
            future = torch.ones(n, n, dtype=torch.bool, device=x.device).triu(1)
            logs = scores.masked_fill(future, -1e4).log_softmax(-1)
        group = self.heads // self.kv
        k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return cast("Tensor", self.o_proj(out.transpose(1, 2).reshape(b, n, -1))), logs


class SwiGLU(nn.Module):
    """Gated feed-forward layer."""

    def __init__(self, s: VoiceShape) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(s.hidden, s.intermediate, bias=False)
        self.up_proj = nn.Linear(s.hidden, s.intermediate, bias=False)
        self.down_proj = nn.Linear(s.intermediate, s.hidden, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """[B, L, H] -> [B, L, H]."""
        return cast("Tensor", self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x)))


class Layer(nn.Module):
    """One pre-norm decoder layer."""

    def __init__(self, s: VoiceShape) -> None:
        super().__init__()
        self.self_attn = Attention(s)
        self.mlp = SwiGLU(s)
        self.input_layernorm = RMSNorm(s.hidden, s.rms_eps)
        self.post_attention_layernorm = RMSNorm(s.hidden, s.rms_eps)

    def forward(self, x: Tensor, rope: tuple[Tensor, Tensor], watch: bool = False) -> tuple[Tensor, Tensor | None]:
        """[B, L, H] -> [B, L, H], and the watched attention."""
        attended, logs = self.self_attn(self.input_layernorm(x), rope, watch)
        x = x + attended
        return x + self.mlp(self.post_attention_layernorm(x)), logs


class TalkerStack(nn.Module):
    """Tables and layers of the talker."""

    def __init__(self, s: VoiceShape) -> None:
        super().__init__()
        self.codec_embedding = nn.Embedding(s.vocab, s.hidden)
        self.text_embedding = nn.Embedding(s.text_vocab, s.text_hidden)
        self.layers = nn.ModuleList(Layer(s) for _ in range(s.layers))
        self.norm = RMSNorm(s.hidden, s.rms_eps)


class PredictorStack(nn.Module):
    """Tables and layers of the code predictor."""

    def __init__(self, s: VoiceShape) -> None:
        super().__init__()
        self.codec_embedding = nn.ModuleList(nn.Embedding(s.codes, s.hidden) for _ in range(s.code_groups - 1))
        self.layers = nn.ModuleList(Layer(s) for _ in range(s.predictor_layers))
        self.norm = RMSNorm(s.hidden, s.rms_eps)


class CodePredictor(nn.Module):
    """From the talker's hidden row and code 0 to the residual codes of the frame."""

    def __init__(self, s: VoiceShape) -> None:
        super().__init__()
        self.model = PredictorStack(s)
        self.lm_head = nn.ModuleList(nn.Linear(s.hidden, s.codes, bias=False) for _ in range(s.code_groups - 1))

    def hidden(self, x: Tensor, rope: tuple[Tensor, Tensor]) -> Tensor:
        """Rows x [N, L, H] -> normed hidden rows [N, L, H]."""
        for layer in self.model.layers:
            x, _ = layer(x, rope)
        return cast("Tensor", self.model.norm(x))


class TextProjection(nn.Module):
    """Two-layer map from text table rows to talker rows."""

    def __init__(self, s: VoiceShape) -> None:
        super().__init__()
        self.linear_fc1 = nn.Linear(s.text_hidden, s.text_hidden)
        self.linear_fc2 = nn.Linear(s.text_hidden, s.hidden)

    def forward(self, x: Tensor) -> Tensor:
        """[..., text hidden] -> [..., H]."""
        return cast("Tensor", self.linear_fc2(F.silu(self.linear_fc1(x))))


class Talker(nn.Module):
    """The language model over frames."""

    def __init__(self, s: VoiceShape) -> None:
        super().__init__()
        self.model = TalkerStack(s)
        self.text_projection = TextProjection(s)
        self.codec_head = nn.Linear(s.hidden, s.vocab, bias=False)
        self.code_predictor = CodePredictor(s)

    def text_rows(self, ids: Tensor) -> Tensor:
        """Text ids [...] -> talker rows [..., H]; -1 gives a zero row. The whole (small) table is projected."""
        table = self.text_projection(self.model.text_embedding.weight)
        return F.embedding(ids.clamp_min(0), table) * (ids >= 0)[..., None]

    def code_rows(self, first: Tensor, rest: Tensor) -> Tensor:
        """Codec ids [B, L] and residual codes [B, L, G-1] -> summed rows [B, L, H]; -1 adds nothing."""
        rows = self.model.codec_embedding(first.clamp_min(0)) * (first >= 0)[..., None]
        frames = (rest[..., :1] >= 0).to(rows.dtype)
        for i, table in enumerate(self.code_predictor.model.codec_embedding):
            rows = rows + table(rest[..., i].clamp_min(0)) * frames
        return cast("Tensor", rows)

    def forward(
        self, rows: Tensor, rope: tuple[Tensor, Tensor], watched: tuple[int, ...] = ()
    ) -> tuple[Tensor, list[Tensor]]:
        """Rows [B, L, H] -> normed hidden [B, L, H] and log attention of head 0 in the watched layers."""
        logs = []
        for i, layer in enumerate(self.model.layers):
            rows, seen = layer(rows, rope, watch=i in watched)
            if seen is not None:
                logs.append(seen)
        return self.model.norm(rows), logs


class Voice(nn.Module):
    """The whole model file of a checkpoint: everything under `talker.`."""

    def __init__(self, shape: VoiceShape) -> None:
        super().__init__()
        self.shape = shape
        self.talker = Talker(shape)

    def rope(self, length: int) -> tuple[Tensor, Tensor]:
        """Rotation tables for rows 0..length-1 (talker and predictor share theta)."""
        cos, sin = rope_table(length, self.shape.head_dim, self.shape.rope_theta)
        return cos.to(self.device), sin.to(self.device)

    def read(
        self, text: Tensor, first: Tensor, rest: Tensor, watched: tuple[int, ...] = ()
    ) -> tuple[Tensor, list[Tensor]]:
        """What the talker makes of text ids and codec ids [B, L] with residual codes [B, L, G-1]: see its `forward`."""
        rows = self.talker.text_rows(text) + self.talker.code_rows(first, rest)
        hidden, logs = self.talker(rows, self.rope(text.shape[1]), watched)
        return cast("Tensor", hidden), cast("list[Tensor]", logs)

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.talker.codec_head.weight.device
