"""Work that is put on a stream again and again: recorded once, and launched as one from then on.

Purpose: make it so where the device can, and go on piece by piece where it cannot, said aloud. Knows: recordings.
Does not know: what the work is.

TensorRT refuses some engines while it is recorded ("this TRT engine is not stream capturable"): those with loops, and
whatever else must ask the host in between. They run all the same, only slower.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial

from engines.cuda_api import CudaApi, Stream

_log = logging.getLogger(__name__)


class Recorder:
    """Records what is put on one stream."""

    def __init__(self, cuda: CudaApi, stream: Stream, what: str, *, recorded: bool) -> None:
        """`what`: whose work it is, for people; `recorded`: whether to record at all."""
        self._cuda, self._stream, self._what, self._recorded = cuda, stream, what, recorded

    def recorded(self, put: Callable[[], None]) -> Callable[[], None]:
        """`put` as one launch; `put` itself where nothing is recorded, or since something could not be.

        Raises what `put` raises where it cannot even be put piece by piece.
        """
        if not self._recorded:
            return put
        try:
            self._cuda.begin_recording(self._stream)
            put()
            sequence = self._cuda.end_recording(self._stream)
        except Exception as error:
            self._cuda.abandon_recording(self._stream)
            self._recorded = False
            put()
            _log.warning(
                "%s cannot be recorded as one sequence (%s); it goes on piece by piece, slower", self._what, error
            )
            return put
        return partial(self._cuda.launch, sequence, self._stream)
