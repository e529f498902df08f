"""What a checkpoint's configuration becomes in a manifest, value by value."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from engines.manifest import Manifest, SamplingDefaults, StageSampling, read_manifest
from export.bundle_manifest import bundle_manifest
from export.config import CheckpointConfig, GenerationConfig, read_checkpoint_config


@pytest.fixture
def config(tiny_checkpoint: Path) -> CheckpointConfig:
    return read_checkpoint_config(tiny_checkpoint)


def manifest_of(config: CheckpointConfig, made: Manifest) -> Manifest:
    """With what is not the configuration's as it was `made` before."""
    return bundle_manifest(
        config, text_ids=made.text_ids, states=made.codec.states, front_end=made.front_end, provenance=made.provenance
    )


def test_each_stage_samples_as_the_checkpoint_says(config: CheckpointConfig, tiny_bundle: Path) -> None:
    generation = GenerationConfig(
        do_sample=True, temperature=0.8, top_k=7, top_p=0.6, repetition_penalty=1.2,
        subtalker_dosample=False, subtalker_temperature=0.5, subtalker_top_k=0, subtalker_top_p=0.4,
    )  # fmt: skip
    found = manifest_of(replace(config, generation=generation), read_manifest(tiny_bundle)).sampling
    width = found.max_top_k
    assert found == SamplingDefaults(
        talker=StageSampling(do_sample=True, temperature=0.8, top_k=7, top_p=0.6),
        predictor=StageSampling(do_sample=False, temperature=0.5, top_k=width, top_p=0.4),
        repetition_penalty=1.2,
        max_top_k=width,
    ), "a top-k of 0 is all there is room for"


def test_ids_and_sizes_are_the_checkpoints(config: CheckpointConfig, tiny_bundle: Path) -> None:
    """Codes that mean something must not be taken for one another."""
    talker, found = config.model.talker_config, manifest_of(config, read_manifest(tiny_bundle))
    ids = {
        "pad": talker.codec_pad_id, "bos": talker.codec_bos_id, "eos": talker.codec_eos_token_id,
        "think": talker.codec_think_id, "nothink": talker.codec_nothink_id,
        "think_bos": talker.codec_think_bos_id, "think_eos": talker.codec_think_eos_id,
    }  # fmt: skip
    assert msgspec.structs.asdict(found.codec_ids) == ids
    assert len(set(ids.values())) == len(ids), "or nothing is shown"
    for stack, theirs in ((found.talker, talker), (found.predictor, talker.code_predictor_config)):
        assert (stack.hidden, stack.layers, stack.vocabulary, stack.head_dim) == (
            theirs.hidden_size, theirs.num_hidden_layers, theirs.vocab_size, theirs.head_dim,
        )  # fmt: skip
        assert (stack.heads, stack.kv_heads) == (theirs.num_attention_heads, theirs.num_key_value_heads)
    assert found.limits.max_frames == min(config.generation.max_new_tokens, found.limits.max_positions)


@pytest.mark.parametrize("dialects", [None, {}, {"eric": "sichuan_dialect", "aiden": False}])
def test_speakers_may_have_a_dialect(
    config: CheckpointConfig, tiny_bundle: Path, dialects: dict[str, str | bool] | None
) -> None:
    talker = msgspec.structs.replace(config.model.talker_config, spk_is_dialect=dialects)
    model = msgspec.structs.replace(config.model, talker_config=talker)
    found = manifest_of(replace(config, model=model), read_manifest(tiny_bundle)).speakers
    assert found["eric"].dialect == ("sichuan_dialect" if dialects else None)
    assert found["aiden"].dialect is None
