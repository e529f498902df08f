"""Errors of the engine room, drawn as a tree.

SpeechError                 what a caller may catch; its text says what is wrong and how to mend it
├── BundleError             a bundle cannot be used (missing, damaged, foreign)
├── PlanError               no built TensorRT plan can be used here
├── RequestError            a request asks for what this voice cannot do
├── EngineBusyError         no place free; try again later
├── EngineClosedError       the engine is closing or has failed
├── RingClosedError         writing to, or reading past, the end of a closed ring
├── GpuError                the GPU, or what reaches it, cannot be used
│   └── NoGpuError          there is none, and nothing to complain of
└── DeviceError             a run failed on the device, or there is no room on it
    └── DeviceLostError     the device is lost to this process, which should end
"""

from __future__ import annotations


class SpeechError(Exception):
    """Base of the errors that are meant for a caller; the message is one clear sentence."""


class BundleError(SpeechError):
    """A bundle cannot be used."""


class PlanError(SpeechError):
    """A TensorRT plan is missing, damaged, or made for something else."""


class RequestError(SpeechError):
    """A request asks for something this voice or this build cannot do."""


class EngineBusyError(SpeechError):
    """Every place is taken."""


class EngineClosedError(SpeechError):
    """The engine no longer takes or serves work."""


class RingClosedError(SpeechError):
    """The ring was closed by the other side."""


class DeviceError(SpeechError):
    """A run failed on the device, or there is no room on it."""


class DeviceLostError(DeviceError):
    """The device failed in a way only another process cures."""


class GpuError(SpeechError):
    """The GPU, or what reaches it, cannot be used."""


class NoGpuError(GpuError):
    """There is no GPU."""
