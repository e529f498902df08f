"""The listener: pocketsphinx, with its own language model (open) or one made of the test sentences (closed).

Knows: trigram models in ARPA form. Does not know: voices. Development only.

Every utterance is levelled to a peak of 0.6 and padded with 0.2 s of silence: the recogniser is sensitive to both.
"""

from __future__ import annotations

import math
import tempfile
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pocketsphinx
import soxr
from numpy.typing import NDArray

from export.train.words import words

RATE = 16000


def trigram_model(sentences: list[list[str]]) -> str:
    """ARPA text of an absolutely discounted trigram model over the sentences."""
    padded = [["<s>", *s, "</s>"] for s in sentences]
    counts = [Counter(tuple(s[i : i + n]) for s in padded for i in range(len(s) - n + 1)) for n in (1, 2, 3)]
    discount = 0.5
    total = sum(n for gram, n in counts[0].items() if gram != ("<s>",))
    prob: dict[tuple[str, ...], float] = {g: n / total for g, n in counts[0].items()}
    back: dict[tuple[str, ...], float] = {}
    for order in (1, 2):
        followers: dict[tuple[str, ...], list[tuple[tuple[str, ...], int]]] = defaultdict(list)
        for gram, n in counts[order].items():
            followers[gram[:-1]].append((gram, n))
        for context, seen in followers.items():
            mass = sum(n for _, n in seen)
            for gram, n in seen:
                prob[gram] = (n - discount) / mass
            rest = 1.0 - sum(prob[gram[1:]] for gram, _ in seen)
            back[context] = discount * len(seen) / mass / max(rest, 1e-6)
    lines = ["\\data\\", *(f"ngram {n + 1}={len(counts[n])}" for n in range(3))]
    for order in range(3):
        lines += ["", f"\\{order + 1}-grams:"]
        for gram in sorted(counts[order]):
            p = -99.0 if gram == ("<s>",) else math.log10(max(prob[gram], 1e-9))
            tail = f"\t{math.log10(max(back[gram], 1e-9)):.4f}" if gram in back else ("\t0.0" if order < 2 else "")
            lines.append(f"{p:.4f}\t{' '.join(gram)}{tail}")
    return "\n".join([*lines, "", "\\end\\", ""])


class Listener:
    """A recogniser with the open or the closed vocabulary."""

    def __init__(self, sentences: list[str] | None = None, extra: dict[str, str] | None = None) -> None:
        self._where = tempfile.TemporaryDirectory()
        options: dict[str, object] = {"loglevel": "FATAL"}
        base = Path(pocketsphinx.get_model_path()) / "en-us"
        if sentences is not None:
            model, lexicon = Path(self._where.name) / "closed.lm", Path(self._where.name) / "closed.dict"
            model.write_text(trigram_model([words(s) for s in sentences]), encoding="utf-8")
            wanted = {word for s in sentences for word in words(s)}
            lines = (base / "cmudict-en-us.dict").read_text(encoding="utf-8").splitlines()
            kept = [line for line in lines if line.split(" ")[0].split("(")[0] in wanted]
            known = {line.split(" ")[0] for line in kept}
            missing = sorted(wanted - known)
            for word in missing:
                if word not in (extra or {}):
                    raise ValueError(f"the recogniser does not know {word!r}; give its phones")
                kept.append(f"{word} {(extra or {})[word]}")
            lexicon.write_text("\n".join(kept) + "\n", encoding="utf-8")
            options |= {"lm": str(model), "dict": str(lexicon)}
        self._decoder = pocketsphinx.Decoder(**options)

    def hear(self, wave: NDArray[np.float32], rate: int) -> list[str]:
        """Words recognised in a mono waveform."""
        sound = soxr.resample(wave, rate, RATE) if rate != RATE else wave
        sound = sound * (0.6 / max(1e-4, float(np.abs(sound).max())))
        quiet = np.zeros(int(0.2 * RATE), np.float32)
        draw = np.random.default_rng(0).normal(0, 3e-4, len(sound) + 2 * len(quiet))
        whole = np.concatenate([quiet, sound, quiet]) + draw
        self._decoder.start_utt()
        self._decoder.process_raw((whole * 32767).astype(np.int16).tobytes(), full_utt=True)
        self._decoder.end_utt()
        found = self._decoder.hyp()
        return words(found.hypstr) if found else []
