"""A headless Chromium, driven over its own debugging socket."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import itertools
import json
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from websockets.asyncio.client import ClientConnection, connect

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Page:
    """One tab."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)

    async def call(self, method: str, **parameters: Any) -> Any:
        number = next(self._numbers)
        await self._socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            message = json.loads(await self._socket.recv())
            if message.get("id") == number:
                assert "error" not in message, message
                return message["result"]

    async def run(self, script: str) -> Any:
        """The value of an expression in the page; waits for a promise."""
        answer = await self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    async def until(self, condition: str) -> None:
        """Ask the page until a condition holds."""
        while not await self.run(f"Boolean({condition})"):
            await asyncio.sleep(0.01)

    async def screenshot(self, file: Path) -> None:
        answer = await self.call("Page.captureScreenshot", format="png")
        await asyncio.to_thread(file.write_bytes, base64.b64decode(answer["data"]))


@contextlib.asynccontextmanager
async def browsing(url: str, profile: Path) -> AsyncIterator[Page]:
    """A tab that shows `url`."""
    assert BROWSER is not None
    process = await asyncio.create_subprocess_exec(
        BROWSER,
        "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--mute-audio", "--no-first-run",
        "--autoplay-policy=no-user-gesture-required", "--remote-debugging-port=0", "--window-size=760,720",
        f"--user-data-dir={profile}", "about:blank",
        stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert process.stderr is not None
    drain: asyncio.Task[bytes] | None = None
    try:
        while True:
            line = (await process.stderr.readline()).decode()
            assert line, "the browser ended before it listened"
            if "DevTools listening on " in line:
                root = line.split(" on ", 1)[1].strip()
                break
        drain = asyncio.ensure_future(process.stderr.read())
        async with connect(root, max_size=None, compression=None) as whole:
            target = (await Page(whole).call("Target.createTarget", url=url))["targetId"]
            tab = root.rsplit("/devtools/", 1)[0] + f"/devtools/page/{target}"
            async with connect(tab, max_size=None, compression=None) as socket:
                page = Page(socket)
                while True:  # the tab is blank at first, and what is asked of a page that goes away fails
                    with contextlib.suppress(AssertionError):
                        if await page.run("location.href !== 'about:blank' && document.readyState === 'complete'"):
                            break
                yield page
    finally:
        process.kill()
        await process.wait()
        if drain is not None:
            await drain
