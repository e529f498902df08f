"""Which sampling to ship: settings compared on sentences that no figure is reported on.

Knows: the settings. Does not know: how anything is spoken or heard.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Final

from engines.contract import Sampling, SpeechRequest
from export.train.alike import Wave
from export.train.evaluate import ALL, Score
from scripts.bench_tools import show
from scripts.eval_hearing import Hearing
from scripts.eval_speech import VoiceUnderTest
from scripts.eval_words import CLOSED, Sentences, Subject, listen

_ROUNDS: Final = 2  # seeds per sentence where chance plays a part


def _drawn(temperature: float) -> Sampling:
    return Sampling(greedy=False, temperature=temperature, top_k=50, top_p=1.0, repetition_penalty=1.05)


SETTINGS: Final[dict[str, Sampling]] = {
    "greedy, penalty 1.0": Sampling(greedy=True, repetition_penalty=1.0),
    "greedy, penalty 1.05": Sampling(greedy=True, repetition_penalty=1.05),
    "greedy, penalty 1.1": Sampling(greedy=True, repetition_penalty=1.1),
    "temperature 0.2": _drawn(0.2),
    "temperature 0.4": _drawn(0.4),
    "temperature 0.6": _drawn(0.6),
    "temperature 0.9": _drawn(0.9),
}


def _same(tell: Callable[[], None], *_: object) -> Callable[[], None]:
    return tell


def compare(
    voice: VoiceUnderTest,
    asked: SpeechRequest,
    chosen: Sentences,
    taught: list[Wave],
    closed: Hearing,
    progress: Callable[[str, int], Callable[[], None]],
) -> dict[str, Score]:
    """Closed-vocabulary scores of every setting over all sentences, drawn ones with two seeds; shown as a table."""
    out: dict[str, Score] = {}
    texts = [text for _, text in chosen]
    for name, sampling in SETTINGS.items():
        rounds = 1 if sampling.greedy else _ROUNDS
        requests = [replace(asked, sampling=sampling, seed=seed) for seed in range(rounds)]
        said = [one for request in requests for one in voice.speak(texts, request)]
        subject = Subject(chosen * rounds, taught * rounds, said, [], voice.engine.info.sample_rate_hz)
        tell = progress(f"{asked.voice}, {name}", len(said))
        out[name] = listen(subject, {CLOSED: closed}, partial(_same, tell), ("voice",)).scores["voice", CLOSED][ALL]
    show(
        f"{asked.voice}: sampling, on {len(chosen)} other sentences",
        ["", "utterances", "words right", "WER", "ended", "duration p5 / 50 / 95"],
        [
            (name, s.utterances, f"{s.words_right:.1f}", f"{s.word_error_rate:.1f}", f"{s.ended_by_itself:.1f}",
             " / ".join(f"{s.ratio(p):.2f}" for p in (5, 50, 95)))
            for name, s in out.items()
        ],
    )  # fmt: skip
    return out
