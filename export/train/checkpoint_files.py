"""Writes a trained voice as an official-layout CustomVoice checkpoint directory.

Knows: the official file names, config keys and storage types. Does not know: how weights came to be.
"""

from __future__ import annotations

import json
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor

from export.train import tokenizer_files
from export.train.shape import VoiceShape
from export.train.tokenizer_files import TokenIds

Json = dict[str, object]
TRANSFORMERS = "4.57.1"  # the version whose tokenizer loader leaves the pre-tokeniser as it is


def _stack(s: VoiceShape, layers: int) -> Json:
    return {
        "attention_bias": False,
        "attention_dropout": 0,
        "head_dim": s.head_dim,
        "hidden_act": "silu",
        "hidden_size": s.hidden,
        "initializer_range": 0.02,
        "intermediate_size": s.intermediate,
        "num_attention_heads": s.heads,
        "num_hidden_layers": layers,
        "num_key_value_heads": s.kv_heads,
        "rms_norm_eps": s.rms_eps,
        "rope_theta": s.rope_theta,
        "sliding_window": None,
        "use_cache": True,
        "use_sliding_window": False,
    }


def model_config(s: VoiceShape, tokens: TokenIds) -> Json:
    """`config.json`."""
    sixth = s.head_dim // 6
    talker = {
        **_stack(s, s.layers),
        "model_type": "qwen3_tts_talker",
        "max_position_embeddings": 8192,
        "position_id_per_seconds": 13,
        "rope_scaling": {
            "interleaved": True,
            "mrope_section": [s.head_dim // 2 - 2 * sixth, sixth, sixth],
            "rope_type": "default",
            "type": "default",
        },
        "vocab_size": s.vocab,
        "text_vocab_size": s.text_vocab,
        "text_hidden_size": s.text_hidden,
        "num_code_groups": s.code_groups,
        "codec_pad_id": s.pad,
        "codec_bos_id": s.bos,
        "codec_eos_token_id": s.eos,
        "codec_think_id": s.think,
        "codec_nothink_id": s.nothink,
        "codec_think_bos_id": s.think_bos,
        "codec_think_eos_id": s.think_eos,
        "codec_language_id": {name: s.control(number) for name, number in s.languages.items()},
        "spk_id": {name: s.control(number) for name, number in s.speakers.items()},
        "spk_is_dialect": dict.fromkeys(s.speakers, False),
        "code_predictor_config": {
            **_stack(s, s.predictor_layers),
            "model_type": "qwen3_tts_talker_code_predictor",
            "layer_types": ["full_attention"] * s.predictor_layers,
            "max_position_embeddings": 1024,
            "max_window_layers": s.predictor_layers,
            "rope_scaling": None,
            "vocab_size": s.codes,
            "num_code_groups": s.code_groups,
        },
    }
    return {
        "architectures": ["Qwen3TTSForConditionalGeneration"],
        "model_type": "qwen3_tts",
        "tokenizer_type": "qwen3_tts_tokenizer_12hz",
        "tts_model_size": "0b6",
        "tts_model_type": "custom_voice",
        "assistant_token_id": tokens["assistant"],
        "im_start_token_id": tokens["<|im_start|>"],
        "im_end_token_id": tokens["<|im_end|>"],
        "tts_pad_token_id": tokens["<tts_pad>"],
        "tts_bos_token_id": tokens["<tts_text_bos>"],
        "tts_eos_token_id": tokens["<tts_text_eod>"],
        "talker_config": talker,
        "transformers_version": TRANSFORMERS,
    }


def codec_config(s: VoiceShape) -> Json:
    """`speech_tokenizer/config.json`; the encoder it declares is a stub, the voice clones nobody."""
    return {
        "architectures": ["Qwen3TTSTokenizerV2Model"],
        "model_type": "qwen3_tts_tokenizer_12hz",
        "encoder_valid_num_quantizers": s.code_groups,
        "input_sample_rate": s.sample_rate,
        "output_sample_rate": s.sample_rate,
        "decode_upsample_rate": s.frame_samples,
        "encode_downsample_rate": s.frame_samples,
        "decoder_config": {
            "attention_bias": False,
            "attention_dropout": 0.0,
            "codebook_dim": s.codebook_dim,
            "codebook_size": s.codes,
            "decoder_dim": s.decoder_dim,
            "head_dim": s.head_dim,
            "hidden_act": "silu",
            "hidden_size": s.latent,
            "intermediate_size": s.codec_intermediate,
            "latent_dim": s.latent,
            "layer_scale_initial_scale": 1.0,
            "max_position_embeddings": 8000,
            "num_attention_heads": s.codec_heads,
            "num_hidden_layers": s.codec_layers,
            "num_key_value_heads": s.codec_heads,
            "num_quantizers": s.code_groups,
            "num_semantic_quantizers": 1,
            "rms_norm_eps": s.codec_eps,
            "rope_theta": 10000,
            "sliding_window": s.codec_window,
            "upsample_rates": list(s.upsample_rates),
            "upsampling_ratios": list(s.upsampling_ratios),
        },
        "encoder_config": {
            "model_type": "mimi",
            "audio_channels": 1,
            "codebook_dim": 8,
            "codebook_size": s.codes,
            "frame_rate": s.sample_rate / s.frame_samples,
            "head_dim": 8,
            "hidden_size": 16,
            "intermediate_size": 32,
            "num_attention_heads": 2,
            "num_filters": 4,
            "num_hidden_layers": 1,
            "num_key_value_heads": 2,
            "num_quantizers": s.code_groups,
            "num_semantic_quantizers": 1,
            "sampling_rate": s.sample_rate,
            "upsample_groups": 16,
            "upsampling_ratios": [8, 6, 5, 4],
            "use_causal_conv": True,
            "vector_quantization_hidden_dimension": 8,
        },
        "transformers_version": TRANSFORMERS,
    }


def generation_config(sampling: Json) -> Json:
    """`generation_config.json`: the official keys; `sampling` overrides."""
    return {
        "do_sample": False,
        "repetition_penalty": 1.05,
        "temperature": 0.3,
        "top_p": 1.0,
        "top_k": 50,
        "subtalker_dosample": False,
        "subtalker_temperature": 0.3,
        "subtalker_top_p": 1.0,
        "subtalker_top_k": 50,
        "max_new_tokens": 2048,
        **sampling,
    }


def rounded(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensors as they are stored: half precision."""
    return {name: value.detach().to(torch.float16).contiguous() for name, value in tensors.items()}


def _json(path: Path, value: Json) -> None:
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def write(
    directory: Path, s: VoiceShape, voice: dict[str, Tensor], decoder: dict[str, Tensor], sampling: Json | None = None
) -> None:
    """Write everything the official loader reads. `voice`: tensors of `Voice`; `decoder`: tensors of `Decoder`."""
    codec = directory / "speech_tokenizer"
    codec.mkdir(parents=True, exist_ok=True)
    tokens = tokenizer_files.write(directory)
    _json(directory / "config.json", model_config(s, tokens))
    _json(directory / "generation_config.json", generation_config(sampling or {}))
    processor: Json = {"padding_side": "left", "padding_value": 0.0}
    processor |= {"processor_class": "Qwen3TTSProcessor", "return_attention_mask": True}
    _json(directory / "preprocessor_config.json", processor)
    _json(codec / "config.json", codec_config(s))
    extractor: Json = {"feature_extractor_type": "EncodecFeatureExtractor", "feature_size": 1}
    extractor |= {"padding_side": "right", "padding_value": 0.0, "return_attention_mask": True}
    _json(codec / "preprocessor_config.json", {**extractor, "sampling_rate": s.sample_rate})
    save_file(rounded(voice), directory / "model.safetensors", metadata={"format": "pt"})
    named = {f"decoder.{name}": value for name, value in decoder.items()}
    save_file(rounded(named), codec / "model.safetensors", metadata={"format": "pt"})
