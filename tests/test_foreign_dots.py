"""Dots of other languages' short forms and ordinals: no sentence ends there, and English ones go on ending."""

# ruff: noqa: RUF001 - Russian letters and full-width digits look like others

from __future__ import annotations

import pytest

from app.hygiene import Cleaner
from app.segmenter import SegmentBounds, Segmenter


def sentences(text: str, language: str, step: int = 1000) -> list[str]:
    cleaner, segmenter = Cleaner(), Segmenter(SegmentBounds(shortest=1), language=language)
    found = []
    for place in range(0, len(text), step):
        found += segmenter.feed(cleaner.feed(text[place : place + step]))
    found += [*segmenter.feed(cleaner.finish()), *segmenter.finish()]
    return [segment.words.text for segment in found]


WRITTEN = [
    ("german", "Der 2. Weltkrieg begann am 1. September, im 20. Jahrhundert.|Das war 1939.|Danach kam nichts."),
    ("german", "Er ist 12.|Sie ist 14.|Zum 60. Geburtstag, Montag, 3. Mai, kam die 5. Klasse um 8.|Es war sch\u00f6n."),
    ("german", "Wir treffen uns am\n3. Oktober in der Goethestr. 5.|Sie kommt."),
    ("german", "Es kostet 5 Mio. Euro inkl. Zoll, vgl. Abs. 2 und evtl. Kap. 3.|Gut, usw.|Ja."),
    ("french", "L'an 50 av. J.-C., au bd. Saint-Michel, Mlle. Petit arriva.|Puis Mgr. Durand."),
    ("spanish", "Ayer lleg\u00f3 el Sr. Garc\u00eda a casa de la Sra. Ruiz, Avda. Col\u00f3n n\u00fam. 5.|Bien."),
    ("portuguese", "O Sr. Silva e a Dra. Lima moram na Av. Paulista, p\u00e1g. 5.|Tudo bem."),
    ("italian", "Arriva il sig. Rossi con il dott. Verdi e l'avv. Neri.|Poi basta."),
    ("russian", "Он жил на ул. Ленина, а проф. Иванов на пр. Мира.|Потом уехал."),
]


@pytest.mark.parametrize("step", [1, 1000])
@pytest.mark.parametrize("said", [True, False])
@pytest.mark.parametrize(("language", "text"), WRITTEN)
def test_no_sentence_ends_at_a_short_form_or_an_ordinal(language: str, text: str, said: bool, step: int) -> None:
    assert sentences(text.replace("|", " "), language if said else "auto", step) == text.split("|")


@pytest.mark.parametrize(
    "text",
    [
        "Das sagt Fr. M\u00fcller od. Herr Meier, max. Montag.",
        "Das sind ca. 5 Std. Fahrt oder min. 5.",
        "DAS SAGT HR. MEIER.",
    ],
)
def test_what_english_uses_otherwise_goes_on_where_the_language_is_said(text: str) -> None:
    assert sentences(text, "german") == [text]


@pytest.mark.parametrize("language", ["english", "auto"])
@pytest.mark.parametrize(
    "text",
    [
        "I am 12.|He is 14.|She is 3.|We left.",
        "Look at me.|Put on the cap.|Go on.|Never mind.|That is it.",
        "We saw Martin Luther King Sr.|He spoke.",
        "Talk to HR.|They will help.|It has ABS.|We fixed the AV.|It is just a zit.|Leave it.",
    ],
)
def test_english_sentences_end(text: str, language: str) -> None:
    assert sentences(text.replace("|", " "), language) == text.split("|")


def test_the_end_of_a_line_is_no_end_behind_a_short_form() -> None:
    for language in ("german", "auto"):
        segmenter = Segmenter(language=language)
        segmenter.feed(Cleaner().feed("Wir treffen uns am 3. "))
        assert not segmenter.ends_with("\n")


@pytest.mark.parametrize(
    "text",
    [
        "U.S.のニュースとDr.田中とMr.王とApple Inc.の話。|次。",
        "価格は３．５円です。|１．２も。",
        "今日は雪.|明日は雨.|",
        "OK.|我们走吧。",
        "아는 것은 나.| 그래서 왔다.",
        "Inc.는 3.5배.| 네.",
        "清单\n1.苹果\n2.香蕉",
    ],
)
@pytest.mark.parametrize("step", [1, 100])
def test_dots_among_signs_that_stand_close(text: str, step: int) -> None:
    whole = text.replace("|", "")
    assert sentences(whole, "auto", step) == [part.strip() for part in text.split("|") if part]
