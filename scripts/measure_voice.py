"""What scripts/eval_voice runs: speaks the test sentences with a checkpoint and scores what a recogniser hears.

Knows: which scores belong in the report. Does not know: how scores (`evaluate`) and speech (`reference`) are made.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import soundfile
import torch

from app.phones import PhoneFrontEnd
from export.train import evaluate, teacher
from export.train.oracle import Listener
from export.train.pipeline import TEACHERS
from export.train.reference import Sampling, Speaker
from export.train.sentences import sentences
from export.train.shape import VoiceShape
from export.train.teacher_flite import Flite

Spoken = tuple[evaluate.Wave, bool]


@dataclass(frozen=True)
class Wishes:
    """What to measure."""

    speakers: tuple[str, ...] = ()
    every: int = 1
    open: bool = False
    temperature: float = 0.0
    penalty: float = 1.05
    language: str | None = "english"
    wavs: Path | None = None


def shape_of(checkpoint: Path) -> VoiceShape:
    """The dimensions of our own checkpoints are those of `VoiceShape`; speakers and table sizes come from the file."""
    config = json.loads((checkpoint / "config.json").read_text(encoding="utf-8"))["talker_config"]
    speakers = {name: number + 2048 - VoiceShape().codes for name, number in config["spk_id"].items()}
    return VoiceShape(speakers=speakers, text_vocab=config["text_vocab_size"])


def teacher_waves(speaker: str, texts: list[str], rate: int) -> list[evaluate.Wave]:
    """What the teacher of a speaker says."""
    if TEACHERS.get(speaker) == "flite":
        flite = Flite()
        return [flite.speak(text, rate).wave for text in texts]
    return [told.wave for told in teacher.festival(texts, rate)]


def loudness(waves: list[evaluate.Wave]) -> float:
    """Spread of levels: 95th minus 5th percentile of each utterance's RMS level [dB]."""
    levels = [20 * np.log10(np.sqrt(np.mean(np.square(w))) + 1e-6) for w in waves if len(w)]
    return float(np.percentile(levels, 95) - np.percentile(levels, 5))


def run(checkpoint: Path, wishes: Wishes) -> str:
    """Measure and report."""
    shape = shape_of(checkpoint)
    front_end, voice = PhoneFrontEnd(checkpoint), Speaker(checkpoint, shape)
    chosen = sentences()
    every_text = [text for _, text in chosen]
    chosen = chosen[:: wishes.every]
    texts = [text for _, text in chosen]
    listeners: dict[str, Callable[[], Listener]] = {"closed": lambda: Listener(every_text)}
    if wishes.open:
        listeners["open"] = Listener
    sampling = Sampling(wishes.temperature, wishes.temperature, penalty=wishes.penalty)
    parts = []
    for speaker in wishes.speakers or tuple(shape.speakers):
        taught = dict(zip(texts, teacher_waves(speaker, texts, shape.sample_rate), strict=True))
        made: dict[str, Spoken] = {}
        for text in texts:
            found = voice.codes(front_end.pronounce(text), speaker, wishes.language, sampling)
            made[text] = voice.sound(found.frames).numpy(), found.ended
        lengths = [len(taught[text]) / shape.sample_rate for text in texts]
        for name, make in listeners.items():
            listener, title = make(), f"{speaker}, {name} vocabulary"
            for who, speak in (("teacher", lambda t, taught=taught: (taught[t], True)), ("voice", made.__getitem__)):
                scores = evaluate.score(chosen, speak, listener, shape.sample_rate, lengths)
                parts.append(evaluate.report(f"{title}, {who}", scores))
        spread = loudness([wave for wave, _ in made.values()])
        parts.append(f"{speaker}: level spread (p95 - p5) {spread:.1f} dB")
        if wishes.wavs is not None:
            wishes.wavs.mkdir(parents=True, exist_ok=True)
            for i, text in enumerate(texts):
                soundfile.write(wishes.wavs / f"{speaker}-{i:03d}.wav", made[text][0], shape.sample_rate)
    return "\n".join(parts)


def main() -> None:
    """Parse, measure, print."""
    default = Path(__file__).parent.parent / "engines" / "voices" / "default" / "checkpoint"
    parser = argparse.ArgumentParser(prog="eval_voice", description="Words right, ends, durations on unseen sentences.")
    parser.add_argument("--checkpoint", type=Path, default=default)
    parser.add_argument("--speakers", default="", help="comma-separated (default: all of the checkpoint)")
    parser.add_argument("--every", type=int, default=1, help="measure every n-th sentence only")
    parser.add_argument("--open", action="store_true", help="also with the recogniser's own large vocabulary (slow)")
    parser.add_argument("--temperature", type=float, default=0.0)
    parser.add_argument("--penalty", type=float, default=1.05, help="repetition penalty")
    parser.add_argument("--auto", action="store_true", help="no language row")
    parser.add_argument("--wavs", type=Path, default=None, help="keep the waveforms here")
    parser.add_argument("--threads", type=int, default=0, help="CPU threads (default: all)")
    chosen = parser.parse_args()
    if chosen.threads:
        torch.set_num_threads(chosen.threads)
    wishes = Wishes(
        tuple(filter(None, chosen.speakers.split(","))), chosen.every, chosen.open, chosen.temperature,
        chosen.penalty, None if chosen.auto else "english", chosen.wavs,
    )  # fmt: skip
    print(run(chosen.checkpoint, wishes))


if __name__ == "__main__":
    main()
