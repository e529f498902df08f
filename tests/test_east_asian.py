"""Chinese and Japanese: what is read, where it came from, and what is left alone."""

# ruff: noqa: RUF001 - full-width signs are what is written

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.bundle_reader import BundleReader
from app.east_asian import _grammar, normalize_east_asian
from app.language import LanguageGuess
from app.spans import SpannedText


@pytest.mark.parametrize(
    ("language", "written", "spoken"),
    [
        (
            "chinese",
            "\u4eca\u5929\u662f2026\u5e7411\u670820\u65e5\u3002",
            "\u4eca\u5929\u662f\u4e8c\u96f6\u4e8c\u516d\u5e74\u5341\u4e00\u6708\u4e8c\u5341\u65e5\u3002",
        ),
        ("chinese", "1\u6b21", "\u4e00\u6b21"),
        ("chinese", "\u6da8\u4e8650%", "\u6da8\u4e86\u767e\u5206\u4e4b\u4e94\u5341"),
        ("chinese", "\u8dd1\u4e865km", "\u8dd1\u4e86\u4e94\u516c\u91cc"),
        (
            "japanese",
            "3\u664230\u5206\u306b5\u4eba\u6765\u305f\u3002",
            "\u4e09\u6642\u4e09\u5341\u5206\u306b\u4e94\u4eba\u6765\u305f\u3002",
        ),
    ],
)
def test_reads(language: str, written: str, spoken: str) -> None:
    found = normalize_east_asian(SpannedText.of(written), language)
    assert found.text == spoken
    assert found.span() == (0, len(written))


@pytest.mark.parametrize(
    ("language", "written", "spoken"),
    [
        ("chinese", "１２３．５元，１２：３０。１，２３４人", "一百二十三点五元，十二点三十分。一千二百三十四人"),
        ("chinese", "涨50％，10～20人，－5℃，−5度", "涨百分之五十，十到二十人，负五摄氏度，负五度"),
        ("chinese", "比分3：2。第1：是", "比分三比二。第一：是"),
        ("chinese", "GPT-4o和COVID-19，2-3个", "GPT 四o和COVID 十九、两到三个"),
        ("chinese", "第5，6条，1，200个", "第五、六条，一千二百个"),
        ("chinese", "10,000美元，1,234.5元", "一万美元，一千二百三十四点五元"),
        ("chinese", "v2.0.1，10.15.1版，2026.11.22", "v二点零点一，十点一五点一版，二零二六年十一月二十二日"),
        ("chinese", "第1-2章，3–5天，5%-10%，8点-9点", "第一到二章，三到五天，百分之五到百分之十，八点到九点"),
        (
            "chinese",
            "1983—2020；2-3个；11-22；5-3；4-1=3",
            "一九八三到二零二零；两到三个；十一月二十二日；五减三；四减一等于三",
        ),
        ("chinese", "比分3-2，以1-2告负，3:2", "比分三比二，以一比二告负，三比二"),
        ("chinese", "验证码是123456，QQ：2345", "验证码是一二三四五六，QQ：二三四五"),
        ("chinese", "+86 138 1234 5678，（010）12345678", "加八六 幺三八幺二三四五六七八，零一零一二三四五六七八"),
        (
            "chinese",
            "请于11-22前，11-12岁，电话：6666-8888",
            "请于十一月二十二日前，十一到十二岁，电话：六六六六八八八八",
        ),
        ("chinese", "123456789012，G1234次", "一二三四五六七八九零一二，G一二三四次"),
        ("chinese", "HK$1,000；US$2万；100¥；5‰；>3；0:05", "一千港元；两万美元；一百元；千分之五；大于三；零点零五分"),
        ("chinese", "5月2日，05月02日，12月12日，共2日", "五月二日，五月二日，十二月十二日，共两日"),
        ("japanese", "３．５円、１２：３０、１，２３４円", "三点五円、十二時三十分、千二百三十四円"),
        (
            "japanese",
            "25℃、-5°C、50％、10％〜20％",
            "二十五度、マイナス五度、五十パーセント、十パーセントから二十パーセント",
        ),
        ("japanese", "六本木6-10-1、3-2、10-3=7", "六本木六の十の一、三の二、十マイナス三イコール七"),
        ("japanese", "COVID-19、2026-05-17", "COVID 十九、二千二十六年五月十七日"),
    ],
)
def test_reads_what_the_grammars_misread(language: str, written: str, spoken: str) -> None:
    found = normalize_east_asian(SpannedText.of(written), language)
    assert found.text == spoken
    assert list(found.offsets) == sorted(found.offsets)
    assert found.span() == (0, len(written))


def test_spans_point_at_what_was_written() -> None:
    written = "\u6c14\u6e29-5\u00b0C\uff0c\u6da8\u4e8650%\u3002"
    found = normalize_east_asian(SpannedText.of(written), "chinese")
    start = found.text.index("\u767e\u5206")
    assert written[slice(*found.span(start, start + 5))] == "50%"


def test_the_library_is_not_asked_for_its_slow_alignment(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes fifteen times as long as the reading, and the first sound waits for it."""
    monkeypatch.setattr("wetext.Normalizer.normalize_with_mapping", None)
    found = normalize_east_asian(SpannedText.of("涨了50%，3-2"), "chinese")
    assert found.text.startswith("涨了百分之五十，")


def test_a_voice_is_warmed_up_in_the_languages_it_speaks(tiny_bundle: Path) -> None:
    _grammar.cache_clear()
    BundleReader(tiny_bundle)
    loaded = _grammar.cache_info().misses
    for language in ("chinese", "japanese"):
        normalize_east_asian(SpannedText.of("5"), language)
    assert _grammar.cache_info().misses == loaded == 2


@settings(max_examples=40)
@given(
    st.text(
        st.sampled_from(
            "\u4f60\u597d\uff0c\u3002\u5e74\u6708\u65e50123456789.:-/%\u00a5 kmA,=\uff11\uff10\uff0e\uff05\uff0d\uff5e"
        ),
        max_size=30,
    )
)
def test_anything_is_read_without_failing(text: str) -> None:
    for language in ("chinese", "japanese"):
        found = normalize_east_asian(SpannedText.of(text), language)
        assert len(found.offsets) == len(found.text) + 1
        assert list(found.offsets) == sorted(found.offsets)


def test_words_are_left_alone_without_loading_the_grammars() -> None:
    code = (
        "import sys\nfrom app.east_asian import normalize_east_asian\nfrom app.spans import SpannedText\n"
        "text = SpannedText.of('\u4f60\u597d\uff0c\u4e16\u754c\u3002')\n"
        "assert normalize_east_asian(text, 'chinese') is text\nassert 'wetext' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("\u4eca\u5929\u662f2026\u5e74", "chinese"),
        ("5\u4eba\u304c\u6765\u305f", "japanese"),
        ("\u4e00 \uc548\ub155", ""),
        ("It is 5 km", "english"),
        ("Das ist nicht 5 km", ""),
    ],
)
def test_the_language_is_guessed_by_script(text: str, language: str) -> None:
    assert LanguageGuess().of(text) == language


def test_signs_that_both_use_are_read_as_the_text_before_them() -> None:
    guess = LanguageGuess()
    texts = ("2個", "これは本です", "合計2個", "你有2个", "合計2個")
    assert [guess.of(text) for text in texts] == ["chinese", "japanese", "japanese", "chinese", "chinese"]
