"""The PyTorch frame that the engine is compared with: what is captured must be the network it claims to be."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from export.train.codec import CodecTransformer  # noqa: E402
from export.train.shape import VoiceShape  # noqa: E402
from scripts import gpu_torch_measure  # noqa: E402
from scripts.gpu_shape import SMOKE  # noqa: E402
from scripts.gpu_torch import CodecTransformerOnDevice, Stack, random_codec, random_frame  # noqa: E402


@pytest.mark.parametrize("fused", [False, True])
def test_rows_one_by_one_are_rows_at_once(fused: bool) -> None:
    torch.manual_seed(1)
    one_by_one, at_once = (Stack(SMOKE, 2, 1, SMOKE.positions, fused).eval() for _ in range(2))
    at_once.load_state_dict(one_by_one.state_dict())
    rows = torch.randn(1, 6, SMOKE.hidden)
    with torch.no_grad():
        whole = at_once(rows, torch.arange(6))
        single = torch.cat([one_by_one(rows[:, at : at + 1], torch.tensor([at])) for at in range(6)], 1)
    assert torch.allclose(whole, single, atol=1e-5)


def test_heads_share_keys_in_groups() -> None:
    """A stack whose key and value heads are shared is one with each of them written out for every head."""
    torch.manual_seed(2)
    shared = Stack(SMOKE, 1, 2, SMOKE.positions, False).eval()
    full = Stack(replace(SMOKE, kv_heads=SMOKE.heads), 1, 2, SMOKE.positions, False).eval()
    weights = shared.state_dict()
    for part in ("parts.1", "parts.2"):
        name = f"layers.0.qkv.{part}.weight"
        heads = weights[name].view(SMOKE.kv_heads, SMOKE.head_dim, SMOKE.hidden)
        weights[name] = heads.repeat_interleave(SMOKE.heads // SMOKE.kv_heads, 0).flatten(0, 1)
    full.load_state_dict({name: value for name, value in weights.items() if value.ndim < 4}, strict=False)
    rows = torch.randn(2, 5, SMOKE.hidden)
    with torch.no_grad():
        assert torch.allclose(shared(rows, torch.arange(5)), full(rows, torch.arange(5)), atol=1e-5)


def test_the_codecs_transformer_is_the_trained_ones() -> None:
    """But for its width, which is the same here."""
    shape = VoiceShape()
    torch.manual_seed(3)
    theirs, ours = CodecTransformer(shape).eval(), CodecTransformerOnDevice(shape, shape.latent, 25).eval()
    ours.load_state_dict(theirs.state_dict(), strict=False)
    rows = torch.randn(1, 20, shape.latent)
    with torch.no_grad():
        assert torch.allclose(theirs(rows), ours(rows), atol=1e-6)


def test_a_codec_with_a_narrow_transformer_speaks() -> None:
    shape = VoiceShape()
    codec = random_codec(shape, shape.latent // 2, 4, "cpu", torch.float32)
    assert codec.pre_transformer.layers[0].self_attn.q_proj.in_features == shape.latent // 2
    with torch.no_grad():
        sound = codec(torch.zeros(1, shape.code_groups, 4, dtype=torch.long))
    assert sound.shape == (1, 4 * shape.frame_samples)


def test_what_fails_costs_nothing_else(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("out of memory\nand a long trace")

    monkeypatch.setattr(gpu_torch_measure, "copy_bandwidth_gb_s", broken)
    monkeypatch.setattr(gpu_torch_measure, "random_codec", broken)
    monkeypatch.setattr(Stack, "forward", broken)
    with torch.enable_grad():  # as it was, afterwards
        gpu_torch_measure.measure(float("inf"), smoke=True)
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()][1:]
    assert {row["fault"] for row in told} == {"RuntimeError: out of memory"}
    assert [(row["case"], row.get("slots")) for row in told] == [
        ("copy", None),
        ("PyTorch codec", 1),
        *[(f"PyTorch eager {what}, {style}", slots) for slots in (1, 2)
          for style in ("as the official modules", "joined projections")
          for what in (("frame", "prompt") if slots == 1 else ("frame",))],
    ]  # fmt: skip


def test_when_time_is_over_the_rest_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with torch.enable_grad():
        gpu_torch_measure.measure(0.0, smoke=True)
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row.get("case") for row in told[:3]] == ["PyTorch", "copy", "PyTorch eager codec"]
    assert told[-1] == {"missing": "no time left from the frames of 1 slots on"}


def test_a_frame_goes_on_from_the_last_and_sequences_do_not_mix() -> None:
    pair, alone = (random_frame(SMOKE, batch, "cpu", torch.float32, fused=False) for batch in (2, 1))
    weights = {
        name: value for name, value in pair.state_dict().items() if value.shape == alone.state_dict()[name].shape
    }
    alone.load_state_dict(weights, strict=False)
    alone.row.copy_(pair.row[1:])
    with torch.no_grad():
        for frame in range(4):
            pair.run()
            alone.run()
            assert torch.equal(pair.codes[1], alone.codes[0])
            assert int(pair.at) == frame + 1
