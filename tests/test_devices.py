"""Which device is meant, and in what format it is opened."""

from __future__ import annotations

from typing import Any

import pytest

from app.devices import OutputDevice, StreamFormat, choose_format, find_device
from app.sink import SinkError

RATE = 24000


def device(index: int, name: str, *, default: bool = False, channels: int = 2) -> OutputDevice:
    return OutputDevice(index=index, name=name, channels=channels, default_rate_hz=44100, is_default=default)


def test_devices_are_found_by_number_name_and_part() -> None:
    devices = [device(0, "HDMI 0"), device(3, "HDMI 1"), device(4, "USB Speaker", default=True)]
    assert find_device(devices, None).index == 4
    assert find_device(devices, "3").name == "HDMI 1"
    assert find_device(devices, "HDMI 0").index == 0
    assert find_device(devices, "speaker").index == 4
    with pytest.raises(SinkError, match=r"more than one sound device is called 'hdmi'.*0: HDMI 0; 3: HDMI 1"):
        find_device(devices, "hdmi")
    with pytest.raises(SinkError, match="no sound device 'jack'; there are: 0: HDMI 0"):
        find_device(devices, "jack")
    with pytest.raises(SinkError, match="no sound device was found"):
        find_device([], None)


def test_the_voices_own_rate_is_preferred() -> None:
    def only(*rates: int) -> Any:
        return lambda wished: wished.sample_rate_hz in rates and wished.channels == 2

    here = device(0, "card")
    assert choose_format(only(24000, 48000), RATE, here) == StreamFormat(sample_rate_hz=24000, channels=2)
    assert choose_format(only(48000, 44100), RATE, here).sample_rate_hz == 44100, "the device's own rate comes next"
    assert choose_format(only(24000, 48000), RATE, here, 48000).sample_rate_hz == 48000
    with pytest.raises(SinkError, match="'card' takes none of these sample rates: 24000, 44100"):
        choose_format(only(), RATE, here)
