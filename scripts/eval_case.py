"""One evaluation: a voice that is open, its test sentences, and the listeners.

Knows: what belongs to each job, and in what order. Does not know: the command line, tables.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Final

from engines.contract import Layout, SpeechRequest
from export.train.alike import Wave
from export.train.evaluate import Score
from export.train.loudness import even
from export.train.pointer import Pointer
from export.train.sentences import TUNING, long_sentences, sentences
from export.train.words import errors, words
from scripts import eval_codec
from scripts.eval_hearing import Hearing, Memory
from scripts.eval_long import Long, measure_long
from scripts.eval_many import Expectation, Many, speak_many
from scripts.eval_page import Row
from scripts.eval_report import Result
from scripts.eval_sampling import compare
from scripts.eval_seams import Seams, long_texts, seams
from scripts.eval_sound import sound_figures
from scripts.eval_speech import IN_ONE, VoiceUnderTest, bundle_of
from scripts.eval_teacher import teach
from scripts.eval_words import CLOSED, OPEN, Sentences, Subject, Words, listen

_LONG_TEXTS: Final = 8
_SHOWN_OF_A_KIND: Final = 3
_LONG: Final = "long"  # the closed vocabulary, and the words of the long sentences
_LEXICON: Final = "lexicon.txt"
_EVERY_WORD: Final = 17  # of the lexicon's words, for varied inputs


def progress(title: str, total: int) -> Callable[[], None]:
    """Says on the error stream how far a stage is, every few seconds."""
    done, told = 0, time.monotonic()

    def one() -> None:
        nonlocal done, told
        done += 1
        if time.monotonic() - told > 5.0 or done == total:
            told = time.monotonic()
            print(f"{title}: {done} of {total}", file=sys.stderr, flush=True)

    return one


class Evaluation:
    """Leaving the context closes the engine and ends the listeners."""

    def __init__(self, voice: Path, cache: Path, jobs: int, sentences_wished: int = 0) -> None:
        """`sentences_wished`: about how many of the test sentences; 0 for all. Raises `SpeechError`."""
        everything = sentences()
        step = max(1, round(len(everything) / sentences_wished)) if sentences_wished else 1
        self._long = long_sentences()[::step]
        self._texts = [text for _, text in everything]
        self._places = range(0, len(everything), step)
        self._chosen: Sentences = everything[::step]
        self._tuning = sentences(TUNING)
        self._checkpoint, self._cache, self._jobs = voice, cache, jobs
        self._bundle = bundle_of(voice, cache)
        self._memory = Memory(cache / "heard.jsonl")
        self._hearings: dict[str, Hearing] = {}
        self._open = contextlib.ExitStack()
        self._voice = self._open.enter_context(VoiceUnderTest(self._bundle, jobs))
        self.info = self._voice.engine.info

    def __enter__(self) -> Evaluation:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    def measure(self, speaker: str, asked: SpeechRequest, *, large: bool) -> tuple[Result, list[Row]]:
        """Everything about one speaker, and rows for the page; `large`: with the recogniser's own vocabulary too."""
        rate, request = self.info.sample_rate_hz, replace(asked, voice=speaker)
        taught = self._taught(speaker)
        coded = self._coded(speaker, taught)
        texts = [text for _, text in self._chosen]
        said = list(self._voice.speak(texts, request, done=progress(f"{speaker} speaks", len(texts))))
        subject = Subject(self._chosen, taught, said, coded, rate)
        hearings = {name: self._hearing(name) for name in ((CLOSED, OPEN) if large else (CLOSED,))}
        heard = listen(subject, hearings, lambda title, n: progress(f"{speaker}, {title}", n))
        result = Result(
            speaker=speaker,
            words=heard,
            in_one=self._in_one(speaker, request, taught),
            sound=sound_figures(taught, [one.wave for one in said], rate),
            seams=self._seams(speaker, request),
            faults=self._faults(taught, coded),
        )
        return result, self._rows(subject)

    def many(self, speaker: str, count: int, asked: SpeechRequest) -> Many:
        """Speak varied inputs."""
        lines = (self._bundle / _LEXICON).read_text(encoding="utf-8").splitlines()[::_EVERY_WORD]
        vocabulary = [word for word in (line.split("\t")[0] for line in lines) if word.isalpha()]
        symbols = [" ".join(s for _, s in self._voice.utterances(text, IN_ONE)) for _, text in self._chosen]
        expected = Expectation(symbols, self._taught(speaker), self.info.sample_rate_hz)
        request = replace(asked, voice=speaker)
        return speak_many(self._voice, request, expected, vocabulary, count, progress(f"{speaker} speaks", count))

    def long(self, speaker: str, asked: SpeechRequest) -> Long:
        """Speak the long sentences in one piece each. Raises `OSError` or `ValueError` where the voice is no
        checkpoint of ours."""
        texts, rate, pointer = self._long, self.info.sample_rate_hz, Pointer(self._checkpoint)
        request = replace(asked, voice=speaker, layout=Layout.WHOLE, keep_codes=True)
        said = list(self._voice.speak(texts, request, IN_ONE, progress(f"{speaker} speaks", len(texts))))
        taught = teach(speaker, texts, rate, self._cache)
        return measure_long(self._voice, request, texts, said, taught, self._hearing(_LONG), pointer)

    def compare_sampling(self, speaker: str, asked: SpeechRequest) -> dict[str, Score]:
        """Ways of sampling, on the tuning sentences."""
        request = replace(asked, voice=speaker)
        taught = teach(speaker, [text for _, text in self._tuning], self.info.sample_rate_hz, self._cache)
        return compare(self._voice, request, self._tuning, taught, self._hearing(CLOSED), progress)

    def _hearing(self, vocabulary: str) -> Hearing:
        if vocabulary not in self._hearings:
            closed = self._texts + [text for _, text in self._tuning]
            words_known = {CLOSED: closed, _LONG: self._long + closed, OPEN: None}[vocabulary]
            hearing = Hearing(self._memory, words_known, self._jobs)
            self._hearings[vocabulary] = self._open.enter_context(hearing)
        return self._hearings[vocabulary]

    def _taught(self, speaker: str) -> list[Wave]:
        everything = teach(speaker, self._texts, self.info.sample_rate_hz, self._cache)
        return [everything[place] for place in self._places]

    def _coded(self, speaker: str, taught: list[Wave]) -> list[Wave]:
        """The teacher through the codec; [] with a word to the user where there are no codes for this codec."""
        name, codes = eval_codec.read_coded(speaker)
        known = (self._checkpoint / "speech_tokenizer").exists()
        if not codes or not known or name != eval_codec.name_of(eval_codec.books_of(self._checkpoint), self._texts):
            print(f"{speaker}: no coded sentences for this codec; --encode makes them", file=sys.stderr)
            return []
        waves = eval_codec.decode(self._bundle, [codes[place] for place in self._places])
        return [wave[: len(told)] for wave, told in zip(waves, taught, strict=True)]

    def _faults(self, taught: list[Wave], coded: list[Wave]) -> eval_codec.CodecFaults | None:
        rate = self.info.sample_rate_hz
        evened = [even(wave, rate) for wave in taught]  # what was coded
        return eval_codec.faults(evened, coded, rate, self.info.samples_per_frame) if coded else None

    def _in_one(self, speaker: str, request: SpeechRequest, taught: list[Wave]) -> Words:
        """Long sentences in one utterance each, although the front end would split them."""
        long = [i for i, (kind, _) in enumerate(self._chosen) if kind.startswith("long")]
        chosen = [(f"{self._chosen[i][0]} in one", self._chosen[i][1]) for i in long]
        said = list(self._voice.speak([text for _, text in chosen], request, IN_ONE))
        subject = Subject(chosen, [taught[i] for i in long], said, [], self.info.sample_rate_hz)
        tell = progress(f"{speaker}, long sentences in one", len(long))
        return listen(subject, {CLOSED: self._hearing(CLOSED)}, lambda *_: tell, ("voice",))

    def _seams(self, speaker: str, request: SpeechRequest) -> Seams:
        texts, rate = long_texts(self._chosen, _LONG_TEXTS), self.info.sample_rate_hz
        taught = teach(speaker, texts, rate, self._cache) if texts else []
        return seams(list(self._voice.speak(texts, request)), taught, rate)

    def _rows(self, subject: Subject) -> list[Row]:
        """A few sentences of every kind for the page."""
        heard = self._hearing(CLOSED).hear([said.wave for said in subject.said], subject.rate_hz)
        shown: dict[str, int] = {}
        rows = []
        for i, (kind, text) in enumerate(subject.chosen):
            shown[kind] = shown.get(kind, 0) + 1
            if shown[kind] <= _SHOWN_OF_A_KIND:
                wrong = errors(words(text), heard[i])[0] > 0
                rows.append(Row(kind, text, " ".join(heard[i]), wrong, subject.taught[i], subject.said[i].wave))
        return rows
