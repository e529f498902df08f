"""What can go wrong in an export, said so that the user can mend it.

ExportError
├── CheckpointError         the checkpoint is missing something, damaged, or of a kind this exporter does not know
├── QualityError            quantised weights choose too differently from the full ones
└── BuildError              TensorRT engines cannot be built here, or do not do what their graphs say

StoppedError                is none of these: nothing failed
"""

from __future__ import annotations


class ExportError(Exception):
    """An export failed; the message is one clear sentence."""


class CheckpointError(ExportError):
    """The checkpoint cannot be read as an official Qwen3-TTS 12Hz checkpoint."""


class QualityError(ExportError):
    """The measurement of a quantised bundle is below the gate."""


class BuildError(ExportError):
    """Engines cannot be built; the message names the remedy."""


class StoppedError(Exception):
    """The build was asked to stop."""
