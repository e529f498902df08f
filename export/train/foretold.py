"""What the talker would say next, told all that came before: its own choices, in step with the teacher's sound.

A decoder that has only heard true codes meets the talker's for the first time in use. Trained on these as well, it
makes the best of them (ground-truth-aligned training of a vocoder: Shen et al. 2018, "Natural TTS synthesis by
conditioning WaveNet on mel spectrogram predictions", section 2.3).

Knows: the talker and its predictor, greedily. Does not know: sound, files.
"""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - the field's name for it
from numpy.typing import NDArray

from export.train.corpus_data import LEAD_FRAMES, Example
from export.train.layout import Layout
from export.train.precision import autocast
from export.train.talker import Voice
from export.train.talker_loss import collate, make_rows

AT_ONCE_FRAMES = 1500


@torch.inference_mode()
def _together(
    voice: Voice, layout: Layout, examples: list[Example], draw: np.random.Generator, streaming: float
) -> list[NDArray[np.int64]]:
    """Codes [n, G] for each example's frames."""
    s, talker = voice.shape, voice.talker
    rows = [make_rows(layout, e, draw, streaming) for e in examples]
    batch = collate(examples, rows, s.eos).to(voice.device)
    with autocast(voice.device):
        hidden, _ = voice.read(batch.text, batch.first, batch.rest)
        states = hidden[(batch.target >= 0) & (batch.target < s.codes)]
        code = F.linear(states, talker.codec_head.weight[: s.codes]).float().argmax(-1)
        codes = [code]
        given = [states, talker.model.codec_embedding(code).to(states.dtype)]
        predictor = talker.code_predictor
        for head, table in zip(predictor.lm_head, predictor.model.codec_embedding, strict=True):
            seen = predictor.hidden(torch.stack(given, 1), voice.rope(len(given)))
            code = head(seen[:, -1]).float().argmax(-1)
            codes.append(code)
            given.append(table(code).to(states.dtype))
    ends = np.cumsum([len(e.frames) for e in examples])
    return np.split(torch.stack(codes, -1).cpu().numpy(), ends[:-1])


def foretell(
    voice: Voice, layout: Layout, examples: list[Example], draw: np.random.Generator, streaming: float
) -> list[NDArray[np.int64]]:
    """Codes [LEAD_FRAMES + n, G] of every example in order; the lead that no example has repeats the first frame.

    `streaming`: share of examples that are read in the streaming layout.
    """
    out: list[NDArray[np.int64]] = [np.empty((0, 0), np.int64)] * len(examples)
    batch: list[int] = []
    frames = 0
    order = np.argsort([len(e.frames) for e in examples], kind="stable")
    for place, i in enumerate(order):
        batch.append(int(i))
        frames += len(examples[i].frames)
        if frames >= AT_ONCE_FRAMES or place == len(order) - 1:
            told = _together(voice, layout, [examples[j] for j in batch], draw, streaming)
            for j, codes in zip(batch, told, strict=True):
                out[j] = np.concatenate([codes[:1]] * LEAD_FRAMES + [codes])
            batch, frames = [], 0
    return out
