"""The command that writes a set of graphs for TensorRT."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from errno import ENOSPC
from pathlib import Path

import msgspec
import numpy as np
import onnx
import pytest
from safetensors.numpy import load_file, save_file

from engines.manifest import MANIFEST_NAME
from export.attention_tensorrt import AttentionForm
from export.errors import CheckpointError, ExportError, QualityError
from export.exporter import export_checkpoint
from export.lowering import Precision
from export.payload import Payload
from export.quantise import pack_signed_integers, unpack_integers
from export.tensorrt import WEIGHTS, FrameShape, TensorRtChoice, build_tensorrt, read_source
from export.tensorrt_files import CHOICE_FILE, ChoiceRecord, export_tensorrt
from tests.tensorrt_machine import FORMS, NEEDS_OPSET_24


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "export", "tensorrt", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_set_says_what_it_is_and_every_graph_is_whole(tiny_checkpoint: Path, tmp_path: Path) -> None:
    folder = tmp_path / "set"
    done = run(
        str(tiny_checkpoint), str(folder), "--form", "rows", "--shape", "stepped", "--precision", "int8",
        "--slots", "2", "--positions", "48", "--no-measure",
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    record = msgspec.json.decode((folder / CHOICE_FILE).read_bytes(), type=ChoiceRecord)
    assert (record.form, record.shape, record.precision, record.slots) == ("rows", "stepped", "int8", 2)
    assert {path.name for path in folder.iterdir()} == {CHOICE_FILE, record.weights, *record.graphs}
    for name in record.graphs:
        onnx.checker.check_model(folder / name, full_check=True)
    cache = next(value for value in onnx.load(folder / "talker.onnx").graph.input if value.name == "past_key.0")
    slots, _, positions, _ = cache.type.tensor_type.shape.dim
    assert (slots.dim_param, positions.dim_value) == ("B", 48), "a run has as few slots as will do"


@NEEDS_OPSET_24
def test_the_empty_directory_one_is_in_may_be_named(
    tiny_checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is written aside lies beside it."""
    for name in ("bundle", "graphs"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        if name == "bundle":
            export_checkpoint(tiny_checkpoint, Path())
        else:
            export_tensorrt(tiny_checkpoint, Path(), TensorRtChoice(AttentionForm.ROWS), measured=False)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bundle", "graphs"]
    assert (tmp_path / "graphs" / CHOICE_FILE).is_file()
    assert (tmp_path / "bundle" / MANIFEST_NAME).is_file()


def test_int4_is_rounded_with_what_was_learnt(tiny_checkpoint: Path, tmp_path: Path) -> None:
    choice = TensorRtChoice(AttentionForm.ROWS, FrameShape.STEPPED, precision=Precision.INT4, slots=1, positions=32)
    records = [
        export_tensorrt(tiny_checkpoint, tmp_path / str(measured), choice, measured=measured, force=True)
        for measured in (True, False)
    ]
    assert records[0].quality is not None
    assert records[1].quality is None
    learnt, nearest = (load_file(tmp_path / str(measured) / records[0].weights) for measured in (True, False))
    name = "talker.layers.0.attention.qkv"
    assert not np.array_equal(learnt[f"{name}.s4"], nearest[f"{name}.s4"])
    assert np.array_equal(learnt["codec.codebooks"], nearest["codec.codebooks"])


def test_what_learnt_nothing_is_rounded_as_its_bundle(tiny_checkpoint: Path, tmp_path: Path) -> None:
    choice = TensorRtChoice(AttentionForm.ROWS, FrameShape.STEPPED, precision=Precision.INT4, slots=1, positions=32)
    name, found = "talker.layers.0.attention.qkv", {}
    for measured in (True, False):
        bundle = tmp_path / f"bundle {measured}"
        export_checkpoint(tiny_checkpoint, bundle, "int4", measured=measured, force=True)
        made = export_tensorrt(tiny_checkpoint, tmp_path / str(measured), choice, measured=False, bundle=bundle)
        assert made.quality is None
        found[measured] = load_file(tmp_path / str(measured) / made.weights)
    weights = load_file(tmp_path / "bundle True" / "weights.safetensors")
    integers = unpack_integers(weights[f"{name}.q4"], 4)
    assert np.array_equal(found[True][f"{name}.s4"], pack_signed_integers(integers, 4))
    assert np.array_equal(found[True][f"{name}.scale"], weights[f"{name}.scale"].T.astype(np.float16))
    assert not np.array_equal(found[False][f"{name}.s4"], found[True][f"{name}.s4"]), "it knew nothing"


def test_down_projections_may_be_stored_otherwise(tiny_checkpoint: Path, tmp_path: Path) -> None:
    folder = tmp_path / "set"
    done = run(
        str(tiny_checkpoint), str(folder), "--form", "rows", "--precision", "int4", "--down", "int8", "--slots", "1",
        "--positions", "32", "--no-measure",
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert "int4, down projections int8, for 1 slots" in " ".join(done.stdout.split())
    record = msgspec.json.decode((folder / CHOICE_FILE).read_bytes(), type=ChoiceRecord)
    assert (record.precision, record.down_precision) == ("int4", "int8")
    stored = set(load_file(folder / record.weights))
    for stack in ("talker", "predictor"):
        assert f"{stack}.layers.0.mlp.down.s8" in stored
        assert f"{stack}.layers.0.attention.qkv.s4" in stored


def test_down_projections_are_never_fp8() -> None:
    assert TensorRtChoice(precision=Precision.FP8).down_precision is Precision.FP32
    with pytest.raises(ExportError, match="down projections cannot be fp8"):
        TensorRtChoice(precision=Precision.INT4, down=Precision.FP8)


@pytest.mark.parametrize("precision", Precision)
def test_the_default_voice_is_within_the_gate(default_checkpoint: Path, tmp_path: Path, precision: Precision) -> None:
    """In fp16 (`Precision.FP32` being as wide as the products), and in all narrower ways."""
    choice = TensorRtChoice(AttentionForm.ROWS, FrameShape.STEPPED, precision=precision, slots=1, positions=32)
    quality = export_tensorrt(default_checkpoint, tmp_path / "set", choice, measured=True).quality
    assert quality is not None
    assert quality.passed


@pytest.mark.parametrize("file", ["letter", "manifest.json"])
def test_nothing_foreign_is_overwritten_not_even_a_bundle(tiny_checkpoint: Path, tmp_path: Path, file: str) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / file).write_text("dear")
    with pytest.raises(ExportError, match="choose another name"):
        export_tensorrt(tiny_checkpoint, tmp_path / "mine", TensorRtChoice(slots=1), measured=False)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


@pytest.mark.parametrize("form", FORMS)
def test_wide_weights_measure_as_the_reference(tiny_checkpoint: Path, tmp_path: Path, form: AttentionForm) -> None:
    choice = TensorRtChoice(form, FrameShape.STEPPED, np.float32, Precision.FP32, 1, 32)
    quality = export_tensorrt(tiny_checkpoint, tmp_path / "set", choice).quality
    assert quality is not None
    assert quality.agreement == 1.0
    assert quality.divergence < 1e-6


@pytest.mark.parametrize("part", ["lm_head.1", "model.codec_embedding.1"])
def test_a_head_or_table_of_another_shape_is_refused_by_name_before_anything_is_made(
    tiny_checkpoint: Path, tmp_path: Path, part: str
) -> None:
    copy = shutil.copytree(tiny_checkpoint, tmp_path / "copy")
    tensors, name = load_file(copy / "model.safetensors"), f"talker.code_predictor.{part}.weight"
    tensors[name] = tensors[name][:-1].copy()
    save_file(tensors, copy / "model.safetensors")
    with pytest.raises(CheckpointError, match=rf"tensor {name} has shape"):
        build_tensorrt(read_source(copy, 64, 1024), TensorRtChoice(shape=FrameShape.STEPPED))


def test_what_measuring_takes_lies_beside_the_set_whose_disk_is_named_when_full(
    tiny_checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    choice = TensorRtChoice(AttentionForm.ROWS, FrameShape.STEPPED, np.float32, Precision.FP32, 1, 32)
    export_tensorrt(tiny_checkpoint, tmp_path / "set", choice, measured=True)
    whole = sorted(path.name for path in (tmp_path / "set").iterdir())
    assert whole == ["choice.json", "codec.onnx", "prefill.onnx", "step.onnx", "talker.onnx", WEIGHTS]

    def fill(*_: object) -> None:
        raise OSError(ENOSPC, "No space left on device")

    monkeypatch.setattr(Payload, "write", fill)
    with pytest.raises(ExportError, match=r"cannot write .*other: No space left on device"):
        export_tensorrt(tiny_checkpoint, tmp_path / "other", choice, measured=True)
    assert [path.name for path in tmp_path.iterdir()] == ["set"]


@NEEDS_OPSET_24
def test_a_set_below_the_gate_is_refused(tiny_checkpoint: Path, tmp_path: Path) -> None:
    with pytest.raises(QualityError, match="int4 changes this voice too much"):
        export_tensorrt(tiny_checkpoint, tmp_path / "set", TensorRtChoice(slots=1, positions=32))
    assert not list(tmp_path.iterdir())
