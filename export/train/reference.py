"""Reads a checkpoint back and speaks with it, row by row, as the official procedure does: plain and slow.

Knows: the generation loop, greedy and sampled. Does not know: text front ends, recognisers.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import torch
import torch.nn.functional as F  # noqa: N812 - the field's name for it
from safetensors.torch import load_file
from torch import Tensor

from export.train import tokenizer_files
from export.train.codec import Decoder
from export.train.layout import Layout
from export.train.shape import VoiceShape
from export.train.talker import Cache, Voice


@dataclass(frozen=True)
class Sampling:
    """How codes are picked. Temperature 0 is greedy."""

    temperature: float = 0.0
    sub_temperature: float = 0.0
    top_k: int = 50
    penalty: float = 1.0
    seed: int = 0


@dataclass(frozen=True)
class Spoken:
    """Frames [n, G], and whether the utterance ended by itself."""

    frames: Tensor
    ended: bool


class Speaker:
    """A loaded checkpoint that speaks symbol strings."""

    def __init__(self, directory: Path, shape: VoiceShape) -> None:
        self.shape = shape
        self.voice, self.decoder = Voice(shape).eval(), Decoder(shape).eval()
        load = load_file(directory / "model.safetensors")
        self.voice.load_state_dict({name: value.float() for name, value in load.items()})
        codec = load_file(directory / "speech_tokenizer" / "model.safetensors")
        self.decoder.load_state_dict({name[len("decoder.") :]: value.float() for name, value in codec.items()})
        self.layout = Layout(shape, tokenizer_files.build()[2])
        self.generation = json.loads((directory / "generation_config.json").read_text(encoding="utf-8"))

    def _pick(self, logits: Tensor, temperature: float, top_k: int, draw: torch.Generator) -> int:
        if temperature <= 0:
            return int(logits.argmax())
        scaled = logits / temperature
        least = scaled.topk(min(top_k, int(torch.isfinite(scaled).sum()))).values[-1]
        return int(torch.multinomial(scaled.masked_fill(scaled < least, -torch.inf).softmax(-1), 1, generator=draw))

    @torch.inference_mode()
    def codes(
        self, symbols: str, speaker: str, language: str | None = "english", sampling: Sampling | None = None,
        limit: int = 400, streaming: bool = False,
    ) -> Spoken:  # fmt: skip
        """Speak a symbol string; stops at the end code or after `limit` frames."""
        pick, s, talker = sampling or Sampling(), self.shape, self.voice.talker
        body = self.layout.tokens.encode(symbols)
        none = torch.zeros(0, s.code_groups, dtype=torch.long).numpy()
        rows = self.layout.build(body, none, speaker, language, streaming)
        tokens = self.layout.tokens
        trailing = [*body[1:], tokens["<tts_text_eod>"]] if streaming else []
        draw = torch.Generator().manual_seed(pick.seed)
        cos, sin = self.voice.rope(len(rows.text) + limit + 1)
        caches = [Cache() for _ in range(s.layers)]
        x = talker.text_rows(torch.from_numpy(rows.text)[None])
        x = x + talker.code_rows(torch.from_numpy(rows.first)[None], torch.from_numpy(rows.rest)[None])
        frames: list[list[int]] = []
        at, seen = 0, torch.zeros(s.vocab, dtype=torch.bool)
        allowed = torch.full((s.vocab,), -torch.inf)
        allowed[: s.codes] = 0
        allowed[s.eos] = 0
        while len(frames) < limit:
            rope = cos[at : at + x.shape[1]], sin[at : at + x.shape[1]]
            at += x.shape[1]
            for layer, cache in zip(talker.model.layers, caches, strict=True):
                x, _ = layer(x, rope, cache)
            hidden = talker.model.norm(x)[:, -1:]
            logits = talker.codec_head(hidden)[0, 0]
            logits = torch.where(seen, torch.where(logits > 0, logits / pick.penalty, logits * pick.penalty), logits)
            logits = logits + allowed
            if len(frames) < 2:
                logits[s.eos] = -torch.inf
            first = self._pick(logits, pick.temperature, pick.top_k, draw)
            if first == s.eos:
                return Spoken(torch.tensor(frames).view(-1, s.code_groups), True)
            seen[first] = True
            frames.append(self._frame(hidden, first, pick, draw))
            spoken = tokens["<tts_pad>"] if len(frames) > len(trailing) else trailing[len(frames) - 1]
            frame = torch.tensor(frames[-1])
            said = talker.text_rows(torch.tensor([[spoken]]))
            x = talker.code_rows(frame[None, None, 0], frame[None, None, 1:]) + said
        return Spoken(torch.tensor(frames), False)

    def _frame(self, hidden: Tensor, first: int, pick: Sampling, draw: torch.Generator) -> list[int]:
        predictor, codes = self.voice.talker.code_predictor, [first]
        caches = [Cache() for _ in range(self.shape.predictor_layers)]
        cos, sin = self.voice.rope(self.shape.code_groups + 1)
        row = self.voice.talker.model.codec_embedding.weight[first][None, None]
        x, at = torch.cat([hidden, row], 1), 0
        for i, head in enumerate(predictor.lm_head):
            state = predictor.hidden(x, (cos[at : at + x.shape[1]], sin[at : at + x.shape[1]]), caches)[:, -1]
            at += x.shape[1]
            codes.append(self._pick(head(state)[0], pick.sub_temperature, pick.top_k, draw))
            x = F.embedding(torch.tensor([[codes[-1]]]), predictor.model.codec_embedding[i].weight)  # type: ignore[arg-type]
        return codes

    @torch.inference_mode()
    def sound(self, frames: Tensor) -> Tensor:
        """Frames [n, G] -> samples [n * frame samples]."""
        return cast("Tensor", self.decoder(frames.T[None])[0])
