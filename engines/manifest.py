"""The manifest: what a bundle says about itself, and the names its graphs speak by.

Purpose: the one contract between `export` (writes it) and the engine (reads it). Every dimension, id, default and file
of a voice model stands here; nobody writes 24000, 1920, 80 or 16 in code.
Knows: the fields of `manifest.json`, their types and laws. Does not know: ONNX, devices, text rules, sockets.
"""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Final

from engines.errors import BundleError
from engines.graph_names import CodecInputs as CodecInputs  # noqa: PLC0414 - part of this contract
from engines.graph_names import CodecOutputs as CodecOutputs  # noqa: PLC0414 - part of this contract
from engines.graph_names import FrameInputs as FrameInputs  # noqa: PLC0414 - part of this contract
from engines.graph_names import FrameOutputs as FrameOutputs  # noqa: PLC0414 - part of this contract
from engines.graph_names import Tables as Tables  # noqa: PLC0414 - part of this contract
from engines.records import Record, read_record, write_record

FORMAT_VERSION: Final = 1
MANIFEST_NAME: Final = "manifest.json"


class ModelType(str, Enum):
    """What a checkpoint was trained for; decides which prompt layouts it understands."""

    CUSTOM_VOICE = "custom_voice"
    VOICE_DESIGN = "voice_design"
    BASE = "base"


class FrontEndKind(str, Enum):
    """How text becomes the string the tokenizer sees: as it is, or as phone symbols."""

    TEXT = "text"
    PHONES = "phones"


class FrameSpec(Record, frozen=True, kw_only=True):
    """One frame of codes and the audio it stands for."""

    sample_rate_hz: int
    samples_per_frame: int
    codebooks: int
    """Codes in a frame: one semantic code and `codebooks - 1` residual ones."""
    codebook_size: int
    """Values of each code."""

    @property
    def frame_ms(self) -> float:
        """Length of one frame of audio, milliseconds."""
        return 1000.0 * self.samples_per_frame / self.sample_rate_hz


class StackSpec(Record, frozen=True, kw_only=True):
    """Dimensions of one transformer stack with a key/value cache (talker, code predictor)."""

    hidden: int
    layers: int
    heads: int
    """Of the queries."""
    kv_heads: int
    """Of keys and values; each serves `heads / kv_heads` query heads."""
    head_dim: int
    vocabulary: int
    """What one choice is made from: codes, and in the talker control ids."""


class StateSpec(Record, frozen=True, kw_only=True):
    """One tensor the codec carries from call to call, without its leading slot axis; zero at the start."""

    name: str
    shape: tuple[int, ...]


class CodecSpec(Record, frozen=True, kw_only=True):
    """The streaming codec decoder: what it must remember between calls."""

    states: tuple[StateSpec, ...]


class TextIds(Record, frozen=True, kw_only=True):
    """Ids of the text vocabulary that the prompt layouts need."""

    role: tuple[int, ...]
    """Ids of the role header that opens every prompt (`<|im_start|>assistant\\n`)."""
    pad: int
    bos: int
    eos: int


class CodecIds(Record, frozen=True, kw_only=True):
    """Control ids of the talker's codec vocabulary."""

    pad: int
    bos: int
    eos: int
    think: int
    nothink: int
    think_bos: int
    think_eos: int


class Speaker(Record, frozen=True, kw_only=True):
    """A built-in speaker of a CustomVoice model."""

    id: int
    """Row of the codec embedding that stands for this speaker."""
    dialect: str | None = None
    """Language that replaces "auto" and "chinese" for this speaker."""


class StageSampling(Record, frozen=True, kw_only=True):
    """How one stage picks a code."""

    do_sample: bool
    temperature: float
    top_k: int
    top_p: float


class SamplingDefaults(Record, frozen=True, kw_only=True):
    """What is used where a request does not say."""

    talker: StageSampling
    predictor: StageSampling
    repetition_penalty: float
    max_top_k: int
    """Width of the graphs' top-k: the largest `top_k` a request may ask for."""


class Limits(Record, frozen=True, kw_only=True):
    """Bounds of one utterance."""

    max_positions: int
    """Rows (prompt and frames) the rotary tables of the graphs reach."""
    max_frames: int
    """Most frames of one utterance, whatever its text."""
    min_frames_cap: int
    """The cap by text length never falls below this."""
    frames_per_text_token: float
    """Cap of an utterance's frames = max(min_frames_cap, frames_per_text_token * text tokens)."""


class TextFrontEnd(Record, frozen=True, kw_only=True):
    """What turns text into ids; the files lie in the bundle."""

    kind: FrontEndKind
    tokenizer: str
    """A `tokenizer.json` in Hugging Face tokenizers' form."""
    files: tuple[str, ...] = ()
    """Further files of the front end (lexicon, letter-to-sound rules), relative to the bundle."""
    live: bool = False
    """Whether the voice was trained in both layouts, so that a sentence still being written may begin with its first
    words. (Base models always do.)"""


