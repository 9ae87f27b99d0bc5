"""Numbers as people write them in cells: thousands, percents, money, accounting negatives, odd minus signs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

MINUSES = "\u2212\u2012\u2013\ufe63\uff0d"
CURRENCIES = "$\u20ac\u00a3\u00a5\u20b9\u20bd\u20a9\u20ba\u20aa\u20ab\u20b1\u0e3f\u00a2\u20b4\u20a6\u00a4"
CODES = "USD|EUR|GBP|CHF|JPY|CNY|INR|CAD|AUD|SEK|NOK|DKK|PLN|CZK|HUF|BRL|MXN|ZAR|kr|Rs|US$|R$|C$|A$"
_MONEY = rf"(?:[{re.escape(CURRENCIES)}]|(?:{'|'.join(re.escape(code) for code in CODES.split('|'))}))"
_DRESSED = re.compile(
    rf"(?P<open>\()?\s*(?P<sign>[+-])?\s*(?P<before>{_MONEY}\s?)?(?P<inner>[+-])?"
    rf"(?P<digits>(?:\d|[.,]\d)(?:[\d.,'\u2019 ]*[\d.,])?(?:[eE][+-]?\d+)?)"
    rf"(?P<after>\s?{_MONEY}|\s?%)?\s*(?P<tail>-)?(?P<close>\))?",
)
_WORDS_OF_UNITS = (
    "kg g mg µg μg lb lbs oz t m cm mm µm μm nm km mi ft in yd l L ml mL cl dl gal s ms sec min h hr hrs Hz kHz MHz GHz W kW MW GW Wh "
    "kWh MWh V mV kV mA °C °F °K ° Pa hPa kPa MPa bar mbar psi mph km/h kmh m/s kn kcal cal J kJ MJ ppm ppb px MB GB KB kB TB mmHg bpm "
    "mpg rpm cc hp PS m² m2 cm² km² m³ m3 cm³ mol mmol mmol/l mg/dl mg/l mg/L g/l g/dl U/l IU dB lx N kN Nm ha"
)
UNITS = frozenset(_WORDS_OF_UNITS.split())
"""Units that may stand right behind the digits; behind a blank any word is a unit that all cells of a column share."""
_UNITED = re.compile(
    r"(?P<number>.*[\d.,])(?P<after>\s?(?P<unit>[^\W\d_°µ/%][^\W\d]{0,11}(?:/[^\W\d]{1,6})?[²³23]?|°[CFK]?|[µμ]\w{1,2}))"
)
_OTHER_WORDS = (
    "am pm st nd rd th bc ad bce ce e x jan feb mar apr may jun jul aug sep sept oct nov dec january february march april june july "
    "august september october november december mon tue wed thu fri sat sun"
)
_NO_UNITS = frozenset(_OTHER_WORDS.split())
_BLANKS = str.maketrans(dict.fromkeys("\u00a0\u2007\u2009\u202f", " "))
_SIGNS = str.maketrans(dict.fromkeys(MINUSES, "-"))
_GROUPS = {
    mark: re.compile(
        rf"\d{{1,3}}(?:(?P<group>[{re.escape(''.join(c for c in '.,' if c != mark))}'\u2019 ])\d{{3}})"
        rf"(?:(?P=group)\d{{3}})*(?:{re.escape(mark)}\d*)?"
    )
    for mark in ".,"
}


@dataclass(frozen=True)
class Dress:
    """What stands around the digits of a number: ``$`` before, ``%`` after, a mark between thousands.

    Examples
    --------
    >>> dressed_number("(1,234.50)", ".")
    (-1234.5, Dress(before='', after='', group=','))
    >>> Dress(after=" %").around("12.5")
    '12.5 %'
    """

    before: str = ""
    after: str = ""
    group: str = ""

    @property
    def is_percent(self) -> bool:
        """Whether the number counts hundredths."""
        return self.after.strip() == "%"

    def around(self, text: str) -> str:
        """Digits as they are written in a column of this dress (without marks between thousands)."""
        if not text:
            return text
        sign, digits = ("-", text[1:]) if text.startswith("-") else ("", text)
        return f"{sign}{self.before}{digits}{self.after}"


def plain_number(cell: str, decimal: str = ".") -> float | None:
    """The value of a cell that holds digits only, with this decimal mark; None where it does not."""
    text = cell.strip()
    if "_" in text or (decimal == "," and "." in text):
        return None
    try:
        return float(text.replace(",", ".") if decimal == "," else text)
    except ValueError:
        return None


def dressed_number(cell: str, decimal: str = ".") -> tuple[float, Dress] | None:
    """The value of a cell and its dress; None where the cell is no number."""
    text = cell.strip()
    if not text.isascii():  # as the blanks and signs are that stand for others
        text = text.translate(_BLANKS).translate(_SIGNS)
    value = plain_number(text, decimal)
    if value is not None:
        return value, Dress()
    found = _DRESSED.fullmatch(text)
    if found is None or bool(found["open"]) != bool(found["close"]):
        return None
    if sum(bool(found[part]) for part in ("open", "sign", "inner", "tail")) > 1 or (found["before"] and found["after"]):
        return None
    digits, group = found["digits"], ""
    grouped = _GROUPS[decimal].fullmatch(digits)
    if grouped is not None:
        group = grouped["group"]
        digits = digits.replace(group, "")
    value = plain_number(digits, decimal)
    if value is None:
        return None
    negative = found["open"] or found["tail"] or "-" in (found["sign"] or "") + (found["inner"] or "")
    return -value if negative else value, Dress(found["before"] or "", found["after"] or "", group)


def united_number(cell: str, decimal: str = ".") -> tuple[float, Dress] | None:
    """The value of a cell such as ``12 kg``, and its unit as a dress; None where the cell is not a number with a unit.

    Examples
    --------
    >>> united_number("12 kg"), united_number("1,234.5km/h")
    ((12.0, Dress(before='', after=' kg', group='')), (1234.5, Dress(before='', after='km/h', group=',')))
    >>> united_number("12B"), united_number("3 May"), united_number("12")
    (None, None, None)
    """
    found = _UNITED.fullmatch(cell.strip().translate(_BLANKS))
    if found is None or found["unit"].lower() in _NO_UNITS:
        return None
    if found["after"] == found["unit"] and found["unit"] not in UNITS:
        return None
    number = dressed_number(found["number"], decimal)
    if number is None or number[1].before or number[1].after:
        return None
    return number[0], Dress("", found["after"], number[1].group)


def one_unit(dresses: Iterable[Dress]) -> Dress | None:
    """The dress of a column all of whose cells have one unit, whether of one or of many (``1 year``, ``2 years``); None where units differ."""
    found: dict[str, Dress] = {}
    for dress in dresses:
        word = dress.after.strip()
        found[word[:-1] if len(word) > 2 and word.endswith("s") else word] = dress
    return next(iter(found.values())) if len(found) == 1 else None


def looks_numeric(cell: str) -> bool:
    """Whether a cell is a number with either decimal mark."""
    return dressed_number(cell, ".") is not None or dressed_number(cell, ",") is not None


@dataclass(frozen=True)
class DecimalEvidence:
    """A cell that can only be meant with decimal commas, one that can only be meant with points, and one that can be
    both (``1,234``)."""

    comma: str | None = None
    point: str | None = None
    either: str | None = None


def decimal_evidence(cells: Iterable[str]) -> DecimalEvidence:
    """Look for the decimal mark in cells.

    Examples
    --------
    >>> decimal_evidence(["12", "1,5"]).comma, decimal_evidence(["1,234.5"]).point, decimal_evidence(["1,234"]).either
    ('1,5', '1,234.5', '1,234')
    """
    comma = point = either = None
    for cell in cells:
        if "," not in cell and "." not in cell:
            continue
        with_comma, with_point = (dressed_number(cell, mark) or united_number(cell, mark) for mark in ",.")
        if with_comma is None and with_point is None:
            continue
        if with_point is None:
            comma = comma or cell
        elif with_comma is None:
            point = point or cell
        elif "," in cell:
            either = either or cell
    return DecimalEvidence(comma, point, either)
