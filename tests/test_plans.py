"""Plans at the daemon's start: built before or behind it, told to whoever waits, never in the way of serving."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pytest

from app import plan_builder
from app.build_command import build_words
from app.config import Config
from app.plan_builder import MakePlanBuilder, PlanBuilder, make_plan_builder
from app.plans import PATIENCE_S
from app.systemd_notify import SystemdNotify
from engines import backends
from engines.backends import BackendName
from engines.errors import GpuError
from engines.plan_files import plans
from tests.daemon_rig import Client, ServedFakeEngine, fakes, get, play, serving, settings, turn_until
from tests.service_manager import Manager, environment

LINE = "building the TensorRT plan of x: engine talker, 40%, about 3 min left"


@dataclass
class FakePlanBuilder:
    """Builds when the test says so."""

    works: bool = True
    lacking: bool = True
    built: list[str] = field(default_factory=list)
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    done: asyncio.Event = field(default_factory=asyncio.Event)
    tell: Callable[[str], None] = lambda line: None

    def make(self, config: Config, tell: Callable[[str], None]) -> FakePlanBuilder:
        self.tell = tell
        return self

    async def lacks(self, bundle: str) -> bool:
        return self.lacking

    async def build(self, bundle: str) -> bool:
        self.tell(LINE)
        self.begun.set()
        await self.done.wait()
        self.built.append(bundle)
        return self.works


@pytest.mark.parametrize("works", [True, False])
def test_a_daemon_that_waits_says_what_for(manager: Manager, works: bool) -> None:
    async def scenario() -> None:
        builder = FakePlanBuilder(works)
        engine, notify = ServedFakeEngine(), SystemdNotify(environment(manager))
        opening = asyncio.ensure_future(open_and_look(builder.make, engine, notify))
        await builder.begun.wait()
        heard = manager.listen()
        assert f"EXTEND_TIMEOUT_USEC={PATIENCE_S * 1e6:.0f}" in heard
        assert f"STATUS={LINE}" in heard
        assert "READY=1" not in heard
        builder.done.set()
        assert await opening == [builder.built[0]]
        words = manager.listen()
        assert words.index("READY=1") > words.index(f"STATUS={LINE}")

    async def open_and_look(make: MakePlanBuilder, engine: ServedFakeEngine, notify: SystemdNotify) -> list[str]:
        async with serving(settings(), engine, notify=notify, make_builder=make) as daemon:
            return [model.path for model in daemon.services.voices.models] if daemon.services.voices else []

    play(scenario())


def test_not_ready_names_the_build() -> None:
    async def scenario() -> None:
        builder = FakePlanBuilder()

        async def look(daemon: Any) -> None:
            await builder.begun.wait()
            status, _, body = await get(daemon, "/ready")
            assert status == 503
            assert LINE in body
            assert (await get(daemon, "/health"))[0] == 200
            builder.done.set()

        async with serving(settings(), ServedFakeEngine(), make_builder=builder.make, meanwhile=look) as daemon:
            assert (await get(daemon, "/ready"))[0] == 200

    play(scenario())


def test_behind_the_serving_and_then_over_to_the_plan(manager: Manager) -> None:
    async def scenario() -> None:
        builder, old, new = FakePlanBuilder(), ServedFakeEngine(), ServedFakeEngine()
        config = settings(server={"build_plans": "background"})
        opener, notify = fakes(old, new), SystemdNotify(environment(manager))
        async with serving(config, opener=opener, notify=notify, make_builder=builder.make) as daemon:
            assert "READY=1" in manager.listen()
            await builder.begun.wait()
            assert LINE in daemon.pulse.summary()
            voices = daemon.services.voices
            assert voices is not None
            async with Client(daemon) as client:
                await client.say("context.start", "a")
                await client.until("context.started")
                builder.done.set()
                await turn_until(lambda: daemon.services.voices is not voices)
                assert not old.closed, "somebody still speaks with it"
                await client.speak("b", "Hi.")
                await turn_until(lambda: len(new.started) == 1)
                await client.say("cancel", "a")
            await turn_until(lambda: old.closed)
            assert LINE not in daemon.pulse.summary()

    play(scenario())


def test_a_plan_that_cannot_be_opened_changes_nothing() -> None:
    async def scenario() -> None:
        builder, engine = FakePlanBuilder(), ServedFakeEngine()
        opener = fakes(engine)

        async def once(bundle: str, config: Config, text: Any) -> Any:
            try:
                return await opener(bundle, config, text)
            except (StopIteration, RuntimeError):
                raise GpuError("the device is gone") from None

        config = settings(server={"build_plans": "background"})
        async with serving(config, opener=once, make_builder=builder.make) as daemon:
            before = daemon.services.voices
            builder.done.set()
            await turn_until(lambda: builder.built and not daemon.pulse.building)
            assert daemon.services.voices is before
            assert not engine.closed

    play(scenario())


def test_nothing_is_built_where_a_plan_serves() -> None:
    async def scenario() -> None:
        builder = FakePlanBuilder(lacking=False)
        async with serving(settings(), ServedFakeEngine(), make_builder=builder.make):
            assert not builder.begun.is_set()

    play(scenario())


@pytest.mark.parametrize(
    ("sections", "installed", "gpu", "made"),
    [
        ({}, True, True, True),
        ({}, False, True, False),
        ({}, True, False, False),
        ({"server": {"build_plans": "off"}}, True, True, False),
        ({"engine": {"backend": "cpu"}}, True, True, False),
        ({"engine": {"backend": "tensorrt"}}, True, True, True),
    ],
)
def test_who_has_a_builder(
    monkeypatch: pytest.MonkeyPatch, sections: dict[str, dict[str, Any]], installed: bool, gpu: bool, made: bool
) -> None:
    def check() -> None:
        if not gpu:
            raise GpuError("no GPU")

    monkeypatch.setattr(plan_builder, "find_spec", lambda name: object() if installed else None)
    monkeypatch.setattr(plan_builder, "check_gpu", check)
    assert (make_plan_builder(settings(**sections), lambda line: None) is not None) == made


def test_whether_a_plan_is_lacking_is_asked_of_tensorrt_alone(
    tiny_bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A look at ONNX Runtime on CUDA would take memory of the device for as long as the daemon lives."""
    asked: list[str] = []
    monkeypatch.setattr(backends, "check_gpu", lambda: None)
    monkeypatch.setattr(backends, "cuda_fault", lambda: asked.append("cuda"))
    monkeypatch.setitem(sys.modules, "tensorrt", None)
    builder = PlanBuilder(settings(), lambda line: None, build_words)
    assert asyncio.run(builder.lacks(str(tiny_bundle)))
    monkeypatch.setitem(backends._BEST_FIRST, BackendName.TENSORRT, lambda bundle, config: None)
    assert not asyncio.run(builder.lacks(str(tiny_bundle)))
    assert not asked


