"""The rows a talker is prefilled with.

Purpose: lay out a request as codec-side and text-side rows, as the Qwen3-TTS family was trained to see them (the
layouts of the official package without reference audio), and check the request's names while doing so. Knows: the order
of the rows, the language and dialect rules, which model type takes what. Does not know: the model, slots, how text
became ids.

Every input row of the talker is the sum of a text row T(id) and a codec row C(id):

    instruct      T(id)                            only for models that take an instruction
    role          T(role id)
    language      PAD + C(think), PAD + C(think_bos), PAD + C(language), PAD + C(think_eos)
      or "auto"   PAD + C(nothink), PAD + C(think_bos), PAD + C(think_eos)
    speaker       PAD + C(speaker)  or  PAD + vector  or no row
                  BOS + C(pad)
    whole         T(text id) + C(pad) ..., EOS + C(pad), PAD + C(bos)
      streaming   T(first text id) + C(bos)        each later frame adds the next text row, EOS once, then PAD

Reference audio will replace the tail; `PromptPlan` is where its codes would enter.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt

from engines.bundle import Bundle
from engines.contract import Layout, SpeechRequest
from engines.errors import RequestError
from engines.manifest import ModelType, Speaker

AUTO: Final = "auto"
_DIALECT_OF: Final = "chinese"  # the language that a dialect speaker's own dialect stands in for, besides "auto"

Rows = npt.NDArray[np.float32]
T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class PromptPlan:
    """A request's checked choices; everything of the prompt but its text."""

    layout: Layout
    """WHOLE or STREAMING."""
    instruct_ids: tuple[int, ...]
    language_ids: tuple[int, ...]
    """Codec ids of the language rows."""
    speaker: int | Rows | None
    """Row of the codec embedding, or a vector f32 [hidden], or no speaker row."""
    fixed_rows: int
    """Rows of the prompt that are not text."""

    def rows(self, text_ids: int) -> int:
        """Rows of the prompt for a text of that many ids."""
        return self.fixed_rows + (text_ids if self.layout is Layout.WHOLE else 1)


@dataclass(frozen=True, slots=True, eq=False)
class Prompt:
    """Rows to prefill, both f32 [rows, hidden]; the talker sums them."""

    codec_rows: Rows
    text_rows: Rows


class PromptBuilder:
    """Makes prompts for one bundle. Immutable; may be used from any thread."""

    def __init__(self, bundle: Bundle) -> None:
        self._manifest = bundle.manifest
        self._text = bundle.text_table
        self._codec = bundle.codec_embedding
        self._languages = {name.casefold(): id_ for name, id_ in bundle.manifest.languages.items()}
        self._speakers = {name.casefold(): speaker for name, speaker in bundle.manifest.speakers.items()}

    def plan(self, request: SpeechRequest) -> PromptPlan:
        """Check the request's names and choose its rows.

        Names are case-insensitive. An instruction to a model that ignores instructions is left out, as the official
        package does. Raises `RequestError` listing what is known.
        """
        speaker, dialect = self._choose_speaker(request)
        language_ids = self._choose_language(request.language, dialect)
        layout = self._choose_layout(request.layout)
        self.check_text(request.instruct_ids)
        instruct_ids = request.instruct_ids if self._manifest.takes_instruct else ()
        head = len(instruct_ids) + len(self._manifest.text_ids.role) + len(language_ids) + (speaker is not None) + 1
        tail = 2 if layout is Layout.WHOLE else 0
        return PromptPlan(layout, instruct_ids, language_ids, speaker, head + tail)

    def check_text(self, ids: Iterable[int]) -> None:
        """Raise `RequestError` for an id outside the text vocabulary."""
        for id_ in ids:
            if not 0 <= id_ < len(self._text):
                raise RequestError(f"text id {id_} is outside this voice's vocabulary of {len(self._text)}")

    def build(self, plan: PromptPlan, ids: tuple[int, ...]) -> Prompt:
        """Lay out the rows: WHOLE takes all of `ids`, STREAMING the first one. Needs at least one id."""
        text, codec = self._manifest.text_ids, self._manifest.codec_ids
        rows = plan.rows(len(ids))
        prompt = Prompt(
            np.zeros((rows, self._codec.shape[1]), dtype=np.float32),
            np.empty((rows, self._codec.shape[1]), dtype=np.float32),
        )
        bare = (*plan.instruct_ids, *self._manifest.text_ids.role)
        pads = len(plan.language_ids) + (plan.speaker is not None)
        whole = plan.layout is Layout.WHOLE
        tail = (*ids, text.eos, text.pad) if whole else ids[:1]
        prompt.text_rows[:] = self._text[np.array((*bare, *(text.pad,) * pads, text.bos, *tail), dtype=np.intp)]
        row = len(bare)
        for id_ in plan.language_ids:
            prompt.codec_rows[row] = self._codec[id_]
            row += 1
        if plan.speaker is not None:
            prompt.codec_rows[row] = self._codec[plan.speaker] if isinstance(plan.speaker, int) else plan.speaker
            row += 1
        prompt.codec_rows[row:-1] = self._codec[codec.pad]
        prompt.codec_rows[-1] = self._codec[codec.bos]
        return prompt

    def _choose_layout(self, wished: Layout) -> Layout:
        if wished is not Layout.AUTO:
            return wished
        return Layout.STREAMING if self._manifest.model_type is ModelType.BASE else Layout.WHOLE

    def _choose_language(self, name: str, dialect: str | None) -> tuple[int, ...]:
        codec = self._manifest.codec_ids
        wished = name.casefold()
        if dialect is not None and wished in {AUTO, _DIALECT_OF}:
            wished = dialect.casefold()
        if wished == AUTO:
            return (codec.nothink, codec.think_bos, codec.think_eos)
        language = _look_up(self._languages, wished, "language", name, (AUTO, *self._manifest.languages))
        return (codec.think, codec.think_bos, language, codec.think_eos)

    def _choose_speaker(self, request: SpeechRequest) -> tuple[int | Rows | None, str | None]:
        """The speaker row, and the speaker's dialect."""
        if request.speaker_vector is not None:
            if self._manifest.model_type is not ModelType.BASE:
                raise RequestError("this voice has its own speakers; a speaker vector is for base models")
            if request.voice is not None:
                raise RequestError("give a voice or a speaker vector, not both")
            return self._check_vector(request.speaker_vector), None
        if request.voice is not None:
            speaker = self._find_speaker(request.voice)
            return speaker.id, speaker.dialect
        if self._speakers:
            speaker = next(iter(self._speakers.values()))
            return speaker.id, speaker.dialect
        if self._manifest.model_type is ModelType.BASE:
            raise RequestError("this voice is a base model without speakers: give a speaker vector")
        return None, None

    def _find_speaker(self, name: str) -> Speaker:
        if not self._speakers:
            raise RequestError(f"unknown voice {name!r}: this model has no named speakers; leave the voice out")
        return _look_up(self._speakers, name.casefold(), "voice", name, self._manifest.speakers)

    def _check_vector(self, vector: Rows) -> Rows:
        hidden = self._manifest.talker.hidden
        if vector.shape != (hidden,) or not np.isfinite(vector).all():
            raise RequestError(f"a speaker vector of this voice is {hidden} finite numbers, not {list(vector.shape)}")
        return vector.astype(np.float32)


def _look_up(table: Mapping[str, T], key: str, kind: str, said: str, known: Iterable[str]) -> T:
    found = table.get(key)
    if found is None:
        raise RequestError(f"unknown {kind} {said!r}; known are: {', '.join(known)}")
    return found
