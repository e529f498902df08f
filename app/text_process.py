"""The daemon's side of the text worker: begun once, asked by the text pool's thread, begun again when it dies.

Purpose: `TextProcess` keeps one worker alive, with the voices open that are read there. Streams that were open when it
died are lost, and say so. Knows: processes, which voices a worker must have open. Does not know: text, contexts, what
else is asked (`remote_reader`). All waiting is bounded by `patience_s`, all work by the pool that does the asking.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from pathlib import Path
from typing import Final

import structlog

from app.children import ROOT, environment_for_children
from app.executor import BoundedExecutor, ExecutorClosedError, ExecutorFullError
from app.text_messages import ANSWERS, Answer, Close, Failed, Open, Request, receive, send
from engines.errors import BundleError, SpeechError
from engines.voice_files import front_end_info

_AGAIN_S: Final = 1.0
"""Between attempts to begin a worker that does not start."""
_BEGIN_S: Final = 30.0
"""A worker's first answer may take this much longer: on a starved machine Python alone takes seconds to begin."""
_END_S: Final = 0.2
_LOST: Final = "the process that reads text died under way, and another was begun; start the context again"
_log: Final = structlog.stdlib.get_logger("speakd")


class TextWorkerError(SpeechError):
    """The text worker died, hung or did not start."""


