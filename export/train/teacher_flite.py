"""The second teacher: flite's rms voice, called in this process, with phone times, stress and words of every segment.

Knows: flite's C interface. Does not know: codecs, networks.
Packages: libflite1.
"""

from __future__ import annotations

import ctypes as c
import ctypes.util
from itertools import pairwise
from pathlib import Path

import numpy as np
import soxr

from export.train.teacher import LEVEL, Told

_PUNCTUATION = "R:SylStructure.parent.parent.R:Token.parent.punc"
_WORD = "R:SylStructure.parent.parent.name"
_STRESS = "R:SylStructure.parent.stress"


class _Relation(c.Structure):
    _fields_ = (("name", c.c_char_p), ("features", c.c_void_p), ("utterance", c.c_void_p), ("head", c.c_void_p))


class _Wave(c.Structure):
    _fields_ = (
        ("type", c.c_char_p),
        ("rate", c.c_int),
        ("count", c.c_int),
        ("channels", c.c_int),
        ("samples", c.POINTER(c.c_short)),
    )


class Flite:
    """One flite voice."""

    def __init__(self, name: str = "rms") -> None:
        found = [_library(part) for part in ("flite", "flite_cmulex", "flite_usenglish", f"flite_cmu_us_{name}")]
        self._flite = found[0]
        self._flite.flite_init()
        for function, result, arguments in (
            ("flite_synth_text", c.c_void_p, (c.c_char_p, c.c_void_p)),
            ("utt_relation", c.POINTER(_Relation), (c.c_void_p, c.c_char_p)),
            ("item_next", c.c_void_p, (c.c_void_p,)),
            ("item_feat_string", c.c_char_p, (c.c_void_p, c.c_char_p)),
            ("ffeature_string", c.c_char_p, (c.c_void_p, c.c_char_p)),
            ("item_feat_float", c.c_float, (c.c_void_p, c.c_char_p)),
            ("utt_wave", c.POINTER(_Wave), (c.c_void_p,)),
            ("delete_utterance", None, (c.c_void_p,)),
        ):
            entry = getattr(self._flite, function)
            entry.restype, entry.argtypes = result, arguments
        register = getattr(found[-1], f"register_cmu_us_{name}")
        register.restype, register.argtypes = c.c_void_p, (c.c_char_p,)
        self._voice = c.c_void_p(register(None))

    def speak(self, text: str, rate: int) -> Told:
        """Speak one text; samples come resampled to `rate`."""
        utterance = self._flite.flite_synth_text(text.encode("latin-1", "replace"), self._voice)
        segments: list[list[object]] = []
        item = self._flite.utt_relation(utterance, b"Segment").contents.head
        while item:
            segments.append(self._segment(item))
            item = self._flite.item_next(item)
        wave = self._flite.utt_wave(utterance).contents
        samples = np.ctypeslib.as_array(wave.samples, (wave.count,)).astype(np.float32) / 32768
        sound = soxr.resample(samples, wave.rate, rate) * LEVEL
        self._flite.delete_utterance(utterance)
        for before, now in pairwise(segments):
            if str(now[3]).startswith("'"):  # a possessive is spoken as part of its word
                now[3] = before[3]
        return Told(sound.astype(np.float32), rate, segments)

    def _segment(self, item: int) -> list[object]:
        phone = self._flite.item_feat_string(item, b"name").decode()
        stress, word, mark = (
            (self._flite.ffeature_string(item, path.encode()) or b"0").decode("latin-1")
            for path in (_STRESS, _WORD, _PUNCTUATION)
        )
        end = round(float(self._flite.item_feat_float(item, b"end")), 4)
        return [phone, end, int(stress) if stress.isdigit() else 0, word, mark or "0"]


def _library(name: str) -> c.CDLL:
    path = ctypes.util.find_library(name)
    if path is None:
        matches = sorted(Path("/usr/lib").glob(f"*/lib{name}.so.*"))
        if not matches:
            raise FileNotFoundError(f"lib{name} is not installed; the Debian package is libflite1")
        path = str(matches[0])
    return c.CDLL(path, mode=c.RTLD_GLOBAL)
