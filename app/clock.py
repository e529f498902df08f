"""Times of day and lengths of time, as English says them.

Purpose: rules for clock times, their ranges and zones, and for durations of several parts.
Knows: clocks. Does not know: calendars, other numbers.
"""

from __future__ import annotations

import itertools
import re
from typing import Final

from app import numbers
from app.abbreviations import TIME_ZONES
from app.rules import Match, Rule, last_dot

_HALF: Final = r"(?: ?(?P<half>[aApP])(?:\.[mM]\b\.?|[mM]\b\.?))"
_FRACTION: Final = r"(?<=\d:\d\d)(?:\.\d{1,9})?"
"""Of a second, in an ISO time: it is not read."""
_SHARES: Final = 100
"""What two shares make together: 60:40."""
_LENGTHS: Final = {"d": "day", "h": "hour", "m": "minute", "s": "second"}
_PARTS: Final = re.compile(r"(\d+) ?([dhms])")


def _clock(found: Match) -> str | None:
    hour, minute = int(found["hour"]), found["minute"]
    if hour > 24:
        return None
    half = f" {found['half'].upper()}M" if found["half"] else ""
    spoken = numbers.cardinal(str(hour))
    if minute != "00":
        spoken += f" {numbers.pair(minute)}"
    elif not half:
        spoken += " hundred" if hour > 12 else " o'clock"
    if second := int(found.groupdict().get("second") or 0):
        spoken += f" and {_amount(str(second), 'second')}"
    return spoken + half + last_dot(found)


def _zone(found: Match) -> str:
    part = f" {numbers.cardinal(found['part'])}" if found["part"] != "00" else ""
    return f" UTC {'plus' if found['side'] == '+' else 'minus'} {numbers.cardinal(str(int(found['ahead'])))}{part}"


def _moment(found: Match) -> str:
    """`4:03.22` as four oh three point two two, `1:02:03.5` with its hours."""
    parts = [numbers.cardinal(str(int(part))) for part in (found["hours"], found["minutes"]) if part]
    seconds = found["seconds"]
    parts.append("zero zero" if seconds == "00" else numbers.pair(seconds))
    return f"{' '.join(parts)} point {numbers.spelled(found['part'])}"


def _run(found: Match) -> str | None:
    """`in 38:42`: minutes and seconds that are no hour, unless they are shares of a hundred."""
    minutes, seconds = found["minutes"], found["seconds"]
    if int(minutes) + int(seconds) == _SHARES:
        return None
    return f"{numbers.cardinal(minutes)} {'minutes' if seconds == '00' else numbers.pair(seconds)}"


def _service_time(found: Match) -> str:
    """`0842 GMT` as zero eight forty two."""
    hour, minute = found["hour"], found["minute"]
    first = numbers.spelled(hour) if hour[0] == "0" else numbers.cardinal(hour)
    return f"{first} {'hundred' if minute == '00' else numbers.pair(minute)}"


def _amount(number: str, unit: str) -> str:
    return f"{numbers.cardinal(number)} {unit}{'' if number == '1' else 's'}"


def _duration(found: Match) -> str | None:
    """`1h 30m` as one hour thirty minutes; parts that do not become smaller are no duration."""
    parts = _PARTS.findall(found.group())
    order = [list(_LENGTHS).index(letter) for _, letter in parts]
    if any(small <= large for large, small in itertools.pairwise(order)):
        return None
    return " ".join(_amount(str(int(number)), _LENGTHS[letter]) for number, letter in parts)


def _left(found: Match) -> str:
    """`5:00 left` as five minutes."""
    minutes, seconds = str(int(found["minutes"])), str(int(found["seconds"]))
    spoken = [_amount(number, unit) for number, unit in ((minutes, "minute"), (seconds, "second")) if number != "0"]
    return " and ".join(spoken) or "no time"


def _hour(found: Match) -> str:
    return f"{numbers.cardinal(found['hour'])} {found['half'].upper()}M{last_dot(found)}"


def _hours(found: Match) -> str:
    return f"{numbers.cardinal(found['low'])} to {numbers.cardinal(found['high'])} {found['half'].upper()}M"


