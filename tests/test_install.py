"""The unit and its installer: what systemd says of the unit, and what the scripts do to a tree."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from app.config import load_config

REPOSITORY = Path(__file__).parent.parent
ANALYZE = shutil.which("systemd-analyze")
needs_systemd = pytest.mark.skipif(ANALYZE is None, reason="needs systemd-analyze")


def run(name: str, *arguments: str, umask: int = -1) -> str:
    done = subprocess.run(
        [str(REPOSITORY / "scripts" / name), *arguments],
        capture_output=True, text=True, check=False, timeout=120, umask=umask,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def tree(root: Path) -> dict[str, tuple[int, bytes]]:
    """Every file under a directory, without the program's own parts."""
    found = {}
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if path.is_file() and not path.is_symlink() and not name.startswith("opt/speakd/"):
            found[name] = (stat.S_IMODE(path.stat().st_mode), path.read_bytes())
    return found


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("image")
    run("install", "--root", str(root))
    return root


def test_an_image_has_everything(image: Path) -> None:
    assert (image / "opt/speakd/app/daemon.py").is_file()
    assert (image / "opt/speakd/scripts/setup").stat().st_mode & 0o111
    assert not (image / "opt/speakd/.venv").exists()
    assert (image / "usr/local/bin/speak").readlink() == Path("/opt/speakd/scripts/speak")
    assert "u speakd" in (image / "usr/lib/sysusers.d/speakd.conf").read_text()
    unit = (image / "etc/systemd/system/speakd.service").read_text()
    assert "@" not in re.sub(r"@(system-service|privileged|resources|nvidia_uvm)", "", unit)
    assert "ExecStart=/opt/speakd/.venv/bin/speakd --config /etc/speakd/config.toml" in unit
    assert (image / "opt/speakd/config.toml").readlink() == Path("/etc/speakd/config.toml")
    config = load_config(image / "etc/speakd/config.toml")
    assert config.voice.bundle == "/opt/speakd/engines/voices/default/bundle"


def test_installing_twice_changes_nothing(image: Path) -> None:
    before = tree(image)
    run("install", "--root", str(image))
    assert tree(image) == before


def test_the_services_user_may_read_it_whatever_roots_umask(tmp_path: Path) -> None:
    run("install", "--root", str(tmp_path), umask=0o077)
    kept = [path for path in tmp_path.rglob("*") if not path.is_symlink() and not others_may_read(path)]
    assert not kept


def others_may_read(path: Path) -> bool:
    mode = path.stat().st_mode
    return bool(mode & stat.S_IROTH and (path.is_file() or mode & stat.S_IXOTH))


def test_the_check_finds_the_token_where_the_service_will(tmp_path: Path, tiny_bundle: Path) -> None:
    said = run("install", "--dry-run").splitlines()
    command = next(line.split() for line in said if line.rstrip().endswith("--check"))
    assert command[:2] == ["env", "CREDENTIALS_DIRECTORY=/etc/speakd"]
    (tmp_path / "token").write_text("0123456789abcdef\n")
    (tmp_path / "config.toml").write_text(f'[voice]\nbundle = "{tiny_bundle}"\n[server]\nhost = "0.0.0.0"\n')
    done = subprocess.run(
        [sys.executable, "-m", "app.daemon", "--config", str(tmp_path / "config.toml"), "--check"],
        env={**os.environ, "CREDENTIALS_DIRECTORY": str(tmp_path)},
        cwd=REPOSITORY, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_nothing_is_left_of_a_unit_that_an_image_had_enabled(tmp_path: Path) -> None:
    run("install", "--root", str(tmp_path))
    link = tmp_path / "etc/systemd/system/multi-user.target.wants/speakd.service"
    link.parent.mkdir()
    link.symlink_to("/etc/systemd/system/speakd.service")
    run("uninstall", "--root", str(tmp_path))
    assert not link.is_symlink()


def test_settings_and_token_stay(tmp_path: Path) -> None:
    run("install", "--root", str(tmp_path))
    config = tmp_path / "etc/speakd/config.toml"
    config.write_text('[server]\nhost = "0.0.0.0"\n')
    (tmp_path / "etc/speakd/token").write_text("0123456789abcdef\n")
    run("install", "--root", str(tmp_path))
    assert config.read_text() == '[server]\nhost = "0.0.0.0"\n'
    extra = tmp_path / "etc/systemd/system/speakd.service.d"
    assert "LoadCredential=token:/etc/speakd/token" in (extra / "token.conf").read_text()
    assert "IPAddressAllow=any" in (extra / "network.conf").read_text()
    run("uninstall", "--root", str(tmp_path))
    left = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file())
    assert left == ["etc/speakd/config.toml", "etc/speakd/token"]
    run("uninstall", "--root", str(tmp_path), "--purge")
    run("uninstall", "--root", str(tmp_path), "--purge")
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


@pytest.mark.parametrize(
    ("text", "opened"),
    [
        ("[server]\nhost = '0.0.0.0'\n", True),
        ('[ server ] # ours\n\thost="192.168.1.5" # not "127.0.0.1"\n', True),
        ('[server]\nhost = "localhost" # not "0.0.0.0"\n', False),
        ('[voice]\nhost = "0.0.0.0"\n[server]\n# host = "0.0.0.0"\n[log]\nhost = "0.0.0.0"\n', False),
    ],
)
def test_the_service_is_opened_for_the_host_of_its_settings(tmp_path: Path, text: str, opened: bool) -> None:
    config = tmp_path / "etc/speakd/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(text)
    run("install", "--root", str(tmp_path))
    assert (tmp_path / "etc/systemd/system/speakd.service.d/network.conf").exists() == opened


