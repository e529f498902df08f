"""English abbreviations: which dots do not end a sentence, and what the short form says.

Purpose: one table for the segmenter (may this dot end a sentence?) and the normaliser (what is spoken?).
Knows: written English. Does not know: text streams, numbers.
"""

from __future__ import annotations

import re
from typing import Final

TITLES: Final = {
    "mr": "mister",
    "mrs": "missus",
    "ms": "miz",
    "messrs": "messieurs",
    "dr": "doctor",
    "prof": "professor",
    "rev": "reverend",
    "hon": "honorable",
    "gen": "general",
    "col": "colonel",
    "capt": "captain",
    "cmdr": "commander",
    "lt": "lieutenant",
    "maj": "major",
    "cpl": "corporal",
    "pvt": "private",
    "adm": "admiral",
    "sgt": "sergeant",
    "gov": "governor",
    "sen": "senator",
    "rep": "representative",
    "pres": "president",
    "fr": "father",
    "st": "saint",
    "mt": "mount",
    "ft": "fort",
}
"""Spoken so before a name."""

BEFORE_NUMBER: Final = {
    "no": "number",
    "nos": "numbers",
    "vol": "volume",
    "ch": "chapter",
    "fig": "figure",
    "figs": "figures",
    "eq": "equation",
    "sec": "section",
    "pp": "pages",
    "p": "page",
    "art": "article",
    "op": "opus",
    "ver": "version",
    "ext": "extension",
    "rte": "route",
    "rt": "route",
    "rm": "room",
    "ste": "suite",
    "qty": "quantity",
    "para": "paragraph",
    "paras": "paragraphs",
    "chap": "chapter",
    "fl": "floor",
    "pg": "page",
    "apt": "apartment",
}
"""Spoken so before a number."""

ANYWHERE: Final = {
    "etc": "et cetera",
    "vs": "versus",
    "approx": "approximately",
    "dept": "department",
    "est": "estimated",
    "inc": "incorporated",
    "ltd": "limited",
    "corp": "corporation",
    "co": "company",
    "bros": "brothers",
    "jr": "junior",
    "sr": "senior",
    "esq": "esquire",
    "govt": "government",
    "assn": "association",
    "univ": "university",
    "misc": "miscellaneous",
    "min": "minutes",
    "max": "maximum",
    "ave": "avenue",
    "blvd": "boulevard",
    "rd": "road",
    "hwy": "highway",
    "cf": "compare",
    "ca": "circa",
    "al": "al",
    "tel": "telephone",
    "appt": "appointment",
    "apt": "apartment",
}
"""Spoken so wherever they stand with a dot."""

DOTTED: Final = {
    "e.g": "for example",
    "i.e": "that is",
    "a.m": "AM",
    "p.m": "PM",
    "a.d": "AD",
    "b.c": "BC",
    "b.c.e": "BCE",
    "c.e": "CE",
    "ph.d": "PHD",
    "m.d": "MD",
    "b.a": "BA",
    "m.a": "MA",
    "b.s": "BS",
    "b.sc": "BSC",
    "m.sc": "MSC",
    "m.s": "MS",
    "w.r.t": "with respect to",
    "a.k.a": "also known as",
}
"""Short forms with dots inside, without their last dot. Words in capitals are spelled."""

MONTHS: Final = {
    "jan": "January",
    "feb": "February",
    "mar": "March",
    "apr": "April",
    "jun": "June",
    "jul": "July",
    "aug": "August",
    "sep": "September",
    "sept": "September",
    "oct": "October",
    "nov": "November",
    "dec": "December",
}
MONTH_NAMES: Final = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
TIME_ZONES: Final = frozenset({
    "EST", "EDT", "CST", "CDT", "MST", "MDT", "PST", "PDT", "GMT", "UTC", "CET", "CEST", "BST", "JST", "ET", "PT", "CT",
})  # fmt: skip
"""May follow "p.m." in capitals without beginning a sentence."""
DAYS: Final = {
    "mon": "Monday",
    "tue": "Tuesday",
    "tues": "Tuesday",
    "wed": "Wednesday",
    "thu": "Thursday",
    "thur": "Thursday",
    "thurs": "Thursday",
    "fri": "Friday",
    "sat": "Saturday",
    "sun": "Sunday",
}

