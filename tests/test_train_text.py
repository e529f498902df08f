"""Training of the default voice, the parts without a network: alphabet, tokenizer files, prompts, examples, rules."""

from __future__ import annotations

import json
import random
import unicodedata
from pathlib import Path

import numpy as np
import pytest

from export.text_side import load_tokenizer
from export.train import corpus, lexicon, lts, pieces, templates, tokenizer_files
from export.train.corpus_data import Example, example, join, letters_and_times, split_at_pause
from export.train.layout import Layout
from export.train.phoneset import SYMBOLS
from export.train.sampling_plan import Mixture, step
from export.train.shape import VoiceShape

SEGMENTS: list[list[object]] = [
    ["pau", 0.17, 0, "0", "0"],
    ["g", 0.23, 1, "Good", "0"],
    ["uh", 0.30, 1, "Good", "0"],
    ["d", 0.40, 1, "Good", ","],
    ["pau", 0.60, 0, "0", "0"],
    ["d", 0.70, 1, "dog", "."],
    ["ao", 0.90, 1, "dog", "."],
    ["g", 1.00, 1, "dog", "."],
    ["pau", 1.20, 0, "0", "0"],
]


def frames(count: int) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    return np.arange(count * 8, dtype=np.int64).reshape(count, 8) % 512


def test_letters_are_single_stable_and_different() -> None:
    assert len(set(SYMBOLS.values())) == len(SYMBOLS) == 56
    for letter in SYMBOLS.values():
        assert unicodedata.normalize("NFC", letter) == letter
        assert unicodedata.category(letter) in {"Ll", "Lo"}
        assert letter not in "au"  # the role words are merged from these


def test_pieces_are_the_tokens_of_the_exporter_too(tmp_path: Path) -> None:
    tokens = tokenizer_files.write(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({}), encoding="utf-8")
    tokenizer = load_tokenizer(tmp_path)
    text = "".join(SYMBOLS.values()) + ", hǽ? ss! ; : ."
    assert tokenizer.encode(text, add_special_tokens=False).ids == tokens.encode(text)
    role = tokenizer.encode("<|im_start|>assistant\n", add_special_tokens=False).ids
    assert role == [tokens["<|im_start|>"], tokens["assistant"], tokens["\n"]]


def test_whole_text_prompt_has_the_official_rows() -> None:
    shape, tokens = VoiceShape(), tokenizer_files.build()[2]
    body = tokens.encode("hǽ.")
    rows = Layout(shape, tokens).build(body, frames(2), "anna", "english")
    pad, end = tokens["<tts_pad>"], tokens["<tts_text_eod>"]
    assert rows.text.tolist()[3:] == [pad] * 5 + [tokens["<tts_text_bos>"], *body, end, pad, pad, pad]
    think = [shape.think, shape.think_bos, shape.control(2050), shape.think_eos, shape.control(2873)]
    assert rows.first.tolist()[:15] == [-1] * 3 + think + [shape.pad] * 5 + [shape.bos, 0]
    assert rows.start == 13
    assert rows.rest[rows.start].tolist() == [-1] * 7


def test_pieces_are_short_and_stay_within_their_word() -> None:
    symbols = "ðə kwík, brǻn fáks."
    cut = pieces.split(symbols)
    assert "".join(cut) == symbols
    assert all(len(piece) <= pieces.LONGEST and piece.rfind(" ") <= 0 for piece in cut)
    assert pieces.piece_of_letter(symbols).tolist() == [i for i, piece in enumerate(cut) for _ in piece]


def test_merges_are_learned_from_the_most_frequent_pairs() -> None:
    assert pieces.learn({" ðə": 5, " ðεn": 3, "εn": 4}, merges=3) == [(" ", "ð"), ("ε", "n"), (" ð", "ə")]


def test_streaming_prompt_spends_one_piece_a_frame() -> None:
    shape, tokens = VoiceShape(), tokenizer_files.build()[2]
    body = tokens.encode("hǽ.")
    rows = Layout(shape, tokens).build(body, frames(4), "anna", None, streaming=True)
    pad, end = tokens["<tts_pad>"], tokens["<tts_text_eod>"]
    assert rows.text.tolist()[8:] == [body[0], body[1], body[2], end, pad]
    assert rows.first.tolist()[8] == shape.bos


