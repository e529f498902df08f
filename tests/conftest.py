"""Models every test may use: small, random, real; made once per run."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

from export.exporter import export_checkpoint
from tests.cli_rig import Speak
from tests.engine_rig import Stage
from tests.fake_driver import Driver, install
from tests.host_races import no_races
from tests.parity_engine import ParityBundles
from tests.playback_place import Place, make_place
from tests.service_manager import Manager
from tests.tensorrt_rig import Plans, Said, Voice, speak_alone, write_voice
from tests.tiny_checkpoint import write_checkpoint
from tests.tiny_spec import TINY

# A busy machine is slow, not wrong. Every run draws the same examples, so that a change is judged by what it changes;
# `scripts/test --hypothesis-profile=search` looks for new ones.
hypothesis.settings.register_profile("search", deadline=None, max_examples=2000)
hypothesis.settings.register_profile("speakd", deadline=None, derandomize=True)
hypothesis.settings.load_profile("speakd")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell's background job, and so its children, would be deaf
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def default_checkpoint() -> Path:
    """The voice that comes with the product."""
    return Path(__file__).parent.parent / "engines" / "voices" / "default" / "checkpoint"


@pytest.fixture(scope="session")
def default_bundle(default_checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its fp32 bundle, as the exporter makes it now. Do not change it: copy it."""
    bundle = tmp_path_factory.mktemp("default") / "bundle"
    export_checkpoint(default_checkpoint, bundle)
    return bundle


@pytest.fixture(scope="session")
def tiny_checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An official-layout CustomVoice checkpoint of a few hundred kilobytes. Do not change it: copy it."""
    return write_checkpoint(TINY, tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="session")
def tiny_bundle(tiny_checkpoint: Path) -> Path:
    """The fp32 bundle of `tiny_checkpoint`. Do not change it: copy it."""
    bundle = tiny_checkpoint.with_name("tiny-bundle")
    export_checkpoint(tiny_checkpoint, bundle)
    return bundle


@pytest.fixture(scope="session")
def parity_bundles(tmp_path_factory: pytest.TempPathFactory) -> ParityBundles:
    """The models that the official package spoke with. Do not change them: copy them."""
    return ParityBundles(tmp_path_factory.mktemp("parity"))


@pytest.fixture(scope="session")
def voice(tmp_path_factory: pytest.TempPathFactory) -> Voice:
    """A tiny voice for TensorRT's side, where a module has none of its own."""
    return write_voice(tmp_path_factory.mktemp("voice"))


@pytest.fixture(scope="session")
def plans(voice: Voice, tmp_path_factory: pytest.TempPathFactory) -> Plans:
    """Its plans."""
    return Plans(voice, tmp_path_factory)


@pytest.fixture(scope="session")
def alone(voice: Voice) -> dict[int, Said]:
    """What each of the rig's requests says to it on ONNX Runtime, one after the other."""
    return speak_alone(voice)


@pytest.fixture
def races() -> Iterator[list[str]]:
    """What stand-ins for a GPU find to be touched in no order, which must be nothing in the end."""
    with no_races() as found:
        yield found


@pytest.fixture
def speak(tiny_bundle: Path, tmp_path: Path) -> Speak:
    """`speak`, with the small model, in an empty folder."""
    return Speak(tiny_bundle, tmp_path)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """Where a person calls `speak`, with devices that keep what they play."""
    return make_place(tmp_path, monkeypatch)


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[Manager]:
    """A service manager that listens."""
    manager = Manager(str(tmp_path / "notify"))
    yield manager
    manager.socket.close()


@pytest.fixture(params=[False, True], ids=["in turn", "ahead"])
def scheduling(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine on a voice by rule, with async scheduling and without."""
    monkeypatch.setattr(Stage, "ahead", request.param)


@pytest.fixture
def stage() -> Iterator[Stage]:
    """The same, open; it follows `scheduling` where a test uses that too."""
    made = Stage()
    with made.engine:
        yield made


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Driver:
    """cuda-python's driver, played."""
    made = Driver()
    install(made, monkeypatch)
    return made