BOOKS: Final = {
    "Gen": "Genesis", "Exod": "Exodus", "Ex": "Exodus", "Lev": "Leviticus", "Num": "Numbers", "Deut": "Deuteronomy",
    "Josh": "Joshua", "Judg": "Judges", "Ruth": "Ruth", "Sam": "Samuel", "Kings": "Kings", "Chron": "Chronicles",
    "Ezra": "Ezra", "Neh": "Nehemiah", "Esther": "Esther", "Job": "Job", "Ps": "Psalm", "Psalm": "Psalm",
    "Psalms": "Psalms",
    "Prov": "Proverbs", "Eccl": "Ecclesiastes", "Song of Solomon": "Song of Solomon", "Isa": "Isaiah",
    "Jer": "Jeremiah", "Lam": "Lamentations", "Ezek": "Ezekiel", "Dan": "Daniel", "Hos": "Hosea", "Joel": "Joel",
    "Amos": "Amos", "Jonah": "Jonah", "Mic": "Micah", "Hab": "Habakkuk", "Zech": "Zechariah", "Mal": "Malachi",
    "Matt": "Matthew", "Mark": "Mark", "Luke": "Luke", "John": "John", "Acts": "Acts", "Rom": "Romans",
    "Cor": "Corinthians", "Gal": "Galatians", "Eph": "Ephesians", "Phil": "Philippians", "Col": "Colossians",
    "Thess": "Thessalonians", "Tim": "Timothy", "Titus": "Titus", "Heb": "Hebrews", "Jas": "James", "James": "James",
    "Pet": "Peter", "Jude": "Jude", "Rev": "Revelation", "Surah": "Surah", "Quran": "Quran", "Qur'an": "Qur'an",
}  # fmt: skip
"""Of the Bible, and the Quran: names and short forms."""
_SHORT_BOOKS: Final = frozenset(short.lower() for short, name in BOOKS.items() if short != name)

SENTENCE_BEGINS: Final = frozenset((
    "He", "She", "It", "They", "His", "Her", "Its", "Their", "The", "A", "An", "In", "On", "At", "After",
    "Before", "When", "While", "As", "But", "And", "So", "This", "That", "These", "Those", "There", "Then", "By",
    "For", "From", "With", "Although", "Though", "However", "During", "Since", "Soon", "Under", "Until", "Thus",
    "Yet", "No", "Not", "Now", "Once", "One", "Only", "Our", "We", "You", "If", "What", "Who", "Where", "Why",
    "How", "Is", "Was", "Did", "Do", "Many", "Some", "Most", "Every",
))  # fmt: skip
"""With a capital these are no names: a sentence begins."""

_ALSO_WORDS: Final = frozenset(
    {"no", "art", "fig", "sun", "sat", "min", "max", "mar", "dec", "p", "sec", "co", "fr", "al", "rs"}
)
"""Words besides: the dot after them ends a sentence unless a number follows."""
_JOINING: Final = frozenset("&+=/")
"""What comes before them goes on: at 8 a.m. & 8 p.m."""
_VOWELS: Final = re.compile("[aeiouy\\d]|[^\x00-\x7f]")
_MAY_END: Final = frozenset(
    {*ANYWHERE, *DAYS, *MONTHS, "a.m", "p.m", "a.d", "b.c", "b.c.e", "c.e", "ph.d", "m.d", "b.a", "m.a", "b.s", "m.s"}
) - {"vs", "approx", "cf", "ca"}
"""These may be the last word of a sentence: a capital after them begins a new one."""


def ends_sentence(word: str, follower: str) -> bool:
    """Whether the dot after `word` ends a sentence, when `follower` is the first letter or digit of the next word.

    `word` is what stands before the dot, dots inside included ("p.m"). Where it is not certain the answer is no: two
    sentences spoken in one breath do less harm than one torn apart.
    """
    if follower.islower() or follower in _JOINING:
        return False
    key = word.lower()
    if key in _ALSO_WORDS or key in _MAY_END:
        return not follower.isdigit()
    if follower.isdigit() and (key in _SHORT_BOOKS or (len(key) > 1 and not _VOWELS.search(key))):
        return False  # a word shortened to its consonants: "sch. 2", "cl. 7"
    if key in TITLES or key in BEFORE_NUMBER or key in DOTTED or key in ANYWHERE:
        return False
    initials = all(len(part) == 1 and part.isalpha() for part in word.split("."))
    return not initials or key == "i"
