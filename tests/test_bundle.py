"""Opening bundles: what is there is found, what is wrong is named."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from engines.bundle import open_bundle
from engines.errors import BundleError
from engines.manifest import MANIFEST_NAME, Tables, read_manifest


@pytest.fixture
def copy(tiny_bundle: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(tiny_bundle, tmp_path / "bundle"))


def change_manifest(bundle: Path, *keys: str, value: object) -> None:
    """Set one value deep in the manifest."""
    path = bundle / MANIFEST_NAME
    found = json.loads(path.read_text())
    inner = found
    for key in keys[:-1]:
        inner = inner[key]
    inner[keys[-1]] = value
    path.write_text(json.dumps(found))


def test_tables_are_mapped_not_read(tiny_bundle: Path) -> None:
    bundle = open_bundle(tiny_bundle, verify=True)
    talker = bundle.manifest.talker
    assert isinstance(bundle.text_table, np.memmap)
    assert isinstance(bundle.codec_embedding, np.memmap)
    assert bundle.text_table.shape[1] == talker.hidden
    assert bundle.codec_embedding.shape == (talker.vocabulary, talker.hidden)
    assert np.isfinite(bundle.codec_embedding).all()
    assert bundle.codec_embedding.any()
    assert not bundle.codec_embedding.flags.writeable


def test_the_table_of_codes_is_found_wherever_it_lies(copy: Path) -> None:
    name = read_manifest(copy).graphs.weights
    weights = load_file(copy / name)
    table = weights[Tables.CODEC_EMBEDDING]
    np.testing.assert_array_equal(open_bundle(copy).codec_embedding, table)
    save_file({"a": table[:3], Tables.CODEC_EMBEDDING: table}, copy / name)
    change_manifest(copy, "files", name, "bytes", value=(copy / name).stat().st_size)
    np.testing.assert_array_equal(open_bundle(copy, verify=False).codec_embedding, table)


@pytest.mark.parametrize("part", ["frame", "codec", "weights", "text_table"])
def test_a_missing_or_cut_file_is_named(copy: Path, part: str) -> None:
    file = copy / getattr(read_manifest(copy).graphs, part)
    content = file.read_bytes()
    file.write_bytes(content[:-1])
    with pytest.raises(BundleError, match=rf"{file.name} has {len(content) - 1} bytes"):
        open_bundle(copy)
    file.unlink()
    with pytest.raises(BundleError, match=f"{file.name} is missing"):
        open_bundle(copy)


def test_a_changed_byte_is_found_in_a_small_bundle(copy: Path) -> None:
    file = copy / read_manifest(copy).graphs.weights
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    with pytest.raises(BundleError, match=rf"{file.name} is damaged"):
        open_bundle(copy)
    open_bundle(copy, verify=False)


def test_not_a_bundle(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match=r"not a voice bundle: cannot read manifest\.json"):
        open_bundle(tmp_path)


@pytest.mark.parametrize(
    ("keys", "value", "says"),
    [
        (("format_version",), 99, "format version 99"),
        (("surprise",), 1, "surprise"),
        (("talker", "hidden"), 63, r"not float \[text vocabulary, 63\]"),
        (("talker", "vocabulary"), 5, "talker.codec_embedding is F32"),
        (("text_ids", "eos"), 10**6, "text_ids.eos is 1000000"),
        (("text_ids", "role"), [0, 10**6, 1], r"text_ids.role\[1\] is 1000000"),
        (("text_ids", "role"), [1, 2, -1], r"text_ids.role\[2\] is -1"),
        (("codec_ids", "think"), -1, "codec_ids.think is -1"),
        (("languages", "english"), 10**6, "languages.english"),
        (("speakers", "aiden", "id"), 10**6, "speakers.aiden"),
        (("speakers", "aiden", "dialect"), "moonish", "dialect moonish"),
        (("graphs", "weights"), "elsewhere", "names elsewhere but does not list it"),
        (("files", "../out"), {"bytes": 1, "sha256": ""}, "leads out of the bundle"),
        (("files", "/etc/passwd"), {"bytes": 1, "sha256": ""}, "leads out of the bundle"),
    ],
)
def test_a_wrong_manifest_is_refused(copy: Path, keys: tuple[str, ...], value: object, says: str) -> None:
    change_manifest(copy, *keys, value=value)
    with pytest.raises(BundleError, match=says):
        open_bundle(copy)


@pytest.mark.parametrize(
    ("part", "content", "says"),
    [
        ("weights", b"", "not a safetensors file"),
        ("weights", b"\xff" * 64, "not a safetensors file"),
        ("weights", (9).to_bytes(8, "little") + b"{broken!}", "not a readable safetensors file"),
        ("weights", (2).to_bytes(8, "little") + b"{}", "holds no usable tensor"),
        ("text_table", b"not numpy", r"not a readable \.npy"),
        ("text_table", b"", r"not a readable \.npy"),
    ],
)
def test_a_foreign_file_is_refused(copy: Path, part: str, content: bytes, says: str) -> None:
    name = getattr(read_manifest(copy).graphs, part)
    (copy / name).write_bytes(content)
    change_manifest(copy, "files", name, "bytes", value=len(content))
    with pytest.raises(BundleError, match=says):
        open_bundle(copy, verify=False)


@pytest.mark.parametrize("kind", [(np.float32, 1), (np.float32, 3), (np.int32, 2)])
def test_a_text_table_of_another_kind_is_refused(copy: Path, kind: tuple[type[np.generic], int]) -> None:
    manifest = read_manifest(copy)
    dtype, axes = kind
    np.save(copy / manifest.graphs.text_table, np.zeros((manifest.talker.hidden,) * axes, dtype))
    size = (copy / manifest.graphs.text_table).stat().st_size
    change_manifest(copy, "files", manifest.graphs.text_table, "bytes", value=size)
    with pytest.raises(BundleError, match=r"not float \[text vocabulary"):
        open_bundle(copy, verify=False)


@pytest.mark.parametrize("lost", [b"}", b"'descr'", b"(", b"NUMPY"])
def test_a_torn_header_is_refused(copy: Path, lost: bytes) -> None:
    """As it may be in a bundle that is too large for its checksums to be looked at."""
    path = copy / read_manifest(copy).graphs.text_table
    content = path.read_bytes()
    path.write_bytes(content.replace(lost, b" " * len(lost), 1))
    with pytest.raises(BundleError, match=r"not a readable \.npy table .*again"):
        open_bundle(copy, verify=False)


def test_a_table_that_ends_early_is_refused(copy: Path) -> None:
    name = read_manifest(copy).graphs.weights
    content = (copy / name).read_bytes()
    length = 8 + int.from_bytes(content[:8], "little")
    start, _ = json.loads(content[8:length])["talker.codec_embedding"]["data_offsets"]
    (copy / name).write_bytes(content[: length + start + 4])
    change_manifest(copy, "files", name, "bytes", value=length + start + 4)
    with pytest.raises(BundleError, match="ends before"):
        open_bundle(copy, verify=False)
