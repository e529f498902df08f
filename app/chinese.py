"""Chinese as people write it, in words that the grammars of wetext read right.

Purpose: `RULES`, which rewrite versions, ranges, scores, telephone numbers, codes and currencies that the grammars take
for dates, sums and counts. Knows: what stands around a number. Does not know: how a number is read, Japanese.
"""

# ruff: noqa: RUF001 - full-width signs are what is written

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

_DIGITS: Final = str.maketrans("0123456789", "零一二三四五六七八九")
_HAN: Final = "\u4e00-\u9fff"
_DASH: Final = "[-\u2013\u2014]"
_NUMBER: Final = r"\d{1,4}(?:\.\d+)?%?"
_RANGE: Final = re.compile(
    rf"(?<![\d.A-Za-z+*×÷=/:~\u2013\u2014-])(?P<first>(?!0\d){_NUMBER}) ?{_DASH} ?(?P<second>{_NUMBER})"
    rf"(?!\d|\.\d|[:/~]| ?[=\u2013\u2014-]|等于)(?P<unit>[{_HAN}]?)"
)
_COUNTED: Final = frozenset(
    "岁天个人年月日号章节页级分秒小元块米公千倍度次层楼周篇集万亿件位名点题条项班时斤克吨升折成"
)
_WON: Final = "的比分|战胜|击败|获胜|取胜|力克|逆转|领先|落后|告负|不敌|战平|惜败|大胜|险胜|完胜|大败|胜出"
_SCORE: Final = re.compile(
    r"(?P<before>[比总]分[^\d，。,.]{0,4})?(?<!\d)(?P<ours>\d{1,3}) ?[-\u2013\u2014:] ?(?P<theirs>\d{1,3})"
    rf"(?!\d|[.:-]\d)(?P<after> ?(?:{_WON}))?"
)
_CODE: Final = re.compile(
    r"(?P<what>(?:验证码|密码|邮编|邮政编码|订单号?|单号|编号|卡号|账号|学号|工号|QQ群?号?)[:：是为 ]*)"
    r"(?P<code>\d{3,})(?!\d|[.,]\d)"
)
_CALLED: Final = re.compile(r"(?P<what>(?:电话|座机|热线|拨打|致电)\D{0,3})(?P<one>[2-9]\d{3})-(?P<two>\d{4})(?![\d-])")
_MOBILE: Final = re.compile(
    r"(?<![\d-])(?P<abroad>\+86[ -]?)?(?P<one>1[3-9]\d)(?P<gap>[ -]?)(?P<two>\d{4})(?P=gap)(?P<three>\d{4})(?![\d-])"
)
_MONEY: Final = {"HK": "港元", "NT": "新台币", "US": "美元", "A": "澳元"}


def _spelled(found: re.Match[str]) -> str:
    return found.group().translate(_DIGITS)


def _version(found: re.Match[str]) -> str | None:
    """Three numbers; a date stays one, and an address of four is read right as it is."""
    first, *others = found.group().split(".")
    return None if len(first) == 4 else "点".join((first, *(other.translate(_DIGITS) for other in others)))


def _range(found: re.Match[str]) -> str | None:
    """From a number to a greater one; two that may be a month and its day only where they count something."""
    first, second, unit = found["first"], found["second"], found["unit"]
    low, high = (float(number.rstrip("%")) for number in (first, second))
    if low >= high or (low < 13 and len(first) == len(second) == 2 and unit not in _COUNTED):
        return None
    if low >= 1500 and high < 2100 and not unit:
        return f"{first.translate(_DIGITS)}到{second.translate(_DIGITS)}"
    return f"{first}~{second}{unit}"


def _score(found: re.Match[str]) -> str | None:
    if found["before"] is None and found["after"] is None:
        return None
    return f"{found['before'] or ''}{found['ours']}比{found['theirs']}{found['after'] or ''}"


def _mobile(found: re.Match[str]) -> str:
    return f"{'加八六 ' if found['abroad'] else ''}{found['one']}{found['two']}{found['three']}"


RULES: Final[tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str | None]], ...]] = (
    (_CODE, lambda found: found["what"] + found["code"].translate(_DIGITS)),
    (_CALLED, lambda found: found["what"] + f"{found['one']}{found['two']}".translate(_DIGITS)),
    (_MOBILE, _mobile),
    (re.compile(r"[（(](0\d{2,3})[)）] ?-?(?=\d{7,8}(?!\d))"), lambda found: f"{found[1]}-"),
    (re.compile(r"(?<![\d.,])\d{12,}(?!\d|[.,]\d)"), _spelled),
    (re.compile(r"(?<=[A-Z])\d{3,4}(?=次|航班)"), _spelled),
    (re.compile(r"(?<![\d.])\d{1,4}\.\d{1,4}\.\d{1,4}(?!\d|\.\d)"), _version),
    (_SCORE, _score),
    (re.compile(r"(?<=\d)([kcm]?m|[km]?g|m?[lL]|[KMGT]B|[WV]|Hz)-(?=\d)"), lambda found: f"{found[1]}~"),
    (re.compile(rf"(?<=\d[{_HAN}]){_DASH}(?=\d)"), "到"),
    (_RANGE, _range),
    (re.compile(r"(?<![\d:])0:(?=[0-5]\d(?![\d:]))"), "00:"),
    (
        re.compile(r"(?<![A-Z])(HK|NT|US|A)\$ ?(\d[\d,]*(?:\.\d+)?)(?!\d) ?([万亿]*)"),
        lambda found: f"{found[2]}{found[3]}{_MONEY[found[1]]}",
    ),
    (re.compile(r"(?<=\d)[¥￥]"), "元"),
    (re.compile(r"(\d+(?:\.\d+)?)‰"), lambda found: f"千分之{found[1]}"),
    (re.compile(r"(?<![-=<>])[>＞] ?(?=\d)"), "大于"),
    (re.compile(r"(?<![-=<>])[<＜] ?(?=\d)"), "小于"),
)
"""What is written, and what is put in its place; in this order."""
