"""Dimensions, control ids and speakers of the default voice: the numbers that its config.json states.

Knows: the official layout's numbering, moved from 2048 codes to ours. Does not know: weights, text, sound.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class VoiceShape:
    """Sizes of talker, code predictor and codec decoder. Defaults are the shipped voice."""

    hidden: int = 256
    layers: int = 6
    heads: int = 4
    kv_heads: int = 2
    head_dim: int = 64
    intermediate: int = 768
    rope_theta: float = 10000.0
    rms_eps: float = 1e-6
    text_hidden: int = 512
    text_vocab: int = 910
    codes: int = 512
    code_groups: int = 8
    predictor_layers: int = 2
    codebook_dim: int = 128
    latent: int = 256
    codec_layers: int = 2
    codec_heads: int = 4
    codec_intermediate: int = 512
    codec_window: int = 16
    codec_eps: float = 1e-5
    decoder_dim: int = 192
    upsampling_ratios: tuple[int, ...] = (2, 2)
    upsample_rates: tuple[int, ...] = (8, 5, 4, 3)
    sample_rate: int = 24000
    languages: dict[str, int] = field(default_factory=lambda: {"english": 2050})
    speakers: dict[str, int] = field(default_factory=lambda: {"anna": 2873, "robert": 3061})

    @property
    def vocab(self) -> int:
        """Rows of the talker's codec table: codes, then 1024 control ids."""
        return self.codes + 1024

    def control(self, official: int) -> int:
        """Number of a control id in this voice, from its number in the official 2048-code vocabulary."""
        return official - 2048 + self.codes

    @property
    def pad(self) -> int:
        """Codec row added to text rows of the prompt."""
        return self.control(2148)

    @property
    def bos(self) -> int:
        """Codec row that starts the frames."""
        return self.control(2149)

    @property
    def eos(self) -> int:
        """Code 0 that ends an utterance."""
        return self.control(2150)

    @property
    def think(self) -> int:
        """First codec row of a head with a language."""
        return self.control(2154)

    @property
    def nothink(self) -> int:
        """First codec row of a head without a language."""
        return self.control(2155)

    @property
    def think_bos(self) -> int:
        """Second codec row of the head."""
        return self.control(2156)

    @property
    def think_eos(self) -> int:
        """Last codec row of the head before the speaker."""
        return self.control(2157)

    @property
    def frame_samples(self) -> int:
        """Samples that one frame of codes decodes to."""
        samples = 1
        for factor in (*self.upsampling_ratios, *self.upsample_rates):
            samples *= factor
        return samples
