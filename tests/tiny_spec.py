"""What a tiny checkpoint is: its dimensions, its ids, and the JSON files that declare them.

Purpose: one frozen value per test model, and the official configuration files that follow from it. Knows: the official
configuration's keys. Does not know: tensors, files on disk, our exporter.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Literal

Json = dict[str, object]
Kind = Literal["custom_voice", "base", "voice_design"]

CONTROL_IDS = 1024
"""Ids above the codes in the talker's vocabulary; their order is the official one."""


@dataclass(frozen=True, kw_only=True)
class TinySpec:
    """One small random model; equal values give equal files, byte for byte."""

    seed: int = 1
    kind: Kind = "custom_voice"
    model_size: str = "0b6"
    storage: Literal["float32", "bfloat16"] = "float32"

    hidden: int = 64
    layers: int = 3
    heads: int = 4
    kv_heads: int = 2
    head_dim: int = 16
    intermediate: int = 96
    text_hidden: int = 48
    text_rows: int = 384
    """Rows of the text table; more than the tokenizer has ids, as in the released models."""

    predictor_hidden: int = 64
    predictor_layers: int = 2
    predictor_heads: int = 4
    predictor_kv_heads: int = 2
    predictor_head_dim: int = 16
    predictor_intermediate: int = 80

    codebooks: int = 16
    codes: int = 128
    """Values of one code."""
    logit_gain: float = 4.0
    """Spread of the logits; greedy margins grow with it."""
    end_gain: float = 1.0
    """Extra spread of the end code's logit; above 1 it wins now and then."""

    codec_dim: int = 24
    """Width of the codec's summed code vectors; each codebook is half as wide."""
    codec_latent: int = 32
    codec_hidden: int = 20
    codec_layers: int = 2
    codec_heads: int = 2
    codec_head_dim: int = 16
    codec_intermediate: int = 40
    codec_window: int = 72
    codec_channels: int = 64
    codec_rates: tuple[int, ...] = (3, 2, 2, 2)
    codec_ratios: tuple[int, ...] = (2, 2)
    codec_gain: float = 1.0
    """Loudness; large values drive the waveform into the clamp at 1."""
    sample_rate: int = 24000

    @property
    def vocabulary(self) -> int:
        """Size of the talker's codec vocabulary."""
        return self.codes + CONTROL_IDS

    @property
    def samples_per_frame(self) -> int:
        """Samples of sound per frame of codes."""
        return prod(self.codec_rates) * prod(self.codec_ratios)

    @property
    def projected(self) -> bool:
        """Whether the predictor needs `small_to_mtp_projection`."""
        return self.hidden != self.predictor_hidden

    @property
    def end_id(self) -> int:
        """The code 0 that ends an utterance."""
        return self.codes + 102

    def control(self, released: int) -> int:
        """The id that stands where `released` stands in the released models' vocabulary of 2048 codes."""
        return released - 2048 + self.codes

    def languages(self) -> dict[str, int]:
        """Language ids; dialects only where there are speakers."""
        names = {"english": 2050, "german": 2053, "chinese": 2055, "japanese": 2058}
        if self.kind == "custom_voice":
            names |= {"sichuan_dialect": 2062, "beijing_dialect": 2074}
        return {name: self.control(id_) for name, id_ in names.items()}

    def speakers(self) -> dict[str, int]:
        """Speaker ids; only CustomVoice models have any."""
        names = {"aiden": 2861, "eric": 2875, "dylan": 2878, "serena": 3066}
        return {name: self.control(id_) for name, id_ in names.items()} if self.kind == "custom_voice" else {}


TINY = TinySpec(codebooks=4)
"""The model that all tests share. ONNX Runtime opens a frame of 4 codes in an eighth of the time of one of 16."""


