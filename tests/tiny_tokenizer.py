"""A small byte-level BPE tokenizer in the files the official tokenizer is loaded from.

Purpose: `vocab.json`, `merges.txt` and `tokenizer_config.json` with real merges, so that the token splits of a test
text depend on the pre-tokeniser as they do in the released models. Does not know: the model the ids go to.
"""

from __future__ import annotations

import json
from pathlib import Path

# The first rows build the role words, which the prompt layouts need as single tokens.
_MERGES = (
    "a s|i s|a n|an t|is t|as s|ass ist|assist ant|u s|e r|us er|Ġ t|h e|Ġt he|i n|r e|o n|Ġ a|Ġ s|Ġ w|o r|e n|o u|"
    "l l|he ll|hell o|H e|He ll|Hell o|in g|Ġ i|P h|o ne|n e|o ne|Ph one|i Ph|iPh one|G i|Gi t|H u|Hu b|Git Hub|Ġ Git|"
    "Ġ c|Ġ o|Ġo f|Ġs p|e a|ea k|Ġsp eak|Ã ©|Ġ 2|Ġan d|ä ½"
)
_ADDED = (
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|object_ref_start|>",
    "<|audio_start|>",
    "<|audio_end|>",
    "<tts_pad>",
    "<tts_text_bos>",
    "<tts_text_eod>",
    "<tts_text_bos_single>",
    "<|audio_pad|>",
)
_CONFIG_NAMES = {
    "im_start_token_id": "<|im_start|>",
    "im_end_token_id": "<|im_end|>",
    "tts_pad_token_id": "<tts_pad>",
    "tts_bos_token_id": "<tts_text_bos>",
    "tts_eos_token_id": "<tts_text_eod>",
}


def write_tokenizer(directory: Path) -> dict[str, int]:
    """Write the tokenizer's files; return the ids that `config.json` declares, by their key there."""
    vocabulary, merges = _vocabulary()
    added = {token: len(vocabulary) + index for index, token in enumerate(_ADDED)}
    (directory / "vocab.json").write_text(json.dumps(vocabulary, ensure_ascii=False), encoding="utf-8")
    (directory / "merges.txt").write_text("#version: 0.2\n" + "\n".join(merges) + "\n", encoding="utf-8")
    config = {
        "add_bos_token": False,
        "add_prefix_space": False,
        "added_tokens_decoder": {
            str(id_): {
                "content": token,
                "lstrip": False,
                "normalized": False,
                "rstrip": False,
                "single_word": False,
                "special": True,
            }
            for token, id_ in added.items()
        },
        "additional_special_tokens": ["<|im_start|>", "<|im_end|>"],
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
    (directory / "tokenizer_config.json").write_text(json.dumps(config, indent=1, ensure_ascii=False), encoding="utf-8")
    ids = {key: added[token] for key, token in _CONFIG_NAMES.items()}
    return {"assistant_token_id": vocabulary["assistant"], **ids}


def _vocabulary() -> tuple[dict[str, int], list[str]]:
    """The 256 byte symbols, then one token per merge whose parts exist."""
    tokens = list(_byte_symbols())
    merges = []
    for merge in _MERGES.split("|"):
        left, right = merge.split(" ")
        if left in tokens and right in tokens and left + right not in tokens:
            tokens.append(left + right)
            merges.append(merge)
    return {token: id_ for id_, token in enumerate(tokens)}, merges


def _byte_symbols() -> list[str]:
    """The printable stand-ins of the 256 bytes, in the order of the GPT-2 family: printable ones first."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [byte for byte in range(256) if byte not in printable]
    return [chr(byte) for byte in printable] + [chr(256 + index) for index in range(len(rest))]
