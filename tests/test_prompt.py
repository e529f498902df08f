"""Prompt layouts row by row, and what a request may not ask."""

from __future__ import annotations

import numpy as np
import pytest

from engines.contract import Layout, SpeechRequest
from engines.errors import RequestError
from engines.manifest import ModelType
from engines.prompt import PromptBuilder
from tests import fake_voice
from tests.fake_voice import HIDDEN, TEXT_ROWS

BODY = (101, 102, 103)
ROLE_ROWS = [(1, None), (2, None), (3, None)]
TAIL = [(101, 20), (102, 20), (103, 20), (6, 20), (4, 21)]

Rows = list[tuple[int, int | None]]


def builder(model_type: ModelType = ModelType.CUSTOM_VOICE, model_size: str = "1b7") -> PromptBuilder:
    return PromptBuilder(fake_voice.bundle(fake_voice.manifest(model_type, model_size)))


def rows(prompts: PromptBuilder, request: SpeechRequest, body: tuple[int, ...] = BODY) -> Rows:
    """The prompt as (text id, codec id or None) by row."""
    plan = prompts.plan(request)
    prompt = prompts.build(plan, body)
    assert len(prompt.codec_rows) == len(prompt.text_rows) == plan.rows(len(body))
    assert prompt.codec_rows.dtype == prompt.text_rows.dtype == np.float32
    ids = zip(prompt.text_rows[:, 0], prompt.codec_rows[:, 1], strict=True)
    return [(int(text), int(codec) or None) for text, codec in ids]


def language(*ids: int) -> Rows:
    return [(4, id_) for id_ in ids]


def test_whole_text_with_speaker_and_language() -> None:
    found = rows(builder(), SpeechRequest(voice="ann", language="English"))
    assert found == [*ROLE_ROWS, *language(23, 25, 30, 26), (4, 40), (5, 20), *TAIL]


def test_auto_language_does_not_think() -> None:
    found = rows(builder(), SpeechRequest(voice="ANN"))
    assert found == [*ROLE_ROWS, *language(24, 25, 26), (4, 40), (5, 20), *TAIL]


def test_streaming_text_has_one_text_row() -> None:
    found = rows(builder(), SpeechRequest(layout=Layout.STREAMING, language="english"))
    assert found == [*ROLE_ROWS, *language(23, 25, 30, 26), (4, 40), (5, 20), (101, 21)]
    assert len(found) == 10


@pytest.mark.parametrize("said", ["auto", "Auto", "chinese", "CHINESE"])
def test_a_dialect_speaker_brings_the_dialect(said: str) -> None:
    found = rows(builder(), SpeechRequest(voice="bao", language=said))
    assert found[3:8] == [*language(23, 25, 32, 26), (4, 41)]


def test_a_dialect_speaker_can_speak_another_language() -> None:
    assert rows(builder(), SpeechRequest(voice="bao", language="english"))[5] == (4, 30)


def test_no_voice_named_takes_the_first() -> None:
    assert rows(builder(), SpeechRequest())[6] == (4, 40)


def test_voice_design_has_an_instruction_and_no_speaker() -> None:
    found = rows(builder(ModelType.VOICE_DESIGN), SpeechRequest(instruct_ids=(111, 112), language="chinese"))
    assert found == [(111, None), (112, None), *ROLE_ROWS, *language(23, 25, 31, 26), (5, 20), *TAIL]


def test_an_instruction_is_left_out_where_the_model_ignores_it() -> None:
    request = SpeechRequest(instruct_ids=(111, 112))
    assert rows(builder(model_size="0b6"), request) == rows(builder(), SpeechRequest())


def test_base_takes_a_vector_and_streams_by_default() -> None:
    vector = np.array([0.5, 7.0, 0.25, 0.0], dtype=np.float32)
    prompts = builder(ModelType.BASE)
    request = SpeechRequest(speaker_vector=vector)
    assert rows(prompts, request) == [*ROLE_ROWS, *language(24, 25, 26), (4, 7), (5, 20), (101, 21)]
    built = prompts.build(prompts.plan(request), BODY)
    assert np.array_equal(built.codec_rows[6], vector)


@pytest.mark.parametrize(
    ("model_type", "request_", "says"),
    [
        (ModelType.CUSTOM_VOICE, SpeechRequest(voice="zoe"), "voice 'zoe'; known are: Ann, Bao"),
        (ModelType.CUSTOM_VOICE, SpeechRequest(language="klingon"), "'klingon'; known are: auto, english, Chinese"),
        (ModelType.CUSTOM_VOICE, SpeechRequest(speaker_vector=np.zeros(HIDDEN, np.float32)), "base models"),
        (ModelType.VOICE_DESIGN, SpeechRequest(voice="ann"), "no named speakers"),
        (ModelType.BASE, SpeechRequest(), "give a speaker vector"),
        (ModelType.BASE, SpeechRequest(speaker_vector=np.zeros(HIDDEN + 1, np.float32)), f"{HIDDEN} finite numbers"),
        (ModelType.BASE, SpeechRequest(speaker_vector=np.full(HIDDEN, np.nan, np.float32)), "finite"),
        (ModelType.VOICE_DESIGN, SpeechRequest(instruct_ids=(TEXT_ROWS,)), f"text id {TEXT_ROWS}"),
    ],
)
def test_what_cannot_be_asked_is_named(model_type: ModelType, request_: SpeechRequest, says: str) -> None:
    with pytest.raises(RequestError, match=says):
        builder(model_type).plan(request_)
