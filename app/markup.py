"""What is written for the eye becomes what is said: Markdown marks, links, addresses.

Purpose: text as people and language models write it carries marks nobody reads aloud; they go, or become words.
Knows: Markdown, web and mail addresses, file names, the English words for dot, at and slash. Does not know: numbers,
units.
"""

from __future__ import annotations

import html
import re
from typing import Final

from app.abbreviations import DOTTED
from app.spans import SpannedText

_LONG_ADDRESS: Final = 60
"""Of a longer web address only the host is spoken."""
MARKUP: Final = re.compile(r"[*_`#~|\[<>\\\u00af\u2022]|\^[_.-]?\^|[xX]{4}|&[a-z#]|(?:^|\n)\s*[-+\u2022=]")
ADDRESS: Final = re.compile(r"\w[@./_]\w|/\w|//|localhost:")
"""Text without a match of these has nothing for this module."""

_ESCAPE: Final = re.compile(
    r"(?<![\\:])\\(?=[$%&*_~`#|!>\"'])|(?<!\S)\\(?=[-+] )|(?<=\d)\\(?=[.)](?:\s|$))"  # others may be of a path
)
_FENCE: Final = re.compile(r"(?:^|(?<=\n))\s*(?:```|~~~)[\w+-]*[ \t]*(?=\n|$)")
_RULE: Final = re.compile(r"(?:^|(?<=\n))\s*(?:[-*_=~]\s*){3,}(?=\n|$)")
_IMAGE_OR_LINK: Final = re.compile(r"!?\[([^\[\]\n]{1,300})\]\((?:[^()\s]|\([^()\s]*\)){0,300}(?:\s+\"[^\"\n]*\")?\)")
_REFERENCE: Final = re.compile(r"(?<!\b[a-z])\[\^?[1-9]\d{0,2}\]")
"""Of a footnote; `i[1]` and `list[0]` are places in a list."""
_BULLET: Final = re.compile(
    r"(?:^|(?<=\n))(?:>\s*)+(?=\n|$)"  # an empty line of a quotation
    r"|(?:^|(?<=\n))\s*(?:(?:[-*+\u2022]|>+)\s+)+(?:\[[ xX]\]\s+)?|(?:^|(?<=\n))\s*#{1,6}\s+"
)
_BETWEEN: Final = re.compile(r"(?<=\d) ?\*(?!\*) ?(?=\d)")
_RAISED: Final = re.compile(r"(?<=\d) ?\*\* ?(?=\d)")
_STAR_KEY: Final = re.compile(r"(?:(?<=\b[Pp]ress )|(?<=\b[Dd]ial )|(?<=\b[Hh]it ))\*(?=\d|[\s.,;]|$)")
_STAR: Final = re.compile(r"(?<=(?P<left>[\w)\]])) (?P<stars>\*\*?) (?=(?P<right>[\w(]+))")
_NAMES: Final = re.compile(r"[A-Z]{2,}")
_OPERAND: Final = re.compile(r"(?<![\w'\u2019])(?:[A-Za-z]|\d[\d.]*|\w*_\w*)\Z|[)\]]\Z")
_HIDDEN: Final = re.compile(
    r"(?:\bending in )?(?:(?:[*\u2022]{2,4}|[xX]{4})[ -]?){2,4}(?=\d{4}(?![\w*]))"
    r"|(?<=[Cc]ard |ount )(?:ending in )?(?:[*\u2022]{2,4}|[xX]{4})[ -]?(?=\d{4}(?![\w*]))"
)
"""Digits of a card that are kept from view."""
_FACE: Final = re.compile(
    r"\u00af\S{1,8}\u00af|(?<!\S)>[_.]<(?!\S)|(?<![^\s(])\(?\^[_.-]?\^;?\)?(?=[\s.,!?]|$)"
    r"|\(\s*(?P<eye>[\u00b0^\u0ca0\u02d8\u00ac\u2267])[^A-Za-z0-9()]{0,4}(?P=eye)\s*\)"
)
_PLACEHOLDER: Final = re.compile(r"(?<![\w<])<([A-Za-z][\w./-]{0,40}(?: [A-Za-z][\w-]{0,20}){0,3})>(?!\w)")
_STRONG: Final = re.compile(r"\*+|`+|~~+|__+|(?<![^\W_])_(?=\S)|(?<=\S)_(?![^\W_])")
_UNDERLINE: Final = re.compile(r"(?<=[^\W_])_(?=[^\W_])")
_TABLE_EDGE: Final = re.compile(r"\A\s*\|\s*|\s*\|\s*\Z")
_EITHER: Final = re.compile(r"(?<=[\w)]) \|\| (?=[\w(!])")
_TABLE: Final = re.compile(r"\s*\|[\s|:-]*")
_LINK_IN_ANGLES: Final = re.compile(r"<(?:mailto:)?([^<>\s]{1,2000}(?:://|@)[^<>\s]{1,2000})>")
_TAG: Final = re.compile(
    r"</?(?:b|i|u|em|strong|p|br|div|span|a|h[1-6]|ul|ol|li|dl|dt|dd|code|pre|kbd|samp|var|sub|sup|small|hr|img|mark"
    r"|del|ins|abbr|blockquote|cite|table|thead|tbody|tr|td|th|details|summary|section|font|center|think|speak|break"
    r"|prosody|emphasis)(?:\s[^<>]{0,200}[=\"'][^<>]{0,200}|\s\w{1,20})?\s?/?>"
)
_ENTITY: Final = re.compile(r"&(?:amp|lt|gt|quot|apos|nbsp|mdash|ndash|hellip|deg|#\d{2,5});")
_MAIL: Final = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}")
_WEB: Final = re.compile(r"(?:https?://|www\.)[^\s<>\"'\u201d\u2019)\]]{1,2000}", re.IGNORECASE)
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


