"""One frame as one graph: talker rows in, sixteen codes and the next input row out.

Purpose: talker stack, code 0 with its penalty and suppression, the unrolled code predictor, and the sum that the talker
reads next (as in `qwen-tts` 0.1.1), for B slots at once.
Knows: the talker and the code predictor. Does not know: backends, text, the codec.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
from onnx import TensorProto

from engines.manifest import FrameInputs, FrameOutputs, Tables
from export.checkpoint import TensorSource
from export.config import TalkerConfig
from export.graph import GraphBuilder
from export.lowering import Cache, Lowering, Matrix, Precision
from export.sampler import NEVER, Wishes, draw, penalise, wishes
from export.stack import Stack, biased, matrix, rotary_tables, run_stack

CODEC_EMBEDDING: Final = "talker.model.codec_embedding.weight"
"""In the checkpoint: the rows of codes 0, control ids and speakers, [V, H]."""


@dataclass(frozen=True, slots=True)
class FramePlan:
    """What the frame graph is built from."""

    config: TalkerConfig
    file: TensorSource
    """The checkpoint's `model.safetensors`."""
    precision: Precision
    """Of the matrices of both stacks, and between them."""
    head_precision: Precision
    """Precision of the heads, which decide the codes and weigh little."""
    max_top_k: int
    """K: how many of the likeliest codes a draw looks at."""
    max_positions: int
    """Rows that the talker's rotary tables reach."""
    cache_rows: int | str = "P"
    """Rows of a slot's cache, where the backend wants the number in the graph."""
    down_precision: Precision | None = None
    """Precision of the down projections, the most sensitive matrices, where it is not that of the others."""


def build_frame_graph(g: GraphBuilder, low: Lowering, plan: FramePlan) -> None:
    """Fill `g` with the graph whose inputs and outputs `engines.manifest` names."""
    config = plan.config
    hidden, vocabulary, groups = config.hidden_size, config.vocab_size, config.num_code_groups
    noise = g.ops("Split", frame_inputs(g, plan), g.ints(*[1] * groups), outputs=groups, axis=1)
    embedding = codec_embedding(g, low, plan)

    with g.scope("talker"):
        state = run_talker(g, low, plan)
        logits = talker_logits(g, low, plan, state)
        code = first_code(g, low, plan, logits, noise[0])

    first = low.widen(g.op("Gather", embedding, code))
    with g.scope("predictor"):
        wish = wishes(g, FrameInputs.TEMPERATURE, FrameInputs.TOP_K, FrameInputs.TOP_P, 1, plan.max_top_k)
        codes, embedded = _Predictor(g, low, plan, wish).run(state, first, noise[1:])

    g.output(g.op("Concat", code, *codes, axis=1), FrameOutputs.CODES, np.int64, ("B", groups))
    g.output(g.op("Sum", first, *embedded), FrameOutputs.NEXT_CODEC_ROW, np.float32, ("B", 1, hidden))
    remember_code(g, plan, code)
    g.output(logits, FrameOutputs.LOGITS, np.float32, ("B", vocabulary))


def remember_code(g: GraphBuilder, plan: FramePlan, code: str) -> None:
    """The output that says which codes 0 were seen, this one included."""
    one = g.op("Cast", g.op("Equal", code, code), to=TensorProto.FLOAT)  # [B, 1], whatever B is
    seen = g.op("ScatterElements", FrameInputs.SEEN, code, one, axis=1)
    g.output(seen, FrameOutputs.NEXT_SEEN, np.float32, ("B", plan.config.vocab_size))


def talker_logits(g: GraphBuilder, low: Lowering, plan: FramePlan, state: str) -> str:
    """The talker's raw logits, [B, V], from its state [B, 1, hidden]."""
    rows, hidden = plan.config.vocab_size, plan.config.hidden_size
    head = matrix(plan.file, "talker.head", ["talker.codec_head.weight"], [rows], hidden, plan.head_precision)
    return g.op("Squeeze", low.linear(state, head), g.ints(1))


def frame_inputs(g: GraphBuilder, plan: FramePlan) -> str:
    """Declare the inputs, the caches apart; returns the noise of all code groups, [B, 1 + R, K]."""
    config, f32 = plan.config, np.float32
    row_inputs(g, plan)
    g.input(FrameInputs.SEEN, f32, ("B", config.vocab_size))
    g.input(FrameInputs.END_BIAS, f32, ("B", 1))
    g.input(FrameInputs.REPETITION_PENALTY, f32, ("B", 1))
    return draw_inputs(g, plan)


