"""Units, currencies and scales: what follows or precedes a number, and how it is said.

Purpose: tables, and the words for an amount of something.
Knows: English names of units and currencies. Does not know: text around them.
"""

from __future__ import annotations

from typing import Final

from app.numbers import cardinal, decimal
from app.rules import alternatives

UNITS: Final = {
    "km": "kilometer", "m": "meter", "cm": "centimeter", "mm": "millimeter", "nm": "nanometer", "um": "micrometer",
    "\u00b5m": "micrometer", "\u03bcm": "micrometer", "mi": "mile", "ft": "foot", "in": "inch", "yd": "yard",
    "kg": "kilogram", "KG": "kilogram", "kgs": "kilogram", "g": "gram", "mg": "milligram", "\u00b5g": "microgram",
    "\u03bcg": "microgram", "lb": "pound", "lbs": "pound", "oz": "ounce", "t": "ton", "l": "liter", "L": "liter",
    "ml": "milliliter", "mL": "milliliter", "cl": "centiliter", "gal": "gallon", "pt": "pint", "tsp": "teaspoon",
    "tbsp": "tablespoon", "s": "second", "sec": "second", "secs": "second", "ms": "millisecond",
    "\u00b5s": "microsecond", "\u03bcs": "microsecond", "us": "microsecond", "ns": "nanosecond", "min": "minute",
    "mins": "minute", "h": "hour", "hr": "hour", "hrs": "hour", "yr": "year", "wk": "week", "wks": "week",
    "mo": "month", "mos": "month", "yrs": "year", "kB": "kilobyte", "KB": "kilobyte", "MB": "megabyte",
    "GB": "gigabyte", "TB": "terabyte", "PB": "petabyte", "KiB": "kibibyte", "MiB": "mebibyte", "GiB": "gibibyte",
    "TiB": "tebibyte", "kb": "kilobit", "Mb": "megabit", "Gb": "gigabit", "kbps": "kilobit per second",
    "mbps": "megabit per second", "Mbps": "megabit per second", "Gbps": "gigabit per second",
    "MB/s": "megabyte per second", "GB/s": "gigabyte per second", "Hz": "hertz", "kHz": "kilohertz",
    "MHz": "megahertz", "GHz": "gigahertz", "W": "watt", "kW": "kilowatt", "MW": "megawatt", "GW": "gigawatt",
    "mW": "milliwatt", "kWh": "kilowatt hour", "Wh": "watt hour", "V": "volt", "mV": "millivolt", "kV": "kilovolt",
    "mA": "milliamp", "mAh": "milliamp hour", "\u03a9": "ohm", "\u2126": "ohm", "k\u03a9": "kilohm", "J": "joule",
    "kJ": "kilojoule", "cal": "calorie", "kcal": "kilocalorie", "N": "newton", "Nm": "newton meter", "Pa": "pascal",
    "kPa": "kilopascal", "hPa": "hectopascal", "bar": "bar", "psi": "P S I", "dB": "decibel", "hp": "horsepower",
    "rpm": "R P M", "fps": "frame per second", "px": "pixel", "mph": "mile per hour", "km/h": "kilometer per hour",
    "kph": "kilometer per hour", "m/s": "meter per second", "ft/s": "foot per second", "mpg": "mile per gallon",
    "ha": "hectare", "ac": "acre", "sq ft": "square foot", "m2": "square meter", "m\u00b2": "square meter",
    "km2": "square kilometer", "km\u00b2": "square kilometer", "cm\u00b2": "square centimeter",
    "ft\u00b2": "square foot", "m3": "cubic meter", "m\u00b3": "cubic meter", "km\u00b3": "cubic kilometer",
    "cm\u00b3": "cubic centimeter", "\u00b0C": "degree Celsius", "\u00b0F": "degree Fahrenheit", "\u00b0": "degree",
    "\u2103": "degree Celsius", "\u2109": "degree Fahrenheit", "mol": "mole", "lm": "lumen", "%": "percent",
    "\u2030": "per mille", "ppm": "part per million", "yds": "yard", "gals": "gallon", "qt": "quart", "qts": "quart",
    "tsps": "teaspoon", "Tsp": "teaspoon", "tbsps": "tablespoon", "Tbsp": "tablespoon", "doz": "dozen",
    "pkg": "package", "pkgs": "package", "sqft": "square foot", "sq. ft": "square foot", "sq mi": "square mile",
    "sq. mi": "square mile", "sq m": "square meter", "sq km": "square kilometer", "cu ft": "cubic foot",
    "cu. ft": "cubic foot", "m/s2": "meter per second squared", "m/s\u00b2": "meter per second squared",
    "kg/m3": "kilogram per cubic meter", "kg/m\u00b3": "kilogram per cubic meter",
    "g/cm\u00b3": "gram per cubic centimeter", "mg/dL": "milligram per deciliter", "mg/L": "milligram per liter",
    "bpm": "beat per minute", "BPM": "beat per minute", "fl oz": "fluid ounce", "fl. oz": "fluid ounce",
    "mmHg": "millimeters of mercury", "kt": "knot", "kts": "knot", "dpi": "dot per inch", "MP": "megapixel",
    "Ah": "amp hour", "c.": "cup", "m/s^2": "meter per second squared", "kg/m^3": "kilogram per cubic meter",
    "m^2": "square meter",
    "km^2": "square kilometer", "cm^2": "square centimeter", "m^3": "cubic meter", "cm^3": "cubic centimeter",
    "mcg": "microgram", "dl": "deciliter", "dL": "deciliter", "mmol": "millimole", "mEq": "milliequivalent",
    "IU": "international unit", "inHg": "inches of mercury", "pp": "percentage point",
    "in\u00b2": "square inch", "in\u00b3": "cubic inch", "ft\u00b3": "cubic foot",
    "sq in": "square inch", "sq. in": "square inch", "sq yd": "square yard",
    "sq. yd": "square yard", "cu in": "cubic inch", "cu. in": "cubic inch", "cu yd": "cubic yard",
    "cu. yd": "cubic yard", "ft-lb": "foot pound", "ft-lbs": "foot pound", "lb-ft": "pound foot",
    "kg\u00b7m/s\u00b2": "kilogram meter per second squared",
    "N\u00b7m": "newton meter", "N\u22c5m": "newton meter", "eV": "electron volt", "keV": "kilo electron volt",
    "MeV": "mega electron volt", "GeV": "giga electron volt", "TeV": "tera electron volt", "Mbit": "megabit",
    "Gbit": "gigabit", "nF": "nanofarad", "\u00b5F": "microfarad", "\u03bcF": "microfarad",
}  # fmt: skip
UNIT: Final = alternatives(UNITS)
"""Any of them, as an expression."""
_IRREGULAR: Final = {"foot": "feet", "inch": "inches"}
_UNCHANGED: Final = frozenset({
    "hertz", "kilohertz", "megahertz", "gigahertz", "percent", "per mille", "horsepower", "P S I", "R P M", "kelvin",
    "dozen", "millimeters of mercury", "inches of mercury",
})  # fmt: skip
AMBIGUOUS_UNITS: Final = frozenset({
    "in", "t", "us", "bar", "ha", "ac", "pt", "s", "m", "h", "g", "l", "N", "J", "V", "W", "L", "min",
    "sec", "cal", "gal", "ms", "mi", "c.", "pp",
})  # fmt: skip
"""Also words or letters: taken as units only close behind a number, and never before a capital."""
SHORTENED_UNITS: Final = frozenset({
    "in", "ft", "mi", "yd", "lb", "lbs", "oz", "gal", "pt", "tsp", "tbsp", "sec", "secs", "min", "mins", "hr", "hrs",
    "yr", "yrs", "wk", "wks", "mo", "mos", "cal", "sq ft", "yds",
    "gals", "qt", "qts", "tsps", "Tsp", "tbsps", "Tbsp", "doz", "pkg", "pkgs", "sq. ft", "sq mi", "sq. mi", "cu ft",
    "cu. ft",
    "fl oz", "fl. oz", "c.", "sq in", "sq. in", "sq yd", "sq. yd", "cu in", "cu. in", "cu yd", "cu. yd",
})  # fmt: skip
"""Written with a dot by some people; behind other units a dot is the sentence's."""
TIMES: Final = frozenset({"s", "sec", "min", "mins", "h", "hr", "hrs", "d", "day", "days", "wk", "week"})
VOLUMES: Final = frozenset({"l", "L", "ml", "mL", "dl", "dL", "cl", "fl oz", "fl. oz", "gal"})
WEIGHTS: Final = frozenset({"g", "kg", "mg", "mcg", "oz", "lb", "lbs"})
DOSES: Final = frozenset({"g", "mg", "mcg", "\u00b5g", "\u03bcg", "IU", "mmol", "mEq"})
"""What is given in so much of a fluid; ounces before milliliters are the same, said twice."""
CLOSE_UNITS: Final = frozenset({"pp"})
"""Behind a space these are something else: 240 pp. are pages."""
LETTER_UNITS: Final = frozenset({"in", "us", "t"})
"""Behind a space these are units only where the phrase ends."""
DIMENSIONS: Final = frozenset({"wide", "long", "tall", "deep", "thick", "high", "across"})
"""After one of these, "12 in" is a length, where the phrase ends with it."""

