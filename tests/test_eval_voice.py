"""The evaluation of a voice, without recogniser and teacher: inputs, scores, joins, the page, the engine's part."""

from __future__ import annotations

import re
import shutil
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.segmenter import SegmentBounds
from engines.contract import Sampling, SpeechRequest
from export.train.evaluate import ALL, tally
from export.train.sentences import COMMON, SENTENCES, TUNING, long_sentences, sentences, unseen
from export.train.words import Differences, differences, errors, words
from scripts import eval_speech
from scripts.eval_codec import books_of, decode, faults, name_of, read_coded
from scripts.eval_inputs import KINDS, inputs
from scripts.eval_many import Expectation, audible_s, speak_many
from scripts.eval_page import Row, png, write_page
from scripts.eval_seams import long_texts, seams
from scripts.eval_speech import Said, VoiceUnderTest, bundle_of

RATE = 24_000


@pytest.fixture(scope="module")
def default_voice(default_bundle: Path) -> Iterator[VoiceUnderTest]:
    with VoiceUnderTest(default_bundle) as voice:
        yield voice


def tone(seconds: float, level: float = 0.1) -> np.ndarray:
    t = np.arange(int(seconds * RATE)) / RATE
    return (level * np.sin(2 * np.pi * 200 * t)).astype(np.float32)


def rest(seconds: float) -> np.ndarray:
    return np.zeros(int(seconds * RATE), np.float32)


def test_the_lists_are_large_apart_and_of_every_kind() -> None:
    reported, tuning = sentences(), sentences(TUNING)
    assert len([kind for kind, _ in reported if kind != COMMON]) >= 200
    assert {kind for kind, _ in tuning} < {kind for kind, _ in reported}
    assert not {text for _, text in reported} & {text for _, text in tuning}
    for kind in {kind for kind, _ in reported}:
        assert sum(k == kind for k, _ in reported) >= 12
    assert "twelve." not in unseen()
    assert SENTENCES.read_text(encoding="utf-8").isascii()


def test_words_are_counted_as_heard() -> None:
    assert words("It's Twelve, isn't it?") == ["it's", "twelve", "isn't", "it"]
    assert errors(["a", "b", "c"], ["a", "x", "c", "d"]) == (2, 2)
    assert errors(["a"], []) == (1, 0)
    assert errors([], ["a"]) == (1, 0)


def test_words_are_told_apart_that_were_lost_added_and_taken_for_others() -> None:
    found = differences(["a", "b", "c", "d"], ["x", "a", "c", "e"])
    assert found == Differences(others=(("d", "e"),), lost=("b",), added=("x",))
    assert found.count == 3
    assert differences([], []) == Differences()


@given(*[st.lists(st.sampled_from("abc"), max_size=7)] * 2)
def test_what_was_heard_follows_from_what_was_wanted_and_the_differences(wanted: list[str], heard: list[str]) -> None:
    found = differences(wanted, heard)
    other_way = differences(heard, wanted)
    assert found.count == other_way.count
    assert len(wanted) - len(found.lost) + len(found.added) == len(heard)
    assert (found.count == 0) is (wanted == heard)
    assert errors(wanted, heard)[1] <= min(len(wanted), len(heard))


def test_long_sentences_are_none_of_the_others() -> None:
    long = {text.lower() for text in long_sentences()}
    assert len(long) >= 72
    assert long <= unseen()
    assert not long & {text.lower() for path in (SENTENCES, TUNING) for _, text in sentences(path)}


def test_scores_are_kept_by_kind_and_together() -> None:
    scores = tally([("x", "one two"), ("y", "three")], [["one"], ["three"]], [True, False], [1.0, 2.0])
    assert (scores[ALL].words_right, scores["x"].words_right, scores["y"].words_right) == (
        pytest.approx(200 / 3),
        50,
        100,
    )
    assert scores[ALL].ended_by_itself == 50
    assert scores[ALL].ratio(50) == 1.5


def test_inputs_are_seeded_and_of_every_kind() -> None:
    made = inputs(200, ["apple", "river"], seed=3)
    assert made == inputs(200, ["apple", "river"], seed=3)
    assert {kind for kind, _ in made} == set(KINDS)
    assert min(len(text) for _, text in made) == 1
    assert max(len(text) for _, text in made) > 200


def test_an_expectation_is_the_teachers_pace() -> None:
    symbols = ["ab.", "ab cd.", "abcd, ef.", "a b c d e."]
    waves = [rest(0.2 + 0.1 * sum(c.isalpha() for c in one)) for one in symbols]
    expected = Expectation(symbols, waves, RATE)
    assert expected.seconds("abcdefgh.") == pytest.approx(1.0, abs=0.02)
    assert expected.error < 0.01


def test_the_cache_holds_the_bundles_used_last(tiny_checkpoint: Path, tmp_path: Path) -> None:
    voice, cache = tmp_path / "voice", tmp_path / "cache"
    shutil.copytree(tiny_checkpoint, voice)
    made = []
    for version in range(4):
        (voice / "notes.txt").write_text(str(version))
        made.append(bundle_of(voice, cache))
    assert len(set(made)) == 4
    assert sorted(cache.iterdir()) == sorted(made[1:])
    assert bundle_of(made[3], cache) == made[3]


