"""The file of the daemon's Unix socket: made way for, looked after, removed.

Purpose: whose file it is, and what may be done with it. All of it may wait for a disk. Knows: files. Does not know: who
listens, who is inside.
"""

from __future__ import annotations

import os
import socket
import stat
from pathlib import Path


def clear(path: Path) -> None:
    """Make way for a socket: its directory, and the file a dead daemon left. Raises `OSError` if one is alive."""
    path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    if path.parent.stat().st_uid not in {os.getuid(), 0}:
        raise OSError(f"'{path.parent}' belongs to somebody else; remove it, or set server.socket")
    try:
        if not stat.S_ISSOCK(path.stat().st_mode):
            raise OSError(f"'{path}' is in the way: it is not a socket")
    except FileNotFoundError:
        if path.is_symlink():
            raise OSError(f"'{path}' is in the way: it is a link to nowhere") from None
        return
    with socket.socket(socket.AF_UNIX) as probe:
        probe.setblocking(False)
        try:
            probe.connect(str(path))
        except (ConnectionRefusedError, FileNotFoundError):
            path.unlink(missing_ok=True)
            return
        except BlockingIOError:  # so many wait that no more may: it stands still
            pass
    raise OSError(f"another daemon listens on '{path}'; stop it, or set server.socket")


def is_gone(path: Path) -> bool:
    """Whether somebody removed it."""
    try:
        path.stat()
    except FileNotFoundError:
        return True
    except OSError:  # a directory nobody may look into any more says nothing of it
        return False
    return False


def remove(path: Path, made: os.stat_result) -> None:
    """Remove a socket's file, unless it was removed already and a later daemon has made its own. Raises `OSError`."""
    found = path.stat()
    if os.path.samestat(found, made) and found.st_mtime_ns == made.st_mtime_ns:  # numbers of files are used again
        path.unlink()
