"""The official checkpoint's configuration files, as values.

Purpose: `config.json`, `generation_config.json` and `speech_tokenizer/config.json` read strictly where they matter.
Knows: the official keys (Qwen3-TTS 12Hz, `qwen-tts` 0.1.1). Does not know: tensors, graphs.

Missing keys of the talker are refused: the official classes' own defaults are not the shipped values. Keys of the
speech tokenizer and of the generation settings fall back to the official defaults, as the official loader does.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from export.errors import CheckpointError

HEAD_DIM_STEP: Final = 16  # ONNX Runtime's GroupQueryAttention rotates heads of such widths only


class StackConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Keys a transformer stack needs."""

    hidden_size: int
    intermediate_size: int
    num_hidden_layers: int
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    vocab_size: int
    rms_norm_eps: float
    rope_theta: float
    hidden_act: str = "silu"
    use_sliding_window: bool = False
    rope_scaling: dict[str, object] | None = None


class PredictorConfig(StackConfig, frozen=True, kw_only=True):
    """`talker_config.code_predictor_config`."""

    num_code_groups: int


class TalkerConfig(StackConfig, frozen=True, kw_only=True):
    """`talker_config`."""

    text_hidden_size: int
    text_vocab_size: int
    num_code_groups: int
    codec_pad_id: int
    codec_bos_id: int
    codec_eos_token_id: int
    codec_think_id: int
    codec_nothink_id: int
    codec_think_bos_id: int
    codec_think_eos_id: int
    codec_language_id: dict[str, int]
    code_predictor_config: PredictorConfig
    spk_id: dict[str, int] | None = None
    spk_is_dialect: dict[str, str | bool] | None = None


class ModelConfig(msgspec.Struct, frozen=True, kw_only=True):
    """`config.json`."""

    model_type: str
    tts_model_type: str
    tts_model_size: str
    tokenizer_type: str
    tts_pad_token_id: int
    tts_bos_token_id: int
    tts_eos_token_id: int
    talker_config: TalkerConfig


class GenerationConfig(msgspec.Struct, frozen=True, kw_only=True):
    """`generation_config.json`; the defaults are the official fallbacks."""

    do_sample: bool = True
    temperature: float = 0.9
    top_k: int = 50
    top_p: float = 1.0
    repetition_penalty: float = 1.05
    max_new_tokens: int = 2048
    subtalker_dosample: bool = True
    subtalker_temperature: float = 0.9
    subtalker_top_k: int = 50
    subtalker_top_p: float = 1.0


class CodecDecoderConfig(msgspec.Struct, frozen=True, kw_only=True):
    """`speech_tokenizer/config.json`: `decoder_config`, with the official class's defaults."""

    codebook_size: int = 2048
    hidden_size: int = 1024
    latent_dim: int = 1024
    rope_theta: float = 10000.0
    num_attention_heads: int = 16
    num_key_value_heads: int = 16
    head_dim: int | None = None
    attention_bias: bool = False
    sliding_window: int = 72
    intermediate_size: int = 3072
    hidden_act: str = "silu"
    rms_norm_eps: float = 1e-5
    num_hidden_layers: int = 8
    num_quantizers: int = 16
    upsample_rates: tuple[int, ...] = (8, 5, 4, 3)
    upsampling_ratios: tuple[int, ...] = (2, 2)
    decoder_dim: int = 1536

    @property
    def attention_head_dim(self) -> int:
        """Width of one attention head."""
        return self.head_dim if self.head_dim is not None else self.hidden_size // self.num_attention_heads


class CodecConfig(msgspec.Struct, frozen=True, kw_only=True):
    """`speech_tokenizer/config.json`."""

    decoder_config: CodecDecoderConfig
    output_sample_rate: int = 24000
    decode_upsample_rate: int = 1920


@dataclass(frozen=True, slots=True)
class CheckpointConfig:
    """All three files."""

    model: ModelConfig
    generation: GenerationConfig
    codec: CodecConfig


T = TypeVar("T")


