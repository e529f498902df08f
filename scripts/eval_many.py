"""Many varied inputs: does every utterance end by itself, in time, with sound?

Knows: how long an utterance should be, what counts as silent. Does not know: how anything is spoken or shown.

The expected length is the teacher's own: a straight line through its durations of the test sentences over the numbers
of phone letters, words and marks that the voice's front end makes of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from engines.contract import Pcm, SpeechRequest
from export.train.alike import COLUMN_S, Wave, level_db
from scripts.eval_inputs import inputs
from scripts.eval_speech import VoiceUnderTest

MARKS: Final = ",.!?;:"
_AUDIBLE_DB: Final = -45.0
_LEAST_AUDIBLE_S: Final = 0.05
_SHOWN: Final = 12


def features(symbols: str) -> list[float]:
    """Counts that a duration depends on: one, letters, words, marks."""
    letters = sum(not character.isspace() and character not in MARKS for character in symbols)
    return [1.0, float(letters), float(len(symbols.split())), float(sum(character in MARKS for character in symbols))]


class Expectation:
    """Seconds that a teacher needs for a string of phone letters."""

    def __init__(self, symbols: list[str], taught: list[Wave], rate_hz: int) -> None:
        """Fit the line to sentences."""
        rows = np.array([features(one) for one in symbols])
        seconds = np.array([len(wave) / rate_hz for wave in taught])
        self._weights: npt.NDArray[np.float64] = np.linalg.lstsq(rows, seconds, rcond=None)[0]
        self.error = float(np.mean(np.abs(rows @ self._weights - seconds) / seconds))
        """Mean relative error of the line on what it was fitted to."""

    def seconds(self, symbols: str) -> float:
        """Of one utterance, at least 0.2."""
        return max(0.2, float(np.dot(features(symbols), self._weights)))


@dataclass
class Many:
    """What became of all inputs."""

    inputs: int = 0
    wordless: int = 0
    """Inputs with nothing to say; their silence is right."""
    utterances: int = 0
    not_ended: list[str] = field(default_factory=list)
    too_long: list[str] = field(default_factory=list)
    silent: list[str] = field(default_factory=list)
    ratios: list[float] = field(default_factory=list)
    sound_s: float = 0.0
    kinds: Counter[str] = field(default_factory=Counter)
    """Inputs at fault, by kind."""
    retried: int = 0
    """Utterances that ran away before anything audible and were begun again."""

    @property
    def ended_share(self) -> float:
        """Share of the inputs with words that ended by themselves [%]."""
        return 100.0 * (1 - len(self.not_ended) / max(1, self.inputs - self.wordless))

    def summary(self) -> dict[str, object]:
        """For the closing record."""
        ratios = np.percentile(self.ratios, [0, 5, 50, 95, 100]).round(3).tolist() if self.ratios else []
        return {
            "inputs": self.inputs, "wordless": self.wordless, "utterances": self.utterances,
            "sound_s": round(self.sound_s, 1), "ended_percent": round(self.ended_share, 2), "retried": self.retried,
            "not_ended": self.not_ended[:_SHOWN], "too_long": self.too_long[:_SHOWN], "silent": self.silent[:_SHOWN],
            "faults_by_kind": dict(self.kinds), "ratio_min_p5_p50_p95_max": ratios,
        }  # fmt: skip


def audible_s(wave: Pcm, rate_hz: int) -> float:
    """Seconds that are louder than -45 dB of full scale."""
    return float((level_db(wave, rate_hz) > _AUDIBLE_DB).sum()) * COLUMN_S if len(wave) else 0.0


def speak_many(
    voice: VoiceUnderTest,
    request: SpeechRequest,
    expected: Expectation,
    words: list[str],
    count: int,
    done: Callable[[], None],
) -> Many:
    """Speak `count` inputs as `speak` would, and judge each."""
    made = inputs(count, words)
    out, rate = Many(), voice.engine.info.sample_rate_hz
    retried = voice.engine.statistics().runaways_retried
    for (kind, text), said in zip(made, voice.speak([text for _, text in made], request, done=done), strict=True):
        out.inputs += 1
        out.utterances += len(said.parts)
        if not said.parts:
            out.wordless += 1
            continue
        shown, seconds = f"{kind}: {text[:80]}", [len(part) / rate for part in said.parts]
        ratios = [s / expected.seconds(symbols) for s, symbols in zip(seconds, said.symbols, strict=True)]
        out.ratios += ratios
        out.sound_s += sum(seconds)
        faults = {
            "not_ended": not said.ended,
            "too_long": max(ratios) > 2.0,
            "silent": min(audible_s(part, rate) for part in said.parts) < _LEAST_AUDIBLE_S,
        }
        for name, found in faults.items():
            if found:
                getattr(out, name).append(shown)
                out.kinds[kind] += 1
    out.retried = voice.engine.statistics().runaways_retried - retried
    return out
