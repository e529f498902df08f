"""Long pieces of work on threads that a stubborn device cannot make the process wait for.

Purpose: `in_thread`, for opening and closing engines. Its threads die with the process; a pool's would be waited for.
Knows: threads, the event loop. Does not know: the work.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")


async def in_thread(name: str, work: Callable[[], Result]) -> Result:
    """Run work on a thread of its own and wait for it. If the waiting is cancelled, the work goes on unheard."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Result] = loop.create_future()

    def settle(result: Result | None, error: BaseException | None) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)  # type: ignore[arg-type]

    def run() -> None:
        result, problem = None, None
        try:
            result = work()
        except BaseException as error:
            problem = error
        with contextlib.suppress(RuntimeError):  # the loop is gone: nobody is left to hear it
            loop.call_soon_threadsafe(settle, result, problem)

    threading.Thread(target=run, name=name, daemon=True).start()
    return await future
