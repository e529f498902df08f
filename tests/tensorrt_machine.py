"""A set of graphs for TensorRT, built and run by ONNX Runtime on the CPU as `export.plan_machine` does it.

Purpose: so that tests can compare a set's codes with those of the ONNX Runtime lowering. Knows: how a set is written.
Does not know: devices, captures, what a correct code is.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from engines.manifest import StackSpec
from export.attention_tensorrt import AttentionForm
from export.build_door import Session
from export.build_door import Values as Values  # noqa: PLC0414 - for the tests that use this machine
from export.config import StackConfig
from export.ort_session import OrtSession, runs_in_onnxruntime
from export.plan_machine import CodecMachine as BareCodec
from export.plan_machine import Dimensions
from export.plan_machine import FrameRun as FrameRun  # noqa: PLC0414 - as above
from export.plan_machine import Machine as BareMachine
from export.tensorrt import WEIGHTS, Role, TensorRtChoice, TensorRtSource, build_tensorrt

NEEDS_OPSET_24 = pytest.mark.skipif(
    not runs_in_onnxruntime(AttentionForm.IN_PLACE),
    reason="the in-place graphs cannot be run here: this ONNX Runtime (the last for Python 3.10) ends at opset 23",
)
FORMS = [
    pytest.param(form, marks=[NEEDS_OPSET_24] if form is AttentionForm.IN_PLACE else [], id=form.value)
    for form in AttentionForm
]
"""Both forms of attention, for tests that run them."""


def stack(config: StackConfig) -> StackSpec:
    return StackSpec(
        hidden=config.hidden_size, layers=config.num_hidden_layers, heads=config.num_attention_heads,
        kv_heads=config.num_key_value_heads, head_dim=config.head_dim, vocabulary=config.vocab_size,
    )  # fmt: skip


class Machine(BareMachine):
    """All slots of one choice, their caches full of garbage."""

    def __init__(
        self, source: TensorRtSource, choice: TensorRtChoice, folder: Path, *, literally: bool = False
    ) -> None:
        """`literally`: see `OrtSession`."""
        graphs = build_tensorrt(source, choice)
        graphs.write(folder)
        sessions: dict[Role, Session] = {
            role: OrtSession(folder / f"{role.value}.onnx", 1, literally=literally)
            for role in graphs.graphs
            if role != Role.CODEC
        }
        talker = source.talker
        size = Dimensions(
            talker=stack(talker), predictor=stack(talker.code_predictor_config), codebooks=talker.num_code_groups
        )
        super().__init__(sessions, choice, size, folder / WEIGHTS, garbage=True)


class CodecMachine(BareCodec):
    """The codec graph of one choice."""

    def __init__(self, source: TensorRtSource, choice: TensorRtChoice, folder: Path) -> None:
        graphs = build_tensorrt(source, choice)
        graphs.write(folder)
        super().__init__(OrtSession(folder / f"{Role.CODEC.value}.onnx", 1), choice)
