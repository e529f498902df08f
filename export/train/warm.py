"""Turns the weights of the first experiment (its own prompt layout and names) into the official layout's tensors.

Knows: both naming schemes. What the experiment lacks (role, language, speaker rows) starts near zero.
Does not know: training, files of the checkpoint.
"""

from __future__ import annotations

import torch
from torch import Tensor

from export.train.phoneset import CONSONANTS, PAUSES, VOWELS, letter
from export.train.shape import VoiceShape
from export.train.tokenizer_files import TokenIds

_LAYER = {
    "n1.w": "input_layernorm.weight",
    "n2.w": "post_attention_layernorm.weight",
    "q.weight": "self_attn.q_proj.weight",
    "k.weight": "self_attn.k_proj.weight",
    "v.weight": "self_attn.v_proj.weight",
    "o.weight": "self_attn.o_proj.weight",
    "qn.w": "self_attn.q_norm.weight",
    "kn.w": "self_attn.k_norm.weight",
    "g.weight": "mlp.gate_proj.weight",
    "u.weight": "mlp.up_proj.weight",
    "dn.weight": "mlp.down_proj.weight",
}


def warm_letters() -> list[str]:
    """The experiment's text tokens in order; `<bos>` and `<eos>` under their official names."""
    vowels = [letter(phone, stress) for phone in sorted(VOWELS) for stress in (0, 1)]
    return ["<tts_text_bos>", "<tts_text_eod>", " ", *PAUSES, *(CONSONANTS[p] for p in sorted(CONSONANTS)), *vowels]


def talker_tensors(warm: dict[str, Tensor], shape: VoiceShape, tokens: TokenIds, seed: int = 0) -> dict[str, Tensor]:
    """Tensors of `Voice` from the `talker.*` tensors of the experiment."""
    draw = torch.Generator().manual_seed(seed)
    h, out = shape.hidden, {}
    for stack, target, count in (
        ("L", "talker.model.layers", shape.layers),
        ("cp", "talker.code_predictor.model.layers", shape.predictor_layers),
    ):
        for i in range(count):
            for name, official in _LAYER.items():
                out[f"{target}.{i}.{official}"] = warm[f"talker.{stack}.{i}.{name}"].float()
    out["talker.model.norm.weight"] = warm["talker.nf.w"].float()
    out["talker.code_predictor.model.norm.weight"] = warm["talker.cpn.w"].float()
    text = torch.zeros(shape.text_vocab, shape.text_hidden)
    text[:, :h] = torch.randn(shape.text_vocab, h, generator=draw) * 1e-3
    table = warm["talker.te.weight"].float()
    for row, token in enumerate(warm_letters()):
        text[tokens[token], :h] = table[row]
    out["talker.model.text_embedding.weight"] = text
    codec = torch.randn(shape.vocab, h, generator=draw) * 1e-3
    codec[: shape.codes] = warm["talker.ce.0.weight"].float()
    codec[shape.bos] = warm["talker.cbos"].float()
    out["talker.model.codec_embedding.weight"] = codec
    head = torch.zeros(shape.vocab, h)
    head[: shape.codes] = warm["talker.head.weight"][:-1].float()
    head[shape.eos] = warm["talker.head.weight"][-1].float()
    out["talker.codec_head.weight"] = head
    for i in range(shape.code_groups - 1):
        out[f"talker.code_predictor.model.codec_embedding.{i}.weight"] = warm[f"talker.ce.{i + 1}.weight"].float()
        out[f"talker.code_predictor.lm_head.{i}.weight"] = warm[f"talker.cph.{i}.weight"].float()
    eye, zero = torch.eye(h), torch.zeros(h, shape.text_hidden - h)
    plus = torch.cat([eye, zero], 1)
    out["talker.text_projection.linear_fc1.weight"] = torch.cat([plus, -plus], 0)
    out["talker.text_projection.linear_fc1.bias"] = torch.zeros(shape.text_hidden)
    out["talker.text_projection.linear_fc2.weight"] = torch.cat([eye, -eye], 1)
    out["talker.text_projection.linear_fc2.bias"] = torch.zeros(h)
    return out


