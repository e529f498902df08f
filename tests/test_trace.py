"""The trace of a run: everything in its row, nothing lost, rows that viewers can draw."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

from engines.timing import Work
from scripts.trace_run import events, speak


def test_talker_and_codec_overlap_and_every_row_nests(tiny_bundle: Path) -> None:
    spans = speak(tiny_bundle, "a few words", 3)
    assert {span.work for span in spans} == set(Work)
    assert len({span.utterance for span in spans if span.work is Work.SOUND}) == 3
    made = list(events(spans))
    json.dumps(made)
    names = {event["tid"]: event["args"]["name"] for event in made if event["name"] == "thread_name"}
    assert {"talker", "codec", "slot 0: talker", "slot 2: sound"} <= set(names.values())
    for row, name in names.items():
        boxes = sorted((event["ts"], event["dur"]) for event in made if event["tid"] == row and event["ph"] == "X")
        for (began, lasted), (following, _) in pairwise(boxes):
            assert following >= began + lasted - 1.0, f"boxes of {name} overlap"
