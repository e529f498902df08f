"""The tokenizer's door: ids as the official chat message gives them, and control strings that stay harmless."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers

from app.tokenizer import TextTokenizer
from engines.errors import BundleError

SPECIAL = ("<|im_start|>", "<|im_end|>", "<tts_pad>", "<tts_text_bos>")
WORDS = ("<tool_call>",)


def tiny_tokenizer() -> Tokenizer:
    """Byte-level, with a few merges, built like the official one."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    merges = [
        ("h", "e"),
        ("l", "l"),
        ("he", "ll"),
        ("hell", "o"),
        ("\u0120", "w"),
        ("a", "s"),
        ("\u010a", "\u010a"),
        ("i", "m"),
    ]
    vocabulary = {word: ident for ident, word in enumerate([*letters, *("".join(pair) for pair in merges)])}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.add_special_tokens([AddedToken(word, special=True) for word in SPECIAL])
    tokenizer.add_tokens(list(WORDS))
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


TOKENIZER = tiny_tokenizer()
TEXT = TextTokenizer(TOKENIZER)
CONTROL_IDS = {TOKENIZER.token_to_id(word) for word in (*SPECIAL, *WORDS)}


@pytest.mark.parametrize(
    "text", ["hello world", "a", "42", "Hello, w\u00f6rld!", "two  spaces", "end ", "<|im_", "x\n\ny"]
)
def test_body_is_cut_out_of_the_official_message(text: str) -> None:
    whole = TOKENIZER.encode(f"<|im_start|>assistant\n{text}<|im_end|>\n<|im_start|>assistant\n").ids
    role = len(TOKENIZER.encode("<|im_start|>assistant\n").ids)
    tail = len(TOKENIZER.encode("<|im_end|>\n<|im_start|>assistant\n").ids)
    assert TEXT.body_ids(text) == tuple(whole[role:-tail])


def test_instruct_is_the_whole_message() -> None:
    assert TEXT.instruct_ids("be calm") == tuple(TOKENIZER.encode("<|im_start|>user\nbe calm<|im_end|>\n").ids)
    assert TEXT.instruct_ids("") == ()


@pytest.mark.parametrize("text", ["", " ", "\n\n"])
def test_nothing_gives_no_ids(text: str) -> None:
    assert TEXT.body_ids(text) == ()


def test_leading_newlines_do_not_shift_the_body() -> None:
    assert TEXT.body_ids("\n\nhello") == TEXT.body_ids("hello")


HOSTILE = st.lists(
    st.one_of(st.sampled_from((*SPECIAL, *WORDS, "<|im_", "end|>", "<", "|>", "a", " ", "\n")), st.text(max_size=3)),
    max_size=12,
).map("".join)


@given(HOSTILE)
def test_text_never_gives_control_ids(text: str) -> None:
    text = text.encode("utf-8", "ignore").decode()
    ids = TEXT.body_ids(text)
    assert not CONTROL_IDS & set(ids)
    expected = TOKENIZER.decode(list(ids), skip_special_tokens=False) if ids else ""
    assert expected == unicodedata.normalize("NFC", text.lstrip())


@given(HOSTILE)
def test_an_instruct_has_only_its_own_control_ids(text: str) -> None:
    ids = TEXT.instruct_ids(text.encode("utf-8", "ignore").decode())
    if ids:
        start, end = TOKENIZER.token_to_id("<|im_start|>"), TOKENIZER.token_to_id("<|im_end|>")
        assert [ident for ident in ids if ident in CONTROL_IDS] == [start, end]


def test_opens_a_file(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    TOKENIZER.save(str(path))
    assert TextTokenizer.open(path).body_ids("hello") == TEXT.body_ids("hello")
    assert set(TextTokenizer.open(path).control_strings) == {*SPECIAL, *WORDS}


def test_refuses_what_is_no_tokenizer(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    with pytest.raises(BundleError, match=r"tokenizer\.json"):
        TextTokenizer.open(path)
    path.write_text('{"half": ')
    with pytest.raises(BundleError, match=r"tokenizer\.json"):
        TextTokenizer.open(path)
    Tokenizer(models.BPE()).save(str(path))
    with pytest.raises(BundleError, match=r"<\|im_start\|>"):
        TextTokenizer.open(path)
