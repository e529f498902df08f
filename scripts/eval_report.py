"""Shows what was measured: tables for people, a record for machines, and what of it the voice was to reach.

Knows: figures and their limits. Does not know: how anything is measured.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Final

from export.train.evaluate import ALL, Score
from scripts.bench_tools import Value, show
from scripts.eval_codec import CodecFaults
from scripts.eval_long import Long
from scripts.eval_many import Many
from scripts.eval_seams import Seams
from scripts.eval_sound import SoundFigures
from scripts.eval_words import CLOSED, OPEN, Words

LEAST_CLOSED, LEAST_CLOSED_KIND = 95.0, 90.0
LEAST_OPEN_OF_TEACHER = 85.0
MOST_CODEC_LOSS = 1.5
MOST_LOUDNESS_SPREAD_LU = 3.0
LEAST_ENDED = 99.5
MOST_TONE_DB = 12.0
MOST_EDGE_DB = -45.0  # of full scale; speech is at -24
_WHO: Final = (("teacher", CLOSED), ("codec", CLOSED), ("voice", CLOSED), ("teacher", OPEN), ("voice", OPEN))

Judgement = tuple[str, str, str, bool]
"""What, measured, wanted, whether it holds."""


@dataclass(frozen=True)
class Result:
    """Everything measured on one speaker."""

    speaker: str
    words: Words
    in_one: Words
    """Long sentences that were not split."""
    sound: SoundFigures
    seams: Seams
    faults: CodecFaults | None

    def judgements(self) -> list[Judgement]:
        """What the voice was to reach, and whether it does."""
        closed = self.words.scores["voice", CLOSED]
        kinds = {kind: score.words_right for kind, score in {**closed, **self.in_one.scores["voice", CLOSED]}.items()}
        kinds.pop(ALL)
        worst = min(kinds, key=kinds.__getitem__)
        out = [
            _judge("words right, closed", closed[ALL].words_right, LEAST_CLOSED, "%"),
            _judge(f"worst kind, closed ({worst})", kinds[worst], LEAST_CLOSED_KIND, "%"),
            _judge("ended by themselves", closed[ALL].ended_by_itself, LEAST_ENDED, "%"),
        ]
        if self.sound.voice is not None:
            spread = self.sound.voice.p5_to_p95
            out.append(_judge("loudness spread p5 to p95", spread, MOST_LOUDNESS_SPREAD_LU, "LU", most=True))
        teacher, voice = (self.words.of(who, OPEN, ALL) for who in ("teacher", "voice"))
        if teacher is not None and voice is not None:
            share = 100 * voice.words_right / max(1e-9, teacher.words_right)
            out.append(_judge("words right, open, of the teacher's", share, LEAST_OPEN_OF_TEACHER, "%"))
        out.append(_judge("loudest sample at a join", self.seams.edge_db, MOST_EDGE_DB, "dBFS", most=True))
        codec = self.words.of("codec", CLOSED, ALL)
        if codec is not None:
            loss = self.words.scores["teacher", CLOSED][ALL].words_right - codec.words_right
            out.append(_judge("codec loses, closed", loss, MOST_CODEC_LOSS, "points", most=True))
        if self.faults is not None:
            above, begins = self.faults.tone_above_db, self.faults.begins_db
            out.append(
                _judge("tone in the codec's silences over its surroundings", above, MOST_TONE_DB, "dB", most=True)
            )
            out.append(_judge("loudest sample where the codec begins", begins, MOST_EDGE_DB, "dBFS", most=True))
        return out

    def record(self) -> dict[str, object]:
        """For the closing line."""
        words = {
            f"{who} {vocabulary}": {kind: score_row(score) for kind, score in scores.items()}
            for (who, vocabulary), scores in self.words.scores.items()
        }
        in_one = {kind: score_row(score) for kind, score in self.in_one.scores["voice", CLOSED].items() if kind != ALL}
        return {
            "words": words,
            "in_one": in_one,
            "sound": asdict(self.sound),
            "seams": asdict(self.seams),
            "codec": asdict(self.faults) if self.faults else None,
            "judged": [{"what": what, "measured": got, "holds": holds} for what, got, _, holds in self.judgements()],
        }


def _judge(what: str, got: float, limit: float, unit: str, *, most: bool = False) -> Judgement:
    sign = "≤" if most else "≥"
    return what, f"{got:.2f} {unit}", f"{sign} {limit:g} {unit}", got <= limit if most else got >= limit


def score_row(score: Score) -> dict[str, float]:
    """Rounded figures of a score."""
    row = {
        "utterances": score.utterances, "words": score.words, "words_right": score.words_right,
        "wer": score.word_error_rate, "ended": score.ended_by_itself,
    }  # fmt: skip
    if score.ratios:
        row |= {f"ratio_p{p}": score.ratio(p) for p in (5, 50, 95)}
    return {name: round(float(value), 3) for name, value in row.items()}


def show_result(result: Result) -> None:
    """Tables of one speaker."""
    _show_words(result)
    _show_sound(result)
    show(
        f"{result.speaker}: what was to be reached",
        ["", "measured", "wanted", ""],
        [
            (what, got, wanted, "holds" if holds else "DOES NOT HOLD")
            for what, got, wanted, holds in result.judgements()
        ],
    )


def _show_words(result: Result) -> None:
    present = [pair for pair in _WHO if pair in result.words.scores]
    rows = []
    for source in (result.words, result.in_one):
        voice = source.scores["voice", CLOSED]
        for kind, own in voice.items():
            if kind == ALL and source is result.in_one:
                continue
            found = [source.of(who, vocabulary, kind) for who, vocabulary in present]
            right = [f"{score.words_right:.1f}" if score else "-" for score in found]
            ratio = " / ".join(f"{own.ratio(p):.2f}" for p in (5, 50, 95))
            rows.append(
                (kind, own.utterances, *right, f"{own.word_error_rate:.1f}", f"{own.ended_by_itself:.1f}", ratio)
            )
    columns = [f"{who} {vocabulary}" for who, vocabulary in present]
    show(
        f"{result.speaker}: words right, percent",
        ["kind", "n", *columns, "WER closed", "ended", "duration p5 / 50 / 95"],
        rows,
    )


def _show_sound(result: Result) -> None:
    sound, seams, faults = result.sound, result.seams, result.faults
    rows: list[tuple[Value, ...]] = [
        (f"loudness of the {who}: median LUFS; p5 to p95, deviation, least to most LU",
         f"{s.median:.1f}; {s.p5_to_p95:.2f}, {s.deviation:.2f}, {s.least_to_most:.2f}" if s else "silent")
        for who, s in (("voice", sound.voice), ("teacher", sound.teacher))
    ]  # fmt: skip
    if (pitch := sound.pitch) is not None:
        rows.append((
            f"pitch contour against the teacher's ({pitch.utterances}): correlation median, p10; shift semitones",
            f"{pitch.median:.3f}, {pitch.p10:.3f}; {pitch.shift:+.2f}",
        ))  # fmt: skip
    pauses, teacher = (" / ".join(f"{p:.2f}" for p in each) for each in (seams.pauses_s, seams.teacher_pauses_s))
    rows.append((f"joins of long texts ({seams.joins}): pause s p5 / 50 / 95; the teacher's", f"{pauses}; {teacher}"))
    rows.append((
        "joins: level step median, worst dB; loudest edge dBFS",
        f"{seams.level_step_db:.1f}, {seams.level_step_worst_db:.1f}; {seams.edge_db:.0f}",
    ))  # fmt: skip
    if faults is not None:
        rows.append(("codec alone: mel distance dB; level dB", f"{faults.mel_distance_db:.2f}; {faults.level_db:+.2f}"))
        rows.append((
            f"codec: strongest tone in {faults.silence_s:.0f} s of silence: Hz, dBFS, dB above its surroundings",
            f"{faults.tone_hz:.0f}, {faults.tone_db:.1f}, {faults.tone_above_db:.1f}",
        ))  # fmt: skip
        rows.append((
            "codec: voiced 10 ms off the teacher's pitch by 3 semitones, in the first second, in all, percent",
            f"{faults.pitch_off_first_percent:.1f}, {faults.pitch_off_percent:.1f}",
        ))  # fmt: skip
        rows.append((
            "codec: curvature at frame borders, at the sharpest place in a frame, dB over the median",
            f"{faults.border_db:.1f}, {faults.sharpest_db:.1f}",
        ))  # fmt: skip
    show(f"{result.speaker}: sound", ["", "measured"], rows)


def show_many(speaker: str, many: Many) -> None:
    """What became of many inputs."""
    record = many.summary()
    show(f"{speaker}: {many.inputs} varied inputs", ["", "measured"], [(name, str(v)) for name, v in record.items()])


def show_long(speaker: str, long: Long) -> None:
    """What became of the words of long sentences."""
    rows = [
        (name, f"{len(v)}: {', '.join(map(str, v))}" if isinstance(v, list) and "seconds" not in name else str(v))
        for name, v in long.summary().items()
    ]
    show(f"{speaker}: sentences of 10 to 15 s in one piece", ["", "measured"], rows)
