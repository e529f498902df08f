"""How `scripts/gpu_check` captures through PyTorch, over a stand-in for it: what runs on which stream."""

from __future__ import annotations

import importlib
import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest


class Stream:
    def wait_stream(self, _other: Stream) -> None:
        """Everything is done at once here."""


class FakeTorch(types.ModuleType):
    """As much of PyTorch as a capture needs."""

    def __init__(self) -> None:
        super().__init__("torch")
        self.now = self.usual = Stream()
        self.own = Stream()
        """What PyTorch captures on where it is told no other."""
        self.cuda = types.SimpleNamespace(
            Stream=Stream, CUDAGraph=object, current_stream=lambda: self.now, stream=self.on, graph=self.graph
        )

    @contextmanager
    def on(self, stream: Stream) -> Iterator[None]:
        self.now = stream
        yield
        self.now = self.usual

    @contextmanager
    def graph(self, _graph: object, stream: Stream | None = None) -> Iterator[None]:
        with self.on(stream or self.own):
            yield


def test_what_is_captured_was_tried_on_the_same_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or cuDNN and cuBLAS set themselves up for a new stream in the middle of a capture, which may not be."""
    torch, name = FakeTorch(), "scripts.gpu_torch_time"
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, name, torch)  # what was there comes back afterwards
    del sys.modules[name]
    module: Any = importlib.import_module(name)
    used: list[Stream] = []
    module.captured(lambda: used.append(torch.now))
    assert len(used) == 4
    assert set(used) == {used[-1]}
    assert torch.usual not in used
