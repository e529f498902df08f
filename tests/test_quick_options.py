"""What the quick path takes for its own, it understands exactly as the whole command line does."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app import speak_run
from app.config import Config
from app.quick_options import parse
from app.speak_command import run
from app.wishes import Wishes
from engines.contract import Sampling

WORDS = ["hello", "two words", "-5", "--", "-", "", " ", "a\nb", "ä", "\udc80", "@file", "=", "voice"]
VALUES = ["bob", "", "english", "7", "007", "-1", "12345678901", "1.5", "٣", "x=y", "--now", "slowly, please"]
OPTIONS = [
    "--voice", "--language", "--instruct", "--seed", "--now", "--device", "-o", "--output", "--stats", "--greedy",
    "--no-daemon", "--help", "-h", "--version", "--list-voices", "--top-k", "--vo", "--nonsense", "--normalize",
]  # fmt: skip
ARGUMENT = st.one_of(
    st.sampled_from(WORDS),
    st.sampled_from(VALUES),
    st.sampled_from(OPTIONS),
    st.builds("{}={}".format, st.sampled_from(OPTIONS), st.sampled_from(VALUES)),
)


def whole(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> Wishes | None:
    """What the whole command line makes of it; None where it does anything but speak."""
    caught: list[Wishes] = []

    def catch(wishes: Wishes, _config: Config) -> int:
        caught.append(wishes)
        return 0

    monkeypatch.setattr(speak_run, "run_speak", catch)
    run(arguments)
    return caught[0] if caught else None


@given(st.lists(ARGUMENT, max_size=5))
def test_the_same_as_the_whole_command_line(arguments: list[str]) -> None:
    quick = parse(arguments)
    if quick is None:
        return
    with pytest.MonkeyPatch.context() as patch:
        wishes, plain = whole(arguments, patch), whole(["x"], patch)
    assert wishes is not None
    assert plain is not None
    values = quick.values
    assert wishes == replace(
        plain,
        words=quick.words or None,
        voice=values.get("voice") or plain.voice,
        language=values.get("language") or plain.language,
        instruct=values.get("instruct", ""),
        seed=int(values["seed"]) if "seed" in values else None,
        now=quick.now,
        sampling=Sampling(),
    )


@pytest.mark.parametrize(
    ("arguments", "words", "values", "now"),
    [
        (["Hello"], ["Hello"], {}, False),
        (["Hello", "there"], ["Hello", "there"], {}, False),
        ([], [], {}, False),
        (["--now", "--voice", "robert", "Hi"], ["Hi"], {"voice": "robert"}, True),
        (["Hi", "--language=english", "--seed", "3"], ["Hi"], {"language": "english", "seed": "3"}, False),
        (["--", "-5 degrees", "--now"], ["-5 degrees", "--now"], {}, False),
        (["two\nlines"], ["two\nlines"], {}, False),
    ],
)
def test_what_it_takes(arguments: list[str], words: list[str], values: dict[str, str], now: bool) -> None:
    quick = parse(arguments)
    assert quick is not None
    assert (quick.words, quick.values, quick.now) == (words, values, now)


@pytest.mark.parametrize(
    "arguments",
    [
        *(["-o", "x.wav", "Hi"], ["--stats", "Hi"], ["--voice"], [""], ["--help"], ["\udc80"]),
        *(["--seed", seed, "Hi"] for seed in ("-1", "1.5", "x", "٣", "²", "1234567890")),
    ],
)
def test_what_it_leaves(arguments: list[str]) -> None:
    assert parse(arguments) is None


def test_it_knows_no_option_that_is_not_there() -> None:
    """The declared set is a part of the real one, with the same number of values."""
    import typer

    from app import quick_options, speak_command

    command: Any = typer.main.get_command(speak_command._app)
    known = {name: option for option in command.params for name in option.opts}
    for name in quick_options._VALUES:
        assert not known[f"--{name}"].is_flag
    assert known["--now"].is_flag
