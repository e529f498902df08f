"""The text worker: a process that reads text for the daemon, so that the daemon's interpreter never waits for it.

Purpose: `python -m app.text_worker FD` answers the requests that come over a socket, one after the other, until the
other side is gone: then the daemon has ended, however that was, and so does this. Knows: front ends, the messages. Does
not know: sessions, sound; who may ask, and how much, is the daemon's affair.
"""

from __future__ import annotations

import contextlib
import signal
import socket
import sys
import traceback
from pathlib import Path

from app.bundle_reader import BundleReader
from app.front_end import TextFrontEnd
from app.promptness import spare_collections
from app.text_messages import (
    REQUESTS,
    Answer,
    Begin,
    Close,
    Done,
    Early,
    Failed,
    Feed,
    Finish,
    Forget,
    Ids,
    Instruct,
    Open,
    Pieces,
    Request,
    receive,
    send,
)
from engines.errors import BundleError


class TextWorker:
    """Front ends by number, and the streams they read."""

    def __init__(self) -> None:
        self._readers: dict[int, BundleReader] = {}
        self._streams: dict[int, TextFrontEnd] = {}

    def answer(self, request: Request) -> Answer:
        """Do what is asked; whatever goes wrong is in the answer."""
        try:
            return self._answer(request)
        except BundleError as error:
            return Failed("bundle", str(error))
        except Exception:
            return Failed("internal", traceback.format_exc())

    def _answer(self, request: Request) -> Answer:
        if isinstance(request, Feed):
            return Pieces(self._streams[request.stream].feed(request.text))
        if isinstance(request, Early):
            return Pieces(self._streams[request.stream].early())
        if isinstance(request, Finish):
            return Pieces(self._streams[request.stream].finish())
        if isinstance(request, Begin):
            self._streams[request.stream] = self._reader(request.reader).front_end(request.language)
        elif isinstance(request, Forget):
            self._streams.pop(request.stream, None)
        elif isinstance(request, Instruct):
            return Ids(self._reader(request.reader).instruct_ids(request.text))
        elif isinstance(request, Open):
            self._readers[request.reader] = BundleReader(Path(request.bundle))
            spare_collections()
        elif isinstance(request, Close):
            self._readers.pop(request.reader, None)
        return Done()

    def _reader(self, number: int) -> BundleReader:
        if number not in self._readers:
            raise BundleError("this voice's files could not be opened again; mend them and restart the daemon")
        return self._readers[number]


def serve(link: socket.socket) -> None:
    """Answer until the other side is gone."""
    worker = TextWorker()
    with contextlib.suppress(EOFError, ConnectionError):
        while True:
            send(link, worker.answer(receive(link, REQUESTS)))


def main() -> None:
    """Run with the arguments of this process."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # the daemon hears them, and still needs this to end in good order
    serve(socket.socket(fileno=int(sys.argv[1])))


if __name__ == "__main__":
    main()
