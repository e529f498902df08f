"""The engine builder at TensorRT's real libraries, as far as that goes without a GPU (`scripts/trt_build_check`)."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from export.attention_tensorrt import AttentionForm
from export.tensorrt import FRAME_ROLES, Role
from export.tensorrt_trouble import NO_GPU

ROOT = Path(__file__).parent.parent
PYTHON, LIBRARIES = "SPEAKD_TENSORRT_PYTHON", "SPEAKD_TENSORRT_LIBS"


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    if PYTHON not in os.environ:
        pytest.skip(f"TensorRT's libraries are not here: {PYTHON} and {LIBRARIES} name them, as for scripts/trt_parse")
    paths = [os.environ.get(LIBRARIES, ""), os.environ.get("LD_LIBRARY_PATH", "")]
    settings = {"LD_LIBRARY_PATH": ":".join(filter(None, paths)), "TRT_INTERNAL_OPTIONS": "--cpu_only=1"}
    done = subprocess.run(
        [os.environ[PYTHON], "-m", "scripts.trt_build_check"], cwd=ROOT, env=os.environ | settings,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_every_role_of_every_form_gets_as_far_as_the_build(told: dict[str, Any]) -> None:
    tried = {(one["form"], one["shape"], one["role"]) for one in told["graphs"]}
    assert tried == {
        (form.value, shape.value, role.value)
        for form in AttentionForm
        for shape, roles in FRAME_ROLES.items()
        for role in (Role.PREFILL, Role.CODEC, *roles)
    }


def test_the_configuration_is_what_was_ordered(told: dict[str, Any]) -> None:
    for one in told["graphs"]:
        assert one["profile"] == "whole"
        assert one["profiles"] == {"frame": 2, "talker": 2, "prefill": 1, "step": 4, "codec": 4}[one["role"]]
        assert one["workspace_mib"] == 256
        assert one["tf32"] == (one["shape"] == "unrolled"), "exact orders, here the stepped ones, have no TF32"
        assert one["timing_bytes"] > 0


def test_the_build_fails_with_a_sentence_and_can_be_stopped(told: dict[str, Any]) -> None:
    for one in told["graphs"]:
        assert one["grows"]
        if one["words"]:  # it began: 10.15 does, until it wants to try kernels
            assert one["stopped"]
            assert "TensorRT could not build" in one["refusal"]
        else:
            assert one["refusal"] == NO_GPU
