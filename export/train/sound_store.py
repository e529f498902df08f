"""Spoken corpora on disk: shards of samples with their texts and phone times, written once, memory-mapped afterwards.

Knows: file names and forms. Does not know: teachers, codecs.

Shard n of a speaker: `n.npy` int16 samples of all its utterances, `n.jsonl` one line each: text, start and end sample,
segments. Both are written aside and renamed, the samples first: a shard with a `.jsonl` is whole.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from export.train.teacher import Told


@dataclass(frozen=True)
class Utterance:
    """One spoken text: samples -1..1 (read when asked for) and segments [phone, end s, stress, word, mark]."""

    text: str
    segments: list[list[object]]
    shard: NDArray[np.int16]
    start: int
    end: int

    @property
    def wave(self) -> NDArray[np.float32]:
        """The samples as floats."""
        wave: NDArray[np.float32] = self.shard[self.start : self.end].astype(np.float32) / np.float32(32767)
        return wave


def write_shard(folder: Path, index: int, texts: list[str], spoken: list[Told]) -> None:
    """Write one shard."""
    folder.mkdir(parents=True, exist_ok=True)
    at, lines = 0, []
    for text, told in zip(texts, spoken, strict=True):
        line = {"text": text, "start": at, "end": at + len(told.wave), "segments": told.segments}
        lines.append(json.dumps(line, ensure_ascii=False, separators=(",", ":")))
        at += len(told.wave)
    samples = np.concatenate([told.wave for told in spoken])
    aside = folder / f"{index}.part.npy"
    np.save(aside, (samples.clip(-1, 1) * 32767).astype(np.int16))
    aside.replace(folder / f"{index}.npy")
    text_aside = folder / f"{index}.part"
    text_aside.write_text("\n".join(lines) + "\n", encoding="utf-8")
    text_aside.replace(folder / f"{index}.jsonl")


def has_shard(folder: Path, index: int) -> bool:
    """Whether the shard is there and whole."""
    return (folder / f"{index}.jsonl").exists()


def read(folder: Path, limit: int | None = None) -> Iterator[Utterance]:
    """All utterances of a speaker in order, at most `limit` shards."""
    for index in range(limit if limit is not None else 1_000_000):
        if not has_shard(folder, index):
            return
        shard = np.load(folder / f"{index}.npy", mmap_mode="r")
        for line in (folder / f"{index}.jsonl").read_text(encoding="utf-8").splitlines():
            found = json.loads(line)
            yield Utterance(found["text"], found["segments"], shard, found["start"], found["end"])