def draw_inputs(g: GraphBuilder, plan: FramePlan) -> str:
    """Declare what every draw of a code needs; returns the noise of all code groups, [B, 1 + R, K]."""
    g.input(FrameInputs.TEMPERATURE, np.float32, ("B", 2))
    g.input(FrameInputs.TOP_K, np.int64, ("B", 2))
    g.input(FrameInputs.TOP_P, np.float32, ("B", 2))
    return g.input(FrameInputs.NOISE, np.float32, ("B", plan.config.num_code_groups, plan.max_top_k))


def row_inputs(g: GraphBuilder, plan: FramePlan) -> None:
    """Declare the inputs that the talker's stack itself needs, its caches apart."""
    for rows in (FrameInputs.CODEC_ROWS, FrameInputs.TEXT_ROWS):
        g.input(rows, np.float32, ("B", "S", plan.config.hidden_size))
    g.input(FrameInputs.PAST_LENGTHS, np.int32, ("B",))
    g.input(FrameInputs.TOTAL_LENGTH, np.int32, (1,))


def codec_embedding(g: GraphBuilder, low: Lowering, plan: FramePlan) -> str:
    """The table of codes 0, [V, H], in the type of products."""
    return _embedding(g, low, plan, CODEC_EMBEDDING, Tables.CODEC_EMBEDDING, plan.config.vocab_size)


def residual_embedding(g: GraphBuilder, low: Lowering, plan: FramePlan, index: int) -> str:
    """The table of residual codes `index` (0 to R - 1), [Vp, H], in the type of products."""
    rows = plan.config.code_predictor_config.vocab_size
    return _embedding(g, low, plan, residual_embedding_source(index), f"predictor.embedding.{index}", rows)


def residual_embedding_source(index: int) -> str:
    """Its name in the checkpoint."""
    return f"talker.code_predictor.model.codec_embedding.{index}.weight"


def residual_head(plan: FramePlan, index: int) -> Matrix:
    """What makes logits [Vp] of the predictor's state [Hp], for residual code `index`."""
    config, sources = plan.config.code_predictor_config, [residual_head_source(index)]
    rows, inputs = [config.vocab_size], config.hidden_size
    return matrix(plan.file, f"predictor.head.{index}", sources, rows, inputs, plan.head_precision)


def residual_head_source(index: int) -> str:
    """Its name in the checkpoint."""
    return f"talker.code_predictor.lm_head.{index}.weight"


def _embedding(g: GraphBuilder, low: Lowering, plan: FramePlan, source: str, name: str, rows: int) -> str:
    shape = (rows, plan.config.hidden_size)
    plan.file.claim(source, shape)
    return g.weight(name, low.dtype, shape, lambda: plan.file.read(source).astype(low.dtype))


def run_talker(g: GraphBuilder, low: Lowering, plan: FramePlan) -> str:
    """The talker's normed hidden state of the last row, [B, 1, hidden]."""
    config = plan.config
    stack = talker_stack(plan)
    cosine, sine = rotary_tables(g, "talker", config, plan.max_positions)
    rows = g.op("Add", FrameInputs.CODEC_ROWS, FrameInputs.TEXT_ROWS)
    buffers = partial(buffer_cache, g, low, stack, plan.cache_rows, FrameInputs.TOTAL_LENGTH, (cosine, sine))
    keep = partial(present_cache, g, low, stack, plan.cache_rows)
    return g.slice(run_stack(g, low, stack, rows, buffers, keep), 1, -1)


def _cache_shape(stack: Stack, rows: int | str) -> tuple[int | str, ...]:
    return "B", stack.heads.key_value, rows, stack.heads.width


def buffer_cache(
    g: GraphBuilder, low: Lowering, stack: Stack, rows: int | str, total: str, tables: tuple[str, str], layer: int
) -> Cache:
    """Declare one layer's cache of `rows` rows a slot as inputs."""
    shape = _cache_shape(stack, rows)
    key = g.input(FrameInputs.past_key(layer), low.cache_dtype, shape)
    value = g.input(FrameInputs.past_value(layer), low.cache_dtype, shape)
    return Cache(key, value, FrameInputs.PAST_LENGTHS, total, *tables)


def present_cache(
    g: GraphBuilder, low: Lowering, stack: Stack, rows: int | str, layer: int, key: str, value: str
) -> None:
    """Declare one layer's cache after the run as outputs, or its new rows where the backend presents only those."""
    shape = _cache_shape(stack, "S" if low.presents_rows else rows)
    g.output(key, FrameOutputs.present_key(layer), low.cache_dtype, shape)
    g.output(value, FrameOutputs.present_value(layer), low.cache_dtype, shape)