CURRENCIES: Final = {
    "$": ("dollar", "cent"), "US$": ("U S dollar", "cent"), "\u20ac": ("euro", "cent"), "\u00a3": ("pound", "pence"),
    "\u00a5": ("yen", ""), "\u20b9": ("rupee", "paisa"), "\u20a9": ("won", ""), "\u20bd": ("ruble", "kopek"),
    "\u20bf": ("bitcoin", ""), "\u00a2": ("cent", ""), "USD": ("U S dollar", "cent"), "EUR": ("euro", "cent"),
    "GBP": ("pound", "pence"), "CHF": ("Swiss franc", "centime"), "JPY": ("yen", ""),
    "C$": ("Canadian dollar", "cent"), "CA$": ("Canadian dollar", "cent"), "CAD": ("Canadian dollar", "cent"),
    "A$": ("Australian dollar", "cent"), "AU$": ("Australian dollar", "cent"), "AUD": ("Australian dollar", "cent"),
    "NZ$": ("New Zealand dollar", "cent"), "HK$": ("Hong Kong dollar", "cent"), "INR": ("rupee", "paisa"),
    "Rs.": ("rupee", "paisa"), "Rs": ("rupee", "paisa"), "CNY": ("yuan", ""), "BTC": ("bitcoin", ""),
    "S$": ("Singapore dollar", "cent"), "R$": ("real", "centavo"), "NT$": ("new Taiwan dollar", "cent"),
    "\u20ba": ("lira", ""), "\u20b1": ("peso", "centavo"), "\u20a6": ("naira", ""), "\u20aa": ("shekel", ""),
    "\u20ab": ("dong", ""), "\u20b4": ("hryvnia", ""), "\u0e3f": ("baht", ""),
}  # fmt: skip
_SAME: Final = frozenset({"yen", "won", "pence", "paisa", "yuan", "naira", "dong", "hryvnia", "baht"})
SCALES: Final = {
    "k": "thousand", "K": "thousand", "M": "million", "m": "million", "mn": "million", "B": "billion", "b": "billion",
    "bn": "billion", "T": "trillion", "tn": "trillion",
}  # fmt: skip
"""Letters after an amount of money."""


