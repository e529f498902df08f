"""Configurations that the official classes heed and our graphs do not are refused by key."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from export.config import read_model_config
from export.errors import CheckpointError
from export.exporter import export_checkpoint
from export.tensorrt import read_source


@pytest.mark.parametrize("stack", ["talker", "code predictor"])
@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("hidden_act", "gelu", "hidden_act is 'gelu'"),
        ("use_sliding_window", True, "use_sliding_window is true"),
        ("rope_scaling", {"rope_type": "yarn", "factor": 4.0}, "rope_scaling is of type 'yarn'"),
        ("rope_scaling", {"type": "linear", "factor": 2.0}, "rope_scaling is of type 'linear'"),
        ("head_dim", 24, "head_dim is 24; it must be a multiple of 16"),
    ],
)
def test_unknown_settings_are_refused(
    tiny_checkpoint: Path, tmp_path: Path, stack: str, key: str, value: object, said: str
) -> None:
    shutil.copy(tiny_checkpoint / "config.json", tmp_path)
    path = tmp_path / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    talker = config["talker_config"]
    (talker if stack == "talker" else talker["code_predictor_config"])[key] = value
    path.write_text(json.dumps(config), encoding="utf-8")
    with pytest.raises(CheckpointError, match=f"the {stack}'s {said}"):
        read_model_config(tmp_path)


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("tts_pad_token_id", 384, "tts_pad_token_id is 384, outside the 384 rows"),
        ("codec_eos_token_id", 1152, "codec_eos_token_id is 1152, outside the 1152 rows"),
        ("codec_think_id", -1, "codec_think_id is -1, outside"),
        ("codec_language_id", {"english": 1152}, r"codec_language_id\.english is 1152, outside"),
        ("spk_id", {"me": 3000}, r"spk_id\.me is 3000, outside"),
        ("spk_is_dialect", {"eric": "klingon"}, r"spk_is_dialect\.eric is 'klingon', which is no codec_language_id"),
    ],
)
def test_what_no_runtime_would_open_is_not_made_and_a_good_bundle_stays(
    tiny_checkpoint: Path, tmp_path: Path, key: str, value: object, said: str
) -> None:
    checkpoint = shutil.copytree(tiny_checkpoint, tmp_path / "checkpoint")
    (tmp_path / "bundle").mkdir()
    (tmp_path / "bundle" / "manifest.json").write_text("good")
    path = checkpoint / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    (config if key in config else config["talker_config"])[key] = value
    path.write_text(json.dumps(config), encoding="utf-8")
    with pytest.raises(CheckpointError, match=said):
        export_checkpoint(checkpoint, tmp_path / "bundle")
    assert (tmp_path / "bundle" / "manifest.json").read_text() == "good"


def test_equal_rows_of_positions_are_the_default_rotation(tiny_checkpoint: Path) -> None:
    assert read_model_config(tiny_checkpoint).talker_config.rope_scaling is not None


def test_codebooks_that_differ_are_refused_whatever_is_made(tiny_checkpoint: Path, tmp_path: Path) -> None:
    checkpoint = shutil.copytree(tiny_checkpoint, tmp_path / "checkpoint")
    path = checkpoint / "speech_tokenizer" / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    config["decoder_config"]["num_quantizers"] += 1
    path.write_text(json.dumps(config), encoding="utf-8")
    for make in (lambda: export_checkpoint(checkpoint, tmp_path / "bundle"), lambda: read_source(checkpoint, 64, 1024)):
        with pytest.raises(CheckpointError, match="differ in the number of codebooks"):
            make()


def test_a_foreign_role_header_is_refused_before_anything_is_written(
    tiny_checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(*_: object) -> None:
        pytest.fail("the text table takes minutes")

    monkeypatch.setattr("export.text_side.ROLE", "some other header of more ids")
    monkeypatch.setattr("export.text_side.TextTable.write", write)
    with pytest.raises(CheckpointError, match="the model needs 3"):
        export_checkpoint(tiny_checkpoint, tmp_path / "bundle")