def read_json(path: Path, kind: type[T]) -> T:
    """A file of the checkpoint as `kind`; raises `CheckpointError` naming it and what is wrong."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except OSError as error:
        raise CheckpointError(f"cannot read {path}: {error.strerror}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise CheckpointError(f"{path}: {error}") from error


def read_model_config(checkpoint: Path) -> ModelConfig:
    """Read and check `config.json`; raises `CheckpointError` naming the key at fault."""
    path = checkpoint / "config.json"
    config = read_json(path, ModelConfig)
    if config.model_type != "qwen3_tts" or config.tokenizer_type != "qwen3_tts_tokenizer_12hz":
        raise CheckpointError(
            f"{path}: this is {config.model_type} with {config.tokenizer_type};"
            " only qwen3_tts with qwen3_tts_tokenizer_12hz can be exported"
        )
    if config.tts_model_type not in ("custom_voice", "base", "voice_design"):
        raise CheckpointError(f"{path}: unknown tts_model_type {config.tts_model_type!r}")
    talker, predictor = config.talker_config, config.talker_config.code_predictor_config
    for name, stack in (("talker", talker), ("code predictor", predictor)):
        _check_stack(f"{path}: the {name}'s", stack)
    if talker.num_code_groups != predictor.num_code_groups:
        raise CheckpointError(f"{path}: num_code_groups differs between talker and code predictor")
    _check_ids(path, config)
    return config


def _check_ids(path: Path, config: ModelConfig) -> None:
    """Every id must be a row of its table, or the bundle would be one that no runtime opens."""
    talker = config.talker_config
    text = {name: getattr(config, name) for name in ("tts_pad_token_id", "tts_bos_token_id", "tts_eos_token_id")}
    codec = {name: getattr(talker, name) for name in talker.__struct_fields__ if name.startswith("codec_")}
    named = {"codec_language_id": codec.pop("codec_language_id"), "spk_id": talker.spk_id or {}}
    for whose, ids in named.items():
        codec |= {f"{whose}.{name}": number for name, number in ids.items()}
    for ids, rows in ((text, talker.text_vocab_size), (codec, talker.vocab_size)):
        for name, number in ids.items():
            if not 0 <= number < rows:
                raise CheckpointError(f"{path}: {name} is {number}, outside the {rows} rows of its table")
    languages = {name.lower() for name in talker.codec_language_id}
    for name in named["spk_id"]:
        dialect = (talker.spk_is_dialect or {}).get(name)
        if isinstance(dialect, str) and dialect not in languages:
            raise CheckpointError(f"{path}: spk_is_dialect.{name} is {dialect!r}, which is no codec_language_id")


def _check_stack(whose: str, stack: StackConfig) -> None:
    """Refuse what the official classes would heed and our graphs would not."""
    if stack.hidden_act != "silu":
        raise CheckpointError(f"{whose} hidden_act is {stack.hidden_act!r}; only silu is known")
    if stack.use_sliding_window:
        raise CheckpointError(f"{whose} use_sliding_window is true; only full attention is known")
    scaling = stack.rope_scaling or {}
    # all three rows of "mrope" positions are equal in this family, so its sections change nothing
    kind = scaling.get("rope_type", scaling.get("type", "default"))
    if kind not in ("default", "mrope"):
        raise CheckpointError(f"{whose} rope_scaling is of type {kind!r}; only the default rotation is known")
    if stack.head_dim % HEAD_DIM_STEP:
        raise CheckpointError(f"{whose} head_dim is {stack.head_dim}; it must be a multiple of {HEAD_DIM_STEP}")


def read_generation_config(checkpoint: Path) -> GenerationConfig:
    """Read `generation_config.json`; where the file is absent, the official fallbacks hold."""
    path = checkpoint / "generation_config.json"
    return read_json(path, GenerationConfig) if path.exists() else GenerationConfig()


def read_codec_config(checkpoint: Path) -> CodecConfig:
    """Read and check `speech_tokenizer/config.json`; raises `CheckpointError` naming the key at fault."""
    path = checkpoint / "speech_tokenizer" / "config.json"
    config = read_json(path, CodecConfig)
    decoder = config.decoder_config
    upsample = 1
    for rate in (*decoder.upsampling_ratios, *decoder.upsample_rates):
        upsample *= rate
    if upsample != config.decode_upsample_rate:
        raise CheckpointError(
            f"{path}: the decoder makes {upsample} samples per frame,"
            f" decode_upsample_rate says {config.decode_upsample_rate}"
        )
    if decoder.attention_bias or decoder.hidden_act != "silu":
        raise CheckpointError(f"{path}: attention_bias and a hidden_act other than silu are not known in this decoder")
    if decoder.num_key_value_heads != decoder.num_attention_heads:
        raise CheckpointError(f"{path}: num_key_value_heads must equal num_attention_heads in this decoder")
    return config


def read_checkpoint_config(checkpoint: Path) -> CheckpointConfig:
    """Read and check all three files; raises `CheckpointError` naming the key at fault, or where they contradict."""
    config = CheckpointConfig(
        read_model_config(checkpoint), read_generation_config(checkpoint), read_codec_config(checkpoint)
    )
    if config.model.talker_config.num_code_groups != config.codec.decoder_config.num_quantizers:
        raise CheckpointError(f"{checkpoint}: talker and speech tokenizer differ in the number of codebooks")
    return config
