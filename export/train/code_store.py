"""Coded corpora on disk: the codes of a spoken shard beside its texts and phone times.

Knows: file forms. Does not know: how codes are made.

A shard is an `.npz` (`codes` uint16 [frames, G], `offsets` int32 [utterances + 1]) and a `.jsonl` of the same name, one
line an utterance: text, segments.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from export.train.corpus_data import example
from export.train.sampling_plan import Utterances


def write(path: Path, texts: list[str], segments: list[list[list[object]]], codes: list[NDArray[np.int64]]) -> None:
    """Write one shard to `path` (.npz) and its .jsonl; the .npz comes last and makes it whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps({"text": t, "segments": s}, ensure_ascii=False) for t, s in zip(texts, segments, strict=True)]
    path.with_suffix(".jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    offsets = np.cumsum([0, *(len(c) for c in codes)]).astype(np.int32)
    aside = path.with_suffix(".part.npz")
    np.savez_compressed(aside, codes=np.concatenate(codes).astype(np.uint16), offsets=offsets)
    aside.replace(path)


def _shards(folder: Path) -> Iterator[Path]:
    yield from sorted(p for p in folder.glob("*.npz") if not p.name.endswith(".part.npz"))


def read(folder: Path, speaker: str, seconds: float) -> Utterances:
    """All examples of a speaker; `seconds` is the length of a frame."""
    out: Utterances = []
    for path in _shards(folder):
        stored = np.load(path)
        codes, offsets = stored["codes"].astype(np.int64), stored["offsets"]
        for i, line in enumerate(path.with_suffix(".jsonl").read_text(encoding="utf-8").splitlines()):
            frames = codes[offsets[i] : offsets[i + 1]]
            out.append(example(json.loads(line)["segments"], frames, seconds, speaker))
    return out
