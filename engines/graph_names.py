"""The names a bundle's graphs speak by, with the shape and type of what goes by each name.

Purpose: half of the contract between `export` and the engine; the other half, and the way in, is `engines.manifest`.
Knows: inputs and outputs of the frame graph and the codec graph. Does not know: ONNX, devices, dimensions.
"""

from __future__ import annotations

from typing import Final


class FrameInputs:
    """Names of the frame graph's inputs. B = slots in the run, S = rows, H = talker hidden, V = talker vocabulary,
    K = `SamplingDefaults.max_top_k`, R = codebooks - 1, P = positions of the cache."""

    CODEC_ROWS: Final = "codec_rows"
    """f32 [B, S, H]: codec side of the input rows; for a step, `FrameOutputs.NEXT_CODEC_ROW` of the last frame."""
    TEXT_ROWS: Final = "text_rows"
    """f32 [B, S, H]: text side of the input rows; added to the codec side in the graph."""
    PAST_LENGTHS: Final = "past_lengths"
    """i32 [B]: rows in the cache *after* this run, minus one (S = 1: the row's own position)."""
    TOTAL_LENGTH: Final = "total_length"
    """i32 [1]: the largest number of rows in any slot's cache after this run."""
    SEEN: Final = "seen"
    """f32 [B, V]: 1 where code 0 was already sampled in this utterance, for the repetition penalty."""
    END_BIAS: Final = "end_bias"
    """f32 [B, 1]: added to the end code's logit: 0, or -1e30 while the utterance must not end."""
    REPETITION_PENALTY: Final = "repetition_penalty"
    """f32 [B, 1]."""
    TEMPERATURE: Final = "temperature"
    """f32 [B, 2]: talker, predictor; > 0 (1 when greedy)."""
    TOP_K: Final = "top_k"
    """i64 [B, 2]: talker, predictor; 1..K."""
    TOP_P: Final = "top_p"
    """f32 [B, 2]: talker, predictor; in (0, 1]."""
    NOISE: Final = "noise"
    """f32 [B, 1 + R, K]: Gumbel noise by code group; zero is greedy."""

    @staticmethod
    def past_key(layer: int) -> str:
        """f32 [B, kv_heads, P, head_dim], updated in place (bound to the same memory as `present_key`)."""
        return f"past_key.{layer}"

    @staticmethod
    def past_value(layer: int) -> str:
        """As `past_key`."""
        return f"past_value.{layer}"


SAMPLING_INPUTS: Final = (
    FrameInputs.REPETITION_PENALTY, FrameInputs.TEMPERATURE, FrameInputs.TOP_K, FrameInputs.TOP_P,
)  # fmt: skip
"""Set when an utterance begins, the same for all its frames."""


class FrameOutputs:
    """Names of the frame graph's outputs, letters as in `FrameInputs`."""

    CODES: Final = "codes"
    """i64 [B, 1 + R]: the frame's codes; where code 0 is the end code, the rest is void."""
    NEXT_CODEC_ROW: Final = "next_codec_row"
    """f32 [B, 1, H]: sum of the frame's code embeddings; may be bound to the memory of `codec_rows`."""
    NEXT_SEEN: Final = "next_seen"
    """f32 [B, V]: `seen` with this code 0 added; may be bound to the memory of `seen`."""
    LOGITS: Final = "logits"
    """f32 [B, V]: the talker's raw logits; bind only to look at them."""

    @staticmethod
    def present_key(layer: int) -> str:
        """The cache after the run."""
        return f"present_key.{layer}"

    @staticmethod
    def present_value(layer: int) -> str:
        """As `present_key`."""
        return f"present_value.{layer}"


def cache_names(layers: int) -> list[tuple[str, str]]:
    """Every layer's keys, then its values: the input's name, and that of the output which is the same cache after."""
    names = ((FrameInputs.past_key, FrameOutputs.present_key), (FrameInputs.past_value, FrameOutputs.present_value))
    return [(past(layer), present(layer)) for layer in range(layers) for past, present in names]


class CodecInputs:
    """Names of the codec graph's inputs. B = slots in the run, T = frames."""

    CODES: Final = "codes"
    """i64 [B, T, codebooks]."""
    POSITION: Final = "position"
    """i64 [B]: frames this stream's decoder has seen before this call."""

    @staticmethod
    def state(name: str) -> str:
        """f32 [B, *StateSpec.shape]; may be bound to the memory of the output of the same state."""
        return f"state.{name}"


class CodecOutputs:
    """Names of the codec graph's outputs."""

    PCM: Final = "pcm"
    """f32 [B, T * samples_per_frame], clamped to [-1, 1]."""

    @staticmethod
    def state(name: str) -> str:
        """The state after the call."""
        return f"next_state.{name}"


class Tables:
    """Names, inside the weights payload, of tables the host reads too."""

    CODEC_EMBEDDING: Final = "talker.codec_embedding"
    """f32 [V, H]: rows of codes, control ids and speakers."""
