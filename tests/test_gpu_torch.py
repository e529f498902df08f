"""The PyTorch frame that the engine is compared with: what is captured must be the network it claims to be."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from scripts.gpu_shape import SMOKE  # noqa: E402
from scripts.gpu_torch import Stack, random_frame  # noqa: E402


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
