"""The pools' work done where it is asked for: what the event loop would suffer without them.

Purpose: `InlineExecutor`, a `BoundedExecutor` that never hands anything over; for the ablation `server.offload =
false`. Knows: the pool's interface. Does not know: the work.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future

from app.executor import Arguments, BoundedExecutor, Result


class InlineExecutor(BoundedExecutor):
    """Runs everything at once on the caller's thread."""

    def submit(
        self, work: Callable[Arguments, Result], /, *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Future[Result]:
        """Run it, and give a future that is done."""
        future: Future[Result] = Future()
        try:
            future.set_result(work(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future

    async def run(
        self, work: Callable[Arguments, Result], /, *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Result:
        """Run it."""
        return work(*args, **kwargs)

    async def run_within(self, deadline_s: float, work: Callable[[], Result]) -> Result:
        """Run it; inline work cannot be late."""
        return work()
