"""A voice's text side as contexts see it, while the text worker does the reading.

Purpose: `RemoteReader` and `RemoteFrontEnd`, which have what a `Reader` and a front end have, and ask the worker for
it. Knows: requests and answers. Does not know: whether the worker lives (`text_process`), text.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from app.text_messages import Begin, Early, Feed, Finish, Forget, Ids, Instruct, Pieces, Request
from app.text_piece import FrontEnd, TextPiece
from app.text_process import TextProcess


class RemoteReader:
    """A bundle's voice reading in the worker; see `app.bundle_reader.Reader`."""

    def __init__(self, process: TextProcess, bundle: Path) -> None:
        """Opens it there. Raises `BundleError`, `TextWorkerError`."""
        self._process = process
        self._number = process.open_reader(bundle)

    def front_end(self, language: str) -> RemoteFrontEnd:
        """For one stream of text. Raises `TextWorkerError`."""
        stream = self._process.number()
        self._process.ask(Begin(stream, self._number, language))
        return RemoteFrontEnd(self._process, stream)

    def instruct_ids(self, instruct: str) -> tuple[int, ...]:
        """Ids of an instruct message. Raises `TextWorkerError`."""
        answer = self._process.ask(Instruct(self._number, instruct))
        assert isinstance(answer, Ids)
        return answer.ids

    def release(self, front_end: FrontEnd) -> None:
        """A stream is over."""
        if isinstance(front_end, RemoteFrontEnd):
            self._process.tell(Forget(front_end.stream))

    def close(self) -> None:
        """All streams are over."""
        self._process.close_reader(self._number)


class RemoteFrontEnd:
    """One stream of text in the worker."""

    def __init__(self, process: TextProcess, stream: int) -> None:
        self._process = process
        self._life = process.life
        self.stream: Final = stream

    def feed(self, text: str) -> list[TextPiece]:
        """As `TextFrontEnd.feed`. Raises `TextWorkerError`."""
        return self._pieces(Feed(self.stream, text))

    def early(self) -> list[TextPiece]:
        """As `TextFrontEnd.early`. Raises `TextWorkerError`."""
        return self._pieces(Early(self.stream))

    def finish(self) -> list[TextPiece]:
        """As `TextFrontEnd.finish`. Raises `TextWorkerError`."""
        return self._pieces(Finish(self.stream))

    def _pieces(self, request: Request) -> list[TextPiece]:
        answer = self._process.ask(request, self._life)
        assert isinstance(answer, Pieces)
        return answer.pieces