def test_a_mark_stands_where_the_teacher_paused() -> None:
    symbols, ends, pauses = letters_and_times(SEGMENTS)
    assert symbols == "gǔd, dóg."
    assert pauses == [3, 8]
    assert ends[3] == pytest.approx(0.60)


def test_cutting_at_a_pause_and_joining_gives_everything_back() -> None:
    whole, pauses = example(SEGMENTS, frames(15), 0.08, "anna")
    assert len(whole.frames) == 14
    sides = split_at_pause(whole, pauses[0])
    assert sides is not None
    again = join(list(sides))
    assert again.symbols == whole.symbols
    assert np.array_equal(again.frames, whole.frames)
    assert [s.symbols for s in sides] == ["gǔd,", "dóg."]


def test_steps_are_seeded_and_of_bounded_length() -> None:
    whole, pauses = example(SEGMENTS, frames(15), 0.08, "anna")
    mixture = Mixture(step_frames=300)

    def draw() -> list[Example]:
        made: list[Example] = step([[(whole, pauses)]], mixture, np.random.default_rng(3))
        return made

    first, second = draw(), draw()
    assert [e.symbols for e in first] == [e.symbols for e in second]
    assert sum(len(e.frames) for e in first) <= 300 + mixture.longest
    assert all(len(e.frames) <= mixture.longest for e in first)


@pytest.mark.parametrize(
    ("value", "said"), [(0, "zero"), (13, "thirteen"), (42, "forty two"), (107, "one hundred and seven"),
                        (3020, "three thousand twenty")],
)  # fmt: skip
def test_numbers_are_said(value: int, said: str) -> None:
    assert templates.number(value) == said


def test_templates_fill_every_slot() -> None:
    draw = random.Random(1)
    for _ in range(300):
        made = templates.sentence(draw, ["apple", "river"])
        assert "{" not in made
        assert made[0].isupper()


def test_festival_entries_are_read() -> None:
    text = '("record" n (((r eh) 1) ((k er d) 0)))\n("bad" nil (((q) 1)))\n("don\'t" v (((d ow n t) 1)))'
    assert list(lexicon.read_cmu(text)) == [("record", "n", "rέkɚd"), ("don't", "v", "dώnt")]


def test_rules_learn_what_a_letter_says_from_its_neighbours() -> None:
    words = {"cat": "kæt", "can": "kæn", "cab": "kæb", "cell": "sεl", "cent": "sεnt", "tan": "tæn", "nab": "næb"}
    trie = lts.train(list(words.items()) * 4)
    assert {word: lts.predict(trie, word) for word in words} == words
    assert lts.predict(trie, "cen") == "sεn"


def test_a_long_sentence_is_one_sentence_of_whole_clauses() -> None:
    clauses = ["The dog slept.", "I saw it.", "A very old bridge!", "When was it built?"]
    for seed in range(50):
        said = corpus.long_sentence(random.Random(seed), clauses)
        assert corpus.LONG_LETTERS[0] <= len(said) <= corpus.LONG_LETTERS[1] + 40
        assert said[0].isupper()
        assert said[-1] == "."
        assert not set(said[:-1]) & set(".!?")
        assert said == corpus.long_sentence(random.Random(seed), clauses)


def test_a_run_is_one_word_again_and_again_or_many_without_a_mark() -> None:
    words = [f"w{i}" for i in range(500)]
    runs = [corpus.word_run(random.Random(seed), words) for seed in range(50)]
    assert all(run[0] == "W" and run[-1] == "." and "," not in run for run in runs)
    kinds = [len(set(run[:-1].lower().split())) for run in runs]
    assert {kind == 1 for kind in kinds} == {True, False}
    assert all(2 <= len(run.split()) <= 20 for run in runs)
    assert runs[0] == corpus.word_run(random.Random(0), words)
