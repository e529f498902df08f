"""The stages of making a voice from nothing, each resumable: what is on disk and whole is not made again.

Knows: the order of the stages, their shares of the budget, where their results lie in the working folder.
Does not know: how any stage works inside.

corpus (texts) -> teacher (sound with phone times) -> codec -> codes -> talker -> talker told its own past -> what it
foretells -> decoder again -> checkpoint -> bundle
"""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path

import torch

from export.train import checkpoint_files, code_store, corpus, front_end_files, lexicon, sound_store, tokenizer_files
from export.train.decoder_stages import finish_decoder, foretell_codes
from export.train.job import SHARD, STREAMING, TEACHERS, Job
from export.train.layout import Layout
from export.train.loudness import even
from export.train.own_past import OwnPast
from export.train.talker import Voice
from export.train.teacher import Told, festival
from export.train.teacher_flite import Flite
from export.train.train_codec import CodecPlan, CodecTrainer
from export.train.train_talker import TalkerPlan, train


def make_texts(job: Job) -> dict[str, list[str]]:
    """Texts per speaker, enough for the longest corpus the budget can ask for."""
    path = job.folder / "texts.json"
    if path.exists():
        found: dict[str, list[str]] = json.loads(path.read_text(encoding="utf-8"))
        return found
    count = int(job.longest_hours * 3600 / 2.5 / len(job.speakers) / SHARD) * SHARD
    texts = {speaker: corpus.build(count, job.seed + i) for i, speaker in enumerate(job.speakers)}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(texts), encoding="utf-8")
    return texts


def teach(job: Job, texts: dict[str, list[str]]) -> None:
    """Let every teacher speak, shard by shard, until the stage's time is up or the texts are."""
    flite = Flite() if any(TEACHERS[s] == "flite" for s in job.speakers) else None

    def speak(speaker: str, lines: list[str]) -> list[Told]:
        rate = job.shape.sample_rate
        if TEACHERS[speaker] == "festival" or flite is None:
            told = festival(lines, rate)
        else:
            told = [flite.speak(line, rate) for line in lines]
        return [replace(one, wave=even(one.wave, rate)) for one in told]

    began, shard = time.monotonic(), 0
    done = job.folder / "taught"
    while not done.exists() and (shard + 1) * SHARD <= len(texts[job.speakers[0]]):
        for speaker in job.speakers:
            folder = job.folder / "sound" / speaker
            if not sound_store.has_shard(folder, shard):
                lines = texts[speaker][shard * SHARD : (shard + 1) * SHARD]
                sound_store.write_shard(folder, shard, lines, speak(speaker, lines))
        shard += 1
        if time.monotonic() - began > job.seconds("teacher"):
            break
    done.touch()
    for speaker in job.speakers:
        spoken = sound_store.read(job.folder / "sound" / speaker)
        hours = sum(u.end - u.start for u in spoken) / job.shape.sample_rate / 3600
        job.report(f"teacher of {speaker}: {hours:.2f} h")


def train_codec(job: Job) -> CodecTrainer:
    """Train encoder, codebooks and decoder."""
    plan = CodecPlan(job.seconds("codec"), seed=job.seed)
    trainer = CodecTrainer(job.shape, replace(plan, batch=job.sized(plan.batch)), job.device)
    spoken = [u for speaker in job.speakers for u in sound_store.read(job.folder / "sound" / speaker)]
    trainer.run(spoken, job.folder / "codec.pt", job.report)
    return trainer


def make_codes(job: Job, trainer: CodecTrainer) -> None:
    """Encode every shard of sound."""
    for speaker in job.speakers:
        groups: dict[int, list[sound_store.Utterance]] = {}
        for i, spoken in enumerate(sound_store.read(job.folder / "sound" / speaker)):
            groups.setdefault(i // SHARD, []).append(spoken)
        for shard, group in groups.items():
            path = job.folder / "codes" / speaker / f"{shard:04d}.npz"
            if not path.exists():
                codes = [trainer.encode(u.wave).numpy() for u in group]
                code_store.write(path, [u.text for u in group], [u.segments for u in group], codes)
        job.report(f"codes of {speaker}: {sum(len(g) for g in groups.values())} utterances")


def train_talker(job: Job) -> dict[str, torch.Tensor]:
    """Train talker and code predictor; gives the averaged weights."""
    tokens = tokenizer_files.build()[2]
    torch.manual_seed(job.seed)
    voice = Voice(job.shape)
    for name, parameter in voice.named_parameters():
        if parameter.ndim == 2:
            torch.nn.init.normal_(parameter, std=0.05 if "embedding" in name else parameter.shape[1] ** -0.5)
    corpora = [code_store.read(job.folder / "codes" / s, s, job.frame_seconds) for s in job.speakers]
    held = [e for spoken in corpora for e, _ in spoken[::50]]
    training = [[item for i, item in enumerate(spoken) if i % 50] for spoken in corpora]
    plan = TalkerPlan(job.seconds("talker"), rate=1.5e-3, streaming=STREAMING, seed=job.seed, mixture=job.mixture)
    plan = replace(plan, average=1 - (1 - plan.average) / job.step_share)  # a shorter memory where steps are small
    layout = Layout(job.shape, tokens)
    voice.load_state_dict(
        train(voice.to(job.device), layout, training, held, plan, job.folder / "talker.pt", job.report)
    )
    plan = replace(plan, budget=job.seconds("own past"), rate=3e-4, guide=1.0)
    lose = OwnPast(voice)
    return train(voice, layout, training, held, plan, job.folder / "own_past.pt", job.report, lose)


def write_checkpoint(job: Job, trainer: CodecTrainer, voice: dict[str, torch.Tensor]) -> Path:
    """Write the official-layout checkpoint with the phone front end beside it."""
    directory = job.folder / "checkpoint"
    decoder = {name: value.cpu() for name, value in trainer.decoder.state_dict().items()}
    checkpoint_files.write(directory, job.shape, {name: value.cpu() for name, value in voice.items()}, decoder)
    if not (directory / "lts.json").exists():
        first = job.folder / "codes" / job.speakers[0]
        lines = (
            line for path in sorted(first.glob("*.jsonl")) for line in path.read_text(encoding="utf-8").splitlines()
        )
        front_end_files.make(directory, lexicon.build(json.loads(line) for line in lines))
    return directory


def run(job: Job) -> Path:
    """All stages; gives the checkpoint's directory."""
    torch.set_float32_matmul_precision("high")
    texts = make_texts(job)
    teach(job, texts)
    trainer = train_codec(job)
    make_codes(job, trainer)
    voice = train_talker(job)
    foretell_codes(job, voice)
    finish_decoder(job, trainer.decoder)
    directory = write_checkpoint(job, trainer, voice)
    job.report(f"checkpoint: {directory}")
    return directory
