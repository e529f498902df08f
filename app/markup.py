"""What is written for the eye becomes what is said: Markdown marks, tags, links.

Purpose: text as people and language models write it carries marks nobody reads aloud; they go, or become signs.
Knows: Markdown, tags of HTML. Does not know: addresses (`addresses`), numbers, units.
"""

from __future__ import annotations

import html
import re
from typing import Final

from app.spans import SpannedText

_MARKUP: Final = re.compile(r"[*_`#~|\[<>\\\u00af\u2022]|\^[_.-]?\^|[xX]{4}|&[a-z#]|(?:^|\n)\s*[-+\u2022=]")
"""Text without a match has nothing for this module."""

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


def strip_markup(text: SpannedText) -> SpannedText:
    """Text without its marks, in any language."""
    if not _MARKUP.search(text.text):
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
    return text.sub(_HIDDEN, "ending in ") if _MARKUP.search(text.text) else text
