"""Formulas as language models write them, between the marks of LaTeX, become signs and words.

Purpose: the marks go, commands become the signs or words that the rules of English read.
Knows: the marks, and the commands of school mathematics. Does not know: how signs and numbers are said.
"""

from __future__ import annotations

import re
from typing import Final

from app.spans import SpannedText

_NO_PROSE: Final = r"(?!(?:[^${}]|\{[^${}]*\}){0,300}?(?<!\S)[a-z']+[,;:]?\s[a-z']+[,;:]?\s)"
"""Between dollars with two plain words in a row these are prices, not a formula; in braces they may be a text of it."""
FORMULA: Final = re.compile(
    r"\\\((?P<round>[^\n]{1,300}?)\\\)|\\\[(?P<square>.{1,300}?)\\\]"
    rf"|\$\${_NO_PROSE}(?P<block>[^$]{{1,300}})\$\$"
    rf"|(?<![\w$\\])\$(?P<inline>(?=[^\s$\d]|\d+[a-z]* ?[=^\\+]){_NO_PROSE}"
    r"[^$\n]{0,200}(?<=[^\s$\\]))\$(?! ?\d|\w)",
    re.DOTALL,
)
_ARGUMENT: Final = r"\{([^{}]{0,100})\}"
_FRACTION: Final = re.compile(rf"\\[dt]?frac ?(?:{_ARGUMENT}|(\d)) ?(?:{_ARGUMENT}|(\d))")
_HIGHER_ROOT: Final = re.compile(r"\\sqrt ?\[([^\[\]]{1,20})\]")
_ROOT: Final = re.compile(rf"\\sqrt ?{_ARGUMENT}")
_PLAIN: Final = re.compile(rf"\\(?:text|math[a-z]{{2,4}}|operatorname) ?{_ARGUMENT}")
_BOUNDED: Final = re.compile(
    rf"\\(sum|prod|int)(?:\\limits)? ?_ ?(?:{_ARGUMENT}|(\w)) ?\^ ?(?:{_ARGUMENT}|(\w|\\infty\b))"
)
_BOUNDED_NAMES: Final = {"sum": "sum", "prod": "product", "int": "integral"}
_INDEX: Final = re.compile(rf"([\^_]) ?{_ARGUMENT}")
_POWER: Final = re.compile(r"\^([23])(?!\d)")
_POWERS: Final = {"2": "\u00b2", "3": "\u00b3", "\\circ": "\u00b0"}
_COMMAND: Final = re.compile(r"\\([A-Za-z]+) ?")
_DEGREE: Final = re.compile(r"\^ ?\\circ")
_PRODUCT: Final = re.compile(r"(?<=\d)[a-z]{1,3}(?![a-z])")
"""Letters close behind a number are unknowns, not a unit: 4ac."""
_ESCAPED: Final = re.compile(r"\\(?=[%&#$])")
_GAP: Final = re.compile(r"\\[,;:! \\{}]|[{}]")
_SIGNS: Final = {
    "times": "\u00d7", "cdot": "\u00d7", "div": "\u00f7", "pm": "\u00b1", "le": "\u2264", "leq": "\u2264",
    "ge": "\u2265", "geq": "\u2265", "ne": "\u2260", "neq": "\u2260", "approx": "\u2248", "to": "\u2192",
    "rightarrow": "\u2192", "infty": "\u221e", "circ": "\u00b0", "left": "", "right": "", "quad": "", "qquad": "",
    "lt": "<", "gt": ">", "ldots": "\u2026", "cdots": "\u2026", "dots": "\u2026", "int": "integral", "boxed": "",
    "displaystyle": "", "sqrt": "\u221a", "prod": "product",
}  # fmt: skip


def speak_formulas(text: SpannedText) -> SpannedText:
    """Text whose formulas have no marks of LaTeX left."""
    return text.sub(FORMULA, _formula) if "\\" in text.text or "$" in text.text else text


def _formula(found: re.Match[str]) -> str:
    text = next(group for group in found.groups() if group is not None)
    before = ""
    while text != before:  # from the inside out: each turn takes a pair of braces
        before, text = text, _BOUNDED.sub(_bounded, _HIGHER_ROOT.sub(_higher_root, _PLAIN.sub(r" \1 ", text)))
        text = _INDEX.sub(_index, text)
        text = _ROOT.sub(" \u221a\\1 ", _FRACTION.sub(_fraction, text))
    text = _PRODUCT.sub(lambda letters: f" {' '.join(letters.group())}", _DEGREE.sub("\u00b0", text))
    text = _POWER.sub(lambda power: _POWERS[power[1]], text)
    text = (
        _COMMAND.sub(lambda command: f" {_SIGNS.get(command[1], command[1])} ", text)
        .replace("_", " ")
        .replace("-", "\u2212")
    )
    return " ".join(_GAP.sub(" ", _ESCAPED.sub("", text)).split())


def _fraction(found: re.Match[str]) -> str:
    top, bottom = (argument for argument in found.groups() if argument is not None)
    return f" {top} over {bottom} "


def _index(found: re.Match[str]) -> str:
    """What stands above or below the line, without its braces."""
    sign, what = found[1], found[2].strip()
    return _POWERS[what] if sign == "^" and what in _POWERS else f"{sign} {what} "


def _bounded(found: re.Match[str]) -> str:
    """A sum or an integral: what stands above it is where it ends, no power."""
    name, low, high = (argument for argument in found.groups() if argument is not None)
    return f" {_BOUNDED_NAMES[name]} from {low} to {high} of "


def _higher_root(found: re.Match[str]) -> str:
    return " cube root of " if found[1] == "3" else f" root {found[1]} of "
