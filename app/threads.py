"""Long pieces of work on threads that a stubborn device cannot make the process wait for.

Purpose: `in_thread`, for opening and closing engines. Its threads die with the process; a pool's would be waited for.
Knows: threads, the event loop. Does not know: the work.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

Result = TypeVar("Result")


async def in_thread(name: str, work: Callable[[], Result]) -> Result:
    """Run work on a thread of its own and wait for it. If the waiting is cancelled, the work goes on unheard."""
    future: Future[Result] = Future()
    future.set_running_or_notify_cancel()  # from here on it cannot be cancelled

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, name=name, daemon=True).start()
    return await asyncio.wrap_future(future)
