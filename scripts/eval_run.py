"""What scripts/eval_voice runs: one of its five jobs, for every speaker that was asked for.

Knows: the command line and the order of things. Does not know: how anything is measured.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Final

from engines.contract import Layout, Sampling, SpeechRequest
from engines.errors import SpeechError
from export.train.loudness import even
from export.train.sentences import sentences
from scripts import eval_codec
from scripts.bench_tools import DEFAULT_CHECKPOINT, ROOT, close, machine
from scripts.eval_case import Evaluation
from scripts.eval_page import write_page
from scripts.eval_report import score_row, show_long, show_many, show_result
from scripts.eval_teacher import teach

CACHE: Final = ROOT / ".cache" / "eval_voice"

_ABOUT = """Measure a voice, spoken by the real engine and heard by a recogniser, beside its teacher.

By default, for every speaker: words right with a closed vocabulary (a trigram model of all test sentences) and with the
recogniser's own, for teacher, voice and codec alone, by kind of sentence; ends, durations, loudness, pitch, the joins
of long texts, faults of the codec; what of it was to be reached. Tables, a page of spectrograms, and one JSON line.
The closed vocabulary takes 0.2 s a sentence and listener on a quiet core, the large one longer. What was heard once is
kept in the cache, so a run that was stopped goes on where it was."""


def options(arguments: list[str] | None = None) -> argparse.Namespace:
    """The command line, or `arguments`."""
    parser = argparse.ArgumentParser(
        prog="eval_voice", description=_ABOUT, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--voice", type=Path, default=DEFAULT_CHECKPOINT, help="a checkpoint of ours, or a bundle")
    parser.add_argument("--speaker", action="append", help="measure this one only (again for more)")
    parser.add_argument("--sentences", type=int, default=0, metavar="N", help="of the 226 about N, of the 72 N/3")
    parser.add_argument("--closed", action="store_true", help="leave the recogniser's large vocabulary out")
    parser.add_argument(
        "--temperature", type=float, help="draw codes at this temperature (default: the voice's own way)"
    )
    parser.add_argument("--penalty", type=float, help="repetition penalty (default: the voice's own)")
    layouts = [layout.value for layout in Layout]
    parser.add_argument("--layout", choices=layouts, default="auto", help="where the text stands in the prompt")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2, help="processes that listen, threads that speak (default 2)")
    parser.add_argument("--page", type=Path, default=CACHE / "voice.html", help="where the spectrograms go")
    parser.add_argument("--cache", type=Path, default=CACHE, help="what the teachers said, and what was heard")
    job = parser.add_mutually_exclusive_group()
    job.add_argument("--many", type=int, metavar="N", help="instead: N varied inputs; do they end, in time, and "
                     "with sound? (1000 make 77 minutes of sound a speaker)")  # fmt: skip
    job.add_argument("--long", action="store_true", help="instead: 72 sentences of 10 to 15 s in one piece each; which "
                     "words are lost, by the recogniser and by the talker's own attention")  # fmt: skip
    job.add_argument("--sampling", action="store_true", help="instead: compare ways of sampling on 62 other sentences")
    job.add_argument("--encode", action="append", metavar="SPEAKER=FILE", help="instead: code the teachers' sentences "
                     "with the encoder of a training's codec.pt, for the measures of the codec alone")  # fmt: skip
    return parser.parse_args(arguments)


def asked(chosen: argparse.Namespace) -> SpeechRequest:
    """What every utterance is asked for with; None leaves it to the voice."""
    heat = chosen.temperature
    sampling = Sampling(greedy=None if heat is None else heat <= 0.0, temperature=heat or None,
                        repetition_penalty=chosen.penalty)  # fmt: skip
    return SpeechRequest(language="english", layout=Layout(chosen.layout), sampling=sampling, seed=chosen.seed)


def encode(chosen: argparse.Namespace) -> dict[str, object]:
    """Write the coded sentences anew."""
    books, texts = eval_codec.books_of(chosen.voice), [text for _, text in sentences()]
    coded = {}
    for wish in chosen.encode:
        speaker, _, file = wish.partition("=")
        waves = [even(wave, eval_codec.RATE_HZ) for wave in teach(speaker, texts, eval_codec.RATE_HZ, chosen.cache)]
        coded[speaker] = eval_codec.encode(Path(file), books, waves)
    eval_codec.write_coded(eval_codec.name_of(books, texts), coded)
    return {speaker: sum(map(len, codes)) for speaker, codes in coded.items()}


def measure(chosen: argparse.Namespace) -> dict[str, object]:
    """The job that was asked for, over all speakers; tables are shown as they come."""
    record: dict[str, object] = {"voice": str(chosen.voice), "machine": machine()}
    with Evaluation(chosen.voice, chosen.cache, chosen.jobs, chosen.sentences) as evaluation:
        pages, request = {}, asked(chosen)
        for speaker in chosen.speaker or evaluation.info.speakers:
            if chosen.sampling:
                scores = evaluation.compare_sampling(speaker, request)
                record[speaker] = {name: score_row(score) for name, score in scores.items()}
            elif chosen.long:
                long = evaluation.long(speaker, request)
                show_long(speaker, long)
                record[speaker] = long.summary()
            elif chosen.many:
                many = evaluation.many(speaker, chosen.many, request)
                show_many(speaker, many)
                record[speaker] = many.summary()
            else:
                result, pages[speaker] = evaluation.measure(speaker, request, large=not chosen.closed)
                show_result(result)
                record[speaker] = result.record()
        if pages:
            write_page(chosen.page, f"{evaluation.info.name}: voice and teacher", pages, evaluation.info.sample_rate_hz)
            print(f"spectrograms: {chosen.page}")
    return record


def main(arguments: list[str] | None = None) -> None:
    """Run, as the command line or `arguments` say; an interrupt ends it quietly, with what was heard so far kept."""
    chosen = options(arguments)
    try:
        record = encode(chosen) if chosen.encode else measure(chosen)
    except KeyboardInterrupt:
        print("stopped; what was heard so far is kept", file=sys.stderr)
        raise SystemExit(130) from None
    except (SpeechError, OSError, ValueError, KeyError) as error:
        print(f"eval_voice: {error}", file=sys.stderr)
        raise SystemExit(1) from None
    close(record)


if __name__ == "__main__":
    main()
