"""The text side of a bundle: tokenizer, projected text rows, front-end files.

Purpose: `vocab.json` and `merges.txt` become one `tokenizer.json`; the text embedding goes through the text projection
row by row into a memory-mapped table, so that no runtime ever computes or holds it.
Knows: the Qwen2 tokenizer, the text projection. Does not know: graphs, prompts.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

from engines.manifest import FrontEndKind, TextFrontEnd, TextIds
from export.checkpoint import Array, TensorFile
from export.config import ModelConfig, read_json
from export.errors import CheckpointError

TOKENIZER_FILE: Final = "tokenizer.json"
PHONES_FILE: Final = "phones.json"
ROLE: Final = "<|im_start|>assistant\n"
ROLE_TOKENS: Final = 3  # the official prompt takes the first three ids as the role header

# How Qwen2's tokenizer cuts text before byte pairs are merged (transformers, Qwen2TokenizerFast).
QWEN2_PIECES: Final = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
BLOCK_ROWS: Final = 4096


class _AddedToken(msgspec.Struct, frozen=True):
    content: str
    lstrip: bool = False
    normalized: bool = False
    rstrip: bool = False
    single_word: bool = False
    special: bool = True


class _TokenizerConfig(msgspec.Struct, frozen=True):
    added_tokens_decoder: dict[int, _AddedToken]


class _Phones(msgspec.Struct, frozen=True):
    """`phones.json`, as far as it matters here."""

    live: bool = False


def load_tokenizer(checkpoint: Path) -> Tokenizer:
    """The checkpoint's tokenizer; raises `CheckpointError` naming the file at fault."""
    vocabulary, merges = checkpoint / "vocab.json", checkpoint / "merges.txt"
    for path in (vocabulary, merges):
        if not path.is_file():
            raise CheckpointError(f"{path} is missing")
    try:
        tokenizer = Tokenizer(models.BPE.from_file(str(vocabulary), str(merges)))
    except Exception as error:  # the library raises bare Exception for a bad file
        raise CheckpointError(f"{vocabulary} or {merges.name} is damaged: {error}") from error
    tokenizer.normalizer = normalizers.NFC()
    pieces = pre_tokenizers.Split(Regex(QWEN2_PIECES), behavior="isolated")
    to_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pieces, to_bytes])
    tokenizer.decoder = decoders.ByteLevel()
    _add_control_tokens(tokenizer, checkpoint / "tokenizer_config.json")
    return tokenizer


def _add_control_tokens(tokenizer: Tokenizer, path: Path) -> None:
    tokens = read_json(path, _TokenizerConfig).added_tokens_decoder
    for number, token in sorted(tokens.items()):
        added = AddedToken(
            token.content, single_word=token.single_word, lstrip=token.lstrip, rstrip=token.rstrip,
            normalized=token.normalized, special=token.special,
        )  # fmt: skip
        tokenizer.add_special_tokens([added]) if token.special else tokenizer.add_tokens([added])
        if tokenizer.token_to_id(token.content) != number:
            raise CheckpointError(f"{path}: token {token.content} should have id {number}, vocab.json leads to another")


def text_ids(tokenizer: Tokenizer, config: ModelConfig) -> TextIds:
    """Ids the prompts need; raises `CheckpointError` when the role header is not three tokens."""
    role = tokenizer.encode(ROLE, add_special_tokens=False).ids
    if len(role) != ROLE_TOKENS:
        raise CheckpointError(f"the tokenizer makes {len(role)} tokens of {ROLE!r}, the model needs {ROLE_TOKENS}")
    return TextIds(
        role=tuple(role), pad=config.tts_pad_token_id, bos=config.tts_bos_token_id, eos=config.tts_eos_token_id
    )


def write_front_end(checkpoint: Path, tokenizer: Tokenizer, bundle: Path) -> TextFrontEnd:
    """Write the tokenizer and copy the files `phones.json` names, if there is one."""
    tokenizer.save(str(bundle / TOKENIZER_FILE), pretty=False)
    phones = checkpoint / PHONES_FILE
    if not phones.is_file():
        return TextFrontEnd(kind=FrontEndKind.TEXT, tokenizer=TOKENIZER_FILE)
    names = (
        PHONES_FILE,
        *(path.name for path in sorted(checkpoint.glob("lexicon.*")) + sorted(checkpoint.glob("lts.*"))),
    )
    for name in names:
        shutil.copyfile(checkpoint / name, bundle / name)
    live = read_json(phones, _Phones).live
    return TextFrontEnd(kind=FrontEndKind.PHONES, tokenizer=TOKENIZER_FILE, files=names, live=live)


class TextTable:
    """`text_projection(text_embedding[id])` for every id: Linear, SiLU, Linear, in blocks of rows."""

    def __init__(self, file: TensorFile, config: ModelConfig, dtype: npt.DTypeLike) -> None:
        talker = config.talker_config
        self._file, self.dtype = file, np.dtype(dtype)
        self.shape = (talker.text_vocab_size, talker.hidden_size)
        inner = talker.text_hidden_size
        prefix = "talker.text_projection"
        self._embedding = "talker.model.text_embedding.weight"
        self._layers = (f"{prefix}.linear_fc1", f"{prefix}.linear_fc2")
        # the first layer is square in the released models, but its width is the checkpoint's to say
        middle = file.shape(f"{prefix}.linear_fc1.weight")[0]
        file.claim(self._embedding, (talker.text_vocab_size, inner))
        for layer, outputs, inputs in zip(self._layers, (middle, talker.hidden_size), (inner, middle), strict=True):
            file.claim(f"{layer}.weight", (outputs, inputs))
            file.claim(f"{layer}.bias", (outputs,))

    @property
    def nbytes(self) -> int:
        """Bytes of the finished table."""
        return self.shape[0] * self.shape[1] * self.dtype.itemsize

    def write(self, path: Path, advance: Callable[[int], None]) -> None:
        """Write the `.npy` file, block by block; `advance` is told the bytes of each block."""
        (w1, b1), (w2, b2) = ((self._file.read(f"{x}.weight").T, self._file.read(f"{x}.bias")) for x in self._layers)
        with path.open("wb") as out:
            header = {"descr": self.dtype.str, "fortran_order": False, "shape": self.shape}
            np.lib.format.write_array_header_1_0(out, header)
            for start in range(0, self.shape[0], BLOCK_ROWS):
                rows = self._file.read_rows(self._embedding, start, min(start + BLOCK_ROWS, self.shape[0]))
                with np.errstate(over="ignore", invalid="ignore"):  # what comes of it is looked at
                    block = (_silu(rows @ w1 + b1) @ w2 + b2).astype(self.dtype)
                self._check(block, start)
                out.write(block.data)
                advance(block.nbytes)

    def _check(self, block: npt.NDArray[np.generic], start: int) -> None:
        """Nothing that is read later looks at these rows again: one that is no number would silence its token."""
        finite = np.isfinite(block).all(axis=1)
        if not finite.all():
            told = "" if self.dtype == np.float32 else ", or its rows are too wide for float16 (--precision fp32)"
            raise CheckpointError(
                f"{self._file.path}: the text row of token {start + int(finite.argmin())} is not finite: the checkpoint"
                f" is damaged{told}"
            )


def _silu(x: Array) -> Array:
    silu: Array = x / (1 + np.exp(-np.clip(x, -80, None)))
    return silu
