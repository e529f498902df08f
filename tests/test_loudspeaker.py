"""One at a time on one loudspeaker, first come first served; `now` interrupts and goes first."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from app.loudspeaker import Loudspeaker
from app.sink import SinkError
from tests.daemon_rig import play

REPOSITORY = Path(__file__).parent.parent
SPEAKER = """
import asyncio, sys
from pathlib import Path
from app.loudspeaker import Loudspeaker
async def main():
    print("waiting", flush=True)
    async with Loudspeaker(None, now=sys.argv[2] == "now", directory=Path(sys.argv[1])):
        print("playing", flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
asyncio.run(main())
"""


@contextlib.asynccontextmanager
async def speaker(directory: Path, how: str = "wait") -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", SPEAKER, str(directory), how, cwd=REPOSITORY,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert await said(process) == "waiting"
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def said(process: asyncio.subprocess.Process) -> str:
    assert process.stdout is not None
    return (await process.stdout.readline()).decode().strip()


def end(process: asyncio.subprocess.Process) -> None:
    assert process.stdin is not None
    process.stdin.write(b"\n")


def test_others_wait_and_a_dead_one_leaves_its_place(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with speaker(tmp_path) as first, speaker(tmp_path) as second, speaker(tmp_path) as third:
            order = [asyncio.ensure_future(said(one)) for one in (first, second, third)]
            [begun] = await _next(order)
            assert sum(one.done() for one in order) == 1
            end((first, second, third)[begun])
            [begun] = [one for one in await _next(order, but={begun}) if one != begun]
            (first, second, third)[begun].send_signal(signal.SIGKILL)
            await asyncio.wait(order)
            assert [one.result() for one in order] == ["playing"] * 3

    play(scenario())


def test_now_interrupts_and_goes_first(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with speaker(tmp_path) as first:
            assert await said(first) == "playing"
            async with speaker(tmp_path) as waiting:
                patient = asyncio.ensure_future(said(waiting))
                async with speaker(tmp_path, "now") as urgent:
                    assert await said(urgent) == "playing"
                    assert await first.wait() == -signal.SIGTERM
                    assert not patient.done()
                    end(urgent)
                assert await patient == "playing"

    play(scenario())


def test_who_interrupted_can_be_interrupted(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with speaker(tmp_path) as first:
            assert await said(first) == "playing"
            async with speaker(tmp_path, "now") as second:
                assert await said(second) == "playing"
                async with speaker(tmp_path, "now") as third:
                    assert await said(third) == "playing"
                    assert await second.wait() == -signal.SIGTERM

    play(scenario())


def test_those_who_cannot_block_ask_once_and_leave_a_free_place_to_somebody_urgent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = list[tuple[int, ...]]()
    monkeypatch.setattr(os, "kill", lambda *call: asked.append(call))
    other, patient, urgent = (Loudspeaker(None, now=now, directory=tmp_path) for now in (False, False, True))
    assert other.try_take()
    assert not urgent.try_take()
    assert not urgent.try_take()
    assert asked == [(os.getpid(), signal.SIGTERM)]
    other.leave()
    assert not patient.try_take()
    assert urgent.try_take()
    urgent.leave()
    assert patient.try_take()
    patient.leave()


def test_a_place_names_its_owner_alone_and_is_of_no_use_to_other_users(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Loudspeaker(None, now=False, directory=tmp_path):
            [file] = tmp_path.glob("*-place.lock")
            file.write_text(str(10 * os.getpid()))  # as a longer number would stand there
        async with Loudspeaker(None, now=False, directory=tmp_path):
            assert file.read_text() == str(os.getpid())
            assert file.stat().st_mode & 0o777 == 0o600

    play(scenario())


def test_devices_have_lines_of_their_own(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with (
            Loudspeaker("hw:1/..", now=False, directory=tmp_path),
            Loudspeaker("other", now=False, directory=tmp_path),
            Loudspeaker(None, now=True, directory=tmp_path),
        ):
            assert {path.parent for path in tmp_path.rglob("*")} == {tmp_path}
        async with Loudspeaker("other", now=False, directory=tmp_path):
            pass

    play(scenario())


def test_those_who_cannot_block(tmp_path: Path) -> None:
    async def scenario() -> None:
        patient = Loudspeaker(None, now=False, directory=tmp_path)
        assert patient.try_take()
        patient.leave()
        async with speaker(tmp_path) as other:
            assert await said(other) == "playing"
            assert not patient.try_take()
            assert not patient.try_take()
            urgent = Loudspeaker(None, now=True, directory=tmp_path)
            while not urgent.try_take():
                await asyncio.sleep(0)
            assert await other.wait() == -signal.SIGTERM
            assert not patient.try_take()
            urgent.leave()
            urgent.leave()
            assert patient.try_take()
            async with speaker(tmp_path) as last:
                order = asyncio.ensure_future(said(last))
                patient.leave()
                assert await order == "playing"

    play(scenario())


def test_a_runtime_directory_that_is_of_no_use_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        async with Loudspeaker(None, now=False):
            assert list(tmp_path.glob("speakd-*-place.lock"))
        with pytest.raises(SinkError, match=r"cannot take a place.*/gone/speakd-.*No such file"):
            async with Loudspeaker(None, now=False, directory=tmp_path / "gone"):
                pass

    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "gone"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    play(scenario())


async def _next(order: Sequence[asyncio.Future[str]], but: set[int] | None = None) -> list[int]:
    """Wait until one more than those in `but` plays; who plays or has played."""
    known = but or set()
    while len([one for one in order if one.done()]) <= len(known):
        await asyncio.wait([one for one in order if not one.done()], return_when=asyncio.FIRST_COMPLETED)
    return [place for place, one in enumerate(order) if one.done()]
