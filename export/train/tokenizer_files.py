"""Writes the byte-level BPE files of the official layout for the phone alphabet: a token is one to three phone letters.

Knows: byte-level BPE, the official names of the control tokens, the letters of `phoneset`, what `pieces` joins. Does
not know: the network. `TokenIds` is what the rest of the training needs of it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from export.train import pieces
from export.train.phoneset import SYMBOLS

ROLE_WORDS = ("assistant", "user")
ADDED = (
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<tts_pad>",
    "<tts_text_bos>",
    "<tts_text_eod>",
    "<tts_text_bos_single>",
)


def byte_letters() -> list[str]:
    """Give the 256 printable stand-ins for bytes that byte-level BPE uses, indexed by byte value."""
    visible = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    table = {byte: chr(byte) for byte in visible}
    for byte in range(256):
        if byte not in table:
            table[byte] = chr(256 + len(table) - len(visible))
    return [table[byte] for byte in range(256)]


def _merge_left_to_right(parts: list[str]) -> list[tuple[str, str]]:
    merges, whole = [], parts[0]
    for part in parts[1:]:
        merges.append((whole, part))
        whole += part
    return merges


def _stand_ins(text: str, letters: list[str]) -> str:
    return "".join(letters[byte] for byte in text.encode())


@dataclass(frozen=True)
class TokenIds:
    """Token numbers of the phone tokenizer: every string that is one token, and how many there are in all."""

    ids: dict[str, int]
    size: int

    def __getitem__(self, token: str) -> int:
        """Number of a piece, of ` `, of a punctuation mark, of a role word, of `\\n` or of a control token."""
        return self.ids[token]

    def encode(self, symbols: str) -> list[int]:
        """Tokens of a symbol string."""
        return [self.ids[piece] for piece in pieces.split(symbols)]


def build() -> tuple[dict[str, int], list[tuple[str, str]], TokenIds]:
    """Give the vocabulary (byte stand-ins -> number), the merges in order, and the token numbers by plain text."""
    letters = byte_letters()
    order = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    order += [byte for byte in range(256) if byte not in set(order)]
    vocabulary = {letters[byte]: number for number, byte in enumerate(order)}
    merges: list[tuple[str, str]] = []
    for text in [*ROLE_WORDS, *sorted(SYMBOLS.values())]:
        for pair in _merge_left_to_right([letters[byte] for byte in text.encode()]):
            if pair not in merges:
                merges.append(pair)
                vocabulary[pair[0] + pair[1]] = len(vocabulary)
    for left, right in pieces.shipped():
        pair = (_stand_ins(left, letters), _stand_ins(right, letters))
        merges.append(pair)
        vocabulary[pair[0] + pair[1]] = len(vocabulary)
    back = {stand_in: byte for byte, stand_in in enumerate(letters)}
    ids: dict[str, int] = {}
    for stand_ins, number in vocabulary.items():
        raw = bytes(back[letter] for letter in stand_ins)
        try:
            ids[raw.decode()] = number
        except UnicodeDecodeError:
            continue
    for name in ADDED:
        ids[name] = len(vocabulary) + ADDED.index(name)
    return vocabulary, merges, TokenIds(ids, len(vocabulary) + len(ADDED))


def write(directory: Path) -> TokenIds:
    """Write vocab.json, merges.txt and tokenizer_config.json as the official checkpoints carry them."""
    vocabulary, merges, tokens = build()
    (directory / "vocab.json").write_text(json.dumps(vocabulary, ensure_ascii=False), encoding="utf-8")
    lines = ["#version: 0.2", *(f"{left} {right}" for left, right in merges), ""]
    (directory / "merges.txt").write_text("\n".join(lines), encoding="utf-8")
    added = {
        str(tokens[name]): {
            "content": name,
            "lstrip": False,
            "normalized": False,
            "rstrip": False,
            "single_word": False,
            "special": True,
        }
        for name in ADDED
    }
    config = {
        "add_bos_token": False,
        "add_prefix_space": False,
        "added_tokens_decoder": added,
        "additional_special_tokens": list(ADDED[1:]),
        "bos_token": None,
        "clean_up_tokenization_spaces": False,
        "eos_token": "<|im_end|>",
        "errors": "replace",
        "model_max_length": 131072,
        "pad_token": "<|endoftext|>",
        "split_special_tokens": False,
        "tokenizer_class": "Qwen2Tokenizer",
        "unk_token": None,
    }
    (directory / "tokenizer_config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    return tokens
