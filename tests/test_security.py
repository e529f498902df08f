"""Tokens, origins, addresses, certificates."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from app.config import ConfigError
from app.security import Guard, open_guard, open_tls
from tests.daemon_rig import TOKEN, settings


def test_tokens() -> None:
    guard = Guard(TOKEN)
    assert guard.wants_token
    assert guard.knows(TOKEN)
    assert not guard.knows(TOKEN + "x")
    assert not guard.knows("")
    assert not guard.knows("\udcff")
    assert guard.knows_header(f"Bearer {TOKEN}")
    assert guard.knows_header(f"bearer  {TOKEN} ")
    for header in (None, "", TOKEN, f"Basic {TOKEN}", "Bearer", "Bearer wrong"):
        assert not guard.knows_header(header)
    assert Guard(None).knows_header(None)


@pytest.mark.parametrize(
    ("origin", "host", "allowed"),
    [
        (None, "localhost:8765", True),
        ("http://localhost:8765", "localhost:8765", True),
        ("http://127.0.0.1:8765", "127.0.0.1:8765", True),
        ("http://[::1]:8765", "[::1]:8765", True),
        ("http://127.0.0.1:9999", "127.0.0.1:8765", False),
        ("http://evil.example:8765", "evil.example:8765", False),
        ("https://kiosk.example", "localhost:8765", True),
        ("https://KIOSK.example/", "localhost:8765", True),
        ("http://kiosk.example", "localhost:8765", False),
        ("null", "localhost:8765", False),
        ("", "", False),
        ("http://[", "[", False),
    ],
)
def test_origins(origin: str | None, host: str, allowed: bool) -> None:
    assert Guard(None, ("https://kiosk.example",)).allows_origin(origin, host) is allowed


@pytest.mark.parametrize(
    "name",
    ["kiosk.example", "kiosk.example:8080", "*", "https://*.kiosk.example", "https://kiosk.example/app",
     "https://kiosk.example:443", "https://", "https://kiosk.example:x", "https://me@kiosk.example", ""],
)  # fmt: skip
def test_an_origin_no_page_can_have_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=r"security\.origins: '.*https://kiosk\.example"):
        open_guard(settings(security={"origins": ["https://good.example", name]}))


@pytest.mark.parametrize(
    "name",
    ["https://kiosk.example", "http://Kiosk.example:8080/", "http://[::1]:3000", "http://192.168.1.5:443",
     "chrome-extension://abcdef", "capacitor://localhost", "null", "file://"],
)  # fmt: skip
def test_what_browsers_send_is_an_origin(name: str) -> None:
    assert open_guard(settings(security={"origins": [name]})).allows_origin(name, "localhost:8765")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "speakd.local", ""])
def test_nothing_but_the_loopback_without_a_token(host: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="token_file"):
        open_guard(settings(server={"host": host}))
    file = tmp_path / "token"
    file.write_text(TOKEN)
    assert open_guard(settings(server={"host": host}, security={"token_file": str(file)})).wants_token


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "127.3.2.1"])
def test_the_loopback_needs_none(host: str) -> None:
    assert not open_guard(settings(server={"host": host})).wants_token


def test_the_service_managers_credential(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    assert not open_guard(settings()).wants_token
    (tmp_path / "token").write_text(TOKEN + "\n")
    assert open_guard(settings()).knows(TOKEN)


def test_a_credential_that_cannot_be_read_is_not_a_missing_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    (tmp_path / "token").mkdir()  # root may read any file
    with pytest.raises(ConfigError, match="cannot read"):
        open_guard(settings())


def test_a_short_or_missing_token_is_refused_without_showing_it(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("hunter2")
    with pytest.raises(ConfigError, match="7 characters") as caught:
        open_guard(settings(security={"token_file": str(file)}))
    assert "hunter2" not in str(caught.value)
    with pytest.raises(ConfigError, match="cannot read"):
        open_guard(settings(security={"token_file": str(tmp_path / "none")}))


def test_a_token_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_bytes(b"\xff" * 32)
    with pytest.raises(ConfigError, match=r"cannot read security.token_file '.*token'"):
        open_guard(settings(security={"token_file": str(file)}))


def test_a_token_of_16_characters_is_long_enough(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("sixteen-letters.\n")
    assert open_guard(settings(security={"token_file": str(file)})).knows("sixteen-letters.")


def test_an_encrypted_key_is_refused_and_nobody_is_asked_for_its_pass_phrase(tmp_path: Path) -> None:
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-passout", "pass:secret",
         "-days", "2", "-subj", "/CN=localhost", "-keyout", str(key), "-out", str(certificate)],
        check=True, capture_output=True, timeout=60,
    )  # fmt: skip
    with pytest.raises(ConfigError, match=r"the key in '.*/key\.pem' is encrypted.*openssl pkey"):
        open_tls(settings(security={"tls_certificate": str(certificate), "tls_key": str(key)}))
    certificate.write_text(key.read_text() + certificate.read_text())
    with pytest.raises(ConfigError, match=r"the key in '.*/cert\.pem' is encrypted"):
        open_tls(settings(security={"tls_certificate": str(certificate)}))


def test_tls(tmp_path: Path) -> None:
    assert open_tls(settings()) is None
    with pytest.raises(ConfigError, match="tls_key"):
        open_tls(settings(security={"tls_key": "x"}))
    with pytest.raises(ConfigError, match="cannot use"):
        open_tls(settings(security={"tls_certificate": str(tmp_path / "none")}))
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
         "-keyout", str(key), "-out", str(certificate)],
        check=True, capture_output=True,
    )  # fmt: skip
    assert open_tls(settings(security={"tls_certificate": str(certificate), "tls_key": str(key)})) is not None


def test_of_two_files_the_one_at_fault_is_named(tmp_path: Path) -> None:
    certificate, key, other = tmp_path / "cert.pem", tmp_path / "key.pem", tmp_path / "other.pem"
    for made in (other, key):
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
             "-subj", "/CN=localhost", "-keyout", str(made), "-out", str(certificate)],
            check=True, capture_output=True, timeout=60,
        )  # fmt: skip

    def refused(first: Path, second: Path | None, says: str) -> None:
        files = {"tls_certificate": str(first)} | ({"tls_key": str(second)} if second else {})
        with pytest.raises(ConfigError, match=says):
            open_tls(settings(security=files))

    refused(certificate, tmp_path / "gone", "tls_key '.*gone': No such file")
    refused(tmp_path / "gone", key, "tls_certificate '.*gone': No such file")
    refused(certificate, certificate, "tls_key '.*cert.pem': it holds no private key")
    refused(key, certificate, "tls_certificate '.*key.pem': it holds no certificate")
    refused(certificate, None, "tls_certificate '.*cert.pem': it holds no private key")
    refused(certificate, other, "tls_certificate '.*cert.pem': the key in '.*other.pem' is another")