@pytest.mark.parametrize(("host", "waits"), [("0.0.0.0", False), ("192.168.1.5", True), ("kiosk.lan", True)])
def test_the_service_waits_for_an_address_of_the_network(tmp_path: Path, host: str, waits: bool) -> None:
    config = tmp_path / "etc/speakd/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(f'[server]\nhost = "{host}"\n')
    run("install", "--root", str(tmp_path))
    extra = (tmp_path / "etc/systemd/system/speakd.service.d/network.conf").read_text()
    assert ("After=network-online.target" in extra) == waits


def test_settings_that_are_gone_do_not_become_empty(tmp_path: Path) -> None:
    run("install", "--root", str(tmp_path))
    settings = tmp_path / "etc/speakd/config.toml"
    settings.unlink()
    again = [str(tmp_path / "opt/speakd/scripts/install"), "--root", str(tmp_path)]
    done = subprocess.run(again, capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, settings.exists()) == (1, False)
    assert "of a checkout" in done.stderr
    run("install", "--root", str(tmp_path))
    assert load_config(settings).voice.bundle == "/opt/speakd/engines/voices/default/bundle"


def test_jetson_stats_is_wanted_where_it_is(tmp_path: Path) -> None:
    extra = tmp_path / "etc/systemd/system/speakd.service.d/jtop.conf"
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/group").write_text("root:x:0:\njtop:x:997:\n")
    run("install", "--root", str(tmp_path))
    assert "SupplementaryGroups=jtop" in extra.read_text()
    assert "Wants=jtop.service" in extra.read_text()
    assert "Requires" not in extra.read_text()
    (tmp_path / "etc/group").write_text("root:x:0:\n")
    run("install", "--root", str(tmp_path))
    assert not extra.exists()


def test_a_dry_run_touches_nothing(tmp_path: Path) -> None:
    said = run("install", "--root", str(tmp_path), "--dry-run")
    assert "speakd.service" in said
    assert "cp -a" in said
    assert "installed" not in said
    run("uninstall", "--root", str(tmp_path), "--dry-run")
    assert not list(tmp_path.iterdir())


def test_a_dry_run_does_not_say_that_it_is_done(tmp_path: Path) -> None:
    assert "is running" not in run("install", "--dry-run")
    image = tmp_path / "image"
    run("install", "--root", str(image))
    here = image / "opt/speakd/scripts/uninstall"
    for arguments in (["--root", str(image), "--dry-run"], ["--root", str(image / "other")], ["--root", str(image)]):
        done = subprocess.run([here, *arguments], capture_output=True, text=True, check=True, timeout=120)
        assert ("speakd is gone" in done.stdout) == (arguments[-1] == str(image))


@needs_systemd
def test_the_unit_is_valid(image: Path, tmp_path: Path) -> None:
    unit = (image / "etc/systemd/system/speakd.service").read_text()
    checked = tmp_path / "speakd.service"  # the program is not installed here
    checked.write_text(unit.replace("/opt/speakd/.venv/bin/speakd", "/bin/true"))
    done = subprocess.run(
        [str(ANALYZE), "verify", str(checked)], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


@needs_systemd
def test_the_unit_is_confined(image: Path) -> None:
    unit = image / "etc/systemd/system/speakd.service"
    done = subprocess.run(
        [str(ANALYZE), "security", "--offline=yes", "--no-pager", "--threshold=25", str(unit)],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    if "--offline" in done.stderr:
        pytest.skip("this systemd cannot judge a unit that is not running")
    found = re.search(r"Overall exposure level for speakd.service: ([\d.]+)", done.stdout)
    assert found is not None, done.stderr
    assert float(found[1]) <= 2.5


def test_what_cuda_and_alsa_need_is_left_open() -> None:
    unit = (REPOSITORY / "systemd/speakd.service").read_text().splitlines()
    keys = {line.partition("=")[0] for line in unit if line and line[0] not in "#["}
    assert not {"PrivateDevices", "MemoryDenyWriteExecute"} & keys
    assert "SupplementaryGroups=audio video render" in unit
    assert {"Type=notify", "Restart=on-failure", "DevicePolicy=closed", "KillMode=mixed"} <= set(unit)
    assert any(line.startswith("WatchdogSec=") for line in unit)
    assert "DeviceAllow=char-116 rw" in unit, "a card whose driver comes after the start"


def test_the_gpus_driver_is_there_before_its_devices_are_looked_up() -> None:
    """Or the service speaks on the processor after every restart of a machine where nothing else has loaded it."""
    unit = (REPOSITORY / "systemd/speakd.service").read_text(encoding="utf-8").splitlines()
    after = {name for line in unit if line.startswith("After=") for name in line.removeprefix("After=").split()}
    wanted = {name for line in unit if line.startswith("Wants=") for name in line.removeprefix("Wants=").split()}
    assert "modprobe@nvidia_uvm.service" in after & wanted
    assert {"nvidia-persistenced.service", "nvidia-fabricmanager.service"} <= after
    assert not {"nvidia-persistenced.service", "nvidia-fabricmanager.service"} & wanted, "most machines have neither"


def test_four_processes_on_a_large_server_find_room_for_their_threads() -> None:
    """Daemon, text worker, player and builder import NumPy, which takes 64 threads there if nobody says less."""
    unit = (REPOSITORY / "systemd/speakd.service").read_text()
    most, each = (int(unit.split(f"{name}=", 1)[1].split()[0]) for name in ("TasksMax", "OPENBLAS_NUM_THREADS"))
    assert 4 * each <= most // 4