class TextProcess:
    """One worker process. What waits for it belongs on the pool; `look_after` belongs to the loop."""

    def __init__(self, pool: BoundedExecutor, patience_s: float) -> None:
        """`patience_s`: a worker that takes longer for one request is taken for stuck, and killed."""
        self._pool = pool
        self.patience_s = patience_s
        self._process: subprocess.Popen[bytes] | None = None
        self._link: socket.socket | None = None
        self._asking = threading.Lock()
        self._numbers = itertools.count()
        self._bundles: dict[int, tuple[str, str]] = {}
        """Of each reader, with a mark of the files that were read: another worker must read the same, or the engine
        gets foreign ids."""
        self._errands: deque[Request] = deque()
        """What has to be said before the next request; bounded by the streams and readers there were."""
        self.life = 0
        """Which worker is being asked: what one was told, the next does not know."""
        self._ending = False
        self._due = False
        self._not_before = 0.0
        self.deaths = 0
        self.failure: str | None = None
        """Why no worker can be begun, if so."""

    @property
    def pid(self) -> int | None:
        """Of the worker, while there is one."""
        return self._process.pid if self._process is not None else None

    def open_reader(self, bundle: Path) -> int:
        """Open a bundle's front end in the worker, under the number that is returned.

        Raises `BundleError`, `TextWorkerError`.
        """
        number = self.number()
        opening = Open(number, str(bundle.resolve()))
        self.ask(opening)
        self._bundles[number] = opening.bundle, _mark(bundle)
        return number

    def number(self) -> int:
        """For a new reader or stream."""
        return next(self._numbers)

    def ask(self, request: Request, life: int | None = None) -> Answer:
        """Ask and wait; with `life`, only the worker of that life. Raises `TextWorkerError`, `BundleError`."""
        with self._asking:
            if life is None:
                self._live()
            elif life != self.life:
                raise TextWorkerError(_LOST)
            self._run_errands()
            answer = self._exchange(request)
        if isinstance(answer, Failed):
            if answer.kind == "bundle":
                raise BundleError(answer.message)
            raise RuntimeError(f"in the text worker: {answer.message}")
        return answer

    def tell(self, errand: Request) -> None:
        """Have something said that needs no answer. Never waits; from any thread."""
        self._errands.append(errand)
        self._later()

    def close_reader(self, number: int) -> None:
        """A reader is not needed any more. Never waits; from any thread."""
        self._bundles.pop(number, None)
        self.tell(Close(number))

    def look_after(self) -> None:
        """To be called now and then: a worker that died is replaced, so that the next context need not wait for it."""
        process = self._process
        lives = process is not None and process.poll() is None
        if not lives and self._bundles and time.monotonic() >= self._not_before:
            self._not_before = time.monotonic() + _AGAIN_S
            self._later()

    def end(self) -> None:
        """End the worker and wait for it, not for long; idempotent."""
        self._ending = True
        process, link = self._process, self._link
        if link is not None:
            with contextlib.suppress(OSError):
                link.shutdown(socket.SHUT_RDWR)  # wakes the pool's thread too, should it wait for an answer
        if process is not None:
            try:
                process.wait(_END_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if link is not None:
            link.close()

    # -- inside, while asking ------------------------------------------------------------------------------------------

    def _live(self) -> None:
        """See to it that there is a worker. Raises `TextWorkerError`."""
        if self._process is not None and self._process.poll() is not None:
            self._bury("it died")
        if self._link is not None:
            return
        if self._ending:
            raise TextWorkerError("the daemon is stopping")
        try:
            self._begin()
            for number, (bundle, known) in tuple(self._bundles.items()):
                found = _mark(Path(bundle))
                if known and found and known != found:
                    answer: Answer = Failed("bundle", "its files for text were replaced since; restart the daemon")
                else:
                    answer = self._exchange(Open(number, bundle))
                if isinstance(answer, Failed):  # its contexts are told so one by one; the other voices go on
                    _log.error("the text worker cannot open a voice again", bundle=bundle, error=answer.message)
        except TextWorkerError as error:
            self.failure = str(error)
            raise
        self.failure = None

    def _begin(self) -> None:
        """A new worker, which knows nothing yet. Raises `TextWorkerError`."""
        try:
            ours, theirs = socket.socketpair()
            with theirs, contextlib.ExitStack() as ends:
                ends.callback(ours.close)
                ours.settimeout(self.patience_s + _BEGIN_S)
                environment = environment_for_children()
                environment["OPENBLAS_NUM_THREADS"] = "1"  # it computes nothing
                self._process = subprocess.Popen(
                    [sys.executable, "-m", "app.text_worker", str(theirs.fileno())],
                    cwd=ROOT,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    pass_fds=(theirs.fileno(),),
                )
                ends.pop_all()
        except OSError as error:  # no memory, no more tasks or files for this service
            raise TextWorkerError(f"the process that reads text cannot be started: {error}") from error
        self._link = ours
        self.life += 1
        self._errands.clear()

    def _exchange(self, request: Request) -> Answer:
        """Raises `TextWorkerError`; the worker is gone then."""
        if self._link is None:
            raise TextWorkerError(_LOST)
        waited_s = self._link.gettimeout()
        try:
            send(self._link, request)
            answer = receive(self._link, ANSWERS)
        except TimeoutError:
            self._bury("it hung")
            raise TextWorkerError(
                f"the process that reads text was stuck for {waited_s:g} s and was ended; send other text"
            ) from None
        except (OSError, EOFError):
            self._bury("it died")
            raise TextWorkerError("the daemon is stopping" if self._ending else _LOST) from None

        if waited_s != self.patience_s:  # it has begun
            self._link.settimeout(self.patience_s)
        return answer

    def _bury(self, how: str) -> None:
        """The worker is of no use any more."""
        process, link = self._process, self._link
        self._process = self._link = None
        if link is not None:
            link.close()
        if process is None or self._ending:
            return
        process.kill()
        code = process.wait()
        self.deaths += 1
        _log.error("the text worker is gone; another will take its place", how=how, code=code)

    def _run_errands(self) -> None:
        while self._errands:
            self._exchange(self._errands.popleft())

    # -- inside, without waiting --------------------------------------------------------------------------------------

    def _later(self) -> None:
        """Have the worker put right on the pool, soon: one task at most, so that contexts keep their places in it.

        Where it has no room, there is work enough that comes to the same.
        """
        if not self._due:
            self._due = True
            try:
                self._pool.submit(self._put_right)
            except (ExecutorFullError, ExecutorClosedError):
                self._due = False

    def _put_right(self) -> None:
        self._due = False
        with self._asking, contextlib.suppress(TextWorkerError):
            self._live()
            self._run_errands()


def _mark(bundle: Path) -> str:
    """Says which front end a bundle has; empty where it cannot be read, which opening it tells better."""
    digest = hashlib.sha256()
    try:
        info = front_end_info(bundle)
        for file in (info.tokenizer, *info.files):
            digest.update(file.read_bytes())
    except (OSError, SpeechError):
        return ""
    return digest.hexdigest()
