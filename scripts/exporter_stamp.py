"""Which exporter made what is kept from one run to the next.

Purpose: a word that changes with the exporter, so that nothing is measured that an older one made. Knows: where the
exporter's source lies. Does not know: what is kept, or where.
"""

from __future__ import annotations

import hashlib
import shutil
from functools import cache
from pathlib import Path
from typing import Final

_ROOT: Final = Path(__file__).resolve().parents[1]
_SOURCES: Final = ("export/*.py", "engines/manifest.py", "engines/plan_set.py")


@cache
def exporter_stamp() -> str:
    """Eight letters for the present source of graphs, bundles and plans."""
    digest = hashlib.sha256()
    for path in sorted(path for pattern in _SOURCES for path in _ROOT.glob(pattern)):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:8]


def made_by_this_exporter(home: Path) -> Path:
    """The folder below `home` for what the present exporter makes."""
    return home / f"made-{exporter_stamp()}"


def remove_what_others_made(home: Path) -> None:
    """Remove such folders of other exporters."""
    for folder in home.glob("made-*"):
        if folder != made_by_this_exporter(home):
            shutil.rmtree(folder)
