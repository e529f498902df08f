"""Coded corpora on disk: the codes of a spoken shard beside its texts and phone times.

Knows: file forms. Does not know: how codes are made.

A shard is an `.npz` (`codes` uint16 [frames, G], `offsets` int32 [utterances + 1]) and a `.jsonl` of the same name, one
line an utterance: text, segments.
"""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from export.train.corpus_data import example
from export.train.sampling_plan import Utterances


def write_codes(path: Path, codes: list[NDArray[np.int64]]) -> None:
    """Write codes [frames, G] of some utterances to `path` (.npz), aside and renamed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    offsets = np.cumsum([0, *(len(c) for c in codes)]).astype(np.int32)
    aside = path.with_suffix(".part.npz")
    np.savez_compressed(aside, codes=np.concatenate(codes).astype(np.uint16), offsets=offsets)
    aside.replace(path)


def read_codes(path: Path) -> list[NDArray[np.int64]]:
    """Codes [frames, G] of every utterance of a shard."""
    with np.load(path) as stored:
        codes, offsets = stored["codes"].astype(np.int64), stored["offsets"]
    return [codes[start:end] for start, end in pairwise(offsets)]


def write(path: Path, texts: list[str], segments: list[list[list[object]]], codes: list[NDArray[np.int64]]) -> None:
    """Write one shard to `path` (.npz) and its .jsonl; the .npz comes last and makes it whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps({"text": t, "segments": s}, ensure_ascii=False) for t, s in zip(texts, segments, strict=True)]
    path.with_suffix(".jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    write_codes(path, codes)


def read_shard(path: Path, speaker: str, seconds: float) -> Utterances:
    """All examples of one shard; `seconds` is the length of a frame."""
    lines = path.with_suffix(".jsonl").read_text(encoding="utf-8").splitlines()
    return [
        example(json.loads(line)["segments"], frames, seconds, speaker)
        for line, frames in zip(lines, read_codes(path), strict=True)
    ]


def read(folder: Path, speaker: str, seconds: float) -> Utterances:
    """All examples of a speaker; `seconds` is the length of a frame."""
    shards = (path for path in sorted(folder.glob("*.npz")) if not path.name.endswith(".part.npz"))
    return [one for path in shards for one in read_shard(path, speaker, seconds)]