def test_another_exporter_makes_another_bundle(
    tiny_checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def export(_voice: Path, bundle: Path) -> None:
        bundle.mkdir()
        (bundle / "manifest.json").touch()

    monkeypatch.setattr(eval_speech, "export_checkpoint", export)
    made = bundle_of(tiny_checkpoint, tmp_path)
    assert bundle_of(tiny_checkpoint, tmp_path) == made
    monkeypatch.setattr(eval_speech, "exporter_stamp", lambda: "another")
    assert bundle_of(tiny_checkpoint, tmp_path) != made


def test_silence_is_not_audible() -> None:
    assert audible_s(rest(1.0), RATE) == audible_s(rest(0), RATE) == 0.0
    assert audible_s(np.concatenate([rest(1.0), tone(0.5)]), RATE) == pytest.approx(0.5, abs=0.06)


def test_joins_are_measured_from_speech_to_speech() -> None:
    one, other = (
        np.concatenate([rest(0.1), tone(1.0), rest(0.2)]),
        np.concatenate([rest(0.1), tone(1.0, 0.2), rest(0.1)]),
    )
    teacher = np.concatenate([tone(1.0), rest(0.4), tone(1.0)])
    found = seams([Said((one, other), ("a.", "b."), ended=True, codes=())], [teacher], RATE)
    assert found.joins == 1
    assert found.pauses_s[1] == pytest.approx(0.3, abs=0.06)
    assert found.teacher_pauses_s[1] == pytest.approx(0.4, abs=0.06)
    assert found.level_step_db == pytest.approx(6.0, abs=0.3)
    assert found.edge_db < -100


def test_long_texts_hold_a_long_sentence_each() -> None:
    long = {text for kind, text in sentences() if kind == "longer"}
    texts = long_texts(sentences(), 8)
    assert len(set(texts)) == 8
    assert all(any(sentence in text for sentence in long) for text in texts)


def test_pictures_are_whole() -> None:
    picture = png(np.arange(12, dtype=np.uint8).reshape(3, 4))
    assert struct.unpack(">II", picture[16:24]) == (4, 3)
    lines = zlib.decompress(picture[picture.index(b"IDAT") + 4 : -16])
    assert lines == bytes([0, 0, 1, 2, 3, 0, 4, 5, 6, 7, 0, 8, 9, 10, 11])


def test_the_page_needs_nothing_else(tmp_path: Path) -> None:
    row = Row("reply", "Tea & <cake>?", "tea and cake", wrong=True, taught=tone(0.5), made=tone(0.4))
    write_page(tmp_path / "page.html", "a voice", {"anna": [row]}, RATE)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Tea &amp; &lt;cake&gt;?" in page
    assert page.count("data:image/png") == page.count("data:audio/ogg") == 2
    assert not re.search(r'(src|href)="(?!data:)', page)


def test_the_engine_speaks_texts_in_order(tiny_bundle: Path) -> None:
    texts = ["One. And two of them.", "", "Three three three."]
    request = SpeechRequest(max_frames=6, seed=2)
    with VoiceUnderTest(tiny_bundle) as voice:
        said = list(voice.speak(texts, request))
        alone = [next(iter(voice.speak([text], request))) for text in texts]
        whole = next(iter(voice.speak(texts, request, SegmentBounds(longest=600, shortest=600))))
    assert [len(one.parts) > 0 for one in said] == [True, False, True]
    for one, other in zip(said, alone, strict=True):
        assert one.symbols == other.symbols
        assert np.abs(one.wave - other.wave).max(initial=0.0) < 1e-5
    assert len(whole.parts) == 1


def test_the_default_voice_says_varied_inputs(default_voice: VoiceUnderTest) -> None:
    """A few dozen of the thousand inputs: all end, none runs on, none is silent."""
    symbols = [" ".join(s for _, s in default_voice.utterances(text)) for _, text in sentences()[:40]]
    pace = Expectation(symbols, [rest(0.3 + 0.068 * len(one)) for one in symbols], RATE)
    for speaker in default_voice.engine.info.speakers:
        request = SpeechRequest(voice=speaker, language="english")
        many = speak_many(default_voice, request, pace, ["apple", "river", "quick"], 24, lambda: None)
        assert many.utterances >= 20
        assert (many.not_ended, many.too_long, many.silent) == ([], [], [])


def test_the_shipped_codec_is_even_and_clean(default_checkpoint: Path, default_bundle: Path) -> None:
    """On the teachers' own sentences: the level of what was coded, no clicks at borders, no audible tone in silence."""
    for speaker in ("anna", "robert"):
        name, codes = read_coded(speaker)
        assert name == name_of(books_of(default_checkpoint), [text for _, text in sentences()]), (
            "scripts/eval_voice --encode"
        )
        made = decode(default_bundle, codes[::20])
        found = faults(made, made, RATE, 1920)
        assert found.border_db < 3.0
        assert found.tone_db < -85.0, f"{found.tone_hz:.0f} Hz"
        assert found.begins_db < -45.0
        levels = [20 * np.log10(np.sqrt(np.mean(np.square(wave))) + 1e-9) for wave in made]
        assert -32 < np.median(levels) < -22


def test_the_default_voice_repeats_itself_by_seed_at_any_temperature(default_voice: VoiceUnderTest) -> None:
    text = ["The lights in the living room are now off."]
    for temperature in (0.3, 0.9):
        sampling = Sampling(greedy=False, temperature=temperature)
        waves = []
        for seed in (5, 5, 6):
            request = SpeechRequest(language="english", sampling=sampling, seed=seed)
            (said,) = default_voice.speak(text, request)
            assert said.ended
            waves.append(said.wave)
        assert waves[0].shape == waves[1].shape
        assert np.abs(waves[0] - waves[1]).max() < 1e-5  # the blocks that sound is made in differ, and so the rounding
        assert waves[0].shape != waves[2].shape or np.abs(waves[0] - waves[2]).max() > 1e-3