class Graphs(Record, frozen=True, kw_only=True):
    """The model's files, relative to the bundle."""

    frame: str
    """ONNX graph of one frame: talker step, sampling, code predictor, next input row."""
    frame_cuda: str | None = None
    """The same for ONNX Runtime's CUDA provider, with caches in f16; None in bundles made before there was one."""
    codec: str
    """ONNX graph of the stateful codec decoder."""
    weights: str
    """Safetensors payload both graphs point into."""
    text_table: str
    """`.npy` [text vocabulary, talker hidden]: projected text rows, memory-mapped."""


class FileEntry(Record, frozen=True, kw_only=True):
    """Size and checksum of one file of the bundle."""

    bytes: int
    sha256: str


class CodebookQuality(Record, frozen=True, kw_only=True):
    """How one codebook's choices differ from those of the unquantised model, over the probe's frames."""

    agreement: float
    """Share of frames whose likeliest code is the same, 0 to 1."""
    divergence: float
    """Mean Kullback-Leibler divergence of the distribution from the reference's, nats."""


class Quality(Record, frozen=True, kw_only=True):
    """What quantisation did to the choice of codes, measured by teacher forcing when the bundle was made."""

    reference: str
    """Precision it was measured against."""
    texts: int
    frames: int
    codebooks: tuple[CodebookQuality, ...]
    least_agreement: float
    """The gate: mean agreement must not be below."""
    most_divergence: float
    """The gate: mean divergence must not be above."""
    forced: bool
    """Whether the bundle was kept although it failed the gate."""

    @property
    def agreement(self) -> float:
        """Mean over the codebooks."""
        return sum(book.agreement for book in self.codebooks) / len(self.codebooks)

    @property
    def divergence(self) -> float:
        """Mean over the codebooks, nats."""
        return sum(book.divergence for book in self.codebooks) / len(self.codebooks)

    @property
    def passed(self) -> bool:
        """Whether both means are within the gate."""
        return self.agreement >= self.least_agreement and self.divergence <= self.most_divergence


class Provenance(Record, frozen=True, kw_only=True):
    """What made the bundle, and from what."""

    exporter: str
    checkpoint: str
    """Name of its directory."""
    precision: str
    """fp32, int8 or int4: how the talker's and predictor's matrices are stored."""
    down_precision: str | None = None
    """Of the down projections, where it is another."""
    licence: str
    """Of the weights."""
    unused_tensors: tuple[str, ...] = ()
    """Tensors of the checkpoint that speaking does not need, by name."""

    @property
    def stored(self) -> str:
        """How all of them are stored, for people."""
        return with_down(self.precision, self.down_precision)


def with_down(precision: str, down: str | None) -> str:
    """A precision for people; `down` is that of the down projections, None where it is the same."""
    return precision if down in {None, precision} else f"{precision}, down projections {down}"


class Manifest(Record, frozen=True, kw_only=True):
    """Everything a runtime must know about a bundle."""

    format_version: int
    family: str
    model_type: ModelType
    model_size: str
    """The checkpoint's own word for its size, for instance "0b6" (which takes no instruct)."""
    frame: FrameSpec
    talker: StackSpec
    predictor: StackSpec
    codec: CodecSpec
    text_ids: TextIds
    codec_ids: CodecIds
    languages: dict[str, int]
    """By name in lower case, the row of the codec embedding that stands for it."""
    speakers: dict[str, Speaker]
    """By name in lower case."""
    sampling: SamplingDefaults
    limits: Limits
    front_end: TextFrontEnd
    graphs: Graphs
    files: dict[str, FileEntry]
    """Every file of the bundle but the manifest, by its path there."""
    provenance: Provenance
    quality: Quality | None = None
    """None where nothing was quantised or measured."""

    @property
    def takes_instruct(self) -> bool:
        """Whether an instruction changes how this model speaks (the 0.6B models ignore it)."""
        return self.model_type is not ModelType.BASE and self.model_size != "0b6"


def read_manifest(bundle: Path) -> Manifest:
    """Read and check `manifest.json` of a bundle directory.

    Raises `BundleError` naming the file and what is wrong with it.
    """
    if (bundle / "config.json").is_file() and not (bundle / MANIFEST_NAME).exists():
        raise BundleError(f"{bundle} is a checkpoint, no voice bundle; python -m export {bundle} BUNDLE makes one")
    return read_record(
        bundle / MANIFEST_NAME, Manifest, FORMAT_VERSION,
        what="voice bundle", wrong=BundleError, remedy="export the bundle again",
    )  # fmt: skip


def write_manifest(bundle: Path, manifest: Manifest) -> None:
    """Write `manifest.json` into a bundle directory, indented for people."""
    write_record(bundle / MANIFEST_NAME, manifest)
