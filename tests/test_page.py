"""The page at `/`, in a real browser: it connects, speaks, and can be interrupted."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chromium import BROWSER, browsing
from tests.daemon_rig import ServedFakeEngine, play, serving, settings, turn_until

pytestmark = pytest.mark.skipif(BROWSER is None, reason="needs Chromium")


def test_the_page_speaks_and_is_interrupted(tmp_path: Path) -> None:
    async def scenario() -> None:
        engine = ServedFakeEngine()
        async with (
            serving(settings(), engine) as daemon,
            browsing(f"http://127.0.0.1:{daemon.server.port}/", tmp_path) as page,
        ):
            await page.until("document.body?.dataset.state === 'ready'")
            assert await page.run("[...document.querySelectorAll('#voice option')].map(o => o.value)") == ["ada", "bob"]

            await page.run("document.getElementById('text').value = 'abc.'; document.getElementById('speak').click()")
            await page.until("document.body.dataset.outcome === 'end'")
            await page.until("document.body.dataset.state === 'ready'")
            assert await page.run("document.getElementById('received').textContent") == "0.24 s"
            assert await page.run("document.getElementById('underruns').textContent") == "0"
            assert "ms" in await page.run("document.getElementById('ttfa').textContent")

            engine.hold = True
            await page.run(
                "document.getElementById('text').value = 'abcdef.'; document.getElementById('speak').click()"
            )
            await turn_until(lambda: len(engine.started) == 2 and engine.started[1].text_ended)
            engine.started[1].sound(2)
            await page.until("current && current.received > 0.1")
            await page.screenshot(tmp_path / "speaking.png")
            await page.run("document.getElementById('stop').click()")
            await turn_until(lambda: engine.started[1].cancelled)
            assert await page.run("document.body.dataset.outcome") == "cancelled"
            assert await page.run("current === null")
            await turn_until(lambda: daemon.services.gate.contexts == 0)
            assert (tmp_path / "speaking.png").stat().st_size > 5000

    play(scenario(), 90)


def test_the_page_begins_with_the_voice_and_the_language_that_are_configured(tmp_path: Path) -> None:
    async def scenario() -> None:
        engine = ServedFakeEngine()
        async with (
            serving(settings(voice={"speaker": "bob", "language": "english"}), engine) as daemon,
            browsing(f"http://127.0.0.1:{daemon.server.port}/", tmp_path) as page,
        ):
            await page.until("document.body?.dataset.state === 'ready'")
            await page.run("document.getElementById('text').value = 'abc.'; document.getElementById('speak').click()")
            await page.until("document.body.dataset.outcome === 'end'")
            assert [(one.request.voice, one.request.language) for one in engine.started] == [("bob", "english")]

    play(scenario(), 90)


def test_a_page_that_was_opened_by_a_name_says_how_it_may_connect(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with (
            serving(settings(), ServedFakeEngine()) as daemon,
            browsing(f"http://speakd.localhost:{daemon.server.port}/", tmp_path) as page,
        ):
            await page.until("document.body?.dataset.state === 'closed (1006)'")
            said = await page.run("document.getElementById('message').textContent")
            assert f'security.origins name "http://speakd.localhost:{daemon.server.port}"' in said

    play(scenario(), 60.0)


def test_the_page_writes_word_by_word(tmp_path: Path) -> None:
    async def scenario() -> None:
        engine = ServedFakeEngine()
        async with (
            serving(settings(), engine) as daemon,
            browsing(f"http://127.0.0.1:{daemon.server.port}/", tmp_path) as page,
        ):
            await page.until("document.body?.dataset.state === 'ready'")
            await page.run(
                "document.getElementById('live').checked = true;"
                "document.getElementById('text').value = 'ab. cd e.'; document.getElementById('speak').click()"
            )
            await page.until("document.body.dataset.outcome === 'end'")
            assert [len(utterance.ids) for utterance in engine.started] == [2, 3]

    play(scenario(), 90)


def test_a_long_text_without_spaces_is_spoken(tmp_path: Path) -> None:
    async def scenario() -> None:
        engine = ServedFakeEngine(hold=True)
        async with (
            serving(settings(), engine) as daemon,
            browsing(f"http://127.0.0.1:{daemon.server.port}/", tmp_path) as page,
        ):
            await page.until("document.body?.dataset.state === 'ready'")
            await page.run("document.getElementById('text').value = '\u597d'.repeat(30000)")
            await page.run("document.getElementById('speak').click()")
            await turn_until(lambda: engine.started and engine.started[0].text_ended)
            assert len(engine.started[0].ids) == 30_000

    play(scenario(), 90)
