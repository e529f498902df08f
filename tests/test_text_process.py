"""The process that reads text: it is replaced when it dies or hangs, in clear words, and leaves nothing behind."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from app.bundle_reader import BundleReader
from app.executor import BoundedExecutor, ExecutorFullError
from app.remote_reader import RemoteReader
from app.text_messages import Begin
from app.text_process import TextProcess, TextWorkerError
from engines.errors import BundleError
from engines.voice_files import front_end_info
from tests.test_remote_reader import STORY, read


@pytest.fixture
def pool() -> Iterator[BoundedExecutor]:
    executor = BoundedExecutor("text", workers=1, max_waiting=8)
    yield executor
    executor.shutdown(cancel_futures=True)


@pytest.fixture
def process(pool: BoundedExecutor) -> Iterator[TextProcess]:
    running = TextProcess(pool, patience_s=30.0)
    yield running
    running.end()


def kill(process: TextProcess, number: signal.Signals = signal.SIGKILL) -> None:
    assert process.pid is not None
    pid = process.pid
    os.kill(pid, number)
    if number is signal.SIGKILL:  # all of its threads, before anybody asks whether it lives
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)


def is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split(") ")[1][0] == "Z"
    except FileNotFoundError:
        return True


def test_a_bundle_that_cannot_be_read_is_named(process: TextProcess, tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="manifest"):
        process.open_reader(tmp_path)
    assert process.deaths == 0


def test_a_worker_that_is_killed_is_replaced(process: TextProcess, tiny_bundle: Path) -> None:
    reader = RemoteReader(process, tiny_bundle)
    lost = reader.front_end("english")
    lost.feed(STORY)
    kill(process)
    with pytest.raises(TextWorkerError, match="start the context again"):
        lost.feed("More. ")
    expected = read(BundleReader(tiny_bundle).front_end("english"), STORY)
    assert read(reader.front_end("english"), STORY) == expected
    with pytest.raises(TextWorkerError):  # not even by the number it had
        lost.finish()
    assert process.deaths == 1
    assert process.failure is None


def test_a_worker_that_died_unnoticed_is_replaced_before_somebody_needs_it(
    process: TextProcess, pool: BoundedExecutor, tiny_bundle: Path
) -> None:
    process.open_reader(tiny_bundle)
    first = process.pid
    kill(process)
    while process.pid == first or process.pid is None or pool.statistics().active:
        process.look_after()
    assert process.deaths == 1
    process.look_after()
    assert pool.statistics().active == 0, "a worker that lives is left alone"


def test_a_worker_that_hangs_is_ended(pool: BoundedExecutor, tiny_bundle: Path) -> None:
    process = TextProcess(pool, patience_s=30.0)
    reader = RemoteReader(process, tiny_bundle)
    stuck = reader.front_end("english")
    kill(process, signal.SIGSTOP)
    assert process._link is not None
    process._link.settimeout(0.05)
    with pytest.raises(TextWorkerError, match="send other text"):
        stuck.feed(STORY)
    assert read(reader.front_end("english"), STORY)
    process.end()


def test_a_worker_that_does_not_start_says_so(
    process: TextProcess, tiny_bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = RemoteReader(process, tiny_bundle)
    kill(process)
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(TextWorkerError):
        reader.front_end("english")
    assert process.failure is not None
    monkeypatch.undo()
    assert reader.front_end("english").feed(STORY)
    assert process.failure is None


def test_a_machine_that_has_no_room_for_a_worker_is_told_as_that(
    process: TextProcess, tiny_bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = RemoteReader(process, tiny_bundle)
    kill(process)

    def full(*_: object, **__: object) -> None:
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

    with monkeypatch.context() as now:
        now.setattr("app.text_process.subprocess.Popen", full)
        with pytest.raises(TextWorkerError, match=r"cannot be started: .*Resource temporarily unavailable"):
            reader.front_end("auto")
        assert process.failure is not None
    assert read(reader.front_end("auto"), STORY)
    assert process.failure is None


def test_a_voice_that_cannot_be_opened_again_costs_only_itself(
    process: TextProcess, tiny_bundle: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.symlink_to(tiny_bundle)
    process.open_reader(tiny_bundle)
    process._bundles[99] = str(tmp_path / "gone"), ""
    kill(process)
    reader = RemoteReader(process, other)
    assert reader.front_end("english").feed(STORY)
    with pytest.raises(BundleError, match="could not be opened again"):
        process.ask(Begin(100, 99, "english"))


def test_a_voice_whose_files_were_replaced_is_not_read_by_the_new_ones(
    process: TextProcess, tiny_bundle: Path, tmp_path: Path
) -> None:
    """The engine speaks with the old ones still: other ids would be other words."""
    voice = tmp_path / "voice"
    shutil.copytree(tiny_bundle, voice)
    reader, untouched = RemoteReader(process, voice), RemoteReader(process, tiny_bundle)
    tokenizer = front_end_info(voice).tokenizer
    tokenizer.write_bytes(tokenizer.read_bytes() + b"\n")
    kill(process)
    assert untouched.front_end("english").feed(STORY)
    with pytest.raises(BundleError, match="restart the daemon"):
        reader.front_end("english")


def test_what_is_released_is_forgotten(process: TextProcess, tiny_bundle: Path) -> None:
    reader = RemoteReader(process, tiny_bundle)
    kept, released = reader.front_end("english"), reader.front_end("english")
    reader.release(released)
    reader.release(released)
    assert kept.feed(STORY)
    with pytest.raises(RuntimeError, match="KeyError"):
        released.feed(STORY)
    reader.close()
    with pytest.raises(BundleError):
        reader.front_end("english")
    kill(process)
    process.open_reader(tiny_bundle)
    with pytest.raises(BundleError):  # nor is it opened again by another worker
        reader.front_end("english")


def test_a_full_queue_refuses_and_keeps_its_order(tiny_bundle: Path) -> None:
    pool = BoundedExecutor("text", workers=1, max_waiting=3)
    process = TextProcess(pool, patience_s=30.0)
    front_end = pool.submit(RemoteReader, process, tiny_bundle).result().front_end("english")
    kill(process, signal.SIGSTOP)
    parts = [STORY[start : start + 30] for start in range(0, 120, 30)]
    asked = [pool.submit(front_end.feed, part) for part in parts]
    with pytest.raises(ExecutorFullError):
        pool.submit(front_end.feed, "one too many")
    assert asked[3].cancel(), "what has not begun can be dropped"
    kill(process, signal.SIGCONT)
    found = [piece for future in asked[:3] for piece in future.result()]
    here = BundleReader(tiny_bundle).front_end("english")
    assert found == [piece for part in parts[:3] for piece in here.feed(part)]
    process.end()
    pool.shutdown()


def test_signals_to_the_whole_group_do_not_end_it(process: TextProcess, tiny_bundle: Path) -> None:
    reader = RemoteReader(process, tiny_bundle)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        kill(process, number)
    assert reader.front_end("english").feed(STORY)
    assert process.deaths == 0


def test_the_end_leaves_no_process_even_one_that_hangs(process: TextProcess, tiny_bundle: Path) -> None:
    process.open_reader(tiny_bundle)
    first = process.pid
    assert first is not None
    kill(process, signal.SIGSTOP)
    process.end()
    process.end()
    assert is_gone(first)
    process.look_after()
    with pytest.raises(TextWorkerError, match="stopping"):
        process.open_reader(tiny_bundle)


def test_the_end_wakes_whoever_waits_for_an_answer(process: TextProcess, tiny_bundle: Path) -> None:
    front_end = RemoteReader(process, tiny_bundle).front_end("english")
    kill(process, signal.SIGSTOP)
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(front_end.feed, STORY)
        process.end()
        with pytest.raises(TextWorkerError, match="stopping"):
            waiting.result()
    assert process.deaths == 0


def test_what_is_released_when_the_pool_has_ended_disturbs_nobody(
    process: TextProcess, pool: BoundedExecutor, tiny_bundle: Path
) -> None:
    reader = RemoteReader(process, tiny_bundle)
    front_end = reader.front_end("english")
    pool.shutdown()
    reader.release(front_end)
    reader.close()


def test_it_ends_with_its_daemon_however_that_ends(tiny_bundle: Path) -> None:
    program = (
        "import sys, time; from pathlib import Path; from app.text_process import *\n"
        "process = TextProcess(BoundedExecutor('text', workers=1, max_waiting=1), 30.0)\n"
        "process.open_reader(Path(sys.argv[1])); print(process.pid, flush=True); time.sleep(600)"
    )
    root = Path(__file__).parent.parent
    daemon = subprocess.Popen([sys.executable, "-c", program, str(tiny_bundle)], cwd=root, stdout=subprocess.PIPE)
    assert daemon.stdout is not None
    with daemon:
        worker = int(daemon.stdout.readline())
        assert not is_gone(worker)
        daemon.kill()
    while not is_gone(worker):  # the run's own limit bounds it
        time.sleep(0.001)
