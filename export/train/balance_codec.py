"""Takes away the tones that a decoder's upsampling hums in silence.

Knows: transposed convolutions and what comes to them while nobody speaks. Does not know: encoders, files.

A transposed convolution of stride r makes r output samples from each input by r different sets of weights (its
phases). Fed with the same input again and again, as in silence, phases that differ make a pattern of period r: a tone
at the stage's rate and its multiples (Odena et al. 2016, "Deconvolution and checkerboard artifacts"). Here the
phases are made equal for silence's mean input, by the change of the weights that matters least to speech.
"""

from __future__ import annotations

from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from export.train.codec import Decoder, VocoderBlock

Heard = tuple[NDArray[np.int64], NDArray[np.bool_]]
"""Codes [T, G] of an utterance, and which samples [T * frame] of the teacher's sound are silent."""


def _inputs(decoder: Decoder, layer: nn.Module, heard: list[Heard]) -> tuple[Tensor, Tensor]:
    """What comes to a layer, each [C, columns]: always, and while all samples that a column covers are silent."""
    kept: list[Tensor] = []
    hook = layer.register_forward_pre_hook(lambda _, given: kept.append(given[0][0]))
    quiet = []
    for codes, silent in heard:
        decoder.unclamped(torch.from_numpy(codes.T[None]))
        columns = silent.reshape(kept[-1].shape[1], -1).all(axis=1)
        quiet.append(kept[-1][:, torch.from_numpy(columns)])
    hook.remove()
    return torch.cat(kept, 1), torch.cat(quiet, 1)


@torch.no_grad()
def balance(decoder: Decoder, heard: list[Heard]) -> None:
    """Change the vocoder's upsampling layers in place, the first one first."""
    for block in decoder.decoder:
        if not isinstance(block, VocoderBlock):
            continue
        layer = block.block[1]
        convolution = cast("nn.ConvTranspose1d", layer.conv)
        weight, stride = convolution.weight, convolution.stride[0]  # [in, out, 2 * stride]
        always, quiet = _inputs(decoder, layer, heard)
        if not quiet.shape[1]:
            continue
        silence = quiet.mean(1)
        hum = torch.einsum("iok,i->ok", weight[..., :stride] + weight[..., stride:], silence)
        hum -= hum.mean(1, keepdim=True)
        spread = always @ always.T / always.shape[1]
        spread += 1e-6 * torch.eye(len(spread), dtype=spread.dtype)
        along = torch.linalg.solve(spread, silence)
        change = torch.einsum("i,ok->iok", along / (along @ silence), hum) / 2
        weight -= torch.cat([change, change], -1)
