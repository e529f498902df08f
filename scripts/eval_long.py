"""Long sentences in one piece: which of their words are lost, by a recogniser and by the talker's own pointer.

Knows: what is counted. Does not know: the command line, tables.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

from engines.contract import SpeechRequest
from export.train.alike import Wave
from export.train.pointer import Pointed, Pointer
from export.train.words import Differences, differences, words
from scripts.eval_hearing import Hearing
from scripts.eval_speech import IN_ONE, Said, VoiceUnderTest


@dataclass(frozen=True)
class Long:
    """Of one speaker."""

    words: int
    seconds: tuple[float, float]
    """The shortest and the longest."""
    ended: int
    utterances: int
    heard: tuple[Differences, ...]
    """By sentence, what the recogniser made of the voice; of the teacher below."""
    heard_of_teacher: tuple[Differences, ...]
    pointed: tuple[Pointed, ...]

    def summary(self) -> dict[str, object]:
        """Figures by name, and the words themselves."""
        passed = [word for word in self.pointed if word.passed_over]
        return {
            "utterances": self.utterances,
            "ended by themselves": self.ended,
            "seconds, shortest and longest": [round(each, 1) for each in self.seconds],
            "words": self.words,
            **_heard("heard", self.heard),
            **_heard("heard of the teacher", self.heard_of_teacher),
            "passed over by the talker": [word.letters for word in passed if not word.short],
            "passed over, or shorter than a frame": sum(word.short for word in passed),
        }


def _heard(title: str, found: tuple[Differences, ...]) -> dict[str, object]:
    return {
        f"{title}: taken for others": [f"{here} > {there}" for one in found for here, there in one.others],
        f"{title}: lost": list(chain.from_iterable(one.lost for one in found)),
        f"{title}: added": list(chain.from_iterable(one.added for one in found)),
    }


def measure_long(
    voice: VoiceUnderTest, request: SpeechRequest, texts: list[str], said: list[Said], taught: list[Wave],
    hearing: Hearing, pointer: Pointer,
) -> Long:  # fmt: skip
    """What became of texts; `said` with codes, in one piece each, as `request` asked for them."""
    wanted, rate_hz = [words(text) for text in texts], voice.engine.info.sample_rate_hz
    heard, of_teacher = (
        tuple(map(differences, wanted, hearing.hear(waves, rate_hz))) for waves in ([one.wave for one in said], taught)
    )
    assert request.voice is not None
    assert request.language is not None
    pointed = [
        pointer.words(ids, one.codes[0], request.voice, request.language)
        for text, one in zip(texts, said, strict=True)
        for ids, _ in voice.utterances(text, IN_ONE)
    ]
    seconds = [len(one.wave) / rate_hz for one in said]
    return Long(
        words=sum(map(len, wanted)), seconds=(min(seconds), max(seconds)), ended=sum(one.ended for one in said),
        utterances=len(said), heard=heard, heard_of_teacher=of_teacher, pointed=tuple(chain.from_iterable(pointed)),
    )  # fmt: skip
