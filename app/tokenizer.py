"""Text to ids of a voice's vocabulary.

Purpose: the exact ids the model was trained on: the text is tokenised as it stands in the official chat message and cut
out of it. Nothing in the text can become a control id.
Knows: the chat message, the tokenizer file. Does not know: hygiene, sentences, prompts beyond the message.

For one thread only: tokenizers of Hugging Face are not safe across threads.
"""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final

from engines.errors import BundleError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_ROLE: Final = "<|im_start|>assistant\n"
_USER: Final = "<|im_start|>user\n"
_END: Final = "<|im_end|>"


class TextTokenizer:
    """The tokenizer of one bundle."""

    def __init__(self, tokenizer: Tokenizer, name: str = "tokenizer") -> None:
        self._tokenizer = tokenizer
        self._controls = {
            token.content: ident
            for ident, token in tokenizer.get_added_tokens_decoder().items()
            if token.special or _control_shaped(token.content)
        }
        self._control_ids = frozenset(self._controls.values())
        self._control = re.compile("(?=" + "|".join(map(re.escape, self._controls)) + ")")
        """Finds where a control string begins."""
        missing = [word for word in ("<|im_start|>", _END) if word not in self._controls]
        if missing:
            raise BundleError(f"{name} has no token {missing[0]}; export the bundle again")
        self._role = self._ids(_ROLE)

    @classmethod
    def open(cls, path: Path) -> TextTokenizer:
        """Load a `tokenizer.json`. Raises `BundleError`."""
        from tokenizers import Tokenizer

        try:
            tokenizer = Tokenizer.from_file(str(path))
        except Exception as error:  # the library raises plain Exception
            raise BundleError(f"cannot read the tokenizer {path}: {error}; export the bundle again") from error
        return cls(tokenizer, str(path))

    @property
    def control_strings(self) -> tuple[str, ...]:
        """Strings that stand for control ids."""
        return tuple(self._controls)

    def body_ids(self, text: str) -> tuple[int, ...]:
        """Ids of text to be spoken, without the message around it."""
        text = text.lstrip()
        if not text:
            return ()
        if not self._control.search(text):
            ids = self._ids(f"{_ROLE}{text}{_END}")
            if ids[: len(self._role)] == self._role:
                return ids[len(self._role) : -1]
        return self._harmless_ids(text)

    def instruct_ids(self, instruct: str) -> tuple[int, ...]:
        """Ids of the whole message that tells how to speak; none for an empty one."""
        if not instruct:
            return ()
        if not self._control.search(instruct):
            return self._ids(f"{_USER}{instruct}{_END}\n")
        return (*self._ids(_USER), *self._harmless_ids(instruct), *self._ids(f"{_END}\n"))

    def _harmless_ids(self, text: str) -> tuple[int, ...]:
        """Ids of text that holds control strings, each cut in two so that it is read as the letters it is made of."""
        cuts = [0, *(found.start() + 1 for found in self._control.finditer(text)), len(text)]
        ids = (ident for start, end in pairwise(cuts) for ident in self._ids(text[start:end]))
        return tuple(ident for ident in ids if ident not in self._control_ids)

    def _ids(self, text: str) -> tuple[int, ...]:
        return tuple(self._tokenizer.encode(text, add_special_tokens=False).ids)


def _control_shaped(text: str) -> bool:
    """Whether a token of a tokenizer looks like a control string rather than like something people write."""
    return len(text) > 2 and text[0] == "<" and text[-1] == ">"
