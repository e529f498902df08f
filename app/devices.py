"""Sound devices of this machine, through PyAudio.

Purpose: list outputs, find one by name or number, open a stream in a format the device can do, and turn PortAudio's
codes into sentences that name the device. Knows: PyAudio (loaded here, late), its noise on stderr, its error codes.
Does not know: what is played, buffers, threads, engines.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final

from app.sink import SinkError

INSTALL_HINT: Final = (
    "live playback needs PortAudio and PyAudio: 'apt install portaudio19-dev python3-dev gcc', "
    "then 'pip install pyaudio' (scripts/setup does both); without them, write a file with -o FILE"
)
_NO_SERVER: Final = (
    "newer versions (Ubuntu 26.04 has one) want a PulseAudio or PipeWire server, which may not run here; start one, or"
    " write a file with -o FILE"
)
_HOST_ERROR: Final = -9999
_DEVICE_UNAVAILABLE: Final = -9985
_INVALID_DEVICE: Final = -9996
_COMMON_RATES_HZ: Final = (48000, 44100, 96000, 32000, 16000)
_stderr_lock = threading.Lock()


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputDevice:
    """One output as PortAudio shows it."""

    index: int
    name: str
    channels: int
    default_rate_hz: int
    is_default: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamFormat:
    """What a stream is opened with; samples are always 16 bits."""

    sample_rate_hz: int
    channels: int


_alsa_underruns = 0


def alsa_underruns() -> int:
    """How often ALSA has said in this process that a device ran dry."""
    return _alsa_underruns


def _hear_alsa(_file: bytes, _line: int, _function: bytes, _code: int, text: bytes) -> None:
    """What ALSA would write to stderr: underruns are counted, the rest PortAudio reports in its own way."""
    global _alsa_underruns  # noqa: PLW0603 - ALSA has one listener for the process
    if text and b"underrun" in text:
        _alsa_underruns += 1


_AlsaListener = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p)
_alsa_listener = _AlsaListener(_hear_alsa)
"""Kept for as long as the process lives: ALSA remembers its address."""


def _listen_to_alsa() -> None:
    with contextlib.suppress(OSError, AttributeError):  # no ALSA here
        ctypes.CDLL("libasound.so.2").snd_lib_error_set_handler(_alsa_listener)


@contextlib.contextmanager
def quiet_stderr() -> Iterator[None]:
    """For a moment, what native code writes to stderr goes nowhere: ALSA and JACK chatter while they probe."""
    with _stderr_lock:
        with contextlib.suppress(OSError, ValueError, AttributeError):
            sys.stderr.flush()
        try:
            saved = os.dup(2)
        except OSError:
            yield
            return
        try:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 2)
            os.close(nowhere)
            yield
        finally:
            os.dup2(saved, 2)
            os.close(saved)


def find_device(devices: Sequence[OutputDevice], wish: str | None) -> OutputDevice:
    """The output asked for: by number, by exact name, or by a part of the name only one device has; None: the default.

    Raises `SinkError`, with the names there are.
    """
    if not devices:
        raise SinkError("no sound device was found; plug one in, or write a file with -o FILE")
    if wish is None:
        return next((device for device in devices if device.is_default), devices[0])
    by_number = [device for device in devices if wish.isdecimal() and device.index == int(wish)]
    exact = [device for device in devices if device.name == wish]
    partly = [device for device in devices if wish.lower() in device.name.lower()]
    for found in (by_number, exact, partly):
        if len(found) == 1:
            return found[0]
    names = "; ".join(f"{device.index}: {device.name}" for device in devices)
    if exact or partly:
        raise SinkError(f"more than one sound device is called '{wish}'; give its number: {names}")
    raise SinkError(
        f"there is no sound device '{wish}'; there are: {names} (one that another program holds may be missing here)"
    )


def choose_format(
    can_do: Callable[[StreamFormat], bool], voice_rate_hz: int, device: OutputDevice, forced_rate_hz: int | None = None
) -> StreamFormat:
    """The first format the device can do: the voice's own rate if it may be, else the nearest thing without loss.

    Raises `SinkError` naming the device.
    """
    rates = [forced_rate_hz] if forced_rate_hz else [voice_rate_hz, device.default_rate_hz, *_COMMON_RATES_HZ]
    for rate in dict.fromkeys(rates):
        for channels in (1, 2):
            wished = StreamFormat(sample_rate_hz=rate, channels=channels)
            if channels <= device.channels and can_do(wished):
                return wished
    tried = ", ".join(str(rate) for rate in dict.fromkeys(rates))
    raise SinkError(
        f"the sound device '{device.name}' takes none of these sample rates: {tried} Hz (16 bits, mono or stereo); "
        "it may be busy, or needs playback.sample_rate_hz in the configuration"
    )


def describe_failure(device: str, error: OSError) -> str:
    """PortAudio's error as a sentence that names the device."""
    code = error.args[0] if error.args else None
    if code == _DEVICE_UNAVAILABLE:
        return (
            f"the sound device '{device}' is busy: another program holds it; stop that program or choose with --device"
        )
    if code == _INVALID_DEVICE:
        return f"the sound device '{device}' is gone; see --list-devices"
    text = error.args[1] if len(error.args) > 1 else error
    return f"the sound device '{device}' failed ({text}); it may have been unplugged; see --list-devices"


