"""What is compared with the official package: the models, the utterances, and the file of recorded answers.

Purpose: one list that the recorder (`official_reference`, in the official package's own environment) and the ordinary
tests (`test_parity`, without it) share. Knows: which layouts, model types and languages there are. Does not know:
torch, our engine.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from app.phones import PHONES, PhoneFrontEnd
from app.spans import SpannedText
from app.speakable import speakable
from tests.tiny_spec import TinySpec

GOLDEN = Path(__file__).parent / "golden"
INDEX = GOLDEN / "index.json"
FRAMES = 48
"""Frames of an utterance that is not ended by the model."""
MARGIN = 1e-3
"""Least distance between the best and the second best logit in every greedy choice of a recorded utterance."""

Ending = Literal["limit", "end", "early"]
Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int32]

MODELS: dict[str, TinySpec] = {
    "custom": TinySpec(seed=11),
    "custom_large": TinySpec(seed=12, model_size="1b7", predictor_hidden=48, codebooks=6, kv_heads=4, codec_window=9),
    "design": TinySpec(seed=13, kind="voice_design", model_size="1b7", predictor_hidden=32, storage="bfloat16"),
    "base": TinySpec(seed=14, kind="base", head_dim=32, codebooks=5, layers=2),
    "base_large": TinySpec(seed=15, kind="base", model_size="1b7", hidden=80, codebooks=16, predictor_layers=1),
    "ends": TinySpec(seed=40, end_gain=1.35, codebooks=4),
    "early": TinySpec(seed=16, end_gain=2.2, codebooks=4),
    "rates": TinySpec(
        seed=17, codebooks=3, codec_rates=(8, 5, 4, 3), codec_channels=32, codec_gain=8.0, codec_window=5
    ),
}
"""`base` has heads * head_dim unequal to hidden; `rates` has the released models' 1920 samples a frame and is so loud
that it runs into the clamp; windows below the length of the decoded codes are there to be left."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """One utterance to compare."""

    model: str
    name: str
    layout: Literal["whole", "streaming"] = "whole"
    voice: str | None = None
    language: str = "auto"
    instruct: str | None = None
    repetition_penalty: float = 1.05
    vector_seed: int | None = None
    """Base: seed of the speaker vector."""
    ending: Ending = "limit"
    """`limit` is cut at `FRAMES`, `end` by the end code; `early` would end before two codes if that were allowed."""
    short: bool = False
    """Whether the text must run out before the frames do, rather than the frames before the text."""

    @property
    def key(self) -> str:
        """Name of the case among all cases."""
        return f"{self.model}.{self.name}"


CASES: tuple[Case, ...] = (
    Case(model="custom", name="language", voice="aiden", language="english", short=True),
    Case(
        model="custom",
        name="language_no_penalty",
        voice="Serena",
        language="German",
        repetition_penalty=1.0,
        short=True,
    ),
    Case(model="custom", name="auto", voice="serena", short=True),
    Case(model="custom", name="dialect_auto", voice="eric", short=True),
    Case(model="custom", name="dialect_chinese", voice="dylan", language="chinese", short=True),
    Case(model="custom", name="dialect_other", voice="eric", language="japanese", short=True),
    Case(model="custom", name="streaming_short", layout="streaming", voice="aiden", language="english", short=True),
    Case(model="custom", name="streaming_long", layout="streaming", voice="dylan", language="auto"),
    Case(
        model="custom", name="instruct_ignored", voice="aiden", instruct="Whisper this", language="english", short=True
    ),
    Case(model="custom_large", name="instruct", voice="aiden", instruct="Speak with a warm voice", language="english"),
    Case(model="custom_large", name="auto", voice="serena", repetition_penalty=1.0),
    Case(model="custom_large", name="streaming", layout="streaming", voice="eric", instruct="As fast as you can"),
    Case(model="design", name="instruct", instruct="A calm old man", language="english"),
    Case(model="design", name="auto", instruct="A young woman in a hurry", repetition_penalty=1.0),
    Case(model="design", name="no_instruct", language="chinese"),
    Case(model="design", name="streaming", layout="streaming", instruct="A robot", language="german", short=True),
    Case(model="base", name="language", layout="streaming", language="english", vector_seed=1, short=True),
    Case(model="base", name="auto", layout="streaming", vector_seed=2),
    Case(model="base", name="whole", language="chinese", vector_seed=3, repetition_penalty=1.0),
    Case(model="base_large", name="language", layout="streaming", language="japanese", vector_seed=4),
    Case(model="base_large", name="whole", vector_seed=5, repetition_penalty=1.3),
    Case(model="ends", name="end", voice="aiden", language="english", ending="end"),
    Case(model="ends", name="streaming_end", layout="streaming", voice="serena", ending="end"),
    Case(model="ends", name="early", voice="aiden", language="german", ending="early"),
    Case(model="early", name="two_frames", voice="aiden", ending="early"),
    Case(model="rates", name="language", voice="aiden", language="english", short=True),
)

CODEC_CASES: dict[str, int] = {"custom": 170, "custom_large": 40, "rates": 24}
"""Models whose codec also decodes random codes of so many frames: more than the window, and short of the 300 frames
beyond which the official package's own output is approximate."""

