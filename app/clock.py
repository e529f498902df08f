"""Times of day, as English says them.

Purpose: rules for clock times and their ranges.
Knows: clocks. Does not know: calendars, other numbers.
"""

from __future__ import annotations

from typing import Final

from app import numbers
from app.rules import Match, Rule, last_dot

_HALF: Final = r"(?: ?(?P<half>[aApP])(?:\.[mM]\b\.?|[mM]\b\.?))"


def _clock(found: Match) -> str | None:
    hour, minute = int(found["hour"]), found["minute"]
    if hour > 24:
        return None
    half = f" {found['half'].upper()}M" if found["half"] else ""
    spoken = numbers.cardinal(str(hour))
    if minute == "00":
        spoken += "" if half else " o'clock" if 1 <= hour <= 12 else " hundred" if hour else " o'clock"
    elif minute[0] == "0":
        spoken += f" oh {numbers.cardinal(minute[1])}"
    else:
        spoken += f" {numbers.cardinal(minute)}"
    if found["second"]:
        spoken += f" and {numbers.cardinal(str(int(found['second'])))} second{'' if found['second'] == '01' else 's'}"
    return spoken + half + last_dot(found)


def _hour(found: Match) -> str:
    return f"{numbers.cardinal(found['hour'])} {found['half'].upper()}M{last_dot(found)}"


def _hours(found: Match) -> str:
    return f"{numbers.cardinal(found['low'])} to {numbers.cardinal(found['high'])} {found['half'].upper()}M"


CLOCK_RULES: Final[tuple[Rule, ...]] = (
    Rule(r"(?<=\d:\d\d) ?[-\u2013] ?(?=\d{1,2}:\d\d)", " to "),
    Rule(r"(?<![\w.:])(?P<low>1?\d) ?[-\u2013] ?(?P<high>1?\d) ?(?P<half>[aApP])(?:\.[mM]\.?|[mM]\b)", _hours),
    Rule(rf"(?<![\w.:])(?P<hour>1?\d)\.(?P<minute>[0-5]\d)(?P<second>(?!)x)?{_HALF}(?!\w)", _clock),
    Rule(rf"(?<![\w.:])(?P<hour>\d{{1,2}}):(?P<minute>[0-5]\d)(?::(?P<second>[0-5]\d))?{_HALF}?(?![\w:])", _clock),
    Rule(rf"(?<![\w.:])(?P<hour>1?\d){_HALF}(?!\w)", _hour),
    Rule(r"(?<=[AP]M) ?[-\u2013] ?(?=[a-z])", " to "),
    Rule(
        r"(?<![\w.:])(?P<low>\d{1,4}):(?P<high>\d{1,4})(?![\w:])",
        lambda f: f"{numbers.cardinal(f['low'])} to {numbers.cardinal(f['high'])}",
    ),
)
