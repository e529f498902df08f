"""`scripts/trace`: see talker and codec at work side by side.

Speaks several utterances at once and writes what the engine did as a trace in Chrome's format: open it in
https://ui.perfetto.dev or chrome://tracing. The first two rows are the engine's threads; below them each slot shows
what was done for it, when it waited, and when its sound came out.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from app.front_end import TextFrontEnd
from engines.contract import SpeechRequest
from engines.engine import EngineConfig, SpeechEngine
from engines.timing import Span, Work
from scripts.bench_tools import DEFAULT_BUNDLE, run
from scripts.trace_picture import picture

TEXT: Final = "The boat left the harbour in the morning, and nobody on the quay thought that it would rain before noon."
_TALKER, _CODEC, _SLOTS = 1, 2, 10  # rows


def main() -> None:
    """Speak, and write the trace."""
    parser = argparse.ArgumentParser(prog="scripts/trace", description=(__doc__ or "").split("\n\n")[1])
    parser.add_argument("output", type=Path, help="file to write, for instance trace.json")
    parser.add_argument("--streams", type=int, default=4, help="utterances at once (default: 4)")
    parser.add_argument("--text", default=TEXT)
    parser.add_argument("--bundle", type=Path, default=DEFAULT_BUNDLE)
    parser.add_argument("--picture", type=Path, metavar="FILE.svg", help="also draw the beginning of it")
    parser.add_argument("--picture-ms", type=float, default=600.0, help="how much is drawn (default: 600)")
    options = parser.parse_args()
    spans = speak(options.bundle, options.text, options.streams)
    made = list(events(spans))
    options.output.write_text(json.dumps({"traceEvents": made, "displayTimeUnit": "ms"}))
    if options.picture:
        options.picture.write_text(picture(made, options.picture_ms), encoding="utf-8")
    print(f"{options.output}: {len(spans)} pieces of work; open it in https://ui.perfetto.dev")


def speak(bundle: Path, text: str, streams: int) -> list[Span]:
    """Say a text so many times at once; what the engine did."""
    front_end = TextFrontEnd.open(bundle)
    ids = tuple(id_ for piece in front_end.feed(text) + front_end.finish() for id_ in piece.ids)
    with SpeechEngine.open(bundle, EngineConfig(slots=streams, max_waiting=0, admission=False)) as engine:
        engine.warm_up()
        utterances = [engine.start(SpeechRequest(seed=number)) for number in range(streams)]
        for utterance in utterances:
            utterance.feed(ids)
            utterance.end_of_text()
        for utterance in utterances:
            while len(utterance.pcm.read(1 << 16, timeout_s=600.0)):
                pass
            utterance.outcome.result(60.0)
        return engine.timeline()


def events(spans: list[Span]) -> Iterator[dict[str, Any]]:
    """The spans as Chrome's trace events: complete events ("X", microseconds) and the rows' names."""
    rows = {_TALKER: "talker", _CODEC: "codec"}
    start = min((span.began for span in spans), default=0.0)
    for span in spans:
        event = {
            "name": span.work.value,
            "ph": "X",
            "pid": 1,
            "ts": 1e6 * (span.began - start),
            "dur": 1e6 * (span.ended - span.began),
            "args": {"slots": list(span.slots), "amount": span.amount, "utterance": span.utterance},
        }
        thread = {Work.PREFILL: _TALKER, Work.STEP: _TALKER, Work.CODEC: _CODEC}.get(span.work)
        if thread is not None:
            yield event | {"tid": thread}
        for slot in span.slots:
            # Sound goes on while steps and calls are made: a row of its own, since boxes of a row must nest.
            row = _SLOTS + 3 * slot + (1 if span.work is Work.CODEC else 2 if span.work is Work.SOUND else 0)
            rows[row] = f"slot {slot}" + {Work.CODEC: ": codec", Work.SOUND: ": sound"}.get(span.work, ": talker")
            yield event | {"tid": row}
    for row, name in rows.items():
        yield {"name": "thread_name", "ph": "M", "pid": 1, "tid": row, "args": {"name": name}}
        yield {"name": "thread_sort_index", "ph": "M", "pid": 1, "tid": row, "args": {"sort_index": row}}


if __name__ == "__main__":
    run(main)
