"""The quick path stays quick: what it loads before the daemon is at work. What it does is in `test_local_playback`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parent.parent
LOADED = """
import sys
sys.path.append(sys.argv[1])
before = set(sys.modules)
from app import client_places, quick
client_places.fingerprint(sys.argv[1])
assert quick.speak(["--stats", "x"], sys.argv[1]) is None
print(*sorted(set(sys.modules) - before))
"""
COSTLY = {
    "typing",
    "re",
    "json",
    "enum",
    "pathlib",
    "socket",
    "hashlib",
    "collections",
    "contextlib",
    "asyncio",
    "signal",
}


def test_a_directory_for_standard_input_is_told_in_one_line(tmp_path: Path) -> None:
    done = subprocess.run(
        ["sh", "-c", 'exec "$1" <"$2"', "sh", REPOSITORY / "scripts/speak", tmp_path],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (1, "speak: standard input is a directory\n")


def test_it_loads_next_to_nothing() -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", LOADED, str(REPOSITORY)],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    loaded = set(done.stdout.split())
    assert not loaded & COSTLY
    assert {name for name in loaded if name.startswith(("app.", "engines"))} == {
        "app.client_places", "app.quick", "app.quick_options", "app.quick_talk", "app.voice_section",
        "app.websocket_frames",
    }  # fmt: skip
