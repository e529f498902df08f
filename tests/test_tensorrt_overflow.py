"""Numbers that are none, on TensorRT's side: a frame that overflows spoils what is being said, and nothing after it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from engines.engine import SpeechEngine
from engines.plan_files import Plan
from engines.plan_set import PlanGraph
from engines.tensorrt_stages import NO_GRAPH
from export.attention_tensorrt import AttentionForm
from export.tensorrt import FrameShape
from tests.fake_cuda import FakeCuda
from tests.fake_tensorrt import FakeEngine, FakeLoader
from tests.tensorrt_machine import FORMS
from tests.tensorrt_rig import CONFIG, SLOTS, Plans, Said, Voice, check, hear, open_stages, start


class Overflowing:
    """A graph, all of whose floats are no numbers while it overflows."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self.overflows = False

    def run(self, names: None, given: Mapping[str, Any]) -> list[Any]:
        made: list[Any] = self._session.run(names, given)
        if self.overflows:
            return [value * np.nan if value.dtype.kind == "f" else value for value in made]
        return made


class OverflowingLoader(FakeLoader):
    """Engines of a frame that can overflow."""

    def __init__(self, cuda: FakeCuda) -> None:
        super().__init__(cuda)
        self.sessions: list[Overflowing] = []

    def load(self, plan: Plan, graph: PlanGraph) -> FakeEngine:
        engine = super().load(plan, graph)
        if graph.role in {"frame", "talker", "step"}:
            engine.session = Overflowing(engine.session)
            self.sessions.append(engine.session)
        return engine

    def overflow(self, on: bool) -> None:
        for session in self.sessions:
            session.overflows = on


@pytest.mark.parametrize("recorded", [True, False])
@pytest.mark.parametrize("shape", FrameShape)
@pytest.mark.parametrize("form", FORMS)
def test_who_comes_after_an_overflow_says_what_he_says_alone(
    voice: Voice, plans: Plans, alone: dict[int, Said], monkeypatch: pytest.MonkeyPatch,
    form: AttentionForm, shape: FrameShape, recorded: bool,
) -> None:  # fmt: skip
    """A run reads its slot's whole cache: hidden rows that are no numbers would be in every row after them."""
    monkeypatch.setenv(NO_GRAPH, "" if recorded else "1")
    cuda = FakeCuda()
    loader = OverflowingLoader(cuda)
    engine = SpeechEngine(voice.bundle, open_stages(voice, plans[form, shape], cuda, loader), CONFIG)
    loader.overflow(True)
    for utterance in [start(engine, number) for number in range(1, 1 + SLOTS)]:
        hear(utterance)
    loader.overflow(False)
    check(engine, alone)
