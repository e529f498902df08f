"""The commands run the checkout they lie in, not the one `.venv` was made for, nor what lies where they are called."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from app.config import PlaybackConfig
from app.player_process import PlayerProcess
from tests.daemon_rig import play, turn_until

REPOSITORY = Path(__file__).parent.parent
OURS = "import sys\ndef main():\n    print('ours', *sys.argv[1:])\n"
THEIRS = "raise SystemExit('this is another project')\n"
MOVED = "#!/gone/.venv/bin/python\n"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout that was set up elsewhere and then moved here; its two programs only say that they were called."""
    root = tmp_path / "a checkout"
    for folder in ("scripts", ".venv/bin", "app"):
        (root / folder).mkdir(parents=True)
    for file in (REPOSITORY / "app").glob("*.py"):
        if file.stem not in {"cli", "daemon"}:
            (root / "app" / file.name).symlink_to(file)
    for name in ("cli", "daemon"):
        (root / f"app/{name}.py").write_text(OURS)
    for name in ("speak", "speakd"):
        script, moved = root / "scripts" / name, root / ".venv/bin" / name
        script.write_bytes((REPOSITORY / "scripts" / name).read_bytes())
        moved.write_text(MOVED)
        for file in (script, moved):
            file.chmod(0o755)
    (root / "scripts/setup").write_text("#!/bin/sh\n")
    (root / "scripts/setup").chmod(0o755)
    (root / ".venv/bin/python").symlink_to(sys.executable)
    return root


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A directory that has an `app` too, as many have."""
    project = tmp_path / "project"
    (project / "app").mkdir(parents=True)
    for name in ("__init__", "config", "cli", "daemon", "quick"):
        (project / f"app/{name}.py").write_text(THEIRS)
    return project


@pytest.mark.parametrize(
    ("command", "at"), [("speak", "quick"), ("speak", "cli"), ("speak", "site"), ("speakd", "daemon")]
)
def test_ctrl_c_while_a_command_is_still_being_imported_shows_no_traceback(
    checkout: Path, tmp_path: Path, command: str, at: str
) -> None:
    """`site`: while the whole command's interpreter gets ready; the bare one has none."""
    file = tmp_path / "sitecustomize.py" if at == "site" else checkout / f"app/{at}.py"
    if at == "quick":
        file.unlink()
    file.write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nprint('went on', flush=True)\n" + OURS)
    done = subprocess.run(
        [checkout / "scripts" / command, "--stats", "two words"],
        env={**os.environ, "SPEAKD_SOCKET": "", "PYTHONPATH": str(tmp_path)},
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")
    assert done.stdout == ("went on\n" if at == "site" else "")


@pytest.mark.parametrize("command", ["speak", "speakd"])
def test_a_command_runs_its_own_checkout(checkout: Path, project: Path, command: str) -> None:
    done = subprocess.run(
        [checkout / "scripts" / command, "--stats", "two words"],
        cwd=project, env={**os.environ, "SPEAKD_SOCKET": ""},
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "ours --stats two words\n"), done.stderr


def test_a_users_cdpath_leads_nobody_astray(checkout: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere/scripts").mkdir(parents=True)
    (checkout / "scripts/bench").write_bytes((REPOSITORY / "scripts/bench").read_bytes())
    for command, code, says in (("sh scripts/speak", 0, "ours\n"), ("bash scripts/bench", 2, "")):
        done = subprocess.run(
            command.split(),
            cwd=checkout, env={**os.environ, "SPEAKD_SOCKET": "", "CDPATH": str(tmp_path / "elsewhere")},
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
        assert (done.returncode, done.stdout) == (code, says), done.stderr


def test_the_player_is_ours_wherever_the_daemon_started_and_speaks_to_no_service_manager(
    tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    monkeypatch.setenv("NOTIFY_SOCKET", "/nowhere")
    said = tmp_path / "said"
    facts = "app.config.__file__ + ' ' + os.environ.get('NOTIFY_SOCKET', 'nobody')"
    note = f"import app.config, os, pathlib; pathlib.Path({str(said)!r}).write_text({facts})"

    async def scenario() -> None:
        player = PlayerProcess(PlaybackConfig(), command=(sys.executable, "-c", note))
        player.open()
        await turn_until(lambda: said.exists() and said.read_text())
        await player.close()

    play(scenario())
    assert said.read_text() == f"{REPOSITORY / 'app/config.py'} nobody"
