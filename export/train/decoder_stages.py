"""The last stages of the codec's decoder, when the talker is there: learning from its codes, and to begin in silence.

Knows: their order and what lies on disk. Does not know: how any of them works inside.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray

from export.train import code_store, sound_store, tokenizer_files
from export.train.codec import Decoder
from export.train.foretold import foretell
from export.train.job import STREAMING, Job
from export.train.layout import Layout
from export.train.polish_codec import PolishPlan, learn_to_begin, settle_last_layer
from export.train.talker import Voice
from export.train.train_decoder import DecoderPlan, Spoken, train

FEW = 40  # utterances of a speaker, at most, from which it learns to begin


def foretell_codes(job: Job, weights: dict[str, torch.Tensor]) -> None:
    """Let the talker foretell shard after shard, of all speakers in turn, until the stage's time is up."""
    began, draw = time.monotonic(), np.random.default_rng(job.seed)
    layout = Layout(job.shape, tokenizer_files.build()[2])
    voice = Voice(job.shape).to(job.device).eval()
    voice.load_state_dict(weights)
    shards = [sorted((job.folder / "codes" / s).glob("[0-9]*.npz")) for s in job.speakers]
    for path in (path for together in zip(*shards, strict=True) for path in together):
        told = job.folder / "foretold" / path.parent.name / path.name
        if told.exists():
            continue
        if told.stem != "0000" and time.monotonic() - began > job.seconds("foretold"):
            break
        examples = [e for e, _ in code_store.read_shard(path, path.parent.name, job.frame_seconds)]
        code_store.write_codes(told, foretell(voice, layout, examples, draw, STREAMING))


def finish_decoder(job: Job, decoder: Decoder) -> None:
    """Take the click from a stream's beginning, train on true and foretold codes, and settle what that leaves."""
    speakers = [_spoken(job, speaker) for speaker in job.speakers]
    few = [one for spoken in speakers for one in spoken[:: -(-len(spoken) // FEW) or 1]]
    state = job.folder / "decoder.pt"
    if not state.exists():
        _learn_to_begin(job, decoder.cpu(), [one.codes for one in few])
    plan = DecoderPlan(job.seconds("decoder"), seed=job.seed)
    plan = replace(
        plan, batch=job.sized(plan.batch), begins=job.sized(plan.begins), brief_batch=job.sized(plan.brief_batch)
    )
    train(decoder.to(job.device), speakers, plan, job.shape, state, job.report)
    settle_last_layer(decoder.cpu(), [one.codes for one in few], PolishPlan().pull)


def _spoken(job: Job, speaker: str) -> list[Spoken]:
    """Utterances whose codes were foretold."""
    sounds = sound_store.read(job.folder / "sound" / speaker)
    spoken: list[Spoken] = []
    for told in sorted((job.folder / "foretold" / speaker).glob("[0-9]*.npz")):
        true = code_store.read_codes(job.folder / "codes" / speaker / told.name)
        together = zip(true, code_store.read_codes(told), strict=True)
        spoken += [Spoken(sound, *both) for both, sound in zip(together, sounds, strict=False)]
    return spoken


def _learn_to_begin(job: Job, decoder: Decoder, utterances: list[NDArray[np.int64]]) -> None:
    seconds, full = job.seconds("polish"), PolishPlan()
    each = (3.0, 4.0)  # per second of budget; a core makes 10 and 6 of them in one
    steps = tuple(min(most, int(seconds * count)) for most, count in zip(full.steps, each, strict=True))
    learn_to_begin(decoder, utterances, replace(full, steps=steps, seed=job.seed), job.report)
