"""What a recogniser hears, by several processes, remembered on disk: nothing is listened to twice.

Knows: processes, the memory file. Does not know: recognisers, voices.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import signal
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final

import numpy as np

from export.train.alike import Wave

if TYPE_CHECKING:
    from export.train.oracle import Listener

_MOST_REMEMBERED: Final = 20_000
_listener: Listener | None = None


def _open(vocabulary: list[str] | None) -> None:
    """In a new process: the interrupt is the parent's to handle."""
    global _listener  # noqa: PLW0603 - what a pool's process is
    from export.train.oracle import Listener

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _listener = Listener(vocabulary)


def _listen(wave: Wave, rate: int) -> list[str]:
    assert _listener is not None
    heard: list[str] = _listener.hear(wave, rate)
    return heard


class Memory:
    """Words by the name of what was heard; a file of JSON lines, written as they come."""

    def __init__(self, path: Path) -> None:
        """Read what is there; a line that was cut off is dropped."""
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        self._words: dict[str, list[str]] = {}
        for line in lines[-_MOST_REMEMBERED:]:
            try:
                name, words = json.loads(line)
            except ValueError:
                continue
            self._words[name] = words
        path.parent.mkdir(parents=True, exist_ok=True)
        aside = path.with_suffix(".part")
        aside.write_text("".join(json.dumps(entry) + "\n" for entry in self._words.items()), encoding="utf-8")
        aside.replace(path)
        self._path = path

    def __contains__(self, name: str) -> bool:
        return name in self._words

    def __getitem__(self, name: str) -> list[str]:
        return self._words[name]

    def keep(self, name: str, words: list[str]) -> None:
        """Remember."""
        self._words[name] = words
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps([name, words]) + "\n")


class Hearing:
    """A recogniser with one vocabulary (None: its own large one) in `jobs` processes; leave the context to end them."""

    def __init__(self, memory: Memory, vocabulary: list[str] | None, jobs: int) -> None:
        self._memory = memory
        self._tag = hashlib.sha256(json.dumps(vocabulary).encode()).digest()
        context = multiprocessing.get_context("spawn")  # threads of the engine would not survive a fork
        self._pool = ProcessPoolExecutor(jobs, context, _open, (vocabulary,))

    def __enter__(self) -> Hearing:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)

    def hear(self, waves: list[Wave], rate: int, done: Callable[[], None] = lambda: None) -> list[list[str]]:
        """Words of every waveform; `done` is called after each."""
        names = [self._name(wave, rate) for wave in waves]
        asked = {
            name: self._pool.submit(_listen, wave, rate)
            for name, wave in zip(names, waves, strict=True)
            if name not in self._memory
        }
        for name in names:
            if name not in self._memory:
                self._memory.keep(name, asked[name].result())
            done()
        return [self._memory[name] for name in names]

    def _name(self, wave: Wave, rate: int) -> str:
        digest = hashlib.sha256(self._tag + rate.to_bytes(4, "little"))
        digest.update((np.clip(wave, -1, 1) * 32767).astype(np.int16).tobytes())
        return digest.hexdigest()[:32]
