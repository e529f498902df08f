"""Teacher forcing as one graph: rows and codes of a whole utterance in, the logits of every choice out.

Purpose: the talker reads all rows in one causal pass, the predictor all codes of all frames in another (the frames are
its batch), so that one run tells what a set of weights would have chosen everywhere, given the same past.
Knows: the networks, through the pieces of the frame graph. Does not know: where rows and codes come from, what is
made of the logits.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from onnx import TensorProto

from engines.manifest import FrameInputs
from export.frame_graph import (
    FramePlan,
    codec_embedding,
    predictor_stack,
    project,
    residual_embedding,
    residual_head,
    row_inputs,
    talker_logits,
    talker_stack,
)
from export.graph import GraphBuilder
from export.lowering import Cache, Lowering, Matrix, OrtLowering
from export.stack import Stack, rotary_tables, run_stack

CODES: Final = "codes"
"""i64 [T, codebooks]: the codes that were chosen."""
FIRST_ROW: Final = "first_row"
"""i64 [1]: the row whose state chose frame 0; the rows after it chose the frames after."""
TALKER_LOGITS: Final = "talker_logits"
"""f32 [T, V]."""
PREDICTOR_LOGITS: Final = "predictor_logits"
"""f32 [T, codebooks - 1, Vp]."""
MOMENTS: Final = "moments."
"""Prefix of the outputs X^T X, f32 [inputs, inputs], X being all rows that the matrix named after it was given."""


class MomentLowering(OrtLowering):
    """Puts the second moments of every matrix's inputs out as well."""

    def __init__(self, graph: GraphBuilder) -> None:
        super().__init__(graph)
        self._seen: dict[str, tuple[str, int]] = {}

    def linear(self, x: str, weight: Matrix) -> str:
        """As ever; remembers what went in."""
        self._seen[weight.name] = (x, weight.inputs)
        return super().linear(x, weight)

    def put_out(self) -> None:
        """Add the outputs, heads apart; once the graph is whole."""
        g = self._g
        for name, (x, inputs) in self._seen.items():
            if ".head" not in name:
                rows = g.op("Reshape", x, g.ints(-1, inputs))
                moments = g.op("MatMul", g.op("Transpose", rows, perm=(1, 0)), rows)
                g.output(moments, f"{MOMENTS}{name}", np.float32, (inputs, inputs))


def build_probe_graph(g: GraphBuilder, low: Lowering, plan: FramePlan) -> None:
    """Fill `g`; rows and lengths come in by the frame graph's names, for one slot without a past."""
    config = plan.config
    row_inputs(g, plan)
    codes = g.input(CODES, np.int64, ("T", config.num_code_groups))
    first_row = g.input(FIRST_ROW, np.int64, (1,))
    with g.scope("talker"):
        rows = g.op("Add", FrameInputs.CODEC_ROWS, FrameInputs.TEXT_ROWS)
        states = _without_past(g, low, plan, talker_stack(plan), rows, plan.max_positions,
                               (FrameInputs.PAST_LENGTHS, FrameInputs.TOTAL_LENGTH))  # fmt: skip
        end = g.op("Add", first_row, g.op("Shape", codes, start=0, end=1))
        chosen = g.op("Transpose", g.op("Slice", states, first_row, end, g.ints(1)), perm=(1, 0, 2))  # [T, 1, H]
        logits = talker_logits(g, low, plan, chosen)
    g.output(logits, TALKER_LOGITS, np.float32, ("T", config.vocab_size))
    with g.scope("predictor"):
        _predictor(g, low, plan, chosen, codes)


def _without_past(
    g: GraphBuilder, low: Lowering, plan: FramePlan, stack: Stack, rows: str, positions: int, lengths: tuple[str, str]
) -> str:
    cosine, sine = rotary_tables(g, stack.name, stack.config, positions)
    return run_stack(
        g, low, stack, rows, lambda _: Cache("", "", *lengths, cosine, sine), lambda _layer, _key, _value: None
    )


def _predictor(g: GraphBuilder, low: Lowering, plan: FramePlan, states: str, codes: str) -> None:
    """Rows of a frame: the talker's state, code 0, ... the last code but one; row i + 1 chooses residual code i."""
    groups = plan.config.num_code_groups
    rows = [states]
    for group in range(groups - 1):
        table = residual_embedding(g, low, plan, group - 1) if group else codec_embedding(g, low, plan)
        rows.append(low.widen(g.op("Gather", table, g.slice(codes, 1, group, group + 1))))
    zeros = g.op("Mul", g.op("Squeeze", g.op("Cast", g.slice(codes, 1, 0, 1), to=TensorProto.INT32), g.ints(1)),
                 g.const(0, np.int32))  # fmt: skip
    lengths = g.op("Add", zeros, g.const(groups - 1, np.int32))
    joined = project(g, low, plan, g.op("Concat", *rows, axis=1))
    normed = _without_past(g, low, plan, predictor_stack(plan), joined, groups, (lengths, g.const([groups], np.int32)))
    logits = [
        low.linear(g.slice(normed, 1, index + 1, index + 2), residual_head(plan, index)) for index in range(groups - 1)
    ]
    shape = ("T", groups - 1, plan.config.code_predictor_config.vocab_size)
    g.output(g.op("Concat", *logits, axis=1), PREDICTOR_LOGITS, np.float32, shape)
