"""Where a bundle goes: written aside, then renamed.

Purpose: a bundle is there whole or not at all, and nothing else is ever overwritten.
Knows: directories. Does not know: what is in a bundle, but for the name of its manifest.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from engines.manifest import MANIFEST_NAME, FileEntry
from export.errors import ExportError
from export.progress import Progress

READ_BYTES: Final = 1 << 20


def check_target(bundle: Path, nbytes: int, to_measure: int = 0, *, replaces: bool = True) -> None:
    """Make its directory; raise `ExportError` where no bundle may go, or has no room for its `nbytes` and measuring.

    `replaces`: one of that name gives way, which it must not to anything that is no bundle.
    """
    try:
        taken = bundle.exists() and (not bundle.is_dir() or any(bundle.iterdir()))
        kept = taken and not (replaces and (bundle / MANIFEST_NAME).is_file())
    except OSError as error:  # of a folder that one may not look into, or a name that cannot be one
        raise ExportError(f"cannot write {bundle}: {error.strerror}") from error
    if kept:
        raise ExportError(f"{bundle} exists {'and is not a bundle' if replaces else 'already'}; choose another name")
    try:
        bundle.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ExportError(f"cannot make the directory {bundle.parent}: {error.strerror}") from error
    free = shutil.disk_usage(bundle.parent).free
    if free < nbytes + to_measure:
        measuring = f", measuring it {(to_measure >> 20) + 1} MiB more (--no-measure)" if to_measure else ""
        needed = f"the bundle needs {(nbytes >> 20) + 1} MiB{measuring}"
        raise ExportError(f"{bundle.parent} has {free >> 20} MiB free, {needed}")


@contextmanager
def aside(bundle: Path) -> Iterator[Path]:
    """A new directory beside the bundle, gone afterwards whatever happens."""
    try:
        folder = Path(tempfile.mkdtemp(prefix=f".{bundle.name}.", dir=bundle.parent))
        folder.chmod(0o755)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    except OSError as error:
        at = f" ({error.filename})" if error.filename else ""  # it may be a file of the checkpoint that cannot be read
        raise ExportError(f"cannot write {bundle}: {error.strerror or error}{at}") from error


def into_place(folder: Path, bundle: Path) -> None:
    """Rename a finished folder to the bundle's name; a bundle that was there goes afterwards."""
    if not bundle.exists():
        folder.rename(bundle)
        return
    old = folder.with_name(f"{folder.name}.old")
    bundle.rename(old)
    folder.rename(bundle)
    if old.is_symlink():
        old.unlink()  # what it led to stays
    else:
        shutil.rmtree(old, ignore_errors=True)


def checksums(folder: Path, progress: Progress) -> dict[str, FileEntry]:
    """Size and SHA-256 of every file of a folder, by name."""
    paths = sorted(folder.iterdir())
    advance = progress.stage("checksums", sum(path.stat().st_size for path in paths))
    return {path.name: checksum(path, advance) for path in paths}


def checksum(path: Path, advance: Callable[[int], None] = lambda _: None) -> FileEntry:
    """Size and SHA-256 of one file; `advance` is told the bytes that were read."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(READ_BYTES):
            digest.update(block)
            advance(len(block))
    return FileEntry(bytes=path.stat().st_size, sha256=digest.hexdigest())
