"""What the teacher of a speaker says to the test sentences, kept on disk: it always says the same.

Knows: which teacher speaks for whom, the file of samples. Does not know: scores, voices.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np

from export.train.alike import Wave
from export.train.job import TEACHERS
from export.train.teacher import festival
from export.train.teacher_flite import Flite


def teach(speaker: str, texts: list[str], rate: int, cache: Path) -> list[Wave]:
    """Sound of every text at `rate`. Raises `KeyError` for a speaker that has no teacher."""
    told = hashlib.sha256(json.dumps([TEACHERS[speaker], rate, texts]).encode()).hexdigest()[:16]
    path = cache / f"teacher-{speaker}-{told}.npz"
    if not path.exists():
        waves = [np.clip(wave, -1, 1) for wave in _speak(TEACHERS[speaker], texts, rate)]
        ends = np.cumsum([len(wave) for wave in waves])
        cache.mkdir(parents=True, exist_ok=True)
        aside = path.with_suffix(".part.npz")
        np.savez_compressed(aside, samples=(np.concatenate(waves) * 32767).astype(np.int16), ends=ends)
        aside.replace(path)
    with np.load(path) as kept:
        samples = kept["samples"].astype(np.float32) / np.float32(32767)
        return np.split(samples, kept["ends"][:-1])


def _speak(teacher: str, texts: list[str], rate: int) -> list[Wave]:
    if teacher == "flite":
        flite = Flite()
        return [flite.speak(text, rate).wave for text in texts]
    return [told.wave for told in festival(texts, rate)]
