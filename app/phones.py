"""English words to the phone letters that the default voice was trained on.

Purpose: lexicon first, then spelling rules for what no lexicon has: younger words (`young_words`), possessives,
initials, compounds, learned letter-to-sound rules. Knows: the voice's `phones.json`, `lexicon.txt` and `lts.json`.
Does not know: anything but plain words and marks (`speakable` leaves nothing else), tokens, sentences.

Files: `lexicon.txt` holds `word<TAB>letters` lines sorted by bytes and is searched in place, memory-mapped, so opening
costs nothing; `lts.json` is read when the first unknown word comes.
"""

from __future__ import annotations

import json
import mmap
import re
from pathlib import Path
from typing import Any, Final

from app.young_words import SAID, SPELLED

PHONES: Final = "phones.json"
LEXICON: Final = "lexicon.txt"
RULES: Final = "lts.json"

_PIECE: Final = re.compile(r"[A-Za-z]+(?:'[A-Za-z]+)*|[,.?!;:]")
_CAMEL: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_PLURAL_INITIALS: Final = re.compile(r"[A-Z]{2,}s")
_PAUSES: Final = {",": ",", ";": ",", ":": ",", ".": ".", "!": "!", "?": "?"}
_STRENGTH: Final = {",": 0, ".": 1, "!": 2, "?": 2}
_SHORT_WORDS: Final = frozenset(
    re.findall(
        "[a-z]+",
        "a i am an and any are as at be but by can did do for get go had has he her him his how if in is it its just "
        "me my no not now of oh ok on one or our out see she so that the they this to too two up us was we who why yes "
        "all ask bad big buy day end far few fun hey hi hot key lan let low max may new off old own pay pin put ram "
        "red rom run say set sim six sum ten top try use way win yet you",
    )
)
_COUNTRY_AND_TRADE: Final = frozenset(("US", "US's", "IT"))
"""In capitals among words that are not, these are no pronouns."""
_EASY_NEIGHBOURS: Final = 3


def _shouted(near: list[str]) -> bool:
    """Whether the words around are in capitals too, so that capitals say nothing about this one."""
    loud = [p for p in near if p.isupper()]
    return len(near) > 1 and len(loud) > len(near) // 2 and any(len(p) > 4 for p in loud)


