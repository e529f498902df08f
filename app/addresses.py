"""Web and mail addresses, paths and names of files, as they are told to somebody.

Purpose: `speak_addresses` says their dots and slashes.
Knows: how addresses are written, the English words for dot, at and slash. Does not know: Markdown, numbers.
"""

from __future__ import annotations

import re
from typing import Final

from app.abbreviations import DOTTED
from app.spans import SpannedText

_LONG_ADDRESS: Final = 60
"""Of a longer web address only the host is spoken."""
_ADDRESS: Final = re.compile(r"\w[@./_]\w|/\w|//|localhost:")
"""Text without a match has nothing for this module."""
_MAIL: Final = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}")
_WEB: Final = re.compile(r"(?:https?://|www\.)[^\s<>\"'\u201d\u2019)\]]{1,2000}", re.IGNORECASE)
_SCHEME: Final = re.compile(r"\A(?:https?://(?:www\.)?|www\.)", re.IGNORECASE)
_HOST: Final = re.compile(
    r"(?<![\w.@/])(?:[a-zA-Z0-9-]{1,63}\.){1,5}"
    r"(?:com|org|net|edu|gov|io|ai|dev|app|co|uk|de|fr|eu|ch|jp|cn|info|me|tv)(?::\d{2,5})?(?:/[\w./~-]{0,200}[\w/])?(?:[?#][\w=&%./+-]{0,200})?(?![\w])"
)
_PORT: Final = re.compile(r"(?<![\w.])(localhost|(?:\d{1,3}\.){3}\d{1,3}):(?=\d{2,5}(?!\d))")
_FILE: Final = re.compile(
    r"(?<![\w./])(?:[\w.-]{1,64}/){0,10}[A-Za-z_][\w-]{0,63}(?:\.[A-Za-z][\w-]{0,20}){1,4}(?![\w.]*\w)"
)
_PATH: Final = re.compile(r"(?<![\w/<])~?(?:/[\w.-]{1,64}){2,20}/?|(?<![\w/<])[~.]{1,2}(?:/[\w.-]{1,64}){1,20}/?")
_WORDS: Final = {
    ".": " dot ", "@": " at ", "/": " slash ", "_": " underscore ", "-": " dash ", "~": " tilde ", ":": " colon ",
    "=": " equals ", "&": " and ", "+": " plus ", "%": " percent ",
}  # fmt: skip
_SURE: Final = 2
"""Dots of a name whose last part has a capital, like that of a class."""
_SHORT_FORMS: Final = re.compile(r"(?:[A-Za-z]\.)+[A-Za-z]")
_UNDERLINE: Final = re.compile(r"(?<=[^\W_])_(?=[^\W_])")


def speak_addresses(text: SpannedText) -> SpannedText:
    """Web and mail addresses, paths and file names in English words."""
    if not _ADDRESS.search(text.text):
        return text
    text = text.sub(_MAIL, lambda found: _spoken(found.group())).sub(_WEB, _web).sub(_HOST, _web).sub(_PATH, _path)
    text = text.sub(_PORT, lambda found: f"{found.group(1)} colon ")
    return text.sub(_FILE, _file).sub(_UNDERLINE, " ")


def _web(found: re.Match[str]) -> str:
    """An address without its scheme; marks at its end are the sentence's."""
    written = found.group()
    address = written.rstrip(".,;:!?")
    told = re.split("[?#]", _SCHEME.sub("", address.rstrip("/")))[0]
    if len(told) > _LONG_ADDRESS:
        told = told.split("/")[0][:_LONG_ADDRESS]
    return _spoken(told) + written[len(address) :]


def _path(found: re.Match[str]) -> str:
    """A path; a dot at its end is the sentence's."""
    path = found.group().rstrip(".")
    return _spoken(path) + found.group()[len(path) :]


def _file(found: re.Match[str]) -> str | None:
    name = found.group()
    last = name.rsplit(".", 1)[1]
    if name.lower() in DOTTED or _SHORT_FORMS.fullmatch(name):
        return None
    if last[0].isupper() != last.isupper() and (name.count(".") < _SURE or re.search(r"(?:^|\.).\.", name)):
        return None  # a sentence and the next without a space
    return _spoken(name)


def _spoken(address: str) -> str:
    """Dots, slashes and the like as words."""
    return " ".join("".join(_WORDS.get(character, character) for character in address).split())
