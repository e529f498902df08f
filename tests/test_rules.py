"""What a rule says of itself: the signs without which it is not even compiled."""

from __future__ import annotations

import pytest

from app.bundle_reader import WARMING
from app.english import DIGIT_RULES, RULES
from app.reading import Reading
from app.rules import Rule
from app.small_signs import SMALL_SIGN_RULES
from app.spans import SpannedText
from tests.test_normalizer import CASES
from tests.test_spoken_lines import CASES as LINES


def test_a_rule_is_compiled_only_for_a_text_that_has_what_it_needs() -> None:
    rule = Rule(r"(?<=\d)/(?=\d)", " over ", needs="/")
    assert rule.apply(text := SpannedText.of("5 or 6")) is text
    assert "pattern" not in vars(rule)
    assert rule.apply(SpannedText.of("5/6")).text == "5 over 6"


def test_a_voice_that_is_warm_has_compiled_every_rule() -> None:
    rules = (*SMALL_SIGN_RULES, *DIGIT_RULES, *RULES)
    for rule in rules:
        vars(rule).pop("pattern", None)
    reading = Reading(language="english", normalize=True, for_lexicon=True)
    reading.read(SpannedText.of(WARMING["english"]), "english")
    assert not [rule.expression for rule in rules if "pattern" not in vars(rule)]


@pytest.mark.parametrize("rule", [rule for rule in (*DIGIT_RULES, *RULES) if rule.needs])
def test_no_match_is_without_what_the_rule_needs(rule: Rule) -> None:
    matched = [written for written, _ in (*CASES, *LINES) if rule.pattern.search(written)]
    assert all(any(sign in written for sign in rule.needs) for written in matched)