def first_code(g: GraphBuilder, low: Lowering, plan: FramePlan, logits: str, noise: str) -> str:
    """Code 0, i64 [B, 1], from the talker's logits [B, V]."""
    config = plan.config
    allowed = np.zeros((1, config.vocab_size), np.float32)
    allowed[:, config.vocab_size - 1024 :] = NEVER  # the control ids, as the official generation suppresses them
    allowed[:, config.codec_eos_token_id] = 0.0
    is_end = np.zeros((1, config.vocab_size), np.float32)
    is_end[:, config.codec_eos_token_id] = 1.0
    wish = wishes(g, FrameInputs.TEMPERATURE, FrameInputs.TOP_K, FrameInputs.TOP_P, 0, plan.max_top_k)
    penalised = penalise(g, logits, FrameInputs.SEEN, FrameInputs.REPETITION_PENALTY)
    bias = g.op("Add", g.const(allowed, np.float32), g.op("Mul", FrameInputs.END_BIAS, g.const(is_end, np.float32)))
    scores = g.op("Unsqueeze", g.op("Add", penalised, bias), g.ints(1))
    return draw(g, low, scores, wish, noise, plan.max_top_k)


class _Predictor:
    """The code predictor unrolled: pass 0 reads two rows (talker state, code 0), pass i the code before it.

    Its cache lives inside the graph and starts anew with every frame.
    """

    def __init__(self, g: GraphBuilder, low: Lowering, plan: FramePlan, wish: Wishes) -> None:
        self._g, self._low, self._plan, self._wish = g, low, plan, wish
        self._config = plan.config.code_predictor_config
        self._residuals = plan.config.num_code_groups - 1
        self._stack = predictor_stack(plan)
        self._cosine, self._sine = rotary_tables(g, "predictor", self._config, plan.config.num_code_groups)
        self._past = dict.fromkeys(range(self._config.num_hidden_layers), ("", ""))
        self._zeros = g.op("Mul", FrameInputs.PAST_LENGTHS, g.const(0, np.int32))

    def run(self, state: str, first: str, noise: list[str]) -> tuple[list[str], list[str]]:
        """Residual codes, each i64 [B, 1], and their embeddings, each [B, 1, talker hidden]."""
        g, codes, embedded = self._g, [], []
        rows = g.op("Concat", state, first, axis=1)
        for index in range(self._residuals):
            with g.scope(f"pass.{index}"):
                hidden = self._pass(rows, index)
                logits = self._low.linear(hidden, residual_head(self._plan, index))
                codes.append(draw(g, self._low, logits, self._wish, noise[index], self._plan.max_top_k))
                table = residual_embedding(g, self._low, self._plan, index)
                embedded.append(self._low.widen(g.op("Gather", table, codes[-1])))
                rows = embedded[-1]
        return codes, embedded

    def _pass(self, rows: str, index: int) -> str:
        """Normed hidden state of the last row, [B, 1, hidden]."""
        g, length = self._g, index + 2
        lengths = g.op("Add", self._zeros, g.const(length - 1, np.int32))
        total = g.const([length], np.int32)
        first, count = (0, 2) if index == 0 else (index + 1, 1)

        def cache_of(layer: int) -> Cache:
            return Cache(*self._past[layer], lengths, total, self._cosine, self._sine, first, count)

        def keep(layer: int, key: str, value: str) -> None:
            self._past[layer] = (key, value)

        normed = run_stack(g, self._low, self._stack, project(g, self._low, self._plan, rows), cache_of, keep)
        return g.slice(normed, 1, -1) if index == 0 else normed


def talker_stack(plan: FramePlan) -> Stack:
    """The talker's stack."""
    return Stack("talker", "talker.model", plan.file, plan.config, plan.precision, plan.down_precision)


def predictor_stack(plan: FramePlan) -> Stack:
    """The code predictor's stack."""
    config = plan.config.code_predictor_config
    return Stack("predictor", "talker.code_predictor.model", plan.file, config, plan.precision, plan.down_precision)


def project(g: GraphBuilder, low: Lowering, plan: FramePlan, rows: str) -> str:
    """From the talker's width to the predictor's; the identity where they are equal and no tensor is there."""
    file, prefix = plan.file, "talker.code_predictor.small_to_mtp_projection"
    width, hidden = plan.config.hidden_size, plan.config.code_predictor_config.hidden_size
    if width == hidden and not file.has(f"{prefix}.weight"):
        return rows
    weight = matrix(file, "predictor.projection", [f"{prefix}.weight"], [hidden], width, plan.precision)
    return biased(g, low, file, rows, weight, f"{prefix}.bias")