def decoder_tensors(warm: dict[str, Tensor], shape: VoiceShape) -> dict[str, Tensor]:  # noqa: PLR0912
    """Tensors of `codec.Decoder`; the projections around the transformer and its final norm start as identities."""
    half, full, h = shape.codebook_dim // 2, shape.codebook_dim, shape.latent
    out: dict[str, Tensor] = {}
    for part, books in (("rvq_first", [0]), ("rvq_rest", list(range(1, shape.code_groups)))):
        for i, book in enumerate(books):
            name = f"quantizer.{part}.vq.layers.{i}._codebook"
            out[f"{name}.embedding_sum"] = warm["rvq.codebooks"][book].float()
            out[f"{name}.cluster_usage"] = torch.ones(shape.codes)
        eye = torch.eye(full, half)[..., None]
        out[f"quantizer.{part}.output_proj.weight"] = eye.clone()
        out[f"quantizer.{part}.input_proj.weight"] = eye.transpose(0, 1).clone()
    source = {name[len("decoder.") :]: value.float() for name, value in warm.items() if name.startswith("decoder.")}
    pre = torch.zeros(h, full, 3)
    pre[:, :half] = source["pre.c.weight"]
    out["pre_conv.conv.weight"], out["pre_conv.conv.bias"] = pre, source["pre.c.bias"]
    for end in ("input_proj", "output_proj"):
        out[f"pre_transformer.{end}.weight"], out[f"pre_transformer.{end}.bias"] = torch.eye(h), torch.zeros(h)
    out["pre_transformer.norm.weight"] = torch.ones(h)
    for i in range(shape.codec_layers):
        to = f"pre_transformer.layers.{i}"
        for name, rows in zip("qkv", source[f"tf.{i}.qkv.weight"].chunk(3), strict=True):
            out[f"{to}.self_attn.{name}_proj.weight"] = rows
        out[f"{to}.self_attn.o_proj.weight"] = source[f"tf.{i}.o.weight"]
        gate, up = source[f"tf.{i}.gu.weight"].chunk(2)
        out[f"{to}.mlp.gate_proj.weight"], out[f"{to}.mlp.up_proj.weight"] = gate, up
        out[f"{to}.mlp.down_proj.weight"] = source[f"tf.{i}.dn.weight"]
        out[f"{to}.input_layernorm.weight"] = source[f"tf.{i}.n1.weight"]
        out[f"{to}.post_attention_layernorm.weight"] = source[f"tf.{i}.n2.weight"]
        for branch in ("self_attn", "mlp"):
            out[f"{to}.{branch}_layer_scale.scale"] = torch.ones(h)
    for i in range(len(shape.upsampling_ratios)):
        for name in ("weight", "bias"):
            out[f"upsample.{i}.0.conv.{name}"] = source[f"up.{2 * i}.c.{name}"]
            for ours, official in (("dw", "dwconv.conv"), ("n", "norm"), ("a", "pwconv1"), ("b", "pwconv2")):
                out[f"upsample.{i}.1.{official}.{name}"] = source[f"up.{2 * i + 1}.{ours}.{name}"]
        out[f"upsample.{i}.1.gamma"] = source[f"up.{2 * i + 1}.g"]
    blocks = len(shape.upsample_rates)
    plain = {"decoder.0": "net.0", f"decoder.{blocks + 2}": f"net.{5 * blocks + 2}"}
    snakes = {f"decoder.{blocks + 1}": f"net.{5 * blocks + 1}"}
    for i in range(blocks):
        base, at = f"decoder.{i + 1}.block", 1 + 5 * i
        snakes[f"{base}.0"], plain[f"{base}.1"] = f"net.{at}", f"net.{at + 1}"
        for j in range(3):
            unit, to = f"net.{at + 2 + j}", f"{base}.{2 + j}"
            snakes[f"{to}.act1"], snakes[f"{to}.act2"] = f"{unit}.a", f"{unit}.b"
            plain[f"{to}.conv1"], plain[f"{to}.conv2"] = f"{unit}.c1", f"{unit}.c2"
    for to, name in plain.items():
        out[f"{to}.conv.weight"], out[f"{to}.conv.bias"] = source[f"{name}.c.weight"], source[f"{name}.c.bias"]
    for to, name in snakes.items():
        out[f"{to}.alpha"], out[f"{to}.beta"] = source[f"{name}.a"][:, 0], source[f"{name}.b"][:, 0]
    return out
