"""How long a recorded frame takes on the device itself, for `scripts/gpu_check`.

Purpose: launch one frame again and again with nothing in between and time it with CUDA's own events; whatever an
engine's frames take beyond that, the host or the engine adds. Knows: `engines.cuda_api`. Does not know: what is in a
frame.
"""

from __future__ import annotations

from engines.cuda_api import CudaApi, Event, Sequence, Stream


class HeardCuda(CudaApi):
    """CUDA, and the recorded sequence that was launched last."""

    last: tuple[Sequence, Stream] | None = None

    def launch(self, sequence: Sequence, stream: Stream) -> None:
        """Do what was recorded."""
        self.last = sequence, stream
        super().launch(sequence, stream)

    def last_ms(self, runs: int) -> float | None:
        """Time on the device of the sequence launched last, of so many back to back; None where none was recorded.

        It reads what it read before and writes where it wrote. Raises `DeviceLostError`.
        """
        if self.last is None:
            return None
        sequence, stream = self.last
        began, ended = (self._timed_event() for _ in range(2))
        super().launch(sequence, stream)
        self.record(began, stream)
        for _ in range(runs):
            super().launch(sequence, stream)
        self.record(ended, stream)
        self.synchronize(ended)
        return float(self._call("cuEventElapsedTime", began, ended)) / runs

    def l2_bytes(self) -> int:
        """Size of the device's second level cache."""
        return self.attribute("L2_CACHE_SIZE")

    def _timed_event(self) -> Event:
        return Event(self._made("cuEventDestroy", "cuEventCreate", 0))