def plural(name: str) -> str:
    """The name of more than one: the word that counts is the one before "per", else the last."""
    head, per, rest = name.partition(" per ")
    if name in _UNCHANGED:
        return name
    if head.startswith("degree"):
        return head.replace("degree", "degrees", 1)
    first, space, last = head.rpartition(" ")
    return f"{first}{space}{_IRREGULAR.get(last, last + 's')}{per}{rest}"


def behind(unit: str | None) -> str:
    """`km` as it is said behind a number of them, with a space; nothing for no unit."""
    return f" {plural(UNITS[unit])}" if unit else ""


def measure(number: str, unit: str, *, scale: str = "", single: bool = False) -> str:
    """`5`, `km` as five kilometers; `single` where the measure describes a thing: a five kilometer run."""
    name = UNITS[unit]
    return f"{decimal(number)}{scale} {name if (number == '1' and not scale) or single else plural(name)}"


def money(number: str, currency: str, scale: str = "", *, single: bool = False) -> str:
    """`3.50`, `$` as three dollars and fifty cents; `1.5`, `$`, `million` as one point five million dollars.

    `single` where the amount describes a thing: a five dollar bill.
    """
    name, small = CURRENCIES[currency]
    whole, point, part = number.partition(".")
    if scale or not point or not small or len(part) > 2:
        return f"{decimal(number)}{' ' * bool(scale)}{scale} {_coin(name, single or (number == '1' and not scale))}"
    coins = str(int(part.ljust(2, "0")))
    large = f"{cardinal(whole or '0')} {_coin(name, single or whole == '1')}"
    rest = f"{cardinal(coins)} {_coin(small, (single and small != 'pence') or coins == '1')}"
    if coins == "0":
        return large
    return rest if whole in {"", "0"} else f"{large} and {rest}"


def _coin(name: str, single: bool) -> str:
    if single:
        return "penny" if name == "pence" else name
    return name if name in _SAME else name + "s"
