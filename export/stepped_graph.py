"""The frame in pieces: the talker's stack for a prompt, its step with code 0, and one run of the code predictor.

Purpose: the graphs a runtime captures in sequence, where `frame_graph` unrolls the predictor; the predictor's weights
are then in one graph once, and what differs from run to run (head, embedding, position, noise) is bound from outside.
The prompt's graph only fills the cache: a prompt's last row is run as an ordinary step.
Knows: which piece reads what. Does not know: backends, text, the codec, captures.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from engines.manifest import FrameInputs, FrameOutputs
from engines.step_names import StepInputs, StepOutputs, StepTables, TalkerStepOutputs
from export.checkpoint import Array
from export.frame_graph import (
    FramePlan,
    buffer_cache,
    codec_embedding,
    draw_inputs,
    first_code,
    frame_inputs,
    predictor_stack,
    present_cache,
    project,
    remember_code,
    residual_embedding_source,
    residual_head_source,
    row_inputs,
    run_talker,
    talker_logits,
)
from export.graph import GraphBuilder
from export.lowering import Lowering
from export.sampler import draw, wishes
from export.stack import rotary_tables, run_stack


def build_prefill_graph(g: GraphBuilder, low: Lowering, plan: FramePlan) -> None:
    """Rows in, caches out; S rows of B slots."""
    row_inputs(g, plan)
    with g.scope("talker"):
        run_talker(g, low, plan)


def build_talker_graph(g: GraphBuilder, low: Lowering, plan: FramePlan) -> None:
    """The talker's step and code 0; outputs as `TalkerStepOutputs` says."""
    config, f32 = plan.config, np.float32
    hidden, vocabulary = config.hidden_size, config.vocab_size
    noise = frame_inputs(g, plan)
    table = codec_embedding(g, low, plan)
    with g.scope("talker"):
        state = run_talker(g, low, plan)
        logits = talker_logits(g, low, plan, state)
        code = first_code(g, low, plan, logits, g.slice(noise, 1, 0, 1))
    row = low.widen(g.op("Gather", table, code))
    remember_code(g, plan, code)
    g.output(g.op("Concat", state, row, axis=1), TalkerStepOutputs.PREDICTOR_ROWS, f32, ("B", 2, hidden))
    g.output(code, TalkerStepOutputs.CODE, np.int64, ("B", 1))
    g.output(row, TalkerStepOutputs.CODE_ROW, f32, ("B", 1, hidden))
    g.output(logits, FrameOutputs.LOGITS, f32, ("B", vocabulary))


def build_step_graph(g: GraphBuilder, low: Lowering, plan: FramePlan) -> None:
    """One run of the code predictor; inputs and outputs as `StepInputs` and `StepOutputs` say."""
    config, f32 = plan.config, np.float32
    hidden, predictor = config.hidden_size, config.code_predictor_config
    g.input(StepInputs.ROWS, f32, ("B", "S", hidden))
    g.input(StepInputs.ROW_SUM, f32, ("B", 1, hidden))
    g.input(FrameInputs.PAST_LENGTHS, np.int32, ("B",))
    g.input(StepInputs.GROUP, np.int64, (1,))
    head = g.input(StepInputs.HEAD, low.dtype, (predictor.hidden_size, predictor.vocab_size))
    table = g.input(StepInputs.EMBEDDING, low.dtype, (predictor.vocab_size, hidden))
    noise = draw_inputs(g, plan)
    with g.scope("predictor"):
        logits = low.widen(g.op("MatMul", low.narrow(_last_state(g, low, plan)), head))
        wish = wishes(g, FrameInputs.TEMPERATURE, FrameInputs.TOP_K, FrameInputs.TOP_P, 1, plan.max_top_k)
        code = draw(g, low, logits, wish, g.op("Gather", noise, StepInputs.GROUP, axis=1), plan.max_top_k)
    row = low.widen(g.op("Gather", table, code))
    g.output(g.op("Add", StepInputs.ROW_SUM, row), StepOutputs.NEXT_ROW_SUM, f32, ("B", 1, hidden))
    g.output(code, StepOutputs.CODE, np.int64, ("B", 1))
    g.output(row, StepOutputs.NEXT_ROW, f32, ("B", 1, hidden))
    _claim_tables(g, low, plan)


def _last_state(g: GraphBuilder, low: Lowering, plan: FramePlan) -> str:
    """Normed hidden state of the run's last row, [B, 1, Hp]."""
    stack, rows = predictor_stack(plan), plan.config.num_code_groups
    tables = rotary_tables(g, "predictor", stack.config, rows)
    cache_of = partial(buffer_cache, g, low, stack, rows, "", tables)
    keep = partial(present_cache, g, low, stack, rows)
    normed = run_stack(g, low, stack, project(g, low, plan, StepInputs.ROWS), cache_of, keep)
    return g.slice(normed, 1, -1)


def _claim_tables(g: GraphBuilder, low: Lowering, plan: FramePlan) -> None:
    """Put the heads and embeddings of all runs into the payload, one matrix after the other."""
    file, residuals = plan.file, plan.config.num_code_groups - 1
    hidden, predictor = plan.config.hidden_size, plan.config.code_predictor_config
    heads = [residual_head_source(index) for index in range(residuals)]
    tables = [residual_embedding_source(index) for index in range(residuals)]
    for source in heads:
        file.claim(source, (predictor.vocab_size, predictor.hidden_size))
    for source in tables:
        file.claim(source, (predictor.vocab_size, hidden))

    def stacked(sources: list[str], transposed: bool) -> Array:
        values = [file.read(source) for source in sources]
        return np.stack([value.T if transposed else value for value in values])

    shape = (residuals, predictor.hidden_size, predictor.vocab_size)
    g.payload.add(StepTables.HEADS, low.dtype, shape, lambda: stacked(heads, True).astype(low.dtype))
    shape = (residuals, predictor.vocab_size, hidden)
    g.payload.add(StepTables.EMBEDDINGS, low.dtype, shape, lambda: stacked(tables, False).astype(low.dtype))