CLOCK_RULES: Final[tuple[Rule, ...]] = (
    Rule(rf"{_FRACTION}Z(?![\w:])", " UTC"),
    Rule(rf"{_FRACTION}(?P<side>\+|(?<=:\d\d:\d\d)-)(?P<ahead>[01]\d):?(?P<part>[0-5]\d)(?![\w:])", _zone),
    Rule(r"(?<=\d:\d\d) ?(?P<side>[+-])(?P<ahead>[01]\d)(?P<part>00|30|45)(?![\w:]|[.,]\d)", _zone),
    Rule(
        r"(?<![\w.:])(?:(?P<hours>\d{1,2}):(?=\d\d:))?(?P<minutes>\d{1,2}):(?P<seconds>[0-5]\d)\.(?P<part>\d{1,3})(?!\w)",
        _moment,
    ),
    Rule(
        r"(?<![\w.:])(?:(?<=\bin )|(?<=\bof )|(?<=\bat )|(?<=\btook )|(?<=\blasted )|(?<=[Tt]ime )|(?<=[Tt]ime: ))"
        r"(?P<minutes>2[5-9]|[3-9]\d):(?P<seconds>[0-5]\d)(?![\w:]|\.\d)",
        _run,
    ),
    Rule(
        r"(?<![\w.,:])(?:(?=0)|(?<=\b[aA]t )|(?<=\b[bB]y ))"
        r"(?P<hour>[01]\d|2[0-3])(?P<minute>[0-5]\d) ?(?:hours|hrs?)\b",
        lambda f: f"{_service_time(f)} hours",
    ),
    Rule(
        rf"(?<![\w.,:])(?P<hour>[01]\d|2[0-3])(?P<minute>[0-5]\d)(?= (?:{'|'.join(sorted(TIME_ZONES))})\b)",
        _service_time,
    ),
    Rule(
        r"(?<![\w.,:])\d{1,4} ?[dhm](?:(?:in|r|rs|ins)\b)?(?: ?\d{1,3} ?[hms](?:(?:in|ins|r|rs|ec|ecs)\b)?)+(?!\w)",
        _duration,
    ),
    Rule(r"(?<=\d)m(?= (?:timer|alarm)\b)", " minute"),
    Rule(r"(?<![\w.:])(?P<minutes>\d{1,3}):(?P<seconds>[0-5]\d)(?= (?:left(?! turn)|remaining)\b)", _left),
    Rule(r"(?<=\b[Nn]oon)[-\u2013](?=\d)|(?<=\b[Mm]idnight)[-\u2013](?=\d)", " to "),
    Rule(r"(?<=\d:\d\d) ?[-\u2013] ?(?=\d{1,2}(?::\d\d|[\s,;)]|\.?$| ?[ap]\.?m\b))", " to "),
    Rule(
        r"(?<![\w.,:/$-])(?P<low>1?\d) ?[-\u2013] ?(?=\d{1,2}:[0-5]\d(?![\d:]))",
        lambda f: f"{numbers.cardinal(f['low'])} to ",
    ),
    Rule(r"(?<![\w.:])(?P<low>1?\d) ?[-\u2013] ?(?P<high>1?\d) ?(?P<half>[aApP])(?:\.[mM]\.?|[mM]\b)", _hours),
    Rule(rf"(?<![\w.:])(?P<hour>1?\d)\.(?P<minute>[0-5]\d){_HALF}(?!\w)", _clock),
    Rule(rf"(?<![\w.:])(?P<hour>\d{{1,2}}):(?P<minute>[0-5]\d)(?::(?P<second>[0-5]\d))?{_HALF}?(?![\w:])", _clock),
    Rule(r"(?<![\w.:])(?P<hour>1?\d):(?P<minute>[0-5]\d)(?P<half>[ap])(?!\w|\.\w|['\u2019-])", _clock),
    Rule(rf"(?<![\w.:])(?P<hour>1?\d){_HALF}(?!\w)", _hour),
    Rule(r"(?<=[AP]M) ?[-\u2013] ?(?=[a-z])", " to "),
    Rule(
        r"(?<![\w.:])(?P<low>\d{1,4}):(?P<high>\d{1,4})(?![\w:])",
        lambda f: f"{numbers.cardinal(f['low'])} to {numbers.cardinal(f['high'])}",
    ),
)
