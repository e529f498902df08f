"""Open a voice bundle: the manifest, the tables the host reads, and a check that all of it is there.

Purpose: turn a directory into a `Bundle`, or say by file name why it cannot be one. Knows: the files a manifest names,
the safetensors header. Does not know: ONNX, prompts, threads.

Sizes of all files are checked at every start. Checksums are verified at every start for bundles below
`ALWAYS_HASHED_BYTES` (a fraction of a second), and for larger ones when asked to: reading gigabytes costs more than the
whole start. Tables are memory-mapped: only rows that are used become resident.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from engines.errors import BundleError
from engines.graph_names import Tables
from engines.manifest import FileEntry, Manifest, read_manifest

ALWAYS_HASHED_BYTES: Final = 64 * 1024 * 1024
_AGAIN: Final = "copy or export the bundle again"
_HEADER_LIMIT_BYTES: Final = 100_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Bundle:
    """An opened bundle."""

    path: Path
    manifest: Manifest
    text_table: npt.NDArray[Any]
    """Projected text rows, float [text vocabulary, talker hidden], memory-mapped, read only."""
    codec_embedding: npt.NDArray[np.float32]
    """Rows of codes, control ids and speakers, f32 [talker vocabulary, talker hidden], memory-mapped, read only."""


def open_bundle(path: Path, verify: bool | None = None) -> Bundle:
    """Open and check the bundle directory `path`.

    `verify`: check every file's SHA-256; None does so for bundles below `ALWAYS_HASHED_BYTES`. Raises `BundleError`
    naming the file and what is wrong with it.
    """
    manifest = read_manifest(path)
    _check_files(path, manifest, verify)
    bundle = Bundle(
        path=path,
        manifest=manifest,
        text_table=_map_text_table(path / manifest.graphs.text_table, manifest),
        codec_embedding=_map_codec_embedding(path / manifest.graphs.weights, manifest),
    )
    _check_ids(bundle)
    return bundle


def _check_files(path: Path, manifest: Manifest, verify: bool | None) -> None:
    needed = (
        manifest.graphs.frame,
        manifest.graphs.codec,
        manifest.graphs.weights,
        manifest.graphs.text_table,
        manifest.front_end.tokenizer,
        *manifest.front_end.files,
        *([manifest.graphs.frame_cuda] if manifest.graphs.frame_cuda else []),
    )
    for name in needed:
        if name not in manifest.files:
            raise BundleError(f"{path}: the manifest names {name} but does not list it under files; {_AGAIN}")
    for name, entry in manifest.files.items():
        if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
            raise BundleError(f"{path}: the file name {name!r} leads out of the bundle; {_AGAIN}")
        _check_size(path / name, entry)
    total = sum(entry.bytes for entry in manifest.files.values())
    if verify if verify is not None else total < ALWAYS_HASHED_BYTES:
        for name, entry in manifest.files.items():
            _check_sum(path / name, entry)


def _check_size(file: Path, entry: FileEntry) -> None:
    try:
        found = file.stat().st_size
    except OSError as error:
        raise BundleError(f"{file} is missing or unreadable ({error.strerror}); {_AGAIN}") from error
    if found != entry.bytes:
        raise BundleError(f"{file} has {found} bytes, not the {entry.bytes} of the manifest; {_AGAIN}")


def _check_sum(file: Path, entry: FileEntry) -> None:
    digest = hashlib.sha256()
    try:
        with file.open("rb") as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
    except OSError as error:
        raise BundleError(f"{file} cannot be read ({error.strerror}); {_AGAIN}") from error
    if digest.hexdigest() != entry.sha256:
        raise BundleError(f"{file} is damaged: its SHA-256 is not the manifest's; {_AGAIN}")


def _map_text_table(file: Path, manifest: Manifest) -> npt.NDArray[Any]:
    try:
        table: npt.NDArray[Any] = np.load(file, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # a torn header is whatever the parsers behind it raise, some of it no ValueError
        raise BundleError(f"{file} is not a readable .npy table ({error}); {_AGAIN}") from error
    if table.ndim != 2 or table.shape[1] != manifest.talker.hidden or table.dtype.kind != "f":
        raise BundleError(
            f"{file} holds {table.dtype} {list(table.shape)}, "
            f"not float [text vocabulary, {manifest.talker.hidden}]; {_AGAIN}"
        )
    return table


def _map_codec_embedding(file: Path, manifest: Manifest) -> npt.NDArray[np.float32]:
    shape = (manifest.talker.vocabulary, manifest.talker.hidden)
    name = Tables.CODEC_EMBEDDING
    try:
        with file.open("rb") as stream:
            length = int.from_bytes(stream.read(8), "little")
            if not 2 <= length <= _HEADER_LIMIT_BYTES:
                raise BundleError(f"{file} is not a safetensors file (header of {length} bytes); {_AGAIN}")
            header = json.loads(stream.read(length))
        entry = header[name]
        start, end = entry["data_offsets"]
        found, kind = tuple(entry["shape"]), entry["dtype"]
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise BundleError(f"{file} is not a readable safetensors file ({error}); {_AGAIN}") from error
    except (KeyError, TypeError, ValueError) as error:
        raise BundleError(f"{file} holds no usable tensor {name}; {_AGAIN}") from error
    if found != shape or kind != "F32" or end - start != 4 * shape[0] * shape[1]:
        raise BundleError(f"{file}: {name} is {kind} {list(found)}, not F32 {list(shape)}; {_AGAIN}")
    try:
        return np.memmap(file, dtype="<f4", mode="r", offset=8 + length + start, shape=shape)
    except (OSError, ValueError) as error:
        raise BundleError(f"{file} ends before {name} does; {_AGAIN}") from error


def _check_ids(bundle: Bundle) -> None:
    """Every id of the manifest must be a row of its table: checked once, so that nothing reads past an end later."""
    manifest = bundle.manifest
    text, codec = manifest.text_ids, manifest.codec_ids
    text_ids = {f"text_ids.role[{place}]": value for place, value in enumerate(text.role)}
    text_ids |= {"text_ids.pad": text.pad, "text_ids.bos": text.bos, "text_ids.eos": text.eos}
    codec_ids = {f"codec_ids.{name}": getattr(codec, name) for name in codec.__struct_fields__}
    codec_ids |= {f"languages.{name}": value for name, value in manifest.languages.items()}
    codec_ids |= {f"speakers.{name}": speaker.id for name, speaker in manifest.speakers.items()}
    for ids, rows in ((text_ids, len(bundle.text_table)), (codec_ids, len(bundle.codec_embedding))):
        for name, value in ids.items():
            if not 0 <= value < rows:
                raise BundleError(f"{bundle.path}: {name} is {value}, beyond the {rows} rows of its table; {_AGAIN}")
    for name, speaker in manifest.speakers.items():
        if speaker.dialect is not None and speaker.dialect not in manifest.languages:
            raise BundleError(f"{bundle.path}: speaker {name} has the unknown dialect {speaker.dialect}; {_AGAIN}")
