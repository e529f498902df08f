"""What can go wrong in an export, said so that the user can mend it.

ExportError
└── CheckpointError         the checkpoint is missing something, damaged, or of a kind this exporter does not know
"""

from __future__ import annotations


class ExportError(Exception):
    """An export failed; the message is one clear sentence."""


class CheckpointError(ExportError):
    """The checkpoint cannot be read as an official Qwen3-TTS 12Hz checkpoint."""
