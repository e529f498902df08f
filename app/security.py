"""Who may speak to the daemon.

Purpose: the token (read, compared in constant time, never shown), the origins of web pages, the rule that nothing but
the loopback is served without a token, and TLS. Knows: headers, files, addresses. Does not know: messages, sockets.
"""

from __future__ import annotations

import hmac
import ipaddress
import os
import ssl
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from app.config import Config, ConfigError

CREDENTIAL: Final = "token"
"""Name of the service manager's credential."""
_SHORTEST_TOKEN: Final = 16


class Guard:
    """Judges tokens and origins."""

    def __init__(self, token: str | None, origins: tuple[str, ...] = ()) -> None:
        self._token = None if token is None else token.encode()
        self._origins = frozenset(origin.rstrip("/").lower() for origin in origins)

    @property
    def wants_token(self) -> bool:
        """Whether a client must show one."""
        return self._token is not None

    def knows(self, token: str) -> bool:
        """Whether this is the token; takes the same time for any wrong one."""
        return self._token is None or hmac.compare_digest(self._token, token.encode("utf-8", "replace"))

    def knows_header(self, authorization: str | None) -> bool:
        """The same for an `Authorization: Bearer` header."""
        scheme, _, token = (authorization or "").partition(" ")
        return self._token is None or (scheme.lower() == "bearer" and self.knows(token.strip()))

    def allows_origin(self, origin: str | None, host: str | None) -> bool:
        """Whether a page may connect: listed ones, and our own by an address no foreign name can point to.

        Programs send no origin. A page that reached us by a name (which its owner may point anywhere) must be listed.
        """
        if origin is None or origin.rstrip("/").lower() in self._origins:
            return True
        try:
            page = urlsplit(origin)
        except ValueError:
            return False
        return bool(page.netloc) and page.netloc == host and _address(page.hostname or "") is not None


def open_guard(config: Config) -> Guard:
    """The guard of a configuration. Raises `ConfigError`, among others for a bind that nobody guards."""
    token = _read_token(config)
    address = _address(config.server.host)
    if token is None and not (address and address.is_loopback):
        raise ConfigError(
            f"server.host is '{config.server.host}', which others can reach, and there is no token: "
            "set security.token_file, or listen on 127.0.0.1"
        )
    for origin in config.security.origins:
        if not _is_origin(origin):
            raise ConfigError(
                f"security.origins: '{origin}' is no origin, so no page would ever match it; write what a browser "
                'sends: "https://kiosk.example", with a port only where that is not the usual one'
            )
    return Guard(token, tuple(config.security.origins))


def open_tls(config: Config) -> ssl.SSLContext | None:
    """TLS for the TCP port, if it is wanted. Raises `ConfigError`."""
    security = config.security
    if not security.tls_certificate:
        if security.tls_key:
            raise ConfigError("security.tls_key is set without security.tls_certificate; set both or neither")
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    renew_tls(context, config)
    return context


def renew_tls(context: ssl.SSLContext, config: Config) -> None:
    """Read certificate and key, again where they have been renewed: they count from the next client on."""
    security = config.security

    def encrypted() -> str:  # without this OpenSSL asks at the terminal, and everything waits for an answer
        raise ConfigError(
            f"the key in '{security.tls_key or security.tls_certificate}' is encrypted, and nobody can be asked for "
            "its pass phrase; give one that is not: openssl pkey -in OLD -out NEW"
        )

    holder = "tls_key" if security.tls_key else "tls_certificate"
    _check_pem(config, "tls_certificate", "certificate")
    _check_pem(config, holder, "private key")
    try:
        for one in (ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), context):  # one that half of it was put in serves nobody
            one.load_cert_chain(security.tls_certificate, security.tls_key or None, password=encrypted)
    except (OSError, ssl.SSLError) as error:
        unlike = getattr(error, "reason", None) == "KEY_VALUES_MISMATCH"
        reason = f"the key in '{getattr(security, holder)}' is another certificate's" if unlike else str(error)
        raise ConfigError(f"cannot use security.tls_certificate '{security.tls_certificate}': {reason}") from None


def _check_pem(config: Config, setting: str, what: str) -> None:
    """OpenSSL does not say which of two files it could not read. Raises `ConfigError`."""
    name = getattr(config.security, setting)
    try:
        found = f"{what.upper()}-----".encode() in Path(name).read_bytes()
    except OSError as error:
        raise ConfigError(f"cannot use security.{setting} '{name}': {error.strerror or error}") from None
    if not found:
        raise ConfigError(f"cannot use security.{setting} '{name}': it holds no {what} in PEM form")


def _read_token(config: Config) -> str | None:
    """The token of the configured file, else of the service manager's credential."""
    directory = os.environ.get("CREDENTIALS_DIRECTORY")
    name = config.security.token_file or (str(Path(directory) / CREDENTIAL) if directory else "")
    if not name:
        return None
    try:
        token = Path(name).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        if isinstance(error, FileNotFoundError) and not config.security.token_file:
            return None  # a unit without a token
        raise ConfigError(f"cannot read security.token_file '{name}': {error}") from None
    if len(token) < _SHORTEST_TOKEN:
        raise ConfigError(
            f"the token in '{name}' has {len(token)} characters, at least {_SHORTEST_TOKEN} are needed; "
            "make one with: openssl rand -hex 32"
        )
    return token


def _is_origin(name: str) -> bool:
    """Whether a browser could send it: scheme and host, and nothing behind them; or what it says of files."""
    try:
        page = urlsplit(name.rstrip("/").lower())
        usual = {"http": 80, "https": 443}.get(page.scheme, 0)
        known = bool(page.scheme and page.hostname) and page.port != usual and not {"@", "*"} & set(page.netloc)
    except ValueError:
        return False
    return name in {"null", "file://"} or (known and page.geturl() == f"{page.scheme}://{page.netloc}")


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Where a host is for certain: names may mean anything, but for the one that always means this machine."""
    try:
        return ipaddress.ip_address("127.0.0.1" if host == "localhost" else host)
    except ValueError:
        return None
