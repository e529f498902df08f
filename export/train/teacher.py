"""Runs the teachers: free synthesizers from Debian packages that speak the corpus and report phone times.

Knows: festival's command language. Does not know: codecs, networks.
Packages: festival, festlex-cmu, festlex-poslex, festvox-us-slt-hts.
"""

from __future__ import annotations

import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import soundfile
import soxr
from numpy.typing import NDArray

LEVEL = 0.75  # the teacher's samples pass full scale now and then
_SCRIPT = """
(voice_cmu_us_slt_arctic_hts)
(define (word_of seg)
  (let ((w (item.relation.parent (item.relation.parent (item.relation seg 'SylStructure) 'SylStructure) 'SylStructure)))
    w))
(define (report seg)
  (format out "%s\\t%f\\t%s\\t%s\\t%s\\n" (item.name seg) (item.feat seg 'end)
    (item.feat seg 'R:SylStructure.parent.stress) (item.feat seg 'R:SylStructure.parent.parent.name)
    (item.feat seg 'R:SylStructure.parent.parent.R:Token.parent.punc)))
(define (speak text wave times)
  (let ((utt (utt.synth (eval (list 'Utterance 'Text text)))))
    (utt.save.wave utt wave 'riff)
    (set! out (fopen times "w"))
    (mapcar report (utt.relation.items utt 'Segment))
    (fclose out)))
"""


@dataclass(frozen=True)
class Told:
    """What the teacher said: samples at `rate`, and [phone, end s, stress, word, punctuation] for every segment."""

    wave: NDArray[np.float32]
    rate: int
    segments: list[list[object]]


def _segments(path: Path) -> list[list[object]]:
    out: list[list[object]] = []
    for line in path.read_text(encoding="latin-1").splitlines():
        fields = line.split("\t")
        if len(fields) >= 4:
            phone, end, stress, word = fields[:4]
            out.append([phone, round(float(end), 4), int(stress), word, fields[4] if len(fields) > 4 else "0"])
    return out


def festival(texts: list[str], rate: int) -> list[Told]:
    """Let festival's slt voice speak texts, in one process; samples come resampled to `rate`."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        lines = [_SCRIPT]
        for i, text in enumerate(texts):
            quoted = text.replace("\\", " ").replace('"', " ")
            lines.append(f'(speak "{quoted}" "{folder}/{i}.wav" "{folder}/{i}.txt")')
        script = folder / "speak.scm"
        script.write_text("\n".join(lines), encoding="latin-1", errors="replace")
        subprocess.run(["festival", "-b", str(script)], check=True, stdout=subprocess.DEVNULL)
        out = []
        for i in range(len(texts)):
            wave, found = soundfile.read(folder / f"{i}.wav", dtype="float32")
            sound = soxr.resample(wave, found, rate) * LEVEL
            out.append(Told(sound.astype(np.float32), rate, _segments(folder / f"{i}.txt")))
        return out