TEXTS: tuple[str, ...] = (
    "Hello there",
    "the sea",
    "Go on",
    "GitHub and iPhone",
    "A caf\u00e9, a cafe\u0301",
    "\u4f60\u597d\uff0c\u4e16\u754c",
    "Nine and 22",
    "one more",
    "is that so?",
    "You, me & them",
    "  two spaces",
    "It's 7 o'clock",
    "the other one",
    "Never again!",
    "What now?",
    "over the hill",
    "in the rain",
    "Sing a song",
    "a song of six",
    "Good night",
    "An hour ago",
    "Is anybody in the house who can tell me where the other half of the paper went",
    "She wrote the whole letter in one evening, and sent it the next morning without reading it again",
    "The harbour lay still under the fog while the first boats came in with almost nothing to sell",
    "Take the second road on the left, go over the bridge, and ask there for the house of the clockmaker",
    "When the wind turned we could hear the bells of three villages, each of them a little late",
    "Nobody had told the children that the river was older than the town and the town older than the wall",
    "After the storm they counted 17 trees across the road and one GitHub sticker on a lost iPhone",
    "We kept the lamp burning because the road was long and the visitors did not know the last turn",
    "There is more salt in the soup than in the sea, he said, and went on eating as if it were nothing",
)


def codec_codes(model: str) -> Ints:
    """The random codes a codec case decodes, int [frames, codebooks]."""
    spec = MODELS[model]
    noise = np.random.RandomState(spec.seed).random_sample((CODEC_CASES[model], spec.codebooks))
    return (noise * spec.codes).astype(np.int32)


def speaker_vector(seed: int, width: int) -> Floats:
    """A speaker vector of ordinary size."""
    return (np.random.RandomState(seed).random_sample(width) * 3.0 - 1.5).astype(np.float32)


def add_speech_options(parser: argparse.ArgumentParser) -> None:
    """The options of one utterance, the same for the official package and for ours."""
    parser.add_argument("--checkpoint", type=Path, required=True, help="directory in the official layout")
    parser.add_argument("--text", required=True)
    parser.add_argument("--voice", help="speaker of a CustomVoice model")
    parser.add_argument("--language", default="auto")
    parser.add_argument("--instruct")
    parser.add_argument("--layout", choices=("whole", "streaming"), default="whole")
    parser.add_argument("--repetition-penalty", type=float, default=1.05)
    parser.add_argument("--vector-seed", type=int, default=1, help="Base: seed of the random speaker vector")
    parser.add_argument("--frames", type=int, default=200, help="most frames")


def case_of(options: argparse.Namespace) -> Case:
    """What `add_speech_options` asked for."""
    return Case(
        model="",
        name="",
        layout=options.layout,
        voice=options.voice,
        language=options.language,
        instruct=options.instruct,
        repetition_penalty=options.repetition_penalty,
        vector_seed=options.vector_seed,
    )


def text_for_tokenizer(checkpoint: Path, text: str) -> str:
    """The text itself, or for a checkpoint that reads phone symbols, those."""
    if not (checkpoint / PHONES).is_file():
        return text
    return PhoneFrontEnd(checkpoint).pronounce(speakable(SpannedText.of(text)).text)


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What the official package said to one case."""

    text: str
    text_ids: tuple[int, ...]
    """Ids of the whole chat string."""
    instruct_ids: tuple[int, ...]
    prompt_rows: int
    ended: bool
    talker_margin: float
    predictor_margin: float
    codes: Ints
    """int [frames, codebooks]."""
    logits: Floats
    """f32 [choices, codes + 1]: raw logits of the codes, then of the end code; choices = frames + 1."""
    wave: Floats
    """f32 [samples]: the whole utterance decoded at once."""

    @property
    def body_ids(self) -> tuple[int, ...]:
        """Ids of the text alone."""
        return self.text_ids[3:-5]


@dataclass(frozen=True, kw_only=True)
class Answers:
    """Everything recorded of one model."""

    checkpoint: str
    """Checksum of the checkpoint's tensors."""
    cases: dict[str, Answer]
    codec_wave: Floats | None
    """The waveform of `codec_codes`."""


_ARRAYS = ("codes", "logits", "wave")


def save_answers(answers: dict[str, Answers], versions: dict[str, str]) -> None:
    """Write `index.json` and one array file per model."""
    GOLDEN.mkdir(exist_ok=True)
    lines = [f'"made_with": {json.dumps(versions)}']
    for model, found in answers.items():
        arrays: dict[str, npt.NDArray[np.generic]] = {}
        lines.append(f'"{model}": {{"checkpoint": "{found.checkpoint}", "cases": {{')
        for name, answer in found.cases.items():
            facts = asdict(answer)
            for array in _ARRAYS:
                value = facts.pop(array)
                arrays[f"{name}.{array}"] = value.astype(np.int16) if array == "codes" else value
            comma = "," if name != list(found.cases)[-1] else "}}"
            lines[-1] += f'\n"{name}": {json.dumps(facts, ensure_ascii=False)}{comma}'
        if found.codec_wave is not None:
            arrays["codec"] = found.codec_wave
        np.savez_compressed(GOLDEN / f"{model}.npz", **arrays)  # type: ignore[arg-type]
    INDEX.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def load_answers(model: str) -> Answers:
    """Read what was recorded of one model."""
    entry = json.loads(INDEX.read_text(encoding="utf-8"))[model]
    with np.load(GOLDEN / f"{model}.npz") as arrays:
        cases = {}
        for name, facts in entry["cases"].items():
            for ids in ("text_ids", "instruct_ids"):
                facts[ids] = tuple(facts[ids])
            codes = arrays[f"{name}.codes"].astype(np.int32)
            cases[name] = Answer(**facts, codes=codes, logits=arrays[f"{name}.logits"], wave=arrays[f"{name}.wave"])
        return Answers(checkpoint=entry["checkpoint"], cases=cases, codec_wave=arrays.get("codec"))
