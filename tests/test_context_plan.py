"""A wish held against the voices: what of it reaches the engine."""

from __future__ import annotations

from typing import Any

from app.context_plan import Plan, plan
from app.engine_client import EngineClient
from app.messages import ContextStart, SamplingWishes
from app.voices import VoiceModel, VoiceTable
from engines.contract import Pace, Sampling
from tests.daemon_rig import LetterReader, ServedFakeEngine, play


def planned(**wishes: Any) -> Plan:
    plans: list[Plan] = []

    async def scenario() -> None:
        engine = ServedFakeEngine()
        client = EngineClient(engine, max_active=1, max_waiting=0)
        table = VoiceTable([VoiceModel("bundle", engine, LetterReader(), client)])
        plans.append(plan(ContextStart(context="a", **wishes), table))

    play(scenario())
    return plans[0]


def test_what_nobody_wished_for_is_left_to_the_voice() -> None:
    made = planned()
    assert made.request.sampling == Sampling()
    assert (made.request.voice, made.request.language, made.request.max_frames) == ("ada", "auto", None)
    assert (made.request.pace, made.local, made.now, made.instruct) == (Pace.REALTIME, False, False, "")


def test_temperature_0_takes_the_likeliest_code() -> None:
    assert planned(sampling=SamplingWishes(temperature=0.0)).request.sampling == Sampling(greedy=True)
    assert planned(sampling=SamplingWishes(temperature=1.0)).request.sampling == Sampling(temperature=1.0)


def test_every_wish_reaches_the_engine() -> None:
    wishes = SamplingWishes(temperature=0.5, top_k=7, top_p=0.75, repetition_penalty=1.5, seed=9)
    made = planned(sampling=wishes, max_frames=40, initial_codec_chunk_frames=2, pace="fast")
    assert made.request.sampling == Sampling(temperature=0.5, top_k=7, top_p=0.75, repetition_penalty=1.5)
    assert (made.request.seed, made.request.max_frames, made.request.initial_codec_chunk_frames) == (9, 40, 2)
    assert made.request.pace is Pace.FAST


def test_a_seed_of_0_is_a_seed_and_none_is_drawn() -> None:
    assert planned(sampling=SamplingWishes(seed=0)).request.seed == 0
    drawn = {planned().request.seed for _ in range(4)}
    assert len(drawn) > 1
    assert all(0 <= seed < 1 << 31 for seed in drawn)