# -- the builder's process -------------------------------------------------------------------------------------------

SCRIPTS = [
    ('print(\'noise\'); print(\'{"stage":"weights","fraction":0.5,"told":"soon"}\'); print(\'{"plan":"/p"}\')', True),
    ('print(\'{"error":"no room"}\'); exit(1)', False),
    ("import os; os.kill(os.getpid(), 9)", False),
    ("exit(3)", False),
]


@pytest.mark.parametrize(("script", "good"), SCRIPTS)
def test_what_the_builder_writes_is_understood(script: str, good: bool) -> None:
    async def scenario() -> None:
        told: list[str] = []
        builder = PlanBuilder(settings(), told.append, lambda config, bundle: [sys.executable, "-c", script])
        assert await builder.build("/voices/x") == good
        assert told == (["building the TensorRT plan of x: weights, 50%, soon"] if good else [])

    play(scenario())


def test_a_builder_that_cannot_be_started_keeps_nobody_from_speaking() -> None:
    async def scenario() -> None:
        builder = PlanBuilder(settings(), lambda line: None, lambda config, bundle: ["/nowhere/python"])
        assert not await builder.build("/voices/x")

    play(scenario())


@pytest.mark.parametrize(("number", "remembered"), [(9, True), (11, True), (1, False), (15, False)])
def test_a_builder_that_is_killed_is_remembered_by_who_saw_it_die(
    tmp_path: Path, number: int, remembered: bool
) -> None:
    """By the kernel, where memory runs out: otherwise every start of the daemon would wait for it anew."""
    failure = tmp_path / "failed.x"
    dies = f"""
import json, os
print(json.dumps({{"failure": {str(failure)!r}}}), '{{"stage":"engine talker","fraction":0.5,"told":""}}', sep="\\n")
os.sys.stdout.flush()
os.kill(os.getpid(), {number})
"""

    async def scenario() -> None:
        builder = PlanBuilder(settings(), lambda line: None, lambda config, bundle: [sys.executable, "-c", dies])
        assert not await builder.build("/voices/x")

    play(scenario())
    assert failure.exists() == remembered
    assert not remembered or f"ended by signal {number}, most likely since memory ran out" in failure.read_text()


def test_a_builder_ends_with_its_daemon(tmp_path: Path) -> None:
    stubborn = (
        "import os, signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        'print(\'{"stage":"%d","fraction":0,"told":""}\' % os.getpid(), flush=True); time.sleep(600)'
    )

    async def scenario() -> None:
        told: list[str] = []
        builder = PlanBuilder(settings(), told.append, lambda config, bundle: [sys.executable, "-c", stubborn])
        building = asyncio.ensure_future(builder.build("/voices/x"))
        await turn_until(lambda: told)
        building.cancel()
        await asyncio.wait([building])
        assert building.cancelled()
        with pytest.raises(ProcessLookupError):
            os.kill(int(told[0].split(": ")[1].split(",")[0]), 0)

    play(scenario())


def test_the_real_command_with_a_fake_tensorrt(tiny_bundle: Path, tmp_path: Path) -> None:
    config = settings(
        engine={"plans": str(tmp_path), "positions": 128, "prefill_rows": 8, "precision": "fp16"}, server={"slots": 3}
    )

    def words(config: Config, bundle: str) -> list[str]:
        real = build_words(config, bundle)
        return [real[0], "-m", "tests.fake_build", *real[3:], "--no-measure"]

    async def scenario() -> None:
        told: list[str] = []
        builder = PlanBuilder(config, told.append, words)
        assert await builder.build(str(tiny_bundle))
        [plan] = plans(tmp_path)
        assert (plan.about.sizes.slots, plan.about.sizes.positions, plan.about.key.precision) == (4, 128, "fp16")
        assert any("verification" in line for line in told)
        assert all("a guess: nothing was built on this device before" in line for line in told)

    play(scenario())


def test_the_command_asks_for_what_the_engine_will_want() -> None:
    config = settings(engine={"precision": "int8", "positions": 512, "plans": "/p"}, server={"slots": 2})
    words = build_words(config, "/voices/x")
    assert words[1:5] == ["-m", "export", "build", "/voices/x"]
    pairs = dict(zip(words[5::2], words[6::2], strict=True))
    sizes = msgspec.structs.asdict(config.engine)
    assert pairs == {
        "--precision": "int8", "--slots": "2", "--positions": "512", "--prefill-rows": str(sizes["prefill_rows"]),
        "--codec-frames": str(sizes["codec_chunk_frames"]), "--cache": "/p",
    }  # fmt: skip
