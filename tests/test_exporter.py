"""Exports of tiny checkpoints: what they contain, and what is refused with nothing left behind."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from safetensors.numpy import load_file, save_file

from engines.manifest import ModelType, read_manifest
from export.errors import CheckpointError, ExportError
from export.exporter import export_checkpoint
from export.placing import into_place
from tests.tiny_checkpoint import write_checkpoint
from tests.tiny_spec import TINY, TinySpec


def test_the_manifest_tells_the_checkpoints_facts_and_the_files_match_it(tiny_bundle: Path) -> None:
    spec, manifest = TINY, read_manifest(tiny_bundle)
    assert manifest.model_type is ModelType.CUSTOM_VOICE
    assert manifest.frame.codebooks == spec.codebooks
    assert manifest.frame.samples_per_frame == spec.samples_per_frame
    assert manifest.codec_ids.eos == spec.end_id
    assert manifest.languages == spec.languages()
    assert {name: speaker.id for name, speaker in manifest.speakers.items()} == spec.speakers()
    assert manifest.speakers["eric"].dialect == "sichuan_dialect"
    assert manifest.speakers["aiden"].dialect is None
    for name, entry in manifest.files.items():
        content = (tiny_bundle / name).read_bytes()
        assert (len(content), hashlib.sha256(content).hexdigest()) == (entry.bytes, entry.sha256)
    assert set(manifest.files) | {"manifest.json"} == {path.name for path in tiny_bundle.iterdir()}
    assert all(name.startswith("speech_tokenizer.") for name in manifest.provenance.unused_tensors)


def test_every_node_has_a_path_of_its_own(tiny_bundle: Path) -> None:
    for name in ("frame.onnx", "codec.onnx"):
        nodes = onnx.load(tiny_bundle / name, load_external_data=False).graph.node
        paths = [node.name for node in nodes]
        assert len(set(paths)) == len(paths)
        assert all(path.startswith("/") for path in paths)


def test_the_text_table_is_the_projection_of_every_row(tiny_checkpoint: Path, tiny_bundle: Path) -> None:
    tensors = load_file(tiny_checkpoint / "model.safetensors")
    table = np.load(tiny_bundle / "text_table.npy", mmap_mode="r")
    x = tensors["talker.model.text_embedding.weight"]
    w1, b1, w2, b2 = (
        tensors[f"talker.text_projection.linear_fc{layer}.{leaf}"] for layer in (1, 2) for leaf in ("weight", "bias")
    )
    inner = x @ w1.T + b1
    np.testing.assert_allclose(table, (inner / (1 + np.exp(-inner))) @ w2.T + b2, rtol=1e-5, atol=1e-5)


def test_the_same_checkpoint_gives_the_same_bytes(tiny_checkpoint: Path, tiny_bundle: Path, tmp_path: Path) -> None:
    again = export_checkpoint(tiny_checkpoint, tmp_path / "again")
    assert again.files == read_manifest(tiny_bundle).files


@pytest.mark.parametrize("kind", ["base", "voice_design"])
@pytest.mark.parametrize("predictor_hidden", [64, 48])
def test_every_kind_exports_with_and_without_projection(tmp_path: Path, kind: str, predictor_hidden: int) -> None:
    spec = TinySpec(kind=kind, predictor_hidden=predictor_hidden, storage="bfloat16")  # type: ignore[arg-type]
    manifest = export_checkpoint(write_checkpoint(spec, tmp_path / "model"), tmp_path / "bundle")
    assert manifest.model_type.value == kind
    assert manifest.speakers == {}
    has_encoder = any(name.startswith("speaker_encoder.") for name in manifest.provenance.unused_tensors)
    assert has_encoder == (kind == "base")


def test_a_projection_that_is_missing_between_unequal_widths_is_named(tmp_path: Path) -> None:
    model = write_checkpoint(TinySpec(predictor_hidden=48), tmp_path / "model")
    tensors = load_file(model / "model.safetensors")
    del tensors["talker.code_predictor.small_to_mtp_projection.weight"]
    save_file(tensors, model / "model.safetensors")
    with pytest.raises(CheckpointError, match=r"tensor talker\.code_predictor\.small_to_mtp_.*\.weight is missing"):
        export_checkpoint(model, tmp_path / "bundle")


@pytest.mark.parametrize("precision", ["int8", "int4"])
def test_quantised_bundles_are_smaller(
    tiny_checkpoint: Path, tiny_bundle: Path, tmp_path: Path, precision: str
) -> None:
    manifest = export_checkpoint(tiny_checkpoint, tmp_path / precision, precision, force=True)
    full = read_manifest(tiny_bundle)
    assert manifest.provenance.precision == precision
    assert manifest.files["weights.safetensors"].bytes < full.files["weights.safetensors"].bytes
    assert 2 * manifest.files["text_table.npy"].bytes < full.files["text_table.npy"].bytes + 200


def drop(name: str) -> Callable[[dict[str, np.ndarray]], None]:
    return lambda tensors: tensors.__delitem__(name)


def put(name: str, values: np.ndarray) -> Callable[[dict[str, np.ndarray]], None]:
    return lambda tensors: tensors.__setitem__(name, values)


Q_PROJ = "talker.model.layers.1.self_attn.q_proj.weight"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (drop(Q_PROJ), f"tensor {Q_PROJ} is missing"),
        (put(Q_PROJ, np.zeros((3, 3), np.float32)), rf"tensor {Q_PROJ} has shape \[3, 3\], expected"),
        (put(Q_PROJ, np.zeros((64, 64), np.int32)), f"tensor {Q_PROJ} is stored as I32"),
        (put(Q_PROJ, np.full((64, 64), np.nan, np.float32)), f"tensor {Q_PROJ} holds values that are not finite"),
        (
            put("talker.model.layers.0.surprise", np.zeros(3, np.float32)),
            "tensor talker.model.layers.0.surprise is unknown",
        ),
    ],
)
def test_a_damaged_checkpoint_is_refused_by_tensor_name_and_leaves_nothing(
    tiny_checkpoint: Path, tmp_path: Path, change: Callable[[dict[str, np.ndarray]], None], said: str
) -> None:
    copy = shutil.copytree(tiny_checkpoint, tmp_path / "copy")
    tensors = load_file(copy / "model.safetensors")
    change(tensors)
    save_file(tensors, copy / "model.safetensors")
    with pytest.raises(CheckpointError, match=said):
        export_checkpoint(copy, tmp_path / "bundle")
    assert [path.name for path in tmp_path.iterdir()] == ["copy"]


def test_truncated_files_and_foreign_configurations_are_named(tiny_checkpoint: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(tiny_checkpoint, tmp_path / "copy")
    weights = copy / "model.safetensors"
    content = weights.read_bytes()
    weights.write_bytes(content[:-100])
    with pytest.raises(CheckpointError, match=r"model\.safetensors cannot be read as safetensors"):
        export_checkpoint(copy, tmp_path / "bundle")
    weights.write_bytes(content)
    config = json.loads((copy / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps(config | {"model_type": "llama"}))
    with pytest.raises(CheckpointError, match="this is llama"):
        export_checkpoint(copy, tmp_path / "bundle")
    (copy / "config.json").write_text("{")
    with pytest.raises(CheckpointError, match=r"config\.json"):
        export_checkpoint(copy, tmp_path / "bundle")
    with pytest.raises(CheckpointError, match="cannot read"):
        export_checkpoint(tmp_path / "nowhere", tmp_path / "bundle")


@pytest.mark.parametrize(
    ("value", "precision", "remedy"), [(np.nan, "fp32", "$"), (1e30, "int8", ", or .*--precision")]
)
def test_text_rows_that_are_no_numbers_are_refused_by_token(
    tiny_checkpoint: Path, tmp_path: Path, value: float, precision: str, remedy: str
) -> None:
    copy = shutil.copytree(tiny_checkpoint, tmp_path / "copy")
    tensors, name = load_file(copy / "model.safetensors"), "talker.model.text_embedding.weight"
    tensors[name][7] = value
    save_file(tensors, copy / "model.safetensors")
    said = "the text row of token 7 is not finite: the checkpoint is damaged"
    with pytest.raises(CheckpointError, match=said + remedy):
        export_checkpoint(copy, tmp_path / "bundle", precision, measured=False)
    assert [path.name for path in tmp_path.iterdir()] == ["copy"]


def in_parts(checkpoint: Path) -> None:
    tensors = load_file(checkpoint / "model.safetensors")
    names = sorted(tensors)
    for part, chosen in enumerate((names[::2], names[1::2]), start=1):
        save_file({name: tensors[name] for name in chosen}, checkpoint / f"model-0000{part}-of-00002.safetensors")
    (checkpoint / "model.safetensors").unlink()


def only_pointed_to(checkpoint: Path) -> None:
    (checkpoint / "model.safetensors").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n")


def without_the_last_axis(checkpoint: Path) -> None:
    path = checkpoint / "speech_tokenizer" / "model.safetensors"
    tensors, name = load_file(path), "decoder.quantizer.rvq_first.output_proj.weight"
    tensors[name] = tensors[name][:, :, 0].copy()
    save_file(tensors, path)


def torn_phones(checkpoint: Path) -> None:
    (checkpoint / "phones.json").write_text('{"kind": "phon')


def tokens_in_latin_1(checkpoint: Path) -> None:
    path = checkpoint / "tokenizer_config.json"
    path.write_bytes(path.read_bytes().replace(b'"content": "', b'"content": "\xe4', 1))


def without_merges(checkpoint: Path) -> None:
    (checkpoint / "merges.txt").unlink()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (in_parts, r"model\.safetensors .* in 2 parts; load and save it as one"),
        (only_pointed_to, r"model\.safetensors .* run `git lfs pull` in "),
        (without_the_last_axis, r"rvq_first\.output_proj\.weight has shape \[24, 12\], expected \[24, 12, 1\]"),
        (torn_phones, r"phones\.json: Input data was truncated"),
        (without_merges, r"merges\.txt is missing"),
        (tokens_in_latin_1, r"tokenizer_config\.json: 'utf-8' codec can't decode byte 0xe4"),
    ],
)
def test_what_checkpoints_are_often_like_is_said_as_it_is(
    tiny_checkpoint: Path, tmp_path: Path, change: Callable[[Path], None], said: str
) -> None:
    copy = shutil.copytree(tiny_checkpoint, tmp_path / "copy")
    change(copy)
    with pytest.raises(CheckpointError, match=said):
        export_checkpoint(copy, tmp_path / "bundle")
    assert [path.name for path in tmp_path.iterdir()] == ["copy"]


def test_a_file_that_cannot_be_copied_is_named(tiny_checkpoint: Path, tmp_path: Path) -> None:
    checkpoint = shutil.copytree(tiny_checkpoint, tmp_path / "checkpoint")
    (checkpoint / "phones.json").write_text("{}")
    (checkpoint / "lexicon.txt").mkdir()
    with pytest.raises(ExportError, match=r"cannot write .*bundle: Is a directory \(.*lexicon\.txt\)"):
        export_checkpoint(checkpoint, tmp_path / "bundle")
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint"]


def test_an_existing_bundle_is_replaced_and_anything_else_is_not_touched(tiny_checkpoint: Path, tmp_path: Path) -> None:
    export_checkpoint(tiny_checkpoint, tmp_path / "bundle", "int8")
    export_checkpoint(tiny_checkpoint, tmp_path / "bundle", "fp32")
    assert read_manifest(tmp_path / "bundle").provenance.precision == "fp32"
    home = tmp_path / "home"
    home.mkdir()
    (home / "letter.txt").write_text("dear")
    with pytest.raises(ExportError, match="is not a bundle"):
        export_checkpoint(tiny_checkpoint, home)
    with pytest.raises(ExportError, match=r"letter\.txt exists and is not a bundle"):
        export_checkpoint(tiny_checkpoint, home / "letter.txt")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bundle", "home"]
    (home / "letter.txt").unlink()
    export_checkpoint(tiny_checkpoint, home)
    assert read_manifest(home), "nothing was in it"


def test_a_name_that_cannot_be_looked_at_is_told(tiny_checkpoint: Path, tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=r"cannot write .*: File name too long"):
        export_checkpoint(tiny_checkpoint, tmp_path / ("b" * 300))
    assert not list(tmp_path.iterdir())


def test_the_directory_of_a_bundle_is_made(tiny_checkpoint: Path, tmp_path: Path) -> None:
    """As the first export of the README has it: a checkout has no `voices`."""
    export_checkpoint(tiny_checkpoint, tmp_path / "voices" / "official" / "0.6b")
    assert read_manifest(tmp_path / "voices" / "official" / "0.6b").files
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(ExportError, match=r"cannot make the directory .*letter\.txt: "):
        export_checkpoint(tiny_checkpoint, tmp_path / "letter.txt" / "0.6b")


def test_a_link_to_a_bundle_gives_way_and_leaves_nothing_beside(tiny_bundle: Path, tmp_path: Path) -> None:
    (tmp_path / "bundle").symlink_to(tiny_bundle)
    made = tmp_path / ".bundle.made"
    made.mkdir()
    into_place(made, tmp_path / "bundle")
    assert [path.name for path in tmp_path.iterdir()] == ["bundle"]
    assert not (tmp_path / "bundle").is_symlink()
    assert read_manifest(tiny_bundle), "what the link led to stays"


def test_the_command_says_what_it_made_and_what_was_wrong(tiny_checkpoint: Path, tmp_path: Path) -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-m", "export", *arguments], capture_output=True, text=True, check=False)

    good = run(str(tiny_checkpoint), str(tmp_path / "bundle"), "--precision", "int4", "--force")
    assert (good.returncode, good.stderr) == (0, "")
    assert "custom_voice, int4" in good.stdout
    bad = run(str(tmp_path / "nothing"), str(tmp_path / "other"))
    assert bad.returncode == 1
    assert bad.stderr.count("\n") == 1
    assert "config.json" in bad.stderr