class AudioSystem:
    """PortAudio while it is open; use from one thread."""

    def __init__(self) -> None:
        try:
            import pyaudio
        except ImportError as error:
            raise SinkError(f"{INSTALL_HINT} ({error})") from error
        os.environ.setdefault("JACK_NO_START_SERVER", "1")  # asking for devices must not start a server
        self._int16: Final[int] = pyaudio.paInt16
        _listen_to_alsa()
        with quiet_stderr():
            try:
                self._audio: Any = pyaudio.PyAudio()
            except OSError as error:
                hint = _NO_SERVER if error.errno == _HOST_ERROR else "write a file with -o FILE"
                raise SinkError(f"PortAudio does not start: {error}; {hint}") from error

    def devices(self) -> list[OutputDevice]:
        """Every output there is, in PortAudio's order."""
        try:
            default = self._audio.get_default_output_device_info()["index"]
        except OSError:
            default = None
        found = [self._audio.get_device_info_by_index(index) for index in range(self._audio.get_device_count())]
        return [
            OutputDevice(
                index=int(info["index"]),
                name=str(info["name"]),
                channels=int(info["maxOutputChannels"]),
                default_rate_hz=int(info["defaultSampleRate"]),
                is_default=info["index"] == default,
            )
            for info in found
            if info["maxOutputChannels"] > 0
        ]

    def can_do(self, device: OutputDevice, wished: StreamFormat) -> bool:
        """Whether the device takes a format."""
        with quiet_stderr():
            try:
                return bool(
                    self._audio.is_format_supported(
                        wished.sample_rate_hz,
                        output_device=device.index,
                        output_channels=wished.channels,
                        output_format=self._int16,
                    )
                )
            except ValueError as error:
                if error.args and _DEVICE_UNAVAILABLE in error.args:
                    raise SinkError(describe_failure(device.name, OSError(_DEVICE_UNAVAILABLE, str(error)))) from error
                return False

    def open(self, device: OutputDevice, wished: StreamFormat, period_frames: int) -> Any:
        """Open and start a blocking output stream. Raises `SinkError` naming the device."""
        with quiet_stderr():
            try:
                return self._audio.open(
                    rate=wished.sample_rate_hz,
                    channels=wished.channels,
                    format=self._int16,
                    output=True,
                    output_device_index=device.index,
                    frames_per_buffer=period_frames,
                )
            except (OSError, ValueError) as error:
                raise SinkError(describe_failure(device.name, OSError(*error.args))) from error

    def __enter__(self) -> AudioSystem:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with quiet_stderr(), contextlib.suppress(OSError):
            self._audio.terminate()
