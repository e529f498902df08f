"""What the text front end may know of a bundle.

Purpose: the one question the front end asks: what kind of text does this voice read, and which files say so?
Knows: the manifest. Does not know: tokenizers, lexicons, how text is read.
"""

from __future__ import annotations

from pathlib import Path

from engines.contract import FrontEndInfo
from engines.manifest import read_manifest


def front_end_info(bundle: Path) -> FrontEndInfo:
    """The text front end of a bundle. Raises `BundleError`."""
    found = read_manifest(bundle).front_end
    return FrontEndInfo(
        kind=found.kind.value,
        tokenizer=bundle / found.tokenizer,
        files=tuple(bundle / name for name in found.files),
    )
