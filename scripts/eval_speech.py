"""The voice under test, spoken with as `speak` does: text front end, engine, one utterance per segment.

Knows: how texts become utterances and sound. Does not know: sentences, teachers, scores.
"""

from __future__ import annotations

import hashlib
import shutil
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Final

import numpy as np

from app.front_end import TextFrontEnd
from app.segmenter import SegmentBounds
from app.session import segment_seed
from app.text_piece import TextPiece
from engines.contract import Codes, End, Outcome, Pace, Pcm, SpeechRequest
from engines.engine import EngineConfig, SpeechEngine
from engines.utterance import LiveUtterance
from export.exporter import export_checkpoint
from scripts.exporter_stamp import exporter_stamp

_BUNDLES_KEPT: Final = 3
IN_ONE: Final = SegmentBounds(longest=600, shortest=600)
"""Bounds that keep every test sentence in one utterance."""
_AT_ONCE: Final = 4
_READ: Final = 1 << 16
_PATIENCE_S: Final = 600.0


@dataclass(frozen=True, slots=True)
class Said:
    """What became of one text."""

    parts: tuple[Pcm, ...]
    """Sound of each utterance."""
    symbols: tuple[str, ...]
    """What each utterance was to say: phone letters."""
    ended: bool
    """Whether every utterance ended by itself."""
    codes: tuple[Codes, ...]
    """Of each utterance, where the request keeps them; else empty."""

    @property
    def wave(self) -> Pcm:
        """All of the sound."""
        return np.concatenate([np.zeros(0, np.float32), *self.parts])


def bundle_of(voice: Path, cache: Path) -> Path:
    """The bundle of a checkpoint (exported in full precision, once), or `voice` itself if it is a bundle.

    The cache holds the few that were used last.
    """
    if (voice / "manifest.json").exists():
        return voice
    digest = hashlib.sha256(exporter_stamp().encode())
    for path in sorted(path for path in voice.rglob("*") if path.is_file()):
        digest.update(path.name.encode() + path.read_bytes())
    bundle = cache / f"bundle-{digest.hexdigest()[:16]}"
    if not (bundle / "manifest.json").exists():
        cache.mkdir(parents=True, exist_ok=True)
        export_checkpoint(voice, bundle)
    bundle.touch()
    for old in sorted(cache.glob("bundle-*"), key=lambda path: path.stat().st_mtime)[:-_BUNDLES_KEPT]:
        shutil.rmtree(old)
    return bundle


class VoiceUnderTest:
    """An open bundle; leaving the context closes it."""

    def __init__(self, bundle: Path, threads: int = 1) -> None:
        """`threads`: of each graph."""
        self._front_ends = {
            bounds: TextFrontEnd.open(bundle, language="english", bounds=bounds) for bounds in (None, IN_ONE)
        }
        config = EngineConfig(
            slots=_AT_ONCE, positions=None, talker_threads=threads, codec_threads=threads, admission=False
        )
        self.engine = SpeechEngine.open(bundle, config)

    def __enter__(self) -> VoiceUnderTest:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.engine.close()

    def utterances(self, text: str, bounds: SegmentBounds | None = None) -> list[tuple[tuple[int, ...], str]]:
        """(ids, symbols) of every utterance that a text becomes."""
        front_end = self._front_ends[bounds].fresh(language="english")
        found: list[list[TextPiece]] = [[]]
        for piece in [*front_end.feed(text), *front_end.finish()]:
            found[-1].append(piece)
            if piece.ends_segment:
                found.append([])
        return [
            (tuple(i for piece in pieces for i in piece.ids), " ".join(piece.text for piece in pieces))
            for pieces in found
            if any(piece.ids for piece in pieces)
        ]

    def speak(
        self,
        texts: list[str],
        request: SpeechRequest,
        bounds: SegmentBounds | None = None,
        done: Callable[[], None] = lambda: None,
    ) -> Iterator[Said]:
        """Speak texts, in order; `done` is called after each."""
        wanted = [self.utterances(text, bounds) for text in texts]
        jobs = deque(
            (ids, replace(request, seed=segment_seed(request.seed, place), pace=Pace.FAST))
            for utterances in wanted
            for place, (ids, _) in enumerate(utterances)
        )
        under_way: deque[LiveUtterance] = deque()
        for utterances in wanted:
            sounds, codes, ended = [], [], True
            for _ in utterances:
                while jobs and len(under_way) < _AT_ONCE:
                    under_way.append(self._start(*jobs.popleft()))
                sound, outcome = self._hear(under_way.popleft())
                sounds.append(sound)
                ended &= outcome.end is End.END
                if outcome.codes is not None:
                    codes.append(outcome.codes)
            yield Said(tuple(sounds), tuple(symbols for _, symbols in utterances), ended, tuple(codes))
            done()

    def _start(self, ids: tuple[int, ...], request: SpeechRequest) -> LiveUtterance:
        utterance = self.engine.start(request)
        utterance.feed(ids)
        utterance.end_of_text()
        return utterance

    @staticmethod
    def _hear(utterance: LiveUtterance) -> tuple[Pcm, Outcome]:
        parts = [np.zeros(0, np.float32)]
        while len(part := utterance.pcm.read(_READ, _PATIENCE_S)):
            parts.append(part)
        return np.concatenate(parts), utterance.outcome.result(_PATIENCE_S)
