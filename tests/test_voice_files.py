"""What a bundle tells without being opened."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from engines.contract import Layout
from engines.errors import BundleError
from engines.manifest import ModelType, write_manifest
from engines.voice_files import front_end_info, reads_while_speaking
from tests import fake_voice


@pytest.mark.parametrize(
    ("model_type", "layout", "expected"),
    [
        (ModelType.CUSTOM_VOICE, Layout.AUTO, False),
        (ModelType.VOICE_DESIGN, Layout.AUTO, False),
        (ModelType.BASE, Layout.AUTO, True),
        (ModelType.BASE, Layout.WHOLE, False),
        (ModelType.CUSTOM_VOICE, Layout.STREAMING, True),
    ],
)
def test_which_voices_read_while_they_speak(
    tmp_path: Path, model_type: ModelType, layout: Layout, expected: bool
) -> None:
    write_manifest(tmp_path, fake_voice.manifest(model_type))
    assert reads_while_speaking(tmp_path, layout) is expected


def test_a_voice_trained_in_both_layouts_reads_while_it_speaks(tmp_path: Path) -> None:
    manifest = fake_voice.manifest(ModelType.CUSTOM_VOICE)
    write_manifest(tmp_path, replace(manifest, front_end=replace(manifest.front_end, live=True)))
    assert reads_while_speaking(tmp_path)
    assert not reads_while_speaking(tmp_path, Layout.WHOLE)


def test_the_front_end_is_named_with_whole_paths(tmp_path: Path) -> None:
    write_manifest(tmp_path, fake_voice.manifest())
    info = front_end_info(tmp_path)
    assert (info.kind, info.tokenizer, info.files) == ("text", tmp_path / "tokenizer.json", ())
    manifest = fake_voice.manifest()
    front_end = replace(manifest.front_end, files=("lexicon.txt", "rules.txt"))
    write_manifest(tmp_path, replace(manifest, front_end=front_end))
    assert front_end_info(tmp_path).files == (tmp_path / "lexicon.txt", tmp_path / "rules.txt")


def test_what_is_no_bundle_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match=str(tmp_path)):
        front_end_info(tmp_path)


def test_a_checkpoint_in_a_bundles_place_is_told_how_to_become_one(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(BundleError, match=f"{tmp_path} is a checkpoint.*python -m export {tmp_path}"):
        front_end_info(tmp_path)
