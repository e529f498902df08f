"""What may be known of a bundle without opening an engine.

Purpose: three questions: what kind of text does this voice read, and which files say so; may it begin before a sentence
is known; and what may a client ask of it.
Knows: the manifest. Does not know: tokenizers, lexicons, how text is read, graphs.
"""

from __future__ import annotations

from pathlib import Path

from engines.contract import FrontEndInfo, Layout, VoiceInfo
from engines.manifest import Manifest, ModelType, read_manifest


def front_end_info(bundle: Path) -> FrontEndInfo:
    """The text front end of a bundle. Raises `BundleError`."""
    found = read_manifest(bundle).front_end
    return FrontEndInfo(
        kind=found.kind.value,
        tokenizer=bundle / found.tokenizer,
        files=tuple(bundle / name for name in found.files),
    )


def voice_info(bundle: Path) -> VoiceInfo:
    """What a client may ask of a bundle. Raises `BundleError`."""
    return describe_voice(bundle.resolve().name, read_manifest(bundle))


def describe_voice(name: str, manifest: Manifest) -> VoiceInfo:
    """The same of a manifest that was read already."""
    return VoiceInfo(
        name=name,
        model_type=manifest.model_type.value,
        speakers=tuple(manifest.speakers),
        languages=tuple(manifest.languages),
        takes_instruct=manifest.takes_instruct,
        sample_rate_hz=manifest.frame.sample_rate_hz,
        samples_per_frame=manifest.frame.samples_per_frame,
        codebooks=manifest.frame.codebooks,
    )


def reads_while_speaking(bundle: Path, layout: Layout = Layout.AUTO) -> bool:
    """Whether a voice in this layout may begin with the first words of a sentence. Raises `BundleError`."""
    if layout is Layout.AUTO:
        manifest = read_manifest(bundle)
        return manifest.model_type is ModelType.BASE or manifest.front_end.live
    return layout is Layout.STREAMING
