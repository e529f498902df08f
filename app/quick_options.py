"""The few options of `speak` that its quick path knows.

Purpose: `parse`, which takes a command line apart if it holds nothing but text and these options; the whole command
line has its owner in `speak_command`, and a test holds the two together. It imports nothing. Knows: names of options.
Does not know: what they mean to a voice.
"""

from __future__ import annotations

_VALUES = ("voice", "language", "instruct", "seed")
_SEED_DIGITS = 9
"""Longer ones are for the whole command line to judge."""


class QuickWishes:
    """A command line the quick path can fulfil."""

    def __init__(self) -> None:
        self.words: list[str] = []
        """Empty: standard input is spoken."""
        self.values: dict[str, str] = {}
        """By the option's name; an option that is empty is not there."""
        self.now = False


def parse(arguments: list[str]) -> QuickWishes | None:
    """What is wished, if that is all text and options from above; None leaves it to the whole command line."""
    wishes = QuickWishes()
    rest = iter(arguments)
    for argument in rest:
        if argument == "--":
            wishes.words += rest
        elif argument == "--now":
            wishes.now = True
        elif argument.startswith("--"):
            name, given, value = argument[2:].partition("=")
            value = value if given else next(rest, "-")
            if name not in _VALUES or value.startswith("-"):
                return None
            wishes.values[name] = value
        elif argument.startswith("-"):
            return None
        else:
            wishes.words.append(argument)
    said = "".join(wishes.words)
    if not _is_seed(wishes.values.get("seed", "0")) or not _is_utf8("".join(arguments)) or (wishes.words and not said):
        return None
    wishes.values = {name: value for name, value in wishes.values.items() if value}
    return wishes


def _is_seed(value: str) -> bool:
    return value.isascii() and value.isdigit() and len(value) <= _SEED_DIGITS


def _is_utf8(text: str) -> bool:
    """Whether the shell gave text: bytes that are none come as characters that have no encoding."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
