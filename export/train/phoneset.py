"""The phone inventory of the default voice and the one printable letter that stands for each phone.

Knows: the radio phone set of the teachers' lexicon, vowels with lexical stress 0 or 1, and our letters for them.
Does not know: words, sounds, token numbers.

Every letter is lower case (or has no case), in NFC, one code point: Unicode's letter class keeps a word in one piece
whatever pre-tokeniser a tool chooses, and `a` and `u` are free because the role word `assistant` is built from them.
"""

from __future__ import annotations

# ruff: noqa: RUF001 - the letters are Greek and Latin on purpose

CONSONANTS: dict[str, str] = {
    "b": "b", "ch": "č", "d": "d", "dh": "ð", "f": "f", "g": "g", "hh": "h", "jh": "ĵ", "k": "k", "l": "l", "m": "m",
    "n": "n", "ng": "ŋ", "p": "p", "r": "r", "s": "s", "sh": "š", "t": "t", "th": "θ", "v": "v", "w": "w", "y": "j",
    "z": "z", "zh": "ž",
}  # fmt: skip

# phone: (unstressed letter, stressed letter)
VOWELS: dict[str, tuple[str, str]] = {
    "aa": ("α", "ά"), "ae": ("æ", "ǽ"), "ah": ("ʌ", "ǎ"), "ao": ("o", "ó"), "aw": ("å", "ǻ"), "ax": ("ə", "ɘ"),
    "ay": ("ι", "ί"), "eh": ("ε", "έ"), "er": ("ɚ", "ɝ"), "ey": ("e", "é"), "ih": ("i", "í"), "iy": ("η", "ή"),
    "ow": ("ω", "ώ"), "oy": ("ø", "ǿ"), "uh": ("ʊ", "ǔ"), "uw": ("ü", "ǘ"),
}  # fmt: skip

SYMBOLS: dict[str, str] = {
    **CONSONANTS,
    **{f"{phone}{stress}": letters[stress] for phone, letters in VOWELS.items() for stress in (0, 1)},
}


def letter(phone: str, stress: int) -> str:
    """Give the letter for one phone; `stress` is 0 or 1 and counts for vowels only."""
    return VOWELS[phone][1 if stress else 0] if phone in VOWELS else CONSONANTS[phone]
