"""Builds the voice's pronunciation lexicon: `word<TAB>letters` lines, sorted by bytes for binary search in place.

Knows: the CMU lexicon as festival stores it, the teacher's own pronunciations from its alignments, the letters of
`phoneset`. Does not know: sounds, letter-to-sound rules.
"""

from __future__ import annotations

import json
import lzma
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from export.train.phoneset import CONSONANTS, VOWELS, letter

CMU_LEXICON = Path("/usr/share/festival/dicts/cmu/cmudict-0.4.out")
CMU_ADDENDA = Path("/usr/share/festival/dicts/cmu/cmulex.scm")
_ENTRY = re.compile(r"""\(\s*"(?P<word>[^"]+)"\s+(?P<tag>[^\s()]+|\(\))\s+\((?P<body>(?:\(\([^()]*\)\s*\d\)\s*)+)\)""")
_SYLLABLE = re.compile(r"\(\(([^()]*)\)\s*(\d)\)")
_WORD = re.compile(r"[a-z][a-z']*")


def phones_to_letters(syllables: Iterable[tuple[str, int]]) -> str | None:
    """Join syllables ("k ih", stress) into letters; None when a phone is not of our set."""
    out = []
    for phones, stress in syllables:
        for phone in phones.split():
            if phone not in VOWELS and phone not in CONSONANTS:
                return None
            out.append(letter(phone, min(stress, 1)))
    return "".join(out)


def read_cmu(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield (word in lower case, part of speech, letters) for every entry of a festival lexicon file's text."""
    for entry in _ENTRY.finditer(text):
        word = entry["word"].lower()
        letters = phones_to_letters((p, int(s)) for p, s in _SYLLABLE.findall(entry["body"]))
        if letters and _WORD.fullmatch(word):
            yield word, entry["tag"], letters


def teacher_counts(utterances: Iterable[dict[str, object]]) -> dict[str, Counter[str]]:
    """Count how the teacher spoke each word; possessives hide in the word before them, so those texts are left out."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for utterance in utterances:
        if re.search(r"s'|'s\b", str(utterance["text"])):
            continue
        word, letters = "", ""
        segments = [*utterance["segments"], ["pau", 0, 0, "0", "0"]]  # type: ignore[misc]
        for phone, _, stress, now, *_ in segments:
            if now != word or phone == "pau":
                if letters and _WORD.fullmatch(word.lower()):
                    counts[word.lower()][letters] += 1
                word, letters = now, ""
            if phone != "pau":
                letters += letter(phone, stress)
    return counts


def read_alignments(path: Path) -> Iterator[dict[str, object]]:
    """Yield the utterances of an alignments file, one JSON object a line, xz-packed."""
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def build(told: Iterable[dict[str, object]]) -> dict[str, str]:
    """Give word -> letters: the teacher's most frequent way where it spoke the word, else the first CMU entry;
    words the lexicon does not have stay out (the teacher guessed them too)."""
    lexicon: dict[str, str] = {}
    for word, _, letters in read_cmu(CMU_LEXICON.read_text(encoding="latin-1")):
        lexicon.setdefault(word, letters)
    for word, _, letters in read_cmu(CMU_ADDENDA.read_text(encoding="latin-1")):
        if word.strip("'") and (word not in lexicon or "'" in word):
            lexicon[word] = letters
    for word, counts in teacher_counts(told).items():
        letters, times = counts.most_common(1)[0]
        known = lexicon.get(word, "")
        if len(word) > 1 and times > 1 and 0 < len(letters) < 2 * len(known):
            lexicon[word] = letters
    return lexicon


def write(lexicon: dict[str, str], path: Path) -> None:
    """Write the lexicon sorted by the bytes of its lines' words."""
    lines = sorted((word.encode(), letters.encode()) for word, letters in lexicon.items())
    path.write_bytes(b"".join(word + b"\t" + letters + b"\n" for word, letters in lines))
