"""The official package's model, with an ear at its logits. Needs `qwen-tts` 0.1.1 and torch: see `scripts/parity`.

Purpose: one checkpoint loaded and spoken with through the official package's public calls, from text to sound; logits
and codes are overheard with hooks. Does not know: what is asked, our exporter, our engine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from qwen_tts import Qwen3TTSModel, VoiceClonePromptItem
from safetensors import safe_open
from transformers import AutoProcessor

from tests.parity_cases import Answer, Case, Floats, Ints, speaker_vector
from tests.tiny_checkpoint import MODEL_FILES

_MIXED_CASE = "GitHub iPhone MacBook PyTorch YouTube"


@dataclass
class Overheard:
    """What the hooks caught during one utterance."""

    prompt_rows: int = 0
    logits: list[Floats] = field(default_factory=list)
    predictor_margin: float = float("inf")
    codes: Ints | None = None


class Official:
    """The official model of one checkpoint, on the CPU in float32."""

    def __init__(self, checkpoint: Path) -> None:
        self.model: Any = Qwen3TTSModel.from_pretrained(str(checkpoint), dtype=torch.float32)
        self.checkpoint = checkpoint
        self.kind: str = self.model.model.tts_model_type
        self.talker: Any = self.model.model.talker
        self.heard = Overheard()
        self.talker.codec_head.register_forward_hook(self._hear_talker)
        for head in self.talker.code_predictor.lm_head:
            head.register_forward_hook(self._hear_predictor)
        generate: Callable[..., Any] = self.model.model.generate

        def listening(*args: Any, **kwargs: Any) -> Any:
            result = generate(*args, **kwargs)
            self.heard.codes = result[0][0].numpy().astype(np.int32)
            return result

        self.model.model.generate = listening

    def _hear_talker(self, _module: Any, _inputs: Any, output: Any) -> None:
        if not self.heard.logits:
            self.heard.prompt_rows = int(output.shape[1])
        self.heard.logits.append(output[0, -1].detach().numpy().copy())

    def _hear_predictor(self, _module: Any, _inputs: Any, output: Any) -> None:
        best = torch.topk(output[0, -1].detach(), 2).values
        self.heard.predictor_margin = min(self.heard.predictor_margin, float(best[0] - best[1]))

    def answer(self, case: Case, text: str, frames: int) -> Answer:
        """Speak `text` greedily, at most `frames` frames."""
        self.heard = Overheard()
        options: dict[str, Any] = {
            "text": text,
            "language": case.language,
            "non_streaming_mode": case.layout == "whole",
            "do_sample": False,
            "subtalker_dosample": False,
            "repetition_penalty": case.repetition_penalty,
            "max_new_tokens": frames + 1,
        }
        width = self.talker.config.hidden_size
        if self.kind == "custom_voice":
            waves, _ = self.model.generate_custom_voice(speaker=case.voice, instruct=case.instruct, **options)
        elif self.kind == "voice_design":
            waves, _ = self.model.generate_voice_design(instruct=case.instruct or "", **options)
        else:
            prompt = VoiceClonePromptItem(
                ref_code=None,
                ref_spk_embedding=torch.from_numpy(speaker_vector(case.vector_seed or 0, width)),
                x_vector_only_mode=True,
                icl_mode=False,
            )
            waves, _ = self.model.generate_voice_clone(voice_clone_prompt=[prompt], **options)
        codes = self.heard.codes
        assert codes is not None
        end_id, all_logits = self.talker.config.codec_eos_token_id, np.stack(self.heard.logits)
        allowed = [*range(self.talker.config.code_predictor_config.vocab_size), end_id]
        logits = all_logits[:, allowed]
        return Answer(
            text=text,
            text_ids=self._ids(self.model._build_assistant_text(text)),
            instruct_ids=self._ids(self.model._build_instruct_text(case.instruct)) if case.instruct else (),
            prompt_rows=self.heard.prompt_rows,
            ended=len(codes) < frames,
            talker_margin=_talker_margin(logits, codes, len(codes) < frames, case.repetition_penalty),
            predictor_margin=self.heard.predictor_margin,
            codes=codes,
            logits=logits,
            wave=waves[0].astype(np.float32),
        )

    def decode(self, codes: Ints) -> Floats:
        """The whole utterance at once."""
        waves, _ = self.model.model.speech_tokenizer.decode([{"audio_codes": torch.from_numpy(codes).long()}])
        return np.asarray(waves[0], dtype=np.float32)

    def _ids(self, text: str) -> tuple[int, ...]:
        return tuple(int(id_) for id_ in self.model._tokenize_texts([text])[0][0])

    def use_plain_tokenizer(self) -> bool:
        """Undo the wrapper's wish for another family's pre-tokeniser; tell whether that changed anything.

        The wish is granted where `config.json` names certain versions of transformers."""
        before = self._ids(_MIXED_CASE)
        self.model.processor = AutoProcessor.from_pretrained(str(self.checkpoint))
        return self._ids(_MIXED_CASE) != before

    def check_strictly(self, *, needs_encoder: bool = True) -> None:
        """Every tensor of the files is a parameter of the same shape and value, and every parameter is in the files.

        A model that needs no reference audio may do without the codec's encoder.
        """
        for module, name in zip((self.model.model, self.model.model.speech_tokenizer.model), MODEL_FILES, strict=True):
            wanted = module.state_dict()
            with safe_open(self.checkpoint / name, "pt") as file:
                found = {key: file.get_tensor(key).float() for key in file.keys()}  # noqa: SIM118 - not a dict
            odd = set(wanted) ^ set(found)
            odd |= {key for key in set(wanted) & set(found) if not torch.equal(wanted[key], found[key])}
            if not needs_encoder and all(key not in found for key in odd):
                odd = {key for key in odd if not key.startswith("encoder.")}
            if odd:
                raise SystemExit(f"{self.checkpoint / name} is not in the official layout: {sorted(odd)}")


def _talker_margin(logits: Floats, codes: Ints, ended: bool, penalty: float) -> float:
    """Least distance of the best two logits, as the official processors leave them, over all choices that counted."""
    margin, seen = float("inf"), np.zeros(logits.shape[1], dtype=bool)
    for step, row in enumerate(logits):
        scores = np.where(seen, np.where(row > 0, row / penalty, row * penalty), row)
        if step < 2:
            scores[-1] = -np.inf
        best = np.sort(scores)[-2:]
        chosen = int(np.argmax(scores))
        if step < len(codes) or ended:
            expected = codes[step, 0] if step < len(codes) else len(row) - 1
            if chosen != expected:
                raise SystemExit(f"choice {step}: the overheard logits choose {chosen}, the package chose {expected}")
            margin = min(margin, float(best[1] - best[0]))
        seen[chosen] = True
    return margin
