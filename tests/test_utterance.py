"""One utterance: the order of its text, its bounds, and that it ends once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines.contract import End, Layout, SpeechRequest
from engines.errors import RequestError, SpeechError
from engines.utterance import LiveUtterance, Stop
from tests import fake_voice
from tests.engine_rig import without_engine

PAD, EOS = 4, 6


def make(
    layout: Layout = Layout.STREAMING, most_text: int = 50, clock: Callable[[], float] = lambda: 1.5
) -> LiveUtterance:
    return without_engine(SpeechRequest(layout=layout), frames=4, samples=16, clock=clock, most_text=most_text)


def test_whole_text_is_all_in_the_prompt() -> None:
    utterance = make(Layout.WHOLE)
    assert not utterance.empty
    utterance.feed((30, 31))
    assert not utterance.ready
    utterance.feed((32,))
    utterance.end_of_text()
    utterance.end_of_text()
    assert utterance.ready
    assert utterance.take_prompt_ids() == (30, 31, 32)
    assert [utterance.take_text_id() for _ in range(3)] == [PAD] * 3


@given(parts=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=8))
def test_streamed_text_comes_in_order_then_the_end_once_then_padding(parts: list[tuple[int, int]]) -> None:
    utterance, fed, taken = make(), list[int](), list[int]()
    for count, takes in parts:
        ids = tuple(range(30 + len(fed), 30 + len(fed) + count))
        utterance.feed(ids)
        fed += ids
        assert utterance.ready is bool(fed)
        if fed and not taken:
            taken += utterance.take_prompt_ids()
        for _ in range(takes if taken else 0):
            has_text = utterance.has_text()
            assert utterance.starved is (not has_text) is (len(taken) == len(fed))
            taken += [utterance.take_text_id()] if has_text else []
    utterance.end_of_text()
    if fed and not taken:
        taken += utterance.take_prompt_ids()
    if fed:
        taken += [utterance.take_text_id() for _ in range(len(fed) + 3 - len(taken)) if utterance.has_text()]
        assert taken == [*fed, EOS, PAD, PAD]
    assert utterance.empty is (not fed)
    assert not utterance.starved


def test_a_streamed_prompt_is_made_of_the_first_id_alone() -> None:
    """However much is there: the rest comes frame by frame, as the model was trained to read it."""
    utterance = make()
    utterance.feed((30, 31, 32))
    assert utterance.take_prompt_ids() == (30,)
    assert [utterance.take_text_id() for _ in range(2)] == [31, 32]


def test_text_has_bounds() -> None:
    utterance = make(most_text=3)
    utterance.feed((1, 2))
    with pytest.raises(RequestError, match="more than 3 tokens"):
        utterance.feed((3, 4))
    with pytest.raises(RequestError, match="text id 200 is outside"):
        utterance.feed((200,))
    utterance.feed((3,))
    utterance.end_of_text()
    with pytest.raises(RequestError, match="no text can follow"):
        utterance.feed(())


@pytest.mark.parametrize("stop", [Stop(End.END), Stop(End.LIMIT), Stop(End.CANCELLED), Stop(End.ERROR, "broken")])
def test_it_ends_once(stop: Stop) -> None:
    utterance = make()
    utterance.finish(stop)
    utterance.finish(Stop(End.ERROR, "again"))
    assert (utterance.outcome.result(0).end, utterance.outcome.result(0).error) == (stop.end, stop.error)
    if stop.error is None:
        assert len(utterance.pcm.read(1)) == 0
    else:
        with pytest.raises(SpeechError, match=stop.error):
            utterance.pcm.read(1)


def test_the_first_wish_to_stop_stands() -> None:
    utterance = make()
    utterance.stop("broken")
    utterance.cancel()
    assert utterance.stopping == Stop(End.ERROR, "broken")
    other = make()
    other.cancel()
    other.stop("broken")
    assert other.stopping == Stop(End.CANCELLED)


def test_nobody_hears_the_rest_of_what_an_engine_cancels_when_it_closes() -> None:
    utterance = make()
    utterance.pcm.write_nowait(fake_voice.bundle().text_table[:5, 0])
    utterance.finish(Stop(End.CANCELLED))
    assert len(utterance.pcm.read(10)) == 0


def test_it_is_ready_from_when_there_was_text_enough() -> None:
    now = [1.0]
    utterance = make(Layout.WHOLE, clock=lambda: now[0])
    utterance.feed((30,))
    now[0] = 2.0
    utterance.end_of_text()
    now[0] = 3.0
    utterance.end_of_text()
    assert utterance.ready_at == 2.0


def test_who_is_lost_has_not_left_before_it_is_judged() -> None:
    """The talker may be done with it when the codec hears that all of it is silence."""
    utterance = make()
    utterance.talker_left(Stop(End.END))
    assert utterance.left
    utterance.lose()
    assert not utterance.left
    utterance.judge(heard=True)
    assert utterance.left
    assert utterance.stopping == Stop(End.LIMIT, runaway=True)


def test_who_is_begun_again_is_as_if_it_had_said_nothing() -> None:
    """Also where the talker had come to its end."""
    utterance = make()
    utterance.feed((30, 31))
    utterance.take_prompt_ids()
    utterance.frames.write_nowait(np.zeros((2, 3), dtype=np.int32))
    utterance.progress.frames = 2
    utterance.talker_left(Stop(End.END))
    utterance.lose()
    utterance.judge(heard=False)
    assert utterance.again
    assert utterance.begin_again()
    assert (utterance.attempt, utterance.lost, utterance.again, utterance.talker_end) == (1, False, False, None)
    assert (utterance.frames.used, utterance.progress.frames) == (0, 0)
    assert utterance.take_prompt_ids() == (30,)


@pytest.mark.parametrize("heard", [True, False])
def test_who_was_cancelled_is_judged_no_more(heard: bool) -> None:
    utterance = make()
    utterance.lose()
    utterance.cancel()
    utterance.judge(heard)
    assert (utterance.stopping, utterance.again) == (Stop(End.CANCELLED), False)


def test_cancel_after_the_end_drops_what_was_not_heard() -> None:
    utterance = make()
    utterance.pcm.write_nowait(fake_voice.bundle().text_table[:5, 0])
    utterance.finish(Stop(End.END))
    utterance.cancel()
    assert len(utterance.pcm.read(10)) == 0
    assert utterance.outcome.result(0).end is End.END