def main_config(spec: TinySpec, text_ids: dict[str, int]) -> Json:
    """`config.json` of the talker's directory."""
    dialects = {"eric": "sichuan_dialect", "dylan": "beijing_dialect"}
    speakers = spec.speakers()
    talker: Json = {
        **_stack(spec.hidden, spec.intermediate, spec.layers, spec.heads, spec.kv_heads, spec.head_dim),
        "model_type": "qwen3_tts_talker",
        "max_position_embeddings": 2048,
        "rope_scaling": {
            "interleaved": True,
            "mrope_section": [spec.head_dim // 2 - 2 * (spec.head_dim // 6), spec.head_dim // 6, spec.head_dim // 6],
            "rope_type": "default",
            "type": "default",
        },
        "vocab_size": spec.vocabulary,
        "text_vocab_size": spec.text_rows,
        "text_hidden_size": spec.text_hidden,
        "num_code_groups": spec.codebooks,
        "position_id_per_seconds": 13,
        "codec_pad_id": spec.control(2148),
        "codec_bos_id": spec.control(2149),
        "codec_eos_token_id": spec.end_id,
        "codec_think_id": spec.control(2154),
        "codec_nothink_id": spec.control(2155),
        "codec_think_bos_id": spec.control(2156),
        "codec_think_eos_id": spec.control(2157),
        "codec_language_id": spec.languages(),
        "spk_id": speakers,
        "spk_is_dialect": {name: dialects.get(name, False) for name in speakers},
        "code_predictor_config": {
            **_stack(
                spec.predictor_hidden,
                spec.predictor_intermediate,
                spec.predictor_layers,
                spec.predictor_heads,
                spec.predictor_kv_heads,
                spec.predictor_head_dim,
            ),
            "model_type": "qwen3_tts_talker_code_predictor",
            "layer_types": ["full_attention"] * spec.predictor_layers,
            "max_position_embeddings": 4096,
            "max_window_layers": spec.predictor_layers,
            "rope_scaling": None,
            "vocab_size": spec.codes,
            "num_code_groups": spec.codebooks,
        },
    }
    config: Json = {
        "architectures": ["Qwen3TTSForConditionalGeneration"],
        "model_type": "qwen3_tts",
        "tokenizer_type": "qwen3_tts_tokenizer_12hz",
        "tts_model_size": spec.model_size,
        "tts_model_type": spec.kind,
        **text_ids,
        "talker_config": talker,
        # Above 4.57.2 and below 5 the official tokenizer would swap its regular expression for another family's.
        "transformers_version": "4.57.1",
    }
    if spec.kind == "base":
        config["speaker_encoder_config"] = speaker_encoder_config(spec)
    return config


def speaker_encoder_config(spec: TinySpec) -> Json:
    """Dimensions of the speaker encoder that Base models carry."""
    return {
        "enc_dim": spec.hidden,
        "sample_rate": spec.sample_rate,
        "enc_channels": [16, 16, 16, 16, 48],
        "enc_attention_channels": 8,
        "enc_res2net_scale": 8,
        "enc_se_channels": 8,
    }


def generation_config() -> Json:
    """`generation_config.json`, with the released values."""
    return {
        "do_sample": True,
        "repetition_penalty": 1.05,
        "temperature": 0.9,
        "top_p": 1.0,
        "top_k": 50,
        "subtalker_dosample": True,
        "subtalker_temperature": 0.9,
        "subtalker_top_p": 1.0,
        "subtalker_top_k": 50,
        "max_new_tokens": 8192,
    }


def codec_config(spec: TinySpec) -> Json:
    """`speech_tokenizer/config.json`."""
    return {
        "architectures": ["Qwen3TTSTokenizerV2Model"],
        "model_type": "qwen3_tts_tokenizer_12hz",
        "encoder_valid_num_quantizers": spec.codebooks,
        "input_sample_rate": spec.sample_rate,
        "output_sample_rate": spec.sample_rate,
        "decode_upsample_rate": spec.samples_per_frame,
        "encode_downsample_rate": spec.samples_per_frame,
        "decoder_config": {
            "attention_bias": False,
            "attention_dropout": 0.0,
            "codebook_dim": spec.codec_dim,
            "codebook_size": spec.codes,
            "decoder_dim": spec.codec_channels,
            "head_dim": spec.codec_head_dim,
            "hidden_act": "silu",
            "hidden_size": spec.codec_hidden,
            "intermediate_size": spec.codec_intermediate,
            "latent_dim": spec.codec_latent,
            "layer_scale_initial_scale": 0.01,
            "max_position_embeddings": 8000,
            "num_attention_heads": spec.codec_heads,
            "num_hidden_layers": spec.codec_layers,
            "num_key_value_heads": spec.codec_heads,
            "num_quantizers": spec.codebooks,
            "num_semantic_quantizers": 1,
            "rms_norm_eps": 1e-05,
            "rope_theta": 10000,
            # The released file says this and no tensor agrees; readers must not trust it.
            "semantic_codebook_size": 4096,
            "sliding_window": spec.codec_window,
            "upsample_rates": list(spec.codec_rates),
            "upsampling_ratios": list(spec.codec_ratios),
        },
        "encoder_config": {
            "model_type": "mimi",
            "audio_channels": 1,
            "codebook_dim": 8,
            "codebook_size": spec.codes,
            "frame_rate": spec.sample_rate / spec.samples_per_frame,
            "head_dim": 8,
            "hidden_size": 16,
            "intermediate_size": 32,
            "num_attention_heads": 2,
            "num_filters": 4,
            "num_hidden_layers": 1,
            "num_key_value_heads": 2,
            "num_quantizers": spec.codebooks + 2,
            "num_semantic_quantizers": 1,
            "sampling_rate": spec.sample_rate,
            "sliding_window": 250,
            "upsample_groups": 16,
            "upsampling_ratios": encoder_ratios(spec),
            "use_causal_conv": True,
            "vector_quantization_hidden_dimension": 8,
        },
        "transformers_version": "4.57.1",
    }


def encoder_ratios(spec: TinySpec) -> list[int]:
    """Strides of the codec's encoder, largest first, such that two of its last frames make one frame of codes."""
    return [spec.codec_rates[0] * spec.codec_ratios[0], *spec.codec_rates[1:]]


def _stack(hidden: int, intermediate: int, layers: int, heads: int, kv_heads: int, head_dim: int) -> Json:
    """What the two transformer stacks declare in common."""
    return {
        "attention_bias": False,
        "attention_dropout": 0,
        "head_dim": head_dim,
        "hidden_act": "silu",
        "hidden_size": hidden,
        "initializer_range": 0.02,
        "intermediate_size": intermediate,
        "num_attention_heads": heads,
        "num_hidden_layers": layers,
        "num_key_value_heads": kv_heads,
        "rms_norm_eps": 1e-06,
        "rope_theta": 1000000,
        "sliding_window": None,
        "use_cache": True,
        "use_sliding_window": False,
    }
