"""Names that the stepped frame speaks by: a talker graph, then one predictor graph run once per residual code.

Purpose: the contract between `export` and a runtime for the second shape of a frame (`FrameInputs` and `FrameOutputs`
of the manifest tell the first, where one graph does all). Run the talker graph, then the step graph R times in one
captured sequence, binding for run i (0 to R - 1) what this file says of i. What a run hands to the next lies in two
memories used in turn. Letters as in `FrameInputs`; Hp = predictor hidden, Vp = predictor vocabulary.
Knows: names, shapes, dtypes. Does not know: ONNX, devices.
"""

from __future__ import annotations

from typing import Final


class TalkerStepOutputs:
    """Outputs of the talker graph beside the caches, `next_seen` and `logits` of `FrameOutputs`; inputs as there."""

    CODE: Final = "code"
    """i64 [B, 1]: code 0."""
    PREDICTOR_ROWS: Final = "predictor_rows"
    """f32 [B, 2, H]: the talker's state and the embedding of code 0."""
    CODE_ROW: Final = "code_row"
    """f32 [B, 1, H]: the embedding of code 0, where the sum of the frame's rows begins."""


class StepInputs:
    """Inputs of the predictor's step graph beside `past_lengths`, `temperature`, `top_k`, `top_p`, `noise` and the
    caches (`past_key`, `past_value` by layer, R + 1 rows), which are named as in `FrameInputs`. `past_lengths` is i + 1
    for every slot."""

    ROWS: Final = "rows"
    """f32 [B, S, H]: run 0 reads the two `PREDICTOR_ROWS`, a later run the row of the code before (`NEXT_ROW`)."""
    ROW_SUM: Final = "row_sum"
    """f32 [B, 1, H]: rows of the frame's codes so far; run 0 reads `CODE_ROW`."""
    GROUP: Final = "group"
    """i64 [1]: i + 1, the code group being drawn."""
    HEAD: Final = "head"
    """[Hp, Vp], of the products' type: matrix i of `StepTables.HEADS`."""
    EMBEDDING: Final = "embedding"
    """[Vp, H], of the products' type: matrix i of `StepTables.EMBEDDINGS`."""


class StepOutputs:
    """Outputs of the step graph beside the caches."""

    CODE: Final = "code"
    """i64 [B, 1]: residual code i."""
    NEXT_ROW: Final = "next_row"
    """f32 [B, 1, H]: its embedding."""
    NEXT_ROW_SUM: Final = "next_row_sum"
    """f32 [B, 1, H]: after the last run, the talker's next codec row."""


class StepTables:
    """Names, inside the weights payload, of what the step graph is handed slice by slice."""

    HEADS: Final = "predictor.heads"
    """[R, Hp, Vp]."""
    EMBEDDINGS: Final = "predictor.embeddings"
    """[R, Vp, H]."""
