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
# The last two are what is left of a formula that was too long for one segment.
_FORMULA: Final = re.compile(
    r"\\\((?P<round>[^\n]{1,300}?)\\\)|\\\[(?P<square>.{1,300}?)\\\]"
    rf"|\$\${_NO_PROSE}(?P<block>[^$]{{1,300}})\$\$"
    rf"|(?<![\w$\\])\$(?P<inline>(?=[^\s$\d]|\d+[a-z]* ?[=^\\+]){_NO_PROSE}"
    r"[^$\n]{0,200}(?<=[^\s$\\]))\$(?! ?\d|\w)"
    r"|\A(?P<rest>(?:(?!\\[(\[]).){1,300}?)\\[)\]]|\\[(\[](?P<torn>.{1,300})\Z",
    re.DOTALL,
)
_ARGUMENT: Final = r"\{([^{}]{0,100})\}"
_FRACTION: Final = re.compile(rf"\\[dt]?frac ?(?:{_ARGUMENT}|(\d)) ?(?:{_ARGUMENT}|(\d))")
_HIGHER_ROOT: Final = re.compile(r"\\sqrt ?\[([^\[\]]{1,20})\]")
_ROOT: Final = re.compile(rf"\\sqrt ?{_ARGUMENT}")
_PLAIN: Final = re.compile(rf"\\(?:text|math[a-z]{{2,4}}|operatorname) ?{_ARGUMENT}")
_EDGE: Final = r"(?:\{([^{}]{0,60})\}|(\\[A-Za-z]+|\w))"
_BOUNDS: Final = re.compile(
    rf"\\(?P<name>int|oint|sum|prod|lim|max|min)(?:\\limits)? ?_ ?{_EDGE}(?: ?\^ ?{_EDGE})?(?![\w^])"
)
"""What a sum or an integral runs over."""
_SPREAD: Final = re.compile(r"\\(?:begin|end) ?\{[a-z]+\*?\}")
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
    "displaystyle": "", "sqrt": "\u221a", "sum": "sum of", "prod": "product of", "Rightarrow": "\u21d2",
    "implies": "\u21d2", "iff": "\u21d4", "Leftrightarrow": "\u21d4", "leftarrow": "\u2190", "forall": "for all",
    "exists": "there exists", "notin": "not in", "subset": "is a subset of", "subseteq": "is a subset of",
    "cup": "union", "cap": "intersection", "equiv": "is equivalent to", "propto": "is proportional to",
    "vec": "vector", "emptyset": "empty set", "neg": "not", "land": "and", "lor": "or", "oint": "integral",
}  # fmt: skip
_NAMES: Final = {
    "int": "integral", "oint": "integral", "prod": "product", "lim": "limit", "max": "maximum", "min": "minimum",
}  # fmt: skip


def speak_formulas(text: SpannedText) -> SpannedText:
    """Text whose formulas have no marks of LaTeX left."""
    return text.sub(_FORMULA, _formula) if "\\" in text.text or "$" in text.text else text


def _formula(found: re.Match[str]) -> str:
    text = next(group for group in found.groups() if group is not None)
    if _SPREAD.search(text):
        text = _SPREAD.sub(" ", text).replace("\\\\", ", ").replace("&", " ")
    before = ""
    while text != before:  # from the inside out: each turn takes a pair of braces
        before, text = text, _BOUNDS.sub(_bounded, _HIGHER_ROOT.sub(_higher_root, _PLAIN.sub(r" \1 ", text)))
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


def _higher_root(found: re.Match[str]) -> str:
    return " cube root of " if found[1] == "3" else f" root {found[1]} of "


def _bounded(found: re.Match[str]) -> str:
    """`\\int_0^1` as integral from zero to one of what follows: no power."""
    name = found["name"]
    low, top = found[2] or found[3] or "", found[4] or found[5]
    over = "as" if name == "lim" else "from" if top else "over"
    return f" {_NAMES.get(name, name)} {over} {low}{f' to {top}' if top else ''} of "