class PhoneFrontEnd:
    """Pronounces English text with the files of one voice."""

    def __init__(self, directory: Path) -> None:
        table = json.loads((directory / PHONES).read_text(encoding="utf-8"))
        self._letters: dict[str, str] = table["letters"]
        self._symbols: dict[str, str] = table["symbols"]
        self._hiss: str = table["hiss"]
        self._voiceless: str = table["voiceless"]
        self._s: str = table["s"]
        self._z: str = table["z"]
        self._ez: str = table["ez"]
        self._features: list[int | str] = table["features"]
        self._rules_file = directory / RULES
        self._rules: list[Any] | None = None
        with (directory / LEXICON).open("rb") as file:
            self._lexicon = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def pronounce(self, text: str) -> str:
        """Give the symbol string of English words and marks: phone letters, spaces, and a mark at every pause."""
        pieces = _PIECE.findall(text)
        spoken: list[str] = []
        for i, piece in enumerate(pieces):
            if piece in _PAUSES:
                self._pause(spoken, _PAUSES[piece])
            else:
                near = self._near(pieces, i)
                spoken.extend(self._initials(piece) if self._named(piece, near) else self._piece(piece, _shouted(near)))
        out = ""
        for item in spoken:
            out += item if item in _STRENGTH or not out else f" {item}"
        return out

    def look_up(self, word: str) -> str | None:
        """Letters of a lower-case word as the lexicon has it."""
        key, low, high = word.encode(), 0, len(self._lexicon)
        while low < high:
            start = self._lexicon.rfind(b"\n", low, (low + high) // 2) + 1 or low
            end = self._lexicon.find(b"\n", start)
            found, _, letters = self._lexicon[start:end].partition(b"\t")
            if found == key:
                return letters.decode()
            if found < key:
                low = end + 1
            else:
                high = start
        return None

    @staticmethod
    def _pause(spoken: list[str], mark: str) -> None:
        if spoken and spoken[-1] not in _STRENGTH:
            spoken.append(mark)
        elif spoken and _STRENGTH[mark] > _STRENGTH[spoken[-1]]:
            spoken[-1] = mark

    @staticmethod
    def _near(pieces: list[str], at: int) -> list[str]:
        """A word with those around it.

        Of what follows it looks no further than the first that is not in capitals: words may be given out before more
        comes.
        """
        near = [p for p in pieces[max(0, at - _EASY_NEIGHBOURS) : at + 1] if p[0].isalpha()]
        for follower in pieces[at + 1 : at + 1 + _EASY_NEIGHBOURS]:
            if follower[0].isalpha():
                near.append(follower)
                if not follower.isupper():
                    break
        return near

    @staticmethod
    def _named(piece: str, near: list[str]) -> bool:
        """Whether capitals make a pronoun a name: the US, the IT department, the WHO."""
        if piece in {"WHO", "WHO's"}:
            return near[max(0, near.index(piece) - 1)].lower() == "the"
        others = [word for word in near if word != piece]
        return piece in _COUNTRY_AND_TRADE and (not others or not all(word.isupper() for word in others))

    def _piece(self, piece: str, shouted: bool) -> list[str]:
        word = piece.lower()
        bare = piece.removesuffix("'s")
        if bare.isupper() and len(bare) > 1 and not shouted and self._is_initials(bare.lower()):
            return self._initials(piece)
        if _PLURAL_INITIALS.fullmatch(piece):
            return self._initials(piece)
        found = self.look_up(word)
        if found is None and not piece.islower() and "'" not in piece:
            parts = _CAMEL.findall(piece)
            if len(parts) > 1:
                return [letters for part in parts for letters in self._piece(part, False)]
        return [found if found is not None else self._word(word)]

    def _initials(self, piece: str) -> list[str]:
        """Letter by letter, a small s at the end as the ending it is."""
        bare = piece.removesuffix("s").removesuffix("'") if piece[-1] == "s" else piece
        spelled = [self._letters[char] for char in bare.lower() if char in self._letters]
        return [*spelled[:-1], self._plural(spelled[-1])] if piece[-1] == "s" else spelled

    def _is_initials(self, word: str) -> bool:
        if word in _SHORT_WORDS or word in SAID or "'" in word:
            return False
        return len(word) <= 3 or (self.look_up(word) is None and (len(word) <= 5 or not re.search("[aeiouy]", word)))

    def _word(self, word: str) -> str:
        """Letters of one lower-case word, by whatever rule reaches it first."""
        found = self.look_up(word) or self._young(word)
        if found is None and word.endswith("'s"):
            return self._plural(self._word(word[:-2]))
        if found is None and "'" in word:
            return self._word(word.replace("'", ""))
        if found is None and not re.search("[aeiouy]", word) and len(word) <= 5:
            return " ".join(self._letters[char] for char in word)
        if found is None and word.endswith("s") and not word.endswith("ss"):
            single = self.look_up(word[:-1]) or self._young(word[:-1])
            found = self._plural(single) if single else None
        return found or self._compound(word) or self._by_rules(word)

    def _young(self, word: str) -> str | None:
        """A word the lexicon is too old for."""
        if word in SPELLED:
            return " ".join(self._letters[char] for char in word)
        phones = SAID.get(word)
        return "".join(self._symbols[phone] for phone in phones.split()) if phones else None

    def _plural(self, letters: str) -> str:
        last = letters[-1:]
        return letters + (self._ez if last in self._hiss else self._s if last in self._voiceless else self._z)

    def _compound(self, word: str) -> str | None:
        """Two words of the lexicon written as one; the longest first part wins."""
        for cut in range(len(word) - 3, 2, -1):
            if len(word) >= 8 and (first := self.look_up(word[:cut])) and (second := self.look_up(word[cut:])):
                return first + second
        return None

    def _by_rules(self, word: str) -> str:
        if self._rules is None:
            self._rules = json.loads(self._rules_file.read_text(encoding="utf-8"))
        outputs: list[str] = []
        for i in range(len(word)):
            node: list[Any] = self._rules
            for which in self._features:
                branch = node[1].get(self._feature(word, i, outputs, which)) if len(node) > 1 else None
                if branch is None:
                    break
                node = branch
            outputs.append(node[0])
        return "".join(outputs)

    @staticmethod
    def _feature(word: str, i: int, outputs: list[str], which: int | str) -> str:
        if isinstance(which, str):  # "p1": the output of the letter before, "p2": of the one before that
            back = i - int(which[1:])
            return outputs[back] if back >= 0 else "_"
        return word[i + which] if 0 <= i + which < len(word) else "_"
