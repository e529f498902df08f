"""Set-up, in a checkout of the test's own; Python only notes what it is asked: what is done, and when again."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parent.parent
PYTHON = """#!/bin/bash
version=$(basename "$(readlink -f "$0")")
packages=${{0%/bin/*}}/lib/$version/site-packages
note() {{ echo "$*" >>'{home}/calls'; }}
case "$*" in
  "-m venv "*) note venv "$version" && rm -rf "$4" && mkdir -p "$4/bin" "$4/lib/$version/site-packages" &&
    ln -s "$(readlink -f "$0")" "$4/bin/python" ;;
  "-m pip --version") [[ -d $packages ]] ;;
  "-m pip install "*) note install "${{*: -1}}" && {{ [[ ! -e '{home}/at_pip' ]] || . '{home}/at_pip'; }} ;;
  "-m export "*) note export && mkdir -p "$4" && touch "$4/manifest.json" ;;
  *"import pyaudio"*) [[ ! -e '{home}/no-pyaudio' ]] ;;
esac
"""


class Checkout:
    """A checkout that nobody has set up yet."""

    def __init__(self, home: Path) -> None:
        self.home, self.root, self.venv = home, home / "a checkout", home / "a checkout/.venv"
        self.env = {
            "PATH": f"{home}/bin:{os.environ['PATH']}",
            "SPEAKD_NO_APT": "1",
            "SPEAKD_SYSROOT": str(home / "sys"),
        }
        for name in ("setup", "apt.sh", "setup_gpu.sh"):
            self.file(f"a checkout/scripts/{name}", (REPOSITORY / "scripts" / name).read_text())
        for name in ("engines/voices/default/checkpoint/model", "export/B.py", "export/_a.py", "engines/manifest.py"):
            self.file(f"a checkout/{name}")
        self.file("a checkout/pyproject.toml")
        self.python("python3.11")
        self.env["PYTHON"] = f"{home}/bin/python3.11"

    def file(self, name: str, text: str = "") -> Path:
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
        return path

    def python(self, version: str) -> Path:
        return self.file(f"bin/{version}", PYTHON.format(home=self.home))

    def set_up(self, code: int = 0, umask: int = -1) -> tuple[list[str], str]:
        """What Python was asked to do, and what the user was told."""
        calls = self.file("calls")
        done = subprocess.run(
            [self.root / "scripts/setup"],
            capture_output=True, text=True, check=False, timeout=60, env=os.environ | self.env, umask=umask,
        )  # fmt: skip
        assert done.returncode == code, done.stderr
        return calls.read_text().splitlines(), done.stderr


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def test_what_is_done_is_not_done_again(checkout: Checkout) -> None:
    calls, said = checkout.set_up()
    assert calls == ["venv python3.11", f"install {checkout.root}", "export"]
    assert said.endswith("ready\n")
    assert checkout.set_up() == ([], "")


def test_the_voice_is_ready_for_users_of_any_locale(checkout: Checkout) -> None:
    checkout.set_up()
    checkout.file("bin/sort", '#!/bin/sh\n[ "$LC_ALL" = C ] && exec /usr/bin/sort\nexec /usr/bin/sort -r\n')
    assert checkout.set_up() == ([], "")


def test_another_python_under_the_same_name_gets_its_packages(checkout: Checkout) -> None:
    checkout.set_up()
    (checkout.venv / "bin/python").unlink()
    (checkout.venv / "bin/python").symlink_to(checkout.python("python3.13"))
    checkout.env["PYTHON"] = f"{checkout.home}/bin/python3.13"
    assert checkout.set_up()[0] == ["venv python3.13", f"install {checkout.root}", "export"]
    assert checkout.set_up() == ([], "")


def test_who_may_not_write_speaks_with_what_is_there(checkout: Checkout) -> None:
    checkout.file("a checkout/.cache")  # in the way, for root too
    assert "cannot be written to; try: sudo" in checkout.set_up(code=1)[1]
    (checkout.root / ".cache").unlink()
    checkout.set_up()
    (checkout.root / ".cache/setup.log").unlink()
    (checkout.root / ".cache/setup.lock").unlink()
    (checkout.root / ".cache").rmdir()
    checkout.file("a checkout/.cache")
    assert checkout.set_up() == ([], "")
    checkout.file("sys/dev/nvidia0")  # a GPU that root's set-up has not seen
    calls, said = checkout.set_up()
    assert calls == []
    assert "more could be set up here" in said


def test_others_may_use_what_root_set_up(checkout: Checkout) -> None:
    checkout.file("bin/id", "#!/bin/sh\necho 0\n")
    checkout.set_up(umask=0o077)
    kept = [path for path in checkout.venv.rglob("*") if not path.is_symlink() and not path.stat().st_mode & 0o004]
    assert not kept


@pytest.mark.skipif(not Path("/usr/include/portaudio.h").exists(), reason="needs PortAudio's headers")
def test_playback_is_tried_again_after_an_interruption(checkout: Checkout) -> None:
    broken = checkout.file("no-pyaudio")
    assert "no live playback" in checkout.set_up()[1]
    kill = checkout.file("at_pip", "kill -TERM $PPID\n")
    assert checkout.set_up(code=-15)[0] == ["install pyaudio>=0.2.14"]
    kill.unlink()
    checkout.file("at_pip", f"rm '{broken}'\n")
    assert checkout.set_up()[0] == ["install pyaudio>=0.2.14"]
    assert checkout.set_up() == ([], "")