def strip_markup(text: SpannedText) -> SpannedText:
    """Text without its marks, in any language."""
    if not MARKUP.search(text.text):
        return text
    text = text.sub(_ESCAPE, "").sub(_FENCE, "").sub(_RULE, "").sub(_TAG, " ")
    text = text.sub(_ENTITY, lambda found: html.unescape(found.group())).sub(_FACE, " ")
    text = text.sub(_LINK_IN_ANGLES, lambda found: found.group(1)).sub(_IMAGE_OR_LINK, lambda found: found.group(1))
    text = text.sub(_PLACEHOLDER, lambda found: re.sub("[-_]", " ", found.group(1)))
    text = (
        text.sub(_REFERENCE, "")
        .sub(_BULLET, "")
        .sub(_RAISED, " ^ ")
        .sub(_BETWEEN, " \u00d7 ")
        .sub(_STAR, _times)
        .sub(_STAR_KEY, "star ")
        .sub(_STRONG, "")
    )
    return text.sub(_EITHER, " \u2228 ").sub(_TABLE_EDGE, "").sub(_TABLE, ", ") if "|" in text.text else text


def _times(found: re.Match[str]) -> str | None:
    """`a * b` is a product and `SELECT * FROM` has a star; else the star may be one of two around a word."""
    before = found.string[: found.start()]
    if _OPERAND.search(before) and (len(found["right"]) == 1 or found["stars"] == "*" or found["right"].isdecimal()):
        return " ^ " if found["stars"] == "**" else " \u00d7 "
    if found["stars"] == "**":
        return None
    if _NAMES.search(before.split()[-1]) and found["right"].isupper():
        return " star "
    return " \u00d7 " if "=" in before else None


def speak_hidden(text: SpannedText) -> SpannedText:
    """`**** 4242` in English words; before the marks go."""
    return text.sub(_HIDDEN, "ending in ") if MARKUP.search(text.text) else text


def speak_addresses(text: SpannedText) -> SpannedText:
    """Web and mail addresses, paths and file names in English words."""
    if not ADDRESS.search(text.text):
        return text
    text = text.sub(_MAIL, _address).sub(_WEB, _web).sub(_HOST, _web).sub(_PATH, _path)
    text = text.sub(_PORT, lambda found: f"{found.group(1)} colon ")
    return text.sub(_FILE, _file).sub(_UNDERLINE, " ")


def _address(found: re.Match[str]) -> str:
    return _spoken(found.group())


def _web(found: re.Match[str]) -> str:
    address = found.group()
    tail = address[len(address.rstrip(".,;:!?")) :]
    address = address.rstrip(".,;:!?").rstrip("/")
    address = re.sub(r"^https?://(?:www\.)?|^www\.", "", address, flags=re.IGNORECASE)
    address = re.split(r"[?#]", address)[0]
    if len(address) > _LONG_ADDRESS:
        address = address.split("/")[0][:_LONG_ADDRESS]
    return _spoken(address) + tail


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
