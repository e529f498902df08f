"""What a bundle's manifest says, from what its checkpoint says.

Purpose: the official configuration in the words of `engines.manifest`, with the sizes and caps that are chosen here.
Knows: both sides' fields. Does not know: tensors, graphs, files but for their names.
"""

from __future__ import annotations

from typing import Final

from engines.manifest import (
    FORMAT_VERSION,
    CodecIds,
    CodecSpec,
    FrameSpec,
    FrontEndKind,
    Graphs,
    Limits,
    Manifest,
    ModelType,
    Provenance,
    SamplingDefaults,
    Speaker,
    StackSpec,
    StageSampling,
    StateSpec,
    TextFrontEnd,
    TextIds,
)
from export.config import CheckpointConfig, GenerationConfig, StackConfig, TalkerConfig

FAMILY: Final = "qwen3_tts_12hz"
FRAME_CUDA: Final = "frame.cuda.onnx"
GRAPHS: Final = Graphs(
    frame="frame.onnx", frame_cuda=FRAME_CUDA, codec="codec.onnx", weights="weights.safetensors",
    text_table="text_table.npy",
)  # fmt: skip
MAX_POSITIONS: Final = 4096  # 5.5 minutes of prompt and frames; the rotary tables' length
MAX_TOP_K: Final = 64  # width of the graphs' top-k; the family's default is 50
# Frame caps by text length. Text tokens: as vLLM-Omni caps Base models (192, 12 a token). Phones: near one frame each.
FRAME_CAPS: Final = {FrontEndKind.TEXT: (192, 12.0), FrontEndKind.PHONES: (64, 4.0)}


def bundle_manifest(
    config: CheckpointConfig,
    *,
    text_ids: TextIds,
    states: tuple[StateSpec, ...],
    front_end: TextFrontEnd,
    provenance: Provenance,
) -> Manifest:
    """The manifest of a bundle whose files are not known yet, and whose quality was not measured.

    `states`: what its codec graph carries from call to call.
    """
    talker, codec, generation = config.model.talker_config, config.codec, config.generation
    cap, per_token = FRAME_CAPS[front_end.kind]
    return Manifest(
        format_version=FORMAT_VERSION,
        family=FAMILY,
        model_type=ModelType(config.model.tts_model_type),
        model_size=config.model.tts_model_size,
        frame=FrameSpec(
            sample_rate_hz=codec.output_sample_rate,
            samples_per_frame=codec.decode_upsample_rate,
            codebooks=talker.num_code_groups,
            codebook_size=codec.decoder_config.codebook_size,
        ),
        talker=_stack_spec(talker),
        predictor=_stack_spec(talker.code_predictor_config),
        codec=CodecSpec(states=states),
        text_ids=text_ids,
        codec_ids=CodecIds(
            pad=talker.codec_pad_id,
            bos=talker.codec_bos_id,
            eos=talker.codec_eos_token_id,
            think=talker.codec_think_id,
            nothink=talker.codec_nothink_id,
            think_bos=talker.codec_think_bos_id,
            think_eos=talker.codec_think_eos_id,
        ),
        languages={name.lower(): number for name, number in talker.codec_language_id.items()},
        speakers=_speakers(talker),
        sampling=_sampling(generation, graph_top_k(generation, talker)),
        limits=Limits(
            max_positions=MAX_POSITIONS,
            max_frames=min(generation.max_new_tokens, MAX_POSITIONS),
            min_frames_cap=cap,
            frames_per_text_token=per_token,
        ),
        front_end=front_end,
        graphs=GRAPHS,
        files={},
        provenance=provenance,
    )


def graph_top_k(made: GenerationConfig, talker: TalkerConfig) -> int:
    """Width of the graphs' top-k: room for what requests may ask for, within what there is to choose from."""
    wanted = max(MAX_TOP_K, made.top_k, made.subtalker_top_k)
    return min(wanted, talker.code_predictor_config.vocab_size, talker.vocab_size)


def _sampling(made: GenerationConfig, width: int) -> SamplingDefaults:
    """The checkpoint's own; a top-k of 0, which is none there, is the graphs' whole `width`."""
    return SamplingDefaults(
        talker=StageSampling(
            do_sample=made.do_sample, temperature=made.temperature, top_k=made.top_k or width, top_p=made.top_p
        ),
        predictor=StageSampling(
            do_sample=made.subtalker_dosample,
            temperature=made.subtalker_temperature,
            top_k=made.subtalker_top_k or width,
            top_p=made.subtalker_top_p,
        ),
        repetition_penalty=made.repetition_penalty,
        max_top_k=width,
    )


def _stack_spec(config: StackConfig) -> StackSpec:
    return StackSpec(
        hidden=config.hidden_size, layers=config.num_hidden_layers, heads=config.num_attention_heads,
        kv_heads=config.num_key_value_heads, head_dim=config.head_dim, vocabulary=config.vocab_size,
    )  # fmt: skip


def _speakers(talker: TalkerConfig) -> dict[str, Speaker]:
    dialects = talker.spk_is_dialect or {}

    def speaker(name: str, number: int) -> Speaker:
        dialect = dialects.get(name, False)
        return Speaker(id=number, dialect=dialect if isinstance(dialect, str) else None)

    return {name.lower(): speaker(name, number) for name, number in (talker.spk_id or {}).items()}
