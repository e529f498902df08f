"""A running average of a network's weights: what is saved and shipped instead of the last step's."""

from __future__ import annotations

from torch import Tensor, nn


class Average:
    """Short memory at the start, then `decay`."""

    def __init__(self, network: nn.Module, decay: float) -> None:
        self.decay = decay
        self.count = 0
        self.values: dict[str, Tensor] = {name: value.detach().clone() for name, value in network.state_dict().items()}

    def update(self, network: nn.Module) -> None:
        """Move towards the current weights."""
        self.count += 1
        decay = min(self.decay, (1 + self.count) / (10 + self.count))
        for name, value in network.state_dict().items():
            self.values[name].lerp_(value.detach(), 1 - decay)
