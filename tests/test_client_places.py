"""Where clients look for a daemon, and how they know its voice."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from app.client_places import client_sockets, fingerprint

SYSTEM = "/run/speakd/speakd.sock"


def test_the_users_own_daemon_comes_before_the_systems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = {"XDG_RUNTIME_DIR": str(tmp_path)}
    assert client_sockets(own) == [f"{tmp_path}/speakd.sock", SYSTEM]
    monkeypatch.setenv("SPEAKD_SOCKET", "/elsewhere")
    assert client_sockets() == ["/elsewhere"]


def test_a_place_that_is_named_is_the_only_one() -> None:
    assert client_sockets({"XDG_RUNTIME_DIR": "/run/user/1", "SPEAKD_SOCKET": "/a/b"}) == ["/a/b"]
    assert client_sockets({"XDG_RUNTIME_DIR": "/run/user/1", "SPEAKD_SOCKET": ""}) == []


def test_a_directory_that_somebody_else_made_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In /tmp anybody may; they would hear what is said."""
    monkeypatch.setattr(os, "getuid", lambda: tmp_path.stat().st_uid + 1)
    assert client_sockets({"XDG_RUNTIME_DIR": str(tmp_path)}) == [SYSTEM]
    assert client_sockets({"XDG_RUNTIME_DIR": f"{tmp_path}/not-there"}) == [f"{tmp_path}/not-there/speakd.sock", SYSTEM]


def test_a_model_is_known_by_its_manifest(tmp_path: Path) -> None:
    assert fingerprint(str(tmp_path)) == ""
    (tmp_path / "manifest.json").write_bytes(b'{"files": {}}')
    assert fingerprint(str(tmp_path)) == hashlib.sha256(b'{"files": {}}').hexdigest()[:32]
