"""Signs that are words when they are read: of arithmetic, sets and logic, of sheet music, of law and trade.

Purpose: what each sign is called, and where a slash, a mark or a letter is such a sign.
Knows: signs, alone and typed as two. Does not know: numbers, units, currencies with their amounts.
"""

from __future__ import annotations

import re
from typing import Final

from app.rules import Rule, alternatives

_CHORD: Final = r"(?:m|maj|min|dim|sus|aug)?(?:six|seven|nine|\d{1,2})?(?:\s|[.,;:/)]|$)"
_SIGNS: Final = {
    "&": "and", "+": "plus", "=": "equals", "\u00d7": "times", "\u00f7": "divided by", "\u00b1": "plus or minus",
    "\u2212": "minus", "\u2248": "approximately", "\u2260": "is not equal to", "\u2264": "at most",
    "\u2265": "at least", "<": "less than", ">": "greater than", "\u2192": "to", "\u21d2": "implies", "@": "at",
    "%": "percent", "\u00a7": "section", "\u00a9": "copyright", "\u00ae": "", "\u2122": "", "\u221e": "infinity",
    "\u221a": "square root of", "\u00b0": "degrees", "\u00b2": "squared", "\u00b3": "cubed", "\u2116": "number",
    "^": "to the power of", "\\": "backslash", "~": "about", "$": "dollar", "\u20ac": "euro", "\u00a3": "pound",
    "\u00b5": "micro", "\u2030": "per mille", "\u2190": "from", "\u00b7": "",
    "\u266f": "sharp", "\u266d": "flat", "\u266e": "natural", "\u222b": "integral of", "\u2220": "angle",
    "\u222a": "union", "\u2229": "intersection", "\u2208": "in", "\u2209": "not in", "\u2211": "sum of",
    "\u220f": "product of", "\u2202": "partial", "\u2200": "for all", "\u2203": "there exists",
    "\u2205": "empty set", "\u2282": "is a subset of", "\u2286": "is a subset of", "\u2234": "therefore",
    "\u2261": "is equivalent to", "\u221d": "is proportional to", "\u22c5": "times", "\u21d4": "if and only if",
    "\u2227": "and", "\u2228": "or", "\u00ac": "not",
}  # fmt: skip
_PAIRS: Final = {
    "-->": "to", "==>": "to", "<=": "at most", ">=": "at least", "==": "equals", "!=": "is not equal to", "->": "to",
    "=>": "implies", "&&": "and",
}  # fmt: skip
"""Signs typed as two."""

SUM_RULES: Final[tuple[Rule, ...]] = (
    Rule(r"(?<=\d)!(?= ?[=+\u2212\u00d7/])", " factorial"),
    Rule(r"\bf/(?=\d)", "f "),
    Rule(r"(?<=[\w)]\))/(?=\d|\(|[a-z](?!\w))", " over "),
    Rule(r"(?<![\w/.'\u2019-])(?<!\d )(?P<top>[a-vx-z])/(?=\d{1,4}(?![\w/-]|\.\d))", lambda f: f"{f['top']} over "),
    Rule(r"(?<![\w/.,-])(?P<top>\d{1,4})/(?=[abcijknpqrtxyz](?![\w/.'-]))", lambda f: f"{f['top']} over "),
    Rule(r"(?<=\d) / (?=\d[\d.,]*(?: ?=| (?:is|equals)\b|\?))", " divided by "),
    Rule(r"\u2191 ?(?=\d)", "up "),
    Rule(r"\u2193 ?(?=\d)", "down "),
)
"""Tried on text that holds a digit."""
SCALE_RULES: Final[tuple[Rule, ...]] = (
    Rule(rf"#(?:(?<=\b[A-G]#)(?={_CHORD})|(?<=\b[CF]#)(?!\w))", " sharp "),
    Rule(r"b(?<=\b[A-G]b)(?= (?:major|minor)\b)", " flat"),
)
"""Of music; C# is a language, too."""
PAIRED_SIGNS: Final = Rule(rf"(?P<signs>{alternatives(_PAIRS)})", lambda f: f" {_PAIRS[f['signs']]} ")
LONE_SIGNS: Final = Rule(rf"(?P<sign>[{re.escape(''.join(_SIGNS))}])", lambda f: f" {_SIGNS[f['sign']]} ")
"""Whatever no other rule took."""
